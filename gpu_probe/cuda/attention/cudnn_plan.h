// The kernels that cuDNN chooses for a graph, ready to run.
#ifndef SEXTANT_GPU_PROBE_CUDA_ATTENTION_CUDNN_PLAN_H_
#define SEXTANT_GPU_PROBE_CUDA_ATTENTION_CUDNN_PLAN_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gpu_probe/cuda/attention/cudnn_descriptor.h"
#include "gpu_probe/cuda/attention/cudnn_graph.h"

namespace sextant {

// A GPU described by the library's own JSON, which need not be there: nothing of it is run.
//
// Errors: CudnnStatus()'s.
absl::StatusOr<CudnnDescriptor> CudnnDeviceFrom(const SharedCudnn& cudnn, absl::string_view json);

// What a plan is for: the GPU of a handle, or one that is described.
struct CudnnTarget {
  void* handle = nullptr;
  const CudnnDescriptor* description = nullptr;
};

struct CudnnPlan {
  FinishedCudnnGraph graph;
  CudnnDescriptor config;
  CudnnDescriptor plan;
  int64_t workspace_bytes = 0;
};

// Kernels that were compiled for graphs of dynamic shapes, which differ in sizes alone. Compiling
// one takes half a second to two.
class CudnnKernelCache {
 public:
  // The one for graphs like `graph`; made by the first call.
  //
  // Errors: CudnnStatus()'s.
  absl::StatusOr<void*> For(const FinishedCudnnGraph& graph);

 private:
  CudnnDescriptor cache_;
};

// The first plan that `target` supports of those that the library thinks best. `cache` is null, or
// where its kernel is looked for and kept.
//
// Errors: kUnimplemented where it supports none; CudnnStatus()'s.
absl::StatusOr<CudnnPlan> PlanOf(FinishedCudnnGraph graph, const CudnnTarget& target,
                                 CudnnKernelCache* cache);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_CUDA_ATTENTION_CUDNN_PLAN_H_
