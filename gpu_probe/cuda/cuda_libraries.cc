#include "gpu_probe/cuda/cuda_libraries.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/base/reason.h"
#include "engine/base/status_macros.h"
#include "gpu_probe/cuda/cuda_fault.h"
#include "gpu_probe/cuda/cuda_system.h"

namespace sextant::probe {
namespace {

// Major, minor and patch in the numbering of cuBLAS, cuDNN 9 and NCCL: 130100 is 13.1.0.
std::string VersionOf(std::size_t number) {
  return absl::StrCat(number / 10000, ".", number / 100 % 100, ".", number % 100);
}

// Loads a table of functions from the first of `names`.
//
// Errors: kNotFound saying what is missing.
template <typename Table>
absl::StatusOr<Table> Load(const std::string& folder, const std::vector<std::string>& names) {
  SEXTANT_ASSIGN_OR_RETURN(LibrarySymbols symbols, LibrarySymbols::Open(folder, names));
  Table table = {.symbols = std::move(symbols)};
  if (table.symbols.missing().empty()) return table;
  return absl::NotFoundError(absl::StrCat(table.symbols.library(), " has no ",
                                          table.symbols.missing(),
                                          ": it is not the library that it is named after, or "
                                          "of a version that the probe does not know"));
}

constexpr int kCuda13 = 13000;

std::vector<std::string> CublasLtNames(int supported_cuda) {
  if (supported_cuda < kCuda13) return {"libcublasLt.so.12"};
  return {"libcublasLt.so.13", "libcublasLt.so.12"};
}

}  // namespace

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

absl::Status NcclStatus(int code, absl::string_view call) {
  if (code == 0) return absl::OkStatus();
  return WithMetadata(absl::InternalError(absl::StrCat(
                          call, " failed with NCCL's error ", code,
                          "; run the probe with NCCL_DEBUG=WARN to see why, and look for Xid in "
                          "the kernel's log")),
                      "reason", "nccl");
}

absl::StatusOr<CublasLt> LoadCublasLt(const CudaLibrarySearch& search) {
  const std::string driver =
      absl::StrCat("the driver supports CUDA ", CudaVersionText(search.supported_cuda));
  auto loaded = Load<CublasLt>(search.folder, CublasLtNames(search.supported_cuda));
  if (loaded.ok()) {
    loaded->version = VersionOf(loaded->get_version());
    return loaded;
  }
  return Absent(
      kNoCublasLt,
      absl::StrCat("cuBLASLt could not be loaded (", loaded.status().message(), "); ", driver,
                   ": install cuBLAS of CUDA 12", search.supported_cuda < kCuda13 ? "" : " or 13"));
}

absl::StatusOr<Cudnn> LoadCudnn(const CudaLibrarySearch& search) {
  SEXTANT_ASSIGN_OR_RETURN(Cudnn out, Load<Cudnn>(search.folder, {"libcudnn.so.9"}));
  out.version_number = out.get_version();
  out.version = VersionOf(out.version_number);
  return out;
}

absl::StatusOr<Nccl> LoadNccl(const CudaLibrarySearch& search) {
  SEXTANT_ASSIGN_OR_RETURN(Nccl out, Load<Nccl>(search.folder, {"libnccl.so.2"}));
  int number = 0;
  if (out.get_version(&number) != 0 || number < 0) {
    return absl::NotFoundError(absl::StrCat(out.symbols.library(), " does not tell its version"));
  }
  out.version = VersionOf(static_cast<std::size_t>(number));
  return out;
}

}  // namespace sextant::probe
