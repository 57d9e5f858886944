// cuDNN on one GPU: its handle, on the stream of the GPU's session.
#ifndef SEXTANT_GPU_PROBE_CUDA_ATTENTION_CUDNN_SESSION_H_
#define SEXTANT_GPU_PROBE_CUDA_ATTENTION_CUDNN_SESSION_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpu_probe/cuda/attention/cudnn_plan.h"
#include "gpu_probe/cuda/attention/gpu_attention_shape.h"
#include "gpu_probe/cuda/gpu_session.h"

namespace sextant {

// What a plan reads and writes when it runs: pointers, in the order of their ids.
struct CudnnOperands {
  std::vector<int64_t> ids;
  std::vector<void*> pointers;  // to memory of the GPU, or numbers of the host
};

class CudnnSession {
 public:
  // Errors: kUnimplemented where the library does not start on this GPU.
  static absl::StatusOr<std::shared_ptr<CudnnSession>> Open(SharedCudnn cudnn,
                                                            const SharedSession& session);
  ~CudnnSession();
  CudnnSession(const CudnnSession&) = delete;
  CudnnSession& operator=(const CudnnSession&) = delete;

  // Forward passes that differ in sizes alone share one kernel, which the first of them compiles,
  // where the library can do so (from 9.18 on, as far as is known).
  //
  // Errors: kUnimplemented with the library's words, whatever the reason.
  absl::StatusOr<CudnnPlan> ForwardPlan(const GpuAttentionShape& shape);
  absl::StatusOr<CudnnPlan> BackwardPlan(const GpuAttentionShape& shape);

  // What Execute() takes.
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
  std::map<std::string, CudnnKernelCache> caches_;  // by what is compiled into a kernel
};

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_CUDA_ATTENTION_CUDNN_SESSION_H_
