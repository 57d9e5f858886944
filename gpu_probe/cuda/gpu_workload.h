// A kernel on a GPU, timed by the GPU's own clock.
#ifndef SEXTANT_GPU_PROBE_CUDA_GPU_WORKLOAD_H_
#define SEXTANT_GPU_PROBE_CUDA_GPU_WORKLOAD_H_

#include <array>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/optional.h"
#include "gpu_probe/cuda/gpu_session.h"
#include "gpu_probe/workload.h"

namespace sextant {

// Events tick at half a microsecond, and the host's part of a run is not timed.
inline constexpr double kGpuSampleSeconds = 200e-6;

// Work that is queued at any time, in seconds: a tenant that comes waits no longer.
inline constexpr double kMostQueuedSeconds = 0.05;

// Runs in a recording (CUDA graph): the host starts them all by one call, which takes it as long
// as starting one kernel, often longer than a small kernel takes.
inline constexpr int64_t kRecordedRunCount = 20;

class GpuWorkload : public Workload {
 public:
  // `recorded`: whether many short runs may be recorded and started together. Not for what
  // blocks the host.
  GpuWorkload(SharedSession session, bool recorded)
      : session_(std::move(session)), recorded_(recorded) {}
  ~GpuWorkload() override;
  GpuWorkload(const GpuWorkload&) = delete;
  GpuWorkload& operator=(const GpuWorkload&) = delete;

  // Never queues more than kMostQueuedSeconds of work, as far as the runs before tell.
  absl::Status Run(int64_t repetition_count) final;
  absl::optional<double> DeviceSeconds() const final { return device_seconds_; }

 protected:
  GpuSession& session() const { return *session_; }
  const SharedSession& shared_session() const { return session_; }

 private:
  // Queues one run into the session's stream. Work that rotates goes on to its next operands.
  virtual absl::Status Enqueue() = 0;

  // Of work that rotates: at which of its operands it is, of which a recording has its own; and
  // how many recordings it takes to go over all of them.
  virtual int64_t turn() const { return 0; }
  virtual void set_turn(int64_t /*turn*/) {}
  virtual int64_t recording_count() const { return 1; }

  absl::Status MakeEvents();
  // Makes one recording, or all.
  absl::Status Record();
  absl::Status RecordAll();
  absl::Status EnqueueMany(int64_t count);
  int64_t MostQueuedRuns() const;

  const SharedSession session_;  // first, so that it outlives what subclasses hold
  const bool recorded_;
  // Start, and the ends of the last two chunks of runs.
  std::array<cuda::Event, 3> events_ = {};
  struct Recording {
    cuda::GraphRun runs = nullptr;
    int64_t last_turn = 0;
  };
  std::vector<Recording> recordings_;
  size_t next_recording_ = 0;
  double device_seconds_ = 0;
  double run_seconds_ = 0;  // of one run, the last time; 0: not known
};

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_CUDA_GPU_WORKLOAD_H_
