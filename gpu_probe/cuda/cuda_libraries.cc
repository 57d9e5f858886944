#include "gpu_probe/cuda/cuda_libraries.h"

#include <dlfcn.h>

#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/base/status_macros.h"
#include "gpu_probe/cuda/cuda_fault.h"
#include "gpu_probe/cuda/cuda_system.h"

namespace sextant::probe {
namespace {

// Major, minor and patch in the numbering of cuBLAS, cuDNN 9 and NCCL: 130100 is 13.1.0.
std::string VersionOf(std::size_t number) {
  return absl::StrCat(number / 10000, ".", number / 100 % 100, ".", number % 100);
}

// kNotFound where a function was missing.
absl::Status StatusOf(const FunctionFinder& finder) {
  if (finder.missing().empty()) return absl::OkStatus();
  return absl::NotFoundError(absl::StrCat(finder.library().name(), " has no ", finder.missing(),
                                          ": it is not the library that it is named after, or "
                                          "of a version that the probe does not know"));
}

constexpr int kCuda13 = 13000;

std::vector<std::string> CublasLtNames(int supported_cuda) {
  if (supported_cuda < kCuda13) return {"libcublasLt.so.12"};
  return {"libcublasLt.so.13", "libcublasLt.so.12"};
}

absl::StatusOr<CublasLt> ReadCublasLt(const SharedLibrary& library) {
  CublasLt out;
  std::function<std::size_t()> version;
  FunctionFinder finder(library);
  finder.Find("cublasLtGetVersion", &version);
  finder.Find("cublasLtCreate", &out.create);
  finder.Find("cublasLtDestroy", &out.destroy);
  finder.Find("cublasLtMatmulDescCreate", &out.matmul_create);
  finder.Find("cublasLtMatmulDescSetAttribute", &out.matmul_set);
  finder.Find("cublasLtMatmulDescDestroy", &out.matmul_destroy);
  finder.Find("cublasLtMatrixLayoutCreate", &out.layout_create);
  finder.Find("cublasLtMatrixLayoutSetAttribute", &out.layout_set);
  finder.Find("cublasLtMatrixLayoutDestroy", &out.layout_destroy);
  finder.Find("cublasLtMatmulPreferenceCreate", &out.preference_create);
  finder.Find("cublasLtMatmulPreferenceSetAttribute", &out.preference_set);
  finder.Find("cublasLtMatmulPreferenceDestroy", &out.preference_destroy);
  finder.Find("cublasLtMatmulAlgoGetHeuristic", &out.choose);
  finder.Find("cublasLtMatmulAlgoConfigGetAttribute", &out.describe);
  finder.Find("cublasLtMatmul", &out.multiply);
  SEXTANT_RETURN_IF_ERROR(StatusOf(finder));
  out.version = VersionOf(version());
  return out;
}

}  // namespace

absl::StatusOr<SharedLibrary> SharedLibrary::Open(const std::string& folder,
                                                  const std::vector<std::string>& names) {
  std::vector<std::string> faults;
  for (const std::string& name : names) {
    const std::string path = folder.empty() ? name : absl::StrCat(folder, "/", name);
    // Lazy binding: a library of another version may lack symbols that only its other functions
    // need.
    void* const handle = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (handle != nullptr) return SharedLibrary(handle, path);
    const char* const fault = dlerror();
    faults.emplace_back(fault == nullptr ? path : fault);
  }
  return absl::NotFoundError(absl::StrJoin(faults, "; "));
}

SharedLibrary::SharedLibrary(void* handle, std::string name)
    : handle_(handle), name_(std::move(name)) {}

void* SharedLibrary::Symbol(const char* name) const { return dlsym(handle_, name); }

absl::StatusOr<CublasLt> LoadCublasLt(const CudaLibrarySearch& search) {
  const std::string driver =
      absl::StrCat("the driver supports CUDA ", CudaVersionText(search.supported_cuda));
  const auto library = SharedLibrary::Open(search.folder, CublasLtNames(search.supported_cuda));
  const auto read =
      library.ok() ? ReadCublasLt(*library) : absl::StatusOr<CublasLt>(library.status());
  if (read.ok()) return read;
  return Absent(kNoCublasLt, absl::StrCat("cuBLASLt could not be loaded (", read.status().message(),
                                          "); ", driver, ": install cuBLAS of CUDA 12",
                                          search.supported_cuda < kCuda13 ? "" : " or 13"));
}

absl::StatusOr<Cudnn> LoadCudnn(const CudaLibrarySearch& search) {
  SEXTANT_ASSIGN_OR_RETURN(const SharedLibrary library,
                           SharedLibrary::Open(search.folder, {"libcudnn.so.9"}));
  Cudnn out;
  std::function<std::size_t()> version;
  FunctionFinder finder(library);
  finder.Find("cudnnGetVersion", &version);
  finder.Find("cudnnCreate", &out.create);
  finder.Find("cudnnDestroy", &out.destroy);
  finder.Find("cudnnSetStream", &out.set_stream);
  finder.Find("cudnnGetLastErrorString", &out.last_error);
  finder.Find("cudnnBackendCreateDescriptor", &out.descriptor_create);
  finder.Find("cudnnBackendSetAttribute", &out.descriptor_set);
  finder.Find("cudnnBackendGetAttribute", &out.descriptor_get);
  finder.Find("cudnnBackendFinalize", &out.descriptor_finalize);
  finder.Find("cudnnBackendDestroyDescriptor", &out.descriptor_destroy);
  finder.Find("cudnnBackendExecute", &out.execute);
  SEXTANT_RETURN_IF_ERROR(StatusOf(finder));
  out.version_number = version();
  out.version = VersionOf(out.version_number);
  return out;
}

absl::StatusOr<Nccl> LoadNccl(const CudaLibrarySearch& search) {
  SEXTANT_ASSIGN_OR_RETURN(const SharedLibrary library,
                           SharedLibrary::Open(search.folder, {"libnccl.so.2"}));
  Nccl out;
  std::function<Nccl::Status(int*)> version;
  FunctionFinder finder(library);
  finder.Find("ncclGetVersion", &version);
  finder.Find("ncclCommInitAll", &out.comm_init_all);
  finder.Find("ncclCommAbort", &out.comm_abort);
  finder.Find("ncclGroupStart", &out.group_start);
  finder.Find("ncclGroupEnd", &out.group_end);
  finder.Find("ncclAllReduce", &out.all_reduce);
  finder.Find("ncclReduceScatter", &out.reduce_scatter);
  finder.Find("ncclAllGather", &out.all_gather);
  finder.Find("ncclSend", &out.send);
  finder.Find("ncclRecv", &out.receive);
  SEXTANT_RETURN_IF_ERROR(StatusOf(finder));
  int number = 0;
  if (version(&number) != 0 || number < 0) {
    return absl::NotFoundError(absl::StrCat(library.name(), " does not tell its version"));
  }
  out.version = VersionOf(static_cast<std::size_t>(number));
  return out;
}

}  // namespace sextant::probe
