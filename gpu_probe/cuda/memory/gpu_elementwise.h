// The elementwise ladder on a GPU, timed.
#ifndef SEXTANT_GPU_PROBE_CUDA_MEMORY_GPU_ELEMENTWISE_H_
#define SEXTANT_GPU_PROBE_CUDA_MEMORY_GPU_ELEMENTWISE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gpu_probe/cuda/gpu_check.h"
#include "gpu_probe/cuda/gpu_session.h"
#include "gpu_probe/cuda/gpu_workload.h"
#include "gpu_probe/point.h"

namespace sextant {

// The ladder's ends, which the ridge is computed from. Two, since a kernel of one would do no other
// work than a scaling copy.
inline constexpr int64_t kFewestGpuMultiplyAdds = 2;
inline constexpr int64_t kMostGpuMultiplyAdds = 256;

// 2, 4, 8 and so on to 256 multiply-adds an element of an fp32 array that no cache holds. Left out,
// with a note, where memory is short.
std::vector<Point> GpuElementwisePoints(const SharedSession& session);

struct GpuElementwiseArray {
  DeviceMemory x;
  GpuCheck check;
};

// `step_count` multiply-adds on every element, in place.
class GpuElementwiseWorkload : public GpuWorkload {
 public:
  GpuElementwiseWorkload(int64_t step_count, std::shared_ptr<GpuElementwiseArray> array,
                         const SharedSession& session);

  // Puts the numbers that the array begins with there: an element that no pass changes, or that
  // one pass leaves out, is then found.
  void Poison() override;
  // Compares every element with what all runs since make of it, in double.
  absl::Status Check() override;

 private:
  absl::Status Enqueue() override;

  const int64_t step_count_;
  const std::string kernel_;
  const std::shared_ptr<GpuElementwiseArray> array_;
  int64_t runs_since_poison_ = 0;
  absl::Status poisoned_;
};

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_CUDA_MEMORY_GPU_ELEMENTWISE_H_
