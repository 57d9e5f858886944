// Libraries that are loaded by name at run time, since many hosts don't have them, and among them
// NVIDIA's libraries of kernels. The latter are loaded in the worker process only (cuBLASLt takes
// 154 MB of memory when it loads).
#ifndef SEXTANT_GPU_PROBE_CUDA_CUDA_LIBRARIES_H_
#define SEXTANT_GPU_PROBE_CUDA_CUDA_LIBRARIES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace sextant::probe {

class SharedLibrary {
 public:
  // Loads the first of `names` that loads: a path, or a name that the system's loader looks up.
  // With a `folder`, only from there. Never unloaded: such libraries may have threads of their own.
  //
  // Errors: kNotFound with the loader's words for each name.
  static absl::StatusOr<SharedLibrary> Open(const std::string& folder,
                                            const std::vector<std::string>& names);

  // The name under which it was opened.
  const std::string& name() const { return name_; }

  // Points `*out` at the function `name`. Where the library has none, leaves `*out` empty and
  // returns false. The caller is responsible for the types.
  template <typename Result, typename... Arguments>
  bool Find(const char* name, std::function<Result(Arguments...)>* out) const {
    void* const symbol = Symbol(name);
    if (symbol == nullptr) return false;
    *out = reinterpret_cast<Result (*)(Arguments...)>(symbol);
    return true;
  }

 private:
  SharedLibrary(void* handle, std::string name);
  void* Symbol(const char* name) const;

  void* handle_;
  std::string name_;
};

// Finds functions of one library, and remembers the first missing one.
class FunctionFinder {
 public:
  // `library` outlives it.
  explicit FunctionFinder(const SharedLibrary& library) : library_(library) {}

  template <typename Function>
  void Find(const char* name, Function* out) {
    if (!library_.Find(name, out) && missing_.empty()) missing_ = name;
  }

  const SharedLibrary& library() const { return library_; }
  // "" where all were found.
  const std::string& missing() const { return missing_; }

 private:
  const SharedLibrary& library_;
  std::string missing_;
};

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
// int. 0 is success. Each member is the function cublasLt...
struct CublasLt {
  using Status = int;

  std::string version;  // "13.1.0"
  // ...Create, ...Destroy
  std::function<Status(void**)> create;
  std::function<Status(void*)> destroy;
  // ...MatmulDescCreate (compute type, scale type), ...SetAttribute, ...Destroy
  std::function<Status(void**, int, int)> matmul_create;
  std::function<Status(void*, int, const void*, std::size_t)> matmul_set;
  std::function<Status(void*)> matmul_destroy;
  // ...MatrixLayoutCreate (type, rows, columns, leading dimension), ...SetAttribute, ...Destroy
  std::function<Status(void**, int, uint64_t, uint64_t, int64_t)> layout_create;
  std::function<Status(void*, int, const void*, std::size_t)> layout_set;
  std::function<Status(void*)> layout_destroy;
  // ...MatmulPreferenceCreate, ...SetAttribute, ...Destroy
  std::function<Status(void**)> preference_create;
  std::function<Status(void*, int, const void*, std::size_t)> preference_set;
  std::function<Status(void*)> preference_destroy;
  // ...MatmulAlgoGetHeuristic (handle, matmul, layouts of A, B, C, D, preference, wanted, choices,
  // found)
  std::function<Status(void*, void*, void*, void*, void*, void*, void*, int, CublasLtChoice*, int*)>
      choose;
  // ...MatmulAlgoConfigGetAttribute (algorithm, attribute, value, its bytes, bytes written)
  std::function<Status(const uint64_t*, int, void*, std::size_t, std::size_t*)> describe;
  // ...Matmul (handle, matmul, alpha, A, its layout, B, its layout, beta, C, its layout, D, its
  // layout, algorithm, workspace, its bytes, stream)
  std::function<Status(void*, void*, const void*, const void*, void*, const void*, void*,
                       const void*, const void*, void*, void*, void*, const uint64_t*, void*,
                       std::size_t, void*)>
      multiply;
};

// Loads the first of libcublasLt.so.13 and .12 that the driver can run.
//
// Errors: Absent() "no_cublaslt".
absl::StatusOr<CublasLt> LoadCublasLt(const CudaLibrarySearch& search);

// The functions for cudnnBackend... descriptors, from which fused attention is built.
struct Cudnn {
  using Status = int;

  std::string version;                                   // "9.13.0"
  std::size_t version_number = 0;                        // 91300
  std::function<void(char*, std::size_t)> last_error;    // cudnnGetLastErrorString
  std::function<Status(void**)> create;                  // cudnnCreate
  std::function<Status(void*)> destroy;                  // cudnnDestroy
  std::function<Status(void*, void*)> set_stream;        // cudnnSetStream
  std::function<Status(int, void**)> descriptor_create;  // cudnnBackendCreateDescriptor
  // cudnnBackendSetAttribute (attribute, type, element count, elements)
  std::function<Status(void*, int, int, int64_t, const void*)> descriptor_set;
  // cudnnBackendGetAttribute (attribute, type, room for elements, element count, elements)
  std::function<Status(void*, int, int, int64_t, int64_t*, void*)> descriptor_get;
  std::function<Status(void*)> descriptor_finalize;  // cudnnBackendFinalize
  std::function<Status(void*)> descriptor_destroy;   // cudnnBackendDestroyDescriptor
  // cudnnBackendExecute (handle, plan, its operands)
  std::function<Status(void*, void*, void*)> execute;
};

// Loads libcudnn.so.9.
//
// Errors: kNotFound saying what is missing.
absl::StatusOr<Cudnn> LoadCudnn(const CudaLibrarySearch& search);

struct Nccl {
  using Status = int;

  std::string version;                                           // "2.28.3"
  std::function<Status(void**, int, const int*)> comm_init_all;  // ncclCommInitAll
  std::function<Status(void*)> comm_abort;                       // ncclCommAbort
  std::function<Status()> group_start;                           // ncclGroupStart
  std::function<Status()> group_end;                             // ncclGroupEnd
  // ncclAllReduce (from, to, count, type, operation, communicator, stream)
  std::function<Status(const void*, void*, std::size_t, int, int, void*, void*)> all_reduce;
  // ncclReduceScatter, the same with the count that each rank receives
  std::function<Status(const void*, void*, std::size_t, int, int, void*, void*)> reduce_scatter;
  // ncclAllGather (from, to, the count that each rank sends, type, communicator, stream)
  std::function<Status(const void*, void*, std::size_t, int, void*, void*)> all_gather;
  // ncclSend (from, count, type, peer, communicator, stream) and ncclRecv
  std::function<Status(const void*, std::size_t, int, int, void*, void*)> send;
  std::function<Status(void*, std::size_t, int, int, void*, void*)> receive;
};

// Loads libnccl.so.2.
//
// Errors: kNotFound saying what is missing.
absl::StatusOr<Nccl> LoadNccl(const CudaLibrarySearch& search);

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_CUDA_CUDA_LIBRARIES_H_
