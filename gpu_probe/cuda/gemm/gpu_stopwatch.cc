#include "gpu_probe/cuda/gemm/gpu_stopwatch.h"

#include "engine/base/status_macros.h"
#include "gpu_probe/cuda/cuda_fault.h"

namespace sextant {
namespace {

// An event that is dropped at the end of its scope.
class ScopedEvent {
 public:
  explicit ScopedEvent(GpuSession& session) : session_(session) {}
  ~ScopedEvent() {
    if (event_ != nullptr) (void)session_.driver().drop_event(event_);
  }
  ScopedEvent(const ScopedEvent&) = delete;
  ScopedEvent& operator=(const ScopedEvent&) = delete;

  absl::Status Record() {
    const CudaDriver& cuda = session_.driver();
    SEXTANT_RETURN_IF_ERROR(
        CudaStatus(cuda.make_event(&event_, cuda::kTimedEvent), "cuEventCreate"));
    return CudaStatus(cuda.record_event(event_, session_.stream()), "cuEventRecord");
  }
  cuda::Event get() const { return event_; }

 private:
  GpuSession& session_;
  cuda::Event event_ = nullptr;
};

}  // namespace

absl::StatusOr<double> SecondsOnGpu(GpuSession& session,
                                    const std::function<absl::Status()>& enqueue) {
  const CudaDriver& cuda = session.driver();
  ScopedEvent start(session);
  ScopedEvent end(session);
  SEXTANT_RETURN_IF_ERROR(start.Record());
  SEXTANT_RETURN_IF_ERROR(enqueue());
  SEXTANT_RETURN_IF_ERROR(end.Record());
  SEXTANT_RETURN_IF_ERROR(CudaStatus(cuda.wait_event(end.get()), "cuEventSynchronize"));
  float milliseconds = 0;
  SEXTANT_RETURN_IF_ERROR(
      CudaStatus(cuda.elapsed(&milliseconds, start.get(), end.get()), "cuEventElapsedTime"));
  return static_cast<double>(milliseconds) * 1e-3;
}

}  // namespace sextant
