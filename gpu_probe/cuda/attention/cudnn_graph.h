// A graph of cuDNN's operations on tensors of four dimensions, built one operation at a time, and
// the kernels that the library chooses for it. Descriptors are the objects of its backend
// interface: created, given attributes, finalized, destroyed.
#ifndef SEXTANT_GPU_PROBE_CUDA_ATTENTION_CUDNN_GRAPH_H_
#define SEXTANT_GPU_PROBE_CUDA_ATTENTION_CUDNN_GRAPH_H_

#include <array>
#include <cstdint>
#include <deque>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "gpu_probe/cuda/cuda_libraries.h"

namespace sextant::probe {

using SharedCudnn = std::shared_ptr<const Cudnn>;

// OK for 0. Otherwise a status that names `call`, the code and the library's message:
//   kUnimplemented  3000 to 3999: not supported, on that GPU or at all
//   kInternal       all others
absl::Status CudnnStatus(const Cudnn& cudnn, int code, absl::string_view call);

// One object of the backend interface.
class CudnnDescriptor {
 public:
  // Creates a descriptor of a `kind` of cudnn_numbers.h. Finalize() reports errors.
  CudnnDescriptor(SharedCudnn cudnn, int kind);
  CudnnDescriptor() = default;
  CudnnDescriptor(CudnnDescriptor&& other) noexcept { *this = std::move(other); }
  CudnnDescriptor& operator=(CudnnDescriptor&& other) noexcept;
  ~CudnnDescriptor();

  // Sets `attribute` to elements of `type`.
  CudnnDescriptor& Set(int attribute, int type, int64_t count, const void* elements);
  // Set() for one of cuDNN's enumerations.
  CudnnDescriptor& SetEnum(int attribute, int type, int value);
  CudnnDescriptor& SetBool(int attribute, bool value);
  CudnnDescriptor& SetInt64s(int attribute, absl::Span<const int64_t> values);
  CudnnDescriptor& SetDescriptor(int attribute, void* value);
  CudnnDescriptor& SetHandle(int attribute, void* value);

  // Errors: CudnnStatus()'s, of the first call that failed.
  absl::Status Finalize();

  // The library's object; null where there is none.
  void* get() const { return object_; }
  const SharedCudnn& cudnn() const { return cudnn_; }

 private:
  void Note(int code, absl::string_view call);

  SharedCudnn cudnn_;
  void* object_ = nullptr;
  absl::Status status_;
};

using CudnnSizes = std::array<int64_t, 4>;

// A tensor's sizes and memory layout; `type` is one of cudnn_numbers.h.
struct CudnnTensor {
  CudnnSizes sizes = {1, 1, 1, 1};
  CudnnSizes strides = {1, 1, 1, 1};  // in elements
  int type = 0;
};

struct CudnnGraphOptions {
  // True where one kernel serves all sizes.
  bool dynamic_shapes = false;
  // The handle of the GPU that runs it. Null: it is never run.
  void* handle = nullptr;
};

// A finished graph, with the descriptors that it consists of.
struct FinishedCudnnGraph {
  std::deque<CudnnDescriptor> parts;
  CudnnDescriptor graph;
};

// After the first operation that fails, all others do nothing; Finish() reports the error.
class CudnnGraph {
 public:
  using Tensor = void*;

  explicit CudnnGraph(SharedCudnn cudnn) : cudnn_(std::move(cudnn)) {}

  // Adds a tensor in memory; its address is passed under `id` when the graph runs.
  Tensor InMemory(int64_t id, const CudnnTensor& tensor) { return Add(id, tensor, kInMemory); }
  // Adds one fp32 number on the host, passed in the same way.
  Tensor Number(int64_t id) { return Add(id, {}, kOnHost); }

  // Where an operation's result goes: into a tensor in memory, or into a virtual one of that
  // layout, which is never in memory.
  struct Result {
    // NOLINTBEGIN(google-explicit-constructor): a caller gives one of the two as it is
    Result(Tensor its_tensor) : tensor(its_tensor) {}
    Result(const CudnnTensor& its_layout) : layout(&its_layout) {}
    // NOLINTEND(google-explicit-constructor)
    Tensor tensor = nullptr;
    const CudnnTensor* layout = nullptr;
  };

  // Each adds an operation and returns its result.
  Tensor Matmul(Tensor a, Tensor b, const Result& out);
  Tensor Pointwise(int mode, Tensor x, Tensor b, const Result& out);
  // x where `which` is true, b elsewhere.
  Tensor Select(Tensor x, Tensor b, Tensor which, const Result& out);
  // The index of each element of x along `axis`.
  Tensor Index(Tensor x, int64_t axis, const Result& out);
  Tensor Reduce(int operation, Tensor x, const Result& out);
  // The same elements under other sizes and strides.
  Tensor Reshape(Tensor x, const Result& out);

  // Finishes the graph. Call it once.
  //
  // Errors: CudnnStatus()'s.
  absl::StatusOr<FinishedCudnnGraph> Finish(const CudnnGraphOptions& options);

 private:
  enum Place { kNowhere, kInMemory, kOnHost };
  // One of cuDNN's enumerations, as an attribute of a descriptor.
  struct Choice {
    int attribute;
    int type;
    int value;
  };

  Tensor Add(int64_t id, const CudnnTensor& tensor, Place place);
  Tensor TensorOf(const Result& out) {
    return out.layout == nullptr ? out.tensor : Add(next_id_++, *out.layout, kNowhere);
  }
  // Finalizes `descriptor` and keeps it.
  void* Keep(CudnnDescriptor descriptor);
  // The description of a computation.
  CudnnDescriptor Described(int kind, std::initializer_list<Choice> choices) const;
  CudnnDescriptor PointwiseOf(int mode, int precision) const;
  // Adds an operation that does `what`, where it has a description, with those tensors as
  // attributes, without the null ones.
  void AddOperation(int kind, std::pair<int, CudnnDescriptor> what,
                    std::initializer_list<std::pair<int, Tensor>> tensors);

  const SharedCudnn cudnn_;
  std::deque<CudnnDescriptor> parts_;
  std::vector<void*> operations_;
  int64_t next_id_ = 1000;
  absl::Status status_;
};

// The target of a plan: the GPU of a handle, or a described one.
struct CudnnTarget {
  void* handle = nullptr;
  const CudnnDescriptor* description = nullptr;
};

// The kernels that cuDNN chooses for a graph, ready to run.
struct CudnnPlan {
  FinishedCudnnGraph graph;
  CudnnDescriptor config;
  CudnnDescriptor plan;
  int64_t workspace_bytes = 0;
};

// Kernels compiled for graphs of dynamic shapes, which differ only in sizes. Compiling one takes
// half a second to two.
class CudnnKernelCache {
 public:
  // Returns the cache for graphs like `graph`, which the first call creates.
  //
  // Errors: CudnnStatus()'s.
  absl::StatusOr<void*> For(const FinishedCudnnGraph& graph);

 private:
  CudnnDescriptor cache_;
};

// Returns the first plan that `target` supports, in the library's order of preference. `cache`
// keeps and finds its kernel; may be null.
//
// Errors: kUnimplemented where the target supports none; CudnnStatus()'s.
absl::StatusOr<CudnnPlan> PlanOf(FinishedCudnnGraph graph, const CudnnTarget& target,
                                 CudnnKernelCache* cache);

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_CUDA_ATTENTION_CUDNN_GRAPH_H_
