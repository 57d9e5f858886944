// A graph of cuDNN's operations on tensors of four dimensions, built one operation at a time.
#ifndef SEXTANT_GPU_PROBE_CUDA_ATTENTION_CUDNN_GRAPH_H_
#define SEXTANT_GPU_PROBE_CUDA_ATTENTION_CUDNN_GRAPH_H_

#include <array>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpu_probe/cuda/attention/cudnn_descriptor.h"

namespace sextant {

using CudnnSizes = std::array<int64_t, 4>;

// Where a tensor's elements are, and how long it is each way; `type` of cudnn_numbers.h.
struct CudnnTensor {
  CudnnSizes sizes = {1, 1, 1, 1};
  CudnnSizes strides = {1, 1, 1, 1};  // in elements
  int type = 0;
};

struct CudnnGraphOptions {
  // Whether one kernel is to serve all sizes.
  bool dynamic_shapes = false;
  // Of the GPU that runs it. Null: it is run nowhere.
  void* handle = nullptr;
};

// A finished graph, with what it is made of.
struct FinishedCudnnGraph {
  std::deque<CudnnDescriptor> parts;
  CudnnDescriptor graph;
};

// The first operation that fails makes all that follow do nothing; Finish() tells it.
class CudnnGraph {
 public:
  using Tensor = void*;

  explicit CudnnGraph(SharedCudnn cudnn) : cudnn_(std::move(cudnn)) {}

  // One in memory, whose address is given by `id` when the graph runs.
  Tensor InMemory(int64_t id, const CudnnTensor& tensor) { return Add(id, tensor, kInMemory); }
  // One fp32 number on the host, given likewise.
  Tensor Number(int64_t id) { return Add(id, {}, kOnHost); }

  // Each adds an operation and gives its result: a tensor that never is in memory, like `out`.
  Tensor Matmul(Tensor a, Tensor b, const CudnnTensor& out);
  Tensor Pointwise(int mode, Tensor x, Tensor b, const CudnnTensor& out);
  // x where `which` holds, b elsewhere.
  Tensor Select(Tensor x, Tensor b, Tensor which, const CudnnTensor& out);
  // The place of each element of x along `axis`.
  Tensor Index(Tensor x, int64_t axis, const CudnnTensor& out);
  Tensor Reduce(int operation, Tensor x, const CudnnTensor& out);
  // The same elements seen with other sizes and strides.
  Tensor Reshape(Tensor x, const CudnnTensor& out);

  // As those, into a tensor in memory.
  void MatmulInto(Tensor a, Tensor b, Tensor out);
  void PointwiseInto(int mode, Tensor x, Tensor b, Tensor out);
  void ReduceInto(int operation, Tensor x, Tensor out);

  // The whole, once.
  //
  // Errors: CudnnStatus()'s.
  absl::StatusOr<FinishedCudnnGraph> Finish(const CudnnGraphOptions& options);

 private:
  enum Place { kNowhere, kInMemory, kOnHost };

  Tensor Add(int64_t id, const CudnnTensor& tensor, Place place);
  Tensor AddVirtual(const CudnnTensor& tensor) { return Add(next_id_++, tensor, kNowhere); }
  // Finishes `descriptor` and keeps it.
  void* Keep(CudnnDescriptor descriptor);
  void AddPointwise(CudnnDescriptor what, Tensor x, Tensor b, Tensor which, Tensor out);
  CudnnDescriptor PointwiseOf(int mode, int precision) const;

  const SharedCudnn cudnn_;
  std::deque<CudnnDescriptor> parts_;
  std::vector<void*> operations_;
  int64_t next_id_ = 1000;
  absl::Status status_;
};

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_CUDA_ATTENTION_CUDNN_GRAPH_H_
