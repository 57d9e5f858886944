#include "gpu_probe/cuda/gemm/cublaslt_session.h"

#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "gpu_probe/cuda/gemm/cublaslt_abi.h"

namespace sextant {
namespace {

constexpr int kHopper = 90;
constexpr int64_t kMebibyte = int64_t{1} << 20;

}  // namespace

absl::StatusOr<std::shared_ptr<CublasLtSession>> CublasLtSession::Open(CublasLt library,
                                                                       SharedSession session) {
  SEXTANT_RETURN_IF_ERROR(session->MakeCurrent());
  std::shared_ptr<CublasLtSession> out(new CublasLtSession(std::move(library), std::move(session)));
  SEXTANT_RETURN_IF_ERROR(CublasStatus(out->library_.create(&out->handle_), "cublasLtCreate"));
  return out;
}

CublasLtSession::~CublasLtSession() {
  if (handle_ != nullptr) (void)library_.destroy(handle_);
}

int64_t WorkspaceBytesFor(const GpuSession& session) {
  return session.compute_capability() >= kHopper ? 32 * kMebibyte : 65 * kMebibyte / 8;
}

absl::Status CublasStatus(int code, absl::string_view call) {
  if (code == 0) return absl::OkStatus();
  const std::string text = absl::StrCat(call, " failed with cuBLAS status ", code);
  switch (code) {
    case cublaslt::kInvalidValue:
    case cublaslt::kArchitectureMismatch:
    case cublaslt::kNotSupported:
      return absl::UnimplementedError(absl::StrCat(text, ": it has no such multiplication"));
    case cublaslt::kAllocationFailed:
      return absl::ResourceExhaustedError(absl::StrCat(text, ": it got no memory"));
    default:
      return absl::InternalError(absl::StrCat(
          text, "; look in the kernel's log for the GPU's faults (Xid), and update cuBLAS"));
  }
}

}  // namespace sextant
