// Checks of results on the GPU itself, by kernels that count wrong elements.
#ifndef SEXTANT_GPU_PROBE_CUDA_GPU_CHECK_H_
#define SEXTANT_GPU_PROBE_CUDA_GPU_CHECK_H_

#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gpu_probe/cuda/gpu_session.h"
#include "gpu_probe/cuda/kernels.h"

namespace sextant::probe {

// The buffer for the report of a kernel named check_..., which is the kernel's first parameter.
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

// OK where none of `count` elements is wrong.
//
// Errors: the report's own; kDataLoss: "3 of 4096 elements are wrong, the first of them element 7",
// where `noun` is "element".
absl::Status AllRight(const absl::StatusOr<GpuCheckReport>& report, int64_t count,
                      absl::string_view noun);

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_CUDA_GPU_CHECK_H_
