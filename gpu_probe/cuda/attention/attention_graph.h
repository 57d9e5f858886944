// Attention as cuDNN knows it: a graph of products of matrices and operations on their elements,
// whose very form the library recognises and runs as one kernel.
//
// The form is the one that NVIDIA's cudnn-frontend builds for cuDNN before 9.21
// (github.com/NVIDIA/cudnn-frontend, node/scaled_dot_product_flash_attention.h): scores = scale
// queries keys^T, masked; a softmax from its parts; outputs = softmax values. In newer versions
// single operations stand for softmax and mask as well; this form remains.
#ifndef SEXTANT_GPU_PROBE_CUDA_ATTENTION_ATTENTION_GRAPH_H_
#define SEXTANT_GPU_PROBE_CUDA_ATTENTION_ATTENTION_GRAPH_H_

#include <array>
#include <cstdint>

#include "absl/status/statusor.h"
#include "gpu_probe/cuda/attention/cudnn_graph.h"
#include "gpu_probe/cuda/attention/gpu_attention_shape.h"

namespace sextant {

// What graphs know a tensor in memory by.
constexpr int64_t IdOf(AttentionTensor which) { return static_cast<int64_t>(which) + 1; }

// Numbers on the host, by what graphs know them by.
enum class AttentionNumber : int64_t {
  kScale = 100,
  kMasked,  // the score of what the mask hides
  kKept,    // what dropout leaves: 1
};

// Outputs and statistics.
//
// Errors: CudnnStatus()'s.
absl::StatusOr<FinishedCudnnGraph> ForwardAttentionGraph(const SharedCudnn& cudnn,
                                                         const GpuAttentionShape& shape,
                                                         const CudnnGraphOptions& options);

// Gradients of queries, keys and values from inputs, outputs, statistics and the outputs'
// gradients.
//
// Errors: CudnnStatus()'s.
absl::StatusOr<FinishedCudnnGraph> BackwardAttentionGraph(const SharedCudnn& cudnn,
                                                          const GpuAttentionShape& shape,
                                                          const CudnnGraphOptions& options);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_CUDA_ATTENTION_ATTENTION_GRAPH_H_
