// NVIDIA's libraries of kernels. They are loaded in the worker process only (cuBLASLt takes 154 MB
// of memory when it loads).
#ifndef SEXTANT_GPU_PROBE_CUDA_CUDA_LIBRARIES_H_
#define SEXTANT_GPU_PROBE_CUDA_CUDA_LIBRARIES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "gpu_probe/shared_library.h"

namespace sextant::probe {

// Where to look for them.
struct CudaLibrarySearch {
  std::string folder = {};  // "": the system's own places
  // The CUDA version that the driver supports, e.g. 12040: libraries of CUDA 13 do not run on a
  // driver of CUDA 12.
  int supported_cuda = 0;
};

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

// Pointers to the library's own objects and to memory are void*; statuses, types and attributes are
// int. 0 is success.
struct CublasLt {
  using Status = int;

  LibrarySymbols symbols;

  std::function<std::size_t()> get_version = symbols("cublasLtGetVersion");
  std::function<Status(void**)> create = symbols("cublasLtCreate");
  std::function<Status(void*)> destroy = symbols("cublasLtDestroy");
  // Compute type, scale type.
  std::function<Status(void**, int, int)> matmul_create = symbols("cublasLtMatmulDescCreate");
  std::function<Status(void*, int, const void*, std::size_t)> matmul_set =
      symbols("cublasLtMatmulDescSetAttribute");
  std::function<Status(void*)> matmul_destroy = symbols("cublasLtMatmulDescDestroy");
  // Type, rows, columns, leading dimension.
  std::function<Status(void**, int, uint64_t, uint64_t, int64_t)> layout_create =
      symbols("cublasLtMatrixLayoutCreate");
  std::function<Status(void*, int, const void*, std::size_t)> layout_set =
      symbols("cublasLtMatrixLayoutSetAttribute");
  std::function<Status(void*)> layout_destroy = symbols("cublasLtMatrixLayoutDestroy");
  std::function<Status(void**)> preference_create = symbols("cublasLtMatmulPreferenceCreate");
  std::function<Status(void*, int, const void*, std::size_t)> preference_set =
      symbols("cublasLtMatmulPreferenceSetAttribute");
  std::function<Status(void*)> preference_destroy = symbols("cublasLtMatmulPreferenceDestroy");
  // Handle, matmul, layouts of A, B, C, D, preference, wanted, choices, found.
  std::function<Status(void*, void*, void*, void*, void*, void*, void*, int, CublasLtChoice*, int*)>
      choose = symbols("cublasLtMatmulAlgoGetHeuristic");
  // Algorithm, attribute, value, its bytes, bytes written.
  std::function<Status(const uint64_t*, int, void*, std::size_t, std::size_t*)> describe =
      symbols("cublasLtMatmulAlgoConfigGetAttribute");
  // Handle, matmul, alpha, A, its layout, B, its layout, beta, C, its layout, D, its layout,
  // algorithm, workspace, its bytes, stream.
  std::function<Status(void*, void*, const void*, const void*, void*, const void*, void*,
                       const void*, const void*, void*, void*, void*, const uint64_t*, void*,
                       std::size_t, void*)>
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

struct Nccl {
  using Status = int;

  LibrarySymbols symbols;

  std::function<Status(int*)> get_version = symbols("ncclGetVersion");
  std::function<Status(void**, int, const int*)> comm_init_all = symbols("ncclCommInitAll");
  std::function<Status(void*)> comm_abort = symbols("ncclCommAbort");
  std::function<Status()> group_start = symbols("ncclGroupStart");
  std::function<Status()> group_end = symbols("ncclGroupEnd");
  // From, to, count, type, operation, communicator, stream.
  std::function<Status(const void*, void*, std::size_t, int, int, void*, void*)> all_reduce =
      symbols("ncclAllReduce");
  // The same with the count that each rank receives.
  std::function<Status(const void*, void*, std::size_t, int, int, void*, void*)> reduce_scatter =
      symbols("ncclReduceScatter");
  // From, to, the count that each rank sends, type, communicator, stream.
  std::function<Status(const void*, void*, std::size_t, int, void*, void*)> all_gather =
      symbols("ncclAllGather");
  // From, count, type, peer, communicator, stream.
  std::function<Status(const void*, std::size_t, int, int, void*, void*)> send =
      symbols("ncclSend");
  std::function<Status(void*, std::size_t, int, int, void*, void*)> receive = symbols("ncclRecv");

  std::string version = {};  // "2.28.3"
};

// Loads libnccl.so.2.
//
// Errors: kNotFound saying what is missing.
absl::StatusOr<Nccl> LoadNccl(const CudaLibrarySearch& search);

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_CUDA_CUDA_LIBRARIES_H_
