#include "gpu_probe/cuda/attention/cudnn_attention.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "gpu_probe/cuda/attention/cudnn_numbers.h"

namespace sextant::probe {
namespace {

CudnnTensor Packed(const CudnnSizes& sizes, int type) {
  return {.sizes = sizes,
          .strides = {sizes[1] * sizes[2] * sizes[3], sizes[2] * sizes[3], sizes[3], 1},
          .type = type};
}

CudnnTensor Transposed(CudnnTensor tensor) {
  std::swap(tensor.sizes[2], tensor.sizes[3]);
  std::swap(tensor.strides[2], tensor.strides[3]);
  return tensor;
}

// The tensors of one attention that both passes use.
class AttentionGraphBuilder {
 public:
  using Tensor = CudnnGraph::Tensor;

  AttentionGraphBuilder(const SharedCudnn& cudnn, const GpuAttentionShape& shape)
      : shape_(shape), graph_(cudnn), scale_(Number(AttentionNumber::kScale)) {}

  absl::StatusOr<FinishedCudnnGraph> Forward(const CudnnGraphOptions& options) {
    const Tensor queries =
        InMemory(AttentionTensor::kQueries, Rows(shape_.heads, shape_.head_size));
    const Tensor keys =
        InMemory(AttentionTensor::kKeys, Transposed(Rows(shape_.kv_heads, shape_.head_size)));
    const Tensor scores = Masked(Scores(queries, keys));

    const Tensor largest = graph_.Reduce(cudnn::kReduceMax, scores, Sums());
    const Tensor below = graph_.Pointwise(cudnn::kSubtract, scores, largest, Pairs(cudnn::kFloat));
    const Tensor powers =
        graph_.Pointwise(cudnn::kExponential, below, nullptr, Pairs(cudnn::kFloat));
    const Tensor sum = graph_.Reduce(cudnn::kReduceSum, powers, Sums());
    const Tensor logarithm = graph_.Pointwise(cudnn::kLogarithm, sum, nullptr, Sums());
    graph_.Pointwise(cudnn::kAdd, largest, logarithm,
                     InMemory(AttentionTensor::kStatistics, Sums()));
    const Tensor weights = graph_.Pointwise(cudnn::kDivide, powers, sum, Pairs(cudnn::kBf16));

    const Tensor values =
        InMemory(AttentionTensor::kValues, Rows(shape_.kv_heads, shape_.value_head_size));
    graph_.Matmul(weights, values,
                  InMemory(AttentionTensor::kOutputs, Rows(shape_.heads, shape_.value_head_size)));
    return graph_.Finish(options);
  }

  absl::StatusOr<FinishedCudnnGraph> Backward(const CudnnGraphOptions& options) {
    const CudnnTensor query_rows = Rows(shape_.heads, shape_.head_size);
    const CudnnTensor output_rows = Rows(shape_.heads, shape_.value_head_size);
    const CudnnTensor key_rows = Rows(shape_.kv_heads, shape_.head_size);
    const CudnnTensor value_rows = Rows(shape_.kv_heads, shape_.value_head_size);
    const Tensor queries = InMemory(AttentionTensor::kQueries, query_rows);
    const Tensor keys = InMemory(AttentionTensor::kKeys, Transposed(key_rows));
    const Tensor values = InMemory(AttentionTensor::kValues, Transposed(value_rows));
    const Tensor outputs = InMemory(AttentionTensor::kOutputs, output_rows);
    const Tensor statistics = InMemory(AttentionTensor::kStatistics, Sums());
    const Tensor output_gradients = InMemory(AttentionTensor::kOutputGradients, output_rows);

    // The sums of gradients times outputs, which the softmax's gradient subtracts.
    const Tensor products = graph_.Pointwise(
        cudnn::kMultiply, output_gradients, outputs,
        Packed({shape_.batch, shape_.heads, shape_.sequence, shape_.value_head_size},
               cudnn::kFloat));
    const Tensor row_sums = InMemory(AttentionTensor::kRowSums, Sums());
    graph_.Pointwise(cudnn::kMultiply, graph_.Reduce(cudnn::kReduceSum, products, Sums()),
                     Number(AttentionNumber::kKept), row_sums);

    // Recomputes the softmax from scores and statistics; then the gradients of values.
    const Tensor below =
        graph_.Pointwise(cudnn::kSubtract, Scores(queries, keys), statistics, Pairs(cudnn::kFloat));
    const Tensor weights =
        graph_.Pointwise(cudnn::kExponential, Masked(below), nullptr, Pairs(cudnn::kFloat));
    IntoKeySide(weights, output_gradients, shape_.value_head_size,
                AttentionTensor::kValueGradients);

    // The gradients of scores; then those of keys and queries.
    const Tensor weight_gradients = graph_.Matmul(output_gradients, values, Pairs(cudnn::kFloat));
    const Tensor beyond =
        graph_.Pointwise(cudnn::kSubtract, weight_gradients, row_sums, Pairs(cudnn::kFloat));
    const Tensor unscaled =
        graph_.Pointwise(cudnn::kMultiply, beyond, weights, Pairs(cudnn::kFloat));
    const Tensor score_gradients =
        graph_.Pointwise(cudnn::kMultiply, unscaled, scale_, Pairs(cudnn::kFloat));
    IntoKeySide(score_gradients, queries, shape_.head_size, AttentionTensor::kKeyGradients);

    const Tensor query_sums = InMemory(
        AttentionTensor::kQuerySums,
        Packed({shape_.batch, shape_.heads, shape_.sequence, shape_.head_size}, cudnn::kFloat));
    graph_.Matmul(score_gradients, graph_.Reshape(keys, key_rows), query_sums);
    graph_.Pointwise(cudnn::kIdentity, query_sums, nullptr,
                     InMemory(AttentionTensor::kQueryGradients, query_rows));
    return graph_.Finish(options);
  }

 private:
  // A [batch, head, token, feature] view of memory that stores tokens before heads.
  CudnnTensor Rows(int64_t heads, int64_t size) const {
    return {.sizes = {shape_.batch, heads, shape_.sequence, size},
            .strides = {shape_.sequence * heads * size, size, heads * size, 1},
            .type = cudnn::kBf16};
  }
  // One element a pair of tokens.
  CudnnTensor Pairs(int type) const {
    return Packed({shape_.batch, shape_.heads, shape_.sequence, shape_.sequence}, type);
  }
  // One element a query.
  CudnnTensor Sums() const {
    return Packed({shape_.batch, shape_.heads, shape_.sequence, 1}, cudnn::kFloat);
  }
  Tensor InMemory(AttentionTensor which, const CudnnTensor& tensor) {
    return graph_.InMemory(IdOf(which), tensor);
  }
  Tensor Number(AttentionNumber which) { return graph_.Number(static_cast<int64_t>(which)); }

  Tensor Scores(Tensor queries, Tensor transposed_keys) {
    const Tensor products = graph_.Matmul(queries, transposed_keys, Pairs(cudnn::kFloat));
    return graph_.Pointwise(cudnn::kMultiply, products, scale_, Pairs(cudnn::kFloat));
  }

  Tensor Masked(Tensor scores) {
    if (!shape_.causal) return scores;
    const Tensor query = graph_.Index(scores, 2, Pairs(cudnn::kInt32));
    const Tensor key = graph_.Index(scores, 3, Pairs(cudnn::kInt32));
    const Tensor seen = graph_.Pointwise(cudnn::kAtLeast, query, key, Pairs(cudnn::kBool));
    return graph_.Select(scores, Number(AttentionNumber::kMasked), seen, Pairs(cudnn::kFloat));
  }

  // Writes weights^T times `rows`, summed over the heads that share keys, into `which`.
  void IntoKeySide(Tensor weights, Tensor rows, int64_t size, AttentionTensor which) {
    const Tensor transposed = graph_.Reshape(weights, Transposed(Pairs(cudnn::kBf16)));
    const Tensor result = InMemory(which, Rows(shape_.kv_heads, size));
    if (shape_.group() == 1) {
      graph_.Matmul(transposed, rows, result);
      return;
    }
    const Tensor each_head =
        graph_.Matmul(transposed, rows,
                      Packed({shape_.batch, shape_.heads, shape_.sequence, size}, cudnn::kBf16));
    graph_.Reduce(cudnn::kReduceSum, each_head, result);
  }

  const GpuAttentionShape shape_;
  CudnnGraph graph_;
  const Tensor scale_;
};

// Converts an error into one that leaves out the point, with the library's message: a calibration
// does not fail for one plan.
absl::Status LeftOut(const absl::Status& status) {
  return absl::UnimplementedError(status.message());
}

// The properties compiled into a kernel. Heads that share keys are not among them: one kernel
// serves every sharing.
std::string KernelOf(const GpuAttentionShape& shape) {
  return absl::StrCat(shape.head_size, " ", shape.value_head_size, " ", shape.causal);
}

}  // namespace

absl::StatusOr<FinishedCudnnGraph> ForwardAttentionGraph(const SharedCudnn& cudnn,
                                                         const GpuAttentionShape& shape,
                                                         const CudnnGraphOptions& options) {
  return AttentionGraphBuilder(cudnn, shape).Forward(options);
}

absl::StatusOr<FinishedCudnnGraph> BackwardAttentionGraph(const SharedCudnn& cudnn,
                                                          const GpuAttentionShape& shape,
                                                          const CudnnGraphOptions& options) {
  return AttentionGraphBuilder(cudnn, shape).Backward(options);
}

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

}  // namespace sextant::probe
