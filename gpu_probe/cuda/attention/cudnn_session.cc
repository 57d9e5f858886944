#include "gpu_probe/cuda/attention/cudnn_session.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "gpu_probe/cuda/attention/attention_graph.h"
#include "gpu_probe/cuda/attention/cudnn_numbers.h"

namespace sextant {
namespace {

// What leaves out a point, with the library's words: a calibration does not fail for a plan.
absl::Status LeftOut(const absl::Status& status) {
  return absl::UnimplementedError(status.message());
}

// What is compiled into a kernel. Heads that share keys are not: one serves them and all others.
std::string KernelOf(const GpuAttentionShape& shape) {
  return absl::StrCat(shape.head_size, " ", shape.value_head_size, " ", shape.causal);
}

}  // namespace

absl::StatusOr<std::shared_ptr<CudnnSession>> CudnnSession::Open(SharedCudnn cudnn,
                                                                 const SharedSession& session) {
  std::shared_ptr<CudnnSession> opened(new CudnnSession(std::move(cudnn), session));
  if (const absl::Status started = opened->Start(); !started.ok()) return LeftOut(started);
  return opened;
}

absl::Status CudnnSession::Start() {
  SEXTANT_RETURN_IF_ERROR(CudnnStatus(*cudnn_, cudnn_->create(&handle_), "cudnnCreate"));
  return CudnnStatus(*cudnn_, cudnn_->set_stream(handle_, session_->stream()), "cudnnSetStream");
}

CudnnSession::~CudnnSession() {
  caches_.clear();
  if (handle_ != nullptr) (void)cudnn_->destroy(handle_);
}

absl::StatusOr<CudnnPlan> CudnnSession::SharedForwardPlan(const GpuAttentionShape& shape) {
  SEXTANT_ASSIGN_OR_RETURN(
      FinishedCudnnGraph graph,
      ForwardAttentionGraph(cudnn_, shape, {.dynamic_shapes = true, .handle = handle_}));
  return PlanOf(std::move(graph), {.handle = handle_}, &caches_[KernelOf(shape)]);
}

absl::StatusOr<CudnnPlan> CudnnSession::ForwardPlan(const GpuAttentionShape& shape) {
  absl::StatusOr<CudnnPlan> shared = SharedForwardPlan(shape);
  if (shared.ok()) return shared;
  auto graph = ForwardAttentionGraph(cudnn_, shape, {.handle = handle_});
  if (!graph.ok()) return LeftOut(graph.status());
  absl::StatusOr<CudnnPlan> own = PlanOf(*std::move(graph), {.handle = handle_}, nullptr);
  return own.ok() ? std::move(own) : LeftOut(own.status());
}

absl::StatusOr<CudnnPlan> CudnnSession::BackwardPlan(const GpuAttentionShape& shape) {
  auto graph = BackwardAttentionGraph(cudnn_, shape, {.handle = handle_});
  if (!graph.ok()) return LeftOut(graph.status());
  absl::StatusOr<CudnnPlan> plan = PlanOf(*std::move(graph), {.handle = handle_}, nullptr);
  return plan.ok() ? std::move(plan) : LeftOut(plan.status());
}

absl::StatusOr<CudnnDescriptor> CudnnSession::Pack(const CudnnOperands& operands,
                                                   void* workspace) const {
  CudnnDescriptor pack(cudnn_, cudnn::kVariantPack);
  const auto count = static_cast<int64_t>(operands.ids.size());
  pack.SetInt64s(cudnn::kPackIds, operands.ids)
      .Set(cudnn::kPackPointers, cudnn::kOfPointer, count, operands.pointers.data())
      .Set(cudnn::kPackWorkspace, cudnn::kOfPointer, 1, &workspace);
  SEXTANT_RETURN_IF_ERROR(pack.Finalize());
  return pack;
}

absl::Status CudnnSession::Execute(const CudnnPlan& plan, const CudnnDescriptor& pack) {
  const int code = cudnn_->execute(handle_, plan.plan.get(), pack.get());
  return code == 0 ? absl::OkStatus() : CudnnStatus(*cudnn_, code, "cudnnBackendExecute");
}

}  // namespace sextant
