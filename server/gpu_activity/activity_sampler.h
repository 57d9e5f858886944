// How busy GPUs were between two looks at them.
#ifndef SEXTANT_SERVER_GPU_ACTIVITY_ACTIVITY_SAMPLER_H_
#define SEXTANT_SERVER_GPU_ACTIVITY_ACTIVITY_SAMPLER_H_

#include <map>
#include <string>
#include <vector>

#include "absl/types/optional.h"
#include "server/gpu_activity/gpm_library.h"

namespace sextant {

// Averages between two looks, 0 to 1; absent is what the GPU did not tell, never zero for that.
struct GpuActivity {
  std::string uuid;
  absl::optional<double> tensor = {};  // time in which matrix units worked
  absl::optional<double> memory = {};  // of the memory's highest bandwidth
  absl::optional<double> sm = {};      // multiprocessors that were busy
};

// Not thread-safe: one thread's. Any call may take as long as NVML likes.
class ActivitySampler {
 public:
  // `library`, every function of which is there, has been initialised.
  explicit ActivitySampler(const GpmLibrary& library) : library_(library) {}
  ~ActivitySampler();
  ActivitySampler(const ActivitySampler&) = delete;
  ActivitySampler& operator=(const ActivitySampler&) = delete;

  // What each GPU did since the last call, more than 100 ms ago (NVML's condition); nothing of one
  // that it did not see then, that is cut into instances (MIG), that is too old (before Hopper),
  // or that fails.
  std::vector<GpuActivity> Look();

 private:
  // NVML's memory of one look; null where it has none.
  gpm::Sample TakeSample(gpm::Gpu gpu) const;
  GpuActivity Between(const std::string& uuid, gpm::Sample earlier, gpm::Sample later) const;

  const GpmLibrary library_;
  std::map<std::string, gpm::Sample> last_;  // by UUID
};

}  // namespace sextant

#endif  // SEXTANT_SERVER_GPU_ACTIVITY_ACTIVITY_SAMPLER_H_
