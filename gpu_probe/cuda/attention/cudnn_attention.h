// Attention in cuDNN's terms: a graph of products of matrices and elementwise operations, in the
// exact form that the library recognises and runs as one kernel.
//
// The form is the one that NVIDIA's cudnn-frontend builds for cuDNN before 9.21
// (github.com/NVIDIA/cudnn-frontend, node/scaled_dot_product_flash_attention.h): scores = scale
// queries keys^T, masked; a softmax built from its parts; outputs = softmax values. Newer versions
// also have single operations for softmax and mask; this form still works.
#ifndef SEXTANT_GPU_PROBE_CUDA_ATTENTION_CUDNN_ATTENTION_H_
#define SEXTANT_GPU_PROBE_CUDA_ATTENTION_CUDNN_ATTENTION_H_

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpu_probe/cuda/attention/cudnn_graph.h"
#include "gpu_probe/cuda/attention/gpu_attention_shape.h"
#include "gpu_probe/cuda/gpu_session.h"

namespace sextant::probe {

// The id of a tensor in memory in its graph.
constexpr int64_t IdOf(AttentionTensor which) { return static_cast<int64_t>(which) + 1; }

// Numbers passed from the host, with their ids in graphs.
enum class AttentionNumber : int64_t {
  kScale = 100,
  kMasked,  // the score of masked pairs
  kKept,    // the factor of dropout: 1
};

// The graph of outputs and statistics.
//
// Errors: CudnnStatus()'s.
absl::StatusOr<FinishedCudnnGraph> ForwardAttentionGraph(const SharedCudnn& cudnn,
                                                         const GpuAttentionShape& shape,
                                                         const CudnnGraphOptions& options);

// The graph of the gradients of queries, keys and values from inputs, outputs, statistics and the
// outputs' gradients.
//
// Errors: CudnnStatus()'s.
absl::StatusOr<FinishedCudnnGraph> BackwardAttentionGraph(const SharedCudnn& cudnn,
                                                          const GpuAttentionShape& shape,
                                                          const CudnnGraphOptions& options);

// The operands of a plan's run: pointers, in the order of their ids.
struct CudnnOperands {
  std::vector<int64_t> ids;
  std::vector<void*> pointers;  // to memory of the GPU, or numbers of the host
};

// cuDNN on one GPU: its handle, on the stream of the GPU's session.
class CudnnSession {
 public:
  // Errors: kUnimplemented where the library does not start on this GPU.
  static absl::StatusOr<std::shared_ptr<CudnnSession>> Open(SharedCudnn cudnn,
                                                            const SharedSession& session);
  ~CudnnSession();
  CudnnSession(const CudnnSession&) = delete;
  CudnnSession& operator=(const CudnnSession&) = delete;

  // Forward passes that differ only in sizes share one kernel, which the first of them compiles,
  // where the library supports that (from 9.18 on, as far as is known).
  //
  // Errors: kUnimplemented with the library's message, whatever the reason.
  absl::StatusOr<CudnnPlan> ForwardPlan(const GpuAttentionShape& shape);
  absl::StatusOr<CudnnPlan> BackwardPlan(const GpuAttentionShape& shape);

  // Packs the operands for Execute().
  //
  // Errors: CudnnStatus()'s.
  absl::StatusOr<CudnnDescriptor> Pack(const CudnnOperands& operands, void* workspace) const;

  // Queues one run.
  //
  // Errors: CudnnStatus()'s.
  absl::Status Execute(const CudnnPlan& plan, const CudnnDescriptor& pack);

 private:
  CudnnSession(SharedCudnn cudnn, SharedSession session)
      : session_(std::move(session)), cudnn_(std::move(cudnn)) {}
  absl::Status Start();
  absl::StatusOr<CudnnPlan> SharedForwardPlan(const GpuAttentionShape& shape);

  const SharedSession session_;  // first, so that it outlives what the library holds
  const SharedCudnn cudnn_;
  void* handle_ = nullptr;
  std::map<std::string, CudnnKernelCache> caches_;  // by the properties compiled into a kernel
};

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_CUDA_ATTENTION_CUDNN_ATTENTION_H_
