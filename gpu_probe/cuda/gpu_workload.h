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

// Runs shorter than this are recorded (a CUDA graph), as many as make a sample and 20 at most: the
// host starts all of them by one call, where starting each may take it as long as the run does.
inline constexpr double kRecordedBelowSeconds = 50e-6;
inline constexpr int64_t kMostRecordedRuns = 20;

// Samples shorter than this are held (GpuSession::Hold()) until all their runs are queued: the host
// takes some microseconds from the first event to the first run, 1 to 4 % of 0.25 ms.
inline constexpr double kHeldBelowSeconds = 2e-3;
// Calls that are queued in a held stream: a stream's queue has room for some 1,000.
inline constexpr int64_t kMostHeldCalls = 256;

// What the host does in a run.
enum class HostPart {
  kBlocks,   // waits for the GPU, or is itself what is timed
  kQueues,   // queues work only, so that the stream may be held meanwhile
  kRecords,  // queues work that may be recorded as well
};

class GpuWorkload : public Workload {
 public:
  GpuWorkload(SharedSession session, HostPart host_part)
      : session_(std::move(session)), host_part_(host_part) {}
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

  // Work that rotates tells at which of its operands it is, of which a recording has its own, and
  // how many there are.
  virtual int64_t turn() const { return 0; }
  virtual void set_turn(int64_t /*turn*/) {}
  virtual int64_t operand_count() const { return 1; }

  absl::Status MakeEvents();
  // Makes as many recordings of `run_count` runs as it takes to go over all operands.
  absl::Status Record(int64_t run_count);
  absl::Status RecordOne(int64_t run_count);
  absl::Status EnqueueMany(int64_t count);
  // Queues `count` runs between the first event and events_[end], held where that is worth while.
  absl::Status EnqueueFirst(int64_t count, size_t end, bool held);
  bool IsHeld(int64_t repetition_count) const;
  int64_t MostQueuedRuns() const;

  const SharedSession session_;  // first, so that it outlives what subclasses hold
  const HostPart host_part_;
  // Start, and the ends of the last two chunks of runs.
  std::array<cuda::Event, 3> events_ = {};
  struct Recording {
    cuda::GraphRun runs = nullptr;
    int64_t last_turn = 0;
  };
  std::vector<Recording> recordings_;
  int64_t recorded_run_count_ = 0;  // of each
  size_t next_recording_ = 0;
  double device_seconds_ = 0;
  double run_seconds_ = 0;  // of one run, the last time; 0: not known
};

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_CUDA_GPU_WORKLOAD_H_
