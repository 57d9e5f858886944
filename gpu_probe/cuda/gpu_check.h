// Results that are compared on the GPU itself, by a kernel that tells how many are wrong.
#ifndef SEXTANT_GPU_PROBE_CUDA_GPU_CHECK_H_
#define SEXTANT_GPU_PROBE_CUDA_GPU_CHECK_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpu_probe/cuda/check_report.h"
#include "gpu_probe/cuda/gpu_session.h"

namespace sextant {

// Where a kernel named check_... writes its report, which is the first of its parameters.
class GpuCheck {
 public:
  // Errors: DeviceMemory::Allocate()'s.
  static absl::StatusOr<GpuCheck> Create(const SharedSession& session);

  // Runs the kernel `name`, with `arguments` after the report, and waits for it.
  //
  // Errors: GpuSession::Launch()'s.
  template <typename... Arguments>
  absl::StatusOr<GpuCheckReport> Run(const char* name, const LaunchShape& shape,
                                     Arguments... arguments) {
    const absl::Status cleared = Clear();
    if (!cleared.ok()) return cleared;
    const absl::Status launched = session_->Launch(name, shape, memory_.address(), arguments...);
    if (!launched.ok()) return launched;
    return Read();
  }

 private:
  GpuCheck(SharedSession session, DeviceMemory memory)
      : session_(std::move(session)), memory_(std::move(memory)) {}
  absl::Status Clear();
  absl::StatusOr<GpuCheckReport> Read();

  SharedSession session_;
  DeviceMemory memory_;
};

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_CUDA_GPU_CHECK_H_
