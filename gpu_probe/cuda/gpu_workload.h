// A kernel on a GPU, timed by the GPU's own clock; and the order in which kernels are timed.
#ifndef SEXTANT_GPU_PROBE_CUDA_GPU_WORKLOAD_H_
#define SEXTANT_GPU_PROBE_CUDA_GPU_WORKLOAD_H_

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/optional.h"
#include "gpu_probe/cuda/gpu_session.h"
#include "gpu_probe/point.h"

namespace sextant::probe {

// Values of Point::level: plans need the figures of the first levels most.
enum GpuLevel {
  kBf16Anchors = 1,
  kSustainedRates,
  kFp8Anchors,
  kMemoryPasses,
  kRestOfGrids,
  kExchanges,
  kAttention,
};

// Seconds to prepare a point before any of its phase was: mostly the first load of its kernel.
// Believed to be below 15 ms on any GPU; not measured yet.
inline constexpr double kAssumedGpuPreparationSeconds = 0.02;

// Seconds to compile a kernel of attention. cuDNN 9.19 takes 0.5 to 2 s on a processor of 2 GHz.
inline constexpr double kAssumedFirstCompileSeconds = 3;
inline constexpr double kAssumedCompileSeconds = 1.5;

// The least budget with which STANDARD measures attention; FULL always does.
inline constexpr double kAttentionBudgetSeconds = 8;

// Seconds to close the context and end the process. Believed; not measured yet.
inline constexpr double kGpuEndingSeconds = 0.25;

// Events tick at half a microsecond, and the host's part of a run is not timed.
inline constexpr double kGpuSampleSeconds = 200e-6;

// The most seconds of queued work: another process's work waits at most this long.
inline constexpr double kMaxQueuedSeconds = 0.05;

// Runs shorter than this are recorded (a CUDA graph), as many as make a sample and at most 20: the
// host starts all of them by one call, where starting each one may take as long as the run.
inline constexpr double kRecordedBelowSeconds = 50e-6;
inline constexpr int64_t kMaxRecordedRuns = 20;

// Samples shorter than this are held (GpuSession::Hold()) until all their runs are queued: the host
// takes some microseconds from the first event to the first run, 1 to 4 % of 0.25 ms.
inline constexpr double kHeldBelowSeconds = 2e-3;
// Calls queued in a held stream: a stream's queue has room for some 1,000.
inline constexpr int64_t kMaxHeldCalls = 256;

// The host's part in a run.
enum class HostPart {
  kBlocks,   // waits for the GPU, or is itself timed
  kQueues,   // only queues work, so that the stream may be held meanwhile
  kRecords,  // only queues work, which may also be recorded
};

class GpuWorkload : public Workload {
 public:
  GpuWorkload(SharedSession session, HostPart host_part)
      : session_(std::move(session)), host_part_(host_part) {}
  ~GpuWorkload() override;
  GpuWorkload(const GpuWorkload&) = delete;
  GpuWorkload& operator=(const GpuWorkload&) = delete;

  // Never queues more than kMaxQueuedSeconds of work, judging by earlier runs.
  absl::Status Run(int64_t repetition_count) final;
  absl::optional<double> DeviceSeconds() const final { return device_seconds_; }

 protected:
  GpuSession& session() const { return *session_; }
  const SharedSession& shared_session() const { return session_; }

 private:
  // Queues one run into the session's stream. Work that rotates advances to its next operands.
  virtual absl::Status Enqueue() = 0;

  // For work that rotates: the index of its present operands, which each recording has its own of,
  // and the number of operands.
  virtual int64_t turn() const { return 0; }
  virtual void set_turn(int64_t /*turn*/) {}
  virtual int64_t operand_count() const { return 1; }

  absl::Status MakeEvents();
  // Makes enough recordings of `run_count` runs to use all operands.
  absl::Status Record(int64_t run_count);
  absl::Status RecordOne(int64_t run_count);
  absl::Status EnqueueMany(int64_t count);
  // Queues `count` runs between the first event and events_[end], held where that is worthwhile.
  absl::Status EnqueueFirst(int64_t count, size_t end, bool held);
  bool IsHeld(int64_t repetition_count) const;
  int64_t MostQueuedRuns() const;

  const SharedSession session_;  // first, so that it outlives the members of subclasses
  const HostPart host_part_;
  // Start, and the ends of the last two chunks of runs.
  std::array<cuda::Event, 3> events_ = {};
  struct Recording {
    cuda::GraphRun runs = nullptr;
    int64_t last_turn = 0;
  };
  std::vector<Recording> recordings_;
  int64_t recorded_run_count_ = 0;  // in each recording
  size_t next_recording_ = 0;
  double device_seconds_ = 0;
  double run_seconds_ = 0;  // of one run, in the latest call; 0: not known
};

// A workload by functions, for work that needs no more.
struct GpuWork {
  HostPart host_part = HostPart::kRecords;
  std::function<absl::Status()> poison = [] {
    return absl::OkStatus();
  };  // Check() tells its error
  std::function<absl::Status()> enqueue;
  std::function<absl::Status()> check;
};
std::unique_ptr<Workload> MakeGpuWorkload(SharedSession session, GpuWork work);

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_CUDA_GPU_WORKLOAD_H_
