#include "gpu_probe/cuda/gpu_workload.h"

#include <algorithm>

#include "engine/base/checked_math.h"
#include "engine/base/status_macros.h"
#include "gpu_probe/cuda/cuda_fault.h"

namespace sextant::probe {
namespace {

// Two chunks of runs are queued at a time: the GPU works on one while the host waits for the other.
constexpr double kChunkSeconds = kMaxQueuedSeconds / 2;

class FunctionWorkload : public GpuWorkload {
 public:
  FunctionWorkload(SharedSession session, GpuWork work)
      : GpuWorkload(std::move(session), work.host_part), work_(std::move(work)) {}

  void Poison() override { poisoned_ = work_.poison(); }
  absl::Status Check() override {
    SEXTANT_RETURN_IF_ERROR(poisoned_);
    return work_.check();
  }

 private:
  absl::Status Enqueue() override { return work_.enqueue(); }

  const GpuWork work_;
  absl::Status poisoned_;
};

}  // namespace

GpuWorkload::~GpuWorkload() {
  const CudaDriver& cuda = session_->driver();
  for (const cuda::Event event : events_) {
    if (event != nullptr) (void)cuda.drop_event(event);
  }
  for (const Recording& recording : recordings_) (void)cuda.drop_graph_run(recording.runs);
}

absl::Status GpuWorkload::MakeEvents() {
  for (cuda::Event& event : events_) {
    if (event != nullptr) continue;
    SEXTANT_RETURN_IF_ERROR(
        CudaStatus(session_->driver().make_event(&event, cuda::kTimedEvent), "cuEventCreate"));
  }
  return absl::OkStatus();
}

absl::Status GpuWorkload::RecordOne(int64_t run_count) {
  const CudaDriver& cuda = session_->driver();
  SEXTANT_RETURN_IF_ERROR(cuda.begin_capture.Checked(session_->stream(), cuda::kCaptureThisThread));
  absl::Status queued;
  for (int64_t i = 0; i < run_count && queued.ok(); ++i) queued = Enqueue();
  cuda::Graph graph = nullptr;
  const cuda::Result ended = cuda.end_capture(session_->stream(), &graph);
  Recording recording = {.runs = nullptr, .last_turn = turn()};
  const bool whole = queued.ok() && ended == 0;
  const cuda::Result made = whole ? cuda.make_graph_run(&recording.runs, graph, /*flags=*/0) : 0;
  if (graph != nullptr) (void)cuda.drop_graph(graph);
  SEXTANT_RETURN_IF_ERROR(queued);
  SEXTANT_RETURN_IF_ERROR(CudaStatus(ended, "cuStreamEndCapture"));
  SEXTANT_RETURN_IF_ERROR(CudaStatus(made, "cuGraphInstantiateWithFlags"));
  recordings_.push_back(recording);
  return absl::OkStatus();
}

absl::Status GpuWorkload::Record(int64_t run_count) {
  recorded_run_count_ = run_count;
  const auto wanted = static_cast<size_t>(CeilDivide(operand_count(), run_count));
  while (recordings_.size() < wanted) SEXTANT_RETURN_IF_ERROR(RecordOne(run_count));
  return absl::OkStatus();
}

absl::Status GpuWorkload::EnqueueMany(int64_t count) {
  int64_t left = count;
  for (; !recordings_.empty() && left >= recorded_run_count_; left -= recorded_run_count_) {
    const Recording& recording = recordings_[next_recording_];
    next_recording_ = (next_recording_ + 1) % recordings_.size();
    SEXTANT_RETURN_IF_ERROR(CudaStatus(
        session_->driver().launch_graph(recording.runs, session_->stream()), "cuGraphLaunch"));
    set_turn(recording.last_turn);
  }
  for (; left > 0; --left) SEXTANT_RETURN_IF_ERROR(Enqueue());
  return absl::OkStatus();
}

int64_t GpuWorkload::MostQueuedRuns() const {
  if (run_seconds_ <= 0) return 1;
  return std::max<int64_t>(1, static_cast<int64_t>(kChunkSeconds / run_seconds_));
}

bool GpuWorkload::IsHeld(int64_t repetition_count) const {
  const int64_t calls = recordings_.empty()
                            ? repetition_count
                            : repetition_count / recorded_run_count_ + recorded_run_count_;
  return host_part_ != HostPart::kBlocks && run_seconds_ > 0 && calls <= kMaxHeldCalls &&
         static_cast<double>(repetition_count) * run_seconds_ < kHeldBelowSeconds;
}

absl::Status GpuWorkload::EnqueueFirst(int64_t count, size_t end, bool held) {
  const CudaDriver& cuda = session_->driver();
  const auto queue = [&]() -> absl::Status {
    if (held) SEXTANT_RETURN_IF_ERROR(session_->Hold());
    SEXTANT_RETURN_IF_ERROR(cuda.record_event.Checked(events_[0], session_->stream()));
    SEXTANT_RETURN_IF_ERROR(EnqueueMany(count));
    return cuda.record_event.Checked(events_[end], session_->stream());
  };
  const absl::Status queued = queue();
  if (held) session_->Release();
  return queued;
}

absl::Status GpuWorkload::Run(int64_t repetition_count) {
  const CudaDriver& cuda = session_->driver();
  SEXTANT_RETURN_IF_ERROR(MakeEvents());
  const int64_t chunk = MostQueuedRuns();
  bool held = IsHeld(repetition_count);
  if (host_part_ == HostPart::kRecords && recordings_.empty() && repetition_count > 1 &&
      run_seconds_ > 0 && run_seconds_ < kRecordedBelowSeconds) {
    SEXTANT_RETURN_IF_ERROR(Record(std::min(repetition_count, kMaxRecordedRuns)));
    held = false;  // a recording's first start loads it to the GPU
  }
  const auto wait = [&](cuda::Event event) { return cuda.wait_event.Checked(event); };
  size_t last = 1;
  SEXTANT_RETURN_IF_ERROR(EnqueueFirst(std::min(chunk, repetition_count), last, held));
  for (int64_t done = chunk; done < repetition_count; done += chunk) {
    const size_t before = last;
    last = last == 1 ? 2 : 1;
    SEXTANT_RETURN_IF_ERROR(EnqueueMany(std::min(chunk, repetition_count - done)));
    SEXTANT_RETURN_IF_ERROR(cuda.record_event.Checked(events_[last], session_->stream()));
    SEXTANT_RETURN_IF_ERROR(wait(events_[before]));
  }
  SEXTANT_RETURN_IF_ERROR(wait(events_[last]));
  float milliseconds = 0;
  SEXTANT_RETURN_IF_ERROR(cuda.elapsed.Checked(&milliseconds, events_[0], events_[last]));
  device_seconds_ = static_cast<double>(milliseconds) * 1e-3;
  run_seconds_ = device_seconds_ / static_cast<double>(repetition_count);
  return absl::OkStatus();
}

std::unique_ptr<Workload> MakeGpuWorkload(SharedSession session, GpuWork work) {
  return std::make_unique<FunctionWorkload>(std::move(session), std::move(work));
}

}  // namespace sextant::probe
