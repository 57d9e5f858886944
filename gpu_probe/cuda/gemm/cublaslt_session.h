// cuBLASLt on one GPU.
#ifndef SEXTANT_GPU_PROBE_CUDA_GEMM_CUBLASLT_SESSION_H_
#define SEXTANT_GPU_PROBE_CUDA_GEMM_CUBLASLT_SESSION_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gpu_probe/cuda/cuda_libraries.h"
#include "gpu_probe/cuda/gpu_session.h"

namespace sextant {

class CublasLtSession {
 public:
  // Makes the library's handle, for the session's GPU.
  //
  // Errors: CublasStatus()'s.
  static absl::StatusOr<std::shared_ptr<CublasLtSession>> Open(CublasLt library,
                                                               SharedSession session);
  ~CublasLtSession();
  CublasLtSession(const CublasLtSession&) = delete;
  CublasLtSession& operator=(const CublasLtSession&) = delete;

  const CublasLt& library() const { return library_; }
  void* handle() const { return handle_; }
  GpuSession& session() const { return *session_; }
  const SharedSession& shared_session() const { return session_; }
  // "cublaslt 13.1.0".
  std::string engine() const { return "cublaslt " + library_.version; }

 private:
  CublasLtSession(CublasLt library, SharedSession session)
      : session_(std::move(session)), library_(std::move(library)) {}

  const SharedSession session_;  // first, so that it outlives the handle
  const CublasLt library_;
  void* handle_ = nullptr;
};

using SharedCublasLt = std::shared_ptr<CublasLtSession>;

// Bytes that its algorithms may take beside the operands: as many as frameworks give them. 32 MiB
// since Hopper and 8.125 MiB before are PyTorch's (parseChosenWorkspaceSize() of
// aten/src/ATen/cuda/CublasHandlePool.cpp); TransformerEngine gives 32 and 4 MiB.
int64_t WorkspaceBytesFor(const GpuSession& session);

// OK for 0. kUnimplemented for what the library does not have (7, 8, 15), kResourceExhausted where
// it got no memory (3), else kInternal. The message names `call` and the code.
absl::Status CublasStatus(int code, absl::string_view call);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_CUDA_GEMM_CUBLASLT_SESSION_H_
