// NVIDIA's libraries of kernels. They are loaded in the worker process only (cuBLASLt takes 154 MB
// of memory when it loads).
#ifndef SEXTANT_GPU_PROBE_CUDA_CUDA_LIBRARIES_H_
#define SEXTANT_GPU_PROBE_CUDA_CUDA_LIBRARIES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gpu_probe/shared_library.h"

namespace sextant::probe {

// Where to look for them.
struct CudaLibrarySearch {
  std::string folder = {};  // "": the system's own places
  // The CUDA version that the driver supports, e.g. 12040: libraries of CUDA 13 do not run on a
  // driver of CUDA 12.
  int supported_cuda = 0;
};

// Numbers of cuBLASLt's interface, from cublasLt.h, cublas_api.h and library_types.h of cuBLAS
// 13.1. Those that exist in cuBLAS 12 are the same there.
namespace cublaslt {

// cublasStatus_t.
inline constexpr int kAllocationFailed = 3;
inline constexpr int kInvalidValue = 7;
inline constexpr int kArchitectureMismatch = 8;
inline constexpr int kNotSupported = 15;

// cudaDataType_t.
inline constexpr int kFp32 = 0;
inline constexpr int kFp64 = 1;
inline constexpr int kFp16 = 2;
inline constexpr int kInt8 = 3;
inline constexpr int kInt32 = 10;
inline constexpr int kBf16 = 14;
inline constexpr int kFp8E4m3 = 28;
inline constexpr int kFp4E2m1 = 33;

// cublasComputeType_t.
inline constexpr int kComputeFp32 = 68;
inline constexpr int kComputeFp64 = 70;
inline constexpr int kComputeInt32 = 72;
inline constexpr int kComputeFp32AsTf32 = 77;

// cublasLtMatmulMatrixScale_t, since cuBLAS 12.8.
inline constexpr int kE4m3ScaleOf16 = 1;
inline constexpr int kE8m0ScaleOf32 = 2;

// cublasLtMatmulDescAttributes_t.
inline constexpr int kTransposeA = 3;
inline constexpr int kTransposeB = 4;
inline constexpr int kScaleOfA = 17;
inline constexpr int kScaleOfB = 18;
inline constexpr int kFastAccumulation = 25;
inline constexpr int kScaleModeOfA = 31;
inline constexpr int kScaleModeOfB = 32;

// cublasOperation_t.
inline constexpr int kNotTransposed = 0;
inline constexpr int kTransposed = 1;

// cublasLtMatrixLayoutAttribute_t.
inline constexpr int kBatchCount = 5;
inline constexpr int kBatchStride = 6;

// cublasLtMatmulPreferenceAttributes_t.
inline constexpr int kMaxWorkspaceBytes = 1;

// cublasLtMatmulAlgoConfigAttributes_t.
inline constexpr int kTile = 1;
inline constexpr int kSplitCount = 2;
inline constexpr int kStages = 6;
inline constexpr int kCluster = 8;

}  // namespace cublaslt

// cublasLtMatmulHeuristicResult_t: an algorithm, as bytes that only the library reads, and its
// properties.
struct CublasLtChoice {
  std::array<uint64_t, 8> algorithm = {};
  std::size_t workspace_bytes = 0;
  int status = 0;        // 0: the other fields are valid
  float wave_count = 0;  // how often its blocks fill all multiprocessors
  std::array<int, 4> reserved = {};
};
static_assert(sizeof(CublasLtChoice) == 96);

// OK for 0. kUnimplemented for what the library does not support (7, 8, 15), kResourceExhausted
// where it got no memory (3), else kInternal. The message names `call` and the code.
absl::Status CublasStatus(int code, absl::string_view call);

// Pointers to the library's own objects and to memory are void*; statuses, types and attributes are
// int. 0 is success.
struct CublasLt {
  template <typename... Arguments>
  using Function = LibraryFunction<CublasStatus, Arguments...>;

  LibrarySymbols symbols;

  std::function<std::size_t()> get_version = symbols("cublasLtGetVersion");
  Function<void**> create = symbols("cublasLtCreate");
  Function<void*> destroy = symbols("cublasLtDestroy");
  // Compute type, scale type.
  Function<void**, int, int> matmul_create = symbols("cublasLtMatmulDescCreate");
  Function<void*, int, const void*, std::size_t> matmul_set =
      symbols("cublasLtMatmulDescSetAttribute");
  Function<void*> matmul_destroy = symbols("cublasLtMatmulDescDestroy");
  // Type, rows, columns, leading dimension.
  Function<void**, int, uint64_t, uint64_t, int64_t> layout_create =
      symbols("cublasLtMatrixLayoutCreate");
  Function<void*, int, const void*, std::size_t> layout_set =
      symbols("cublasLtMatrixLayoutSetAttribute");
  Function<void*> layout_destroy = symbols("cublasLtMatrixLayoutDestroy");
  Function<void**> preference_create = symbols("cublasLtMatmulPreferenceCreate");
  Function<void*, int, const void*, std::size_t> preference_set =
      symbols("cublasLtMatmulPreferenceSetAttribute");
  Function<void*> preference_destroy = symbols("cublasLtMatmulPreferenceDestroy");
  // Handle, matmul, layouts of A, B, C, D, preference, wanted, choices, found.
  Function<void*, void*, void*, void*, void*, void*, void*, int, CublasLtChoice*, int*> choose =
      symbols("cublasLtMatmulAlgoGetHeuristic");
  // Algorithm, attribute, value, its bytes, bytes written.
  Function<const uint64_t*, int, void*, std::size_t, std::size_t*> describe =
      symbols("cublasLtMatmulAlgoConfigGetAttribute");
  // Handle, matmul, alpha, A, its layout, B, its layout, beta, C, its layout, D, its layout,
  // algorithm, workspace, its bytes, stream.
  Function<void*, void*, const void*, const void*, void*, const void*, void*, const void*,
           const void*, void*, void*, void*, const uint64_t*, void*, std::size_t, void*>
      multiply = symbols("cublasLtMatmul");

  std::string version = {};  // "13.1.0"
};

// Loads the first of libcublasLt.so.13 and .12 that the driver can run.
//
// Errors: Absent() "no_cublaslt".
absl::StatusOr<CublasLt> LoadCublasLt(const CudaLibrarySearch& search);

// The functions for cudnnBackend... descriptors, from which fused attention is built.
struct Cudnn {
  using Status = int;

  LibrarySymbols symbols;

  std::function<std::size_t()> get_version = symbols("cudnnGetVersion");
  std::function<Status(void**)> create = symbols("cudnnCreate");
  std::function<Status(void*)> destroy = symbols("cudnnDestroy");
  std::function<Status(void*, void*)> set_stream = symbols("cudnnSetStream");
  std::function<void(char*, std::size_t)> last_error = symbols("cudnnGetLastErrorString");
  std::function<Status(int, void**)> descriptor_create = symbols("cudnnBackendCreateDescriptor");
  // Attribute, type, element count, elements.
  std::function<Status(void*, int, int, int64_t, const void*)> descriptor_set =
      symbols("cudnnBackendSetAttribute");
  // Attribute, type, room for elements, element count, elements.
  std::function<Status(void*, int, int, int64_t, int64_t*, void*)> descriptor_get =
      symbols("cudnnBackendGetAttribute");
  std::function<Status(void*)> descriptor_finalize = symbols("cudnnBackendFinalize");
  std::function<Status(void*)> descriptor_destroy = symbols("cudnnBackendDestroyDescriptor");
  // Handle, plan, its operands.
  std::function<Status(void*, void*, void*)> execute = symbols("cudnnBackendExecute");

  std::string version = {};        // "9.13.0"
  std::size_t version_number = 0;  // 91300
};

// Loads libcudnn.so.9.
//
// Errors: kNotFound saying what is missing.
absl::StatusOr<Cudnn> LoadCudnn(const CudaLibrarySearch& search);

// OK for 0; otherwise kInternal with the metadata "reason" "nccl".
absl::Status NcclStatus(int code, absl::string_view call);

struct Nccl {
  template <typename... Arguments>
  using Function = LibraryFunction<NcclStatus, Arguments...>;

  LibrarySymbols symbols;

  Function<int*> get_version = symbols("ncclGetVersion");
  Function<void**, int, const int*> comm_init_all = symbols("ncclCommInitAll");
  Function<void*> comm_abort = symbols("ncclCommAbort");
  Function<> group_start = symbols("ncclGroupStart");
  Function<> group_end = symbols("ncclGroupEnd");
  // From, to, count, type, operation, communicator, stream.
  Function<const void*, void*, std::size_t, int, int, void*, void*> all_reduce =
      symbols("ncclAllReduce");
  // The same with the count that each rank receives.
  Function<const void*, void*, std::size_t, int, int, void*, void*> reduce_scatter =
      symbols("ncclReduceScatter");
  // From, to, the count that each rank sends, type, communicator, stream.
  Function<const void*, void*, std::size_t, int, void*, void*> all_gather =
      symbols("ncclAllGather");
  // From, count, type, peer, communicator, stream.
  Function<const void*, std::size_t, int, int, void*, void*> send = symbols("ncclSend");
  Function<void*, std::size_t, int, int, void*, void*> receive = symbols("ncclRecv");

  std::string version = {};  // "2.28.3"
};

// Loads libnccl.so.2.
//
// Errors: kNotFound saying what is missing.
absl::StatusOr<Nccl> LoadNccl(const CudaLibrarySearch& search);

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_CUDA_CUDA_LIBRARIES_H_
