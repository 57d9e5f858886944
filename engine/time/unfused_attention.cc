#include "engine/time/unfused_attention.h"

#include "absl/strings/str_format.h"
#include "engine/base/status_macros.h"
#include "engine/hardware/kernels/kernel_time.h"
#include "engine/hardware/predict/matmul_predictor.h"
#include "engine/hardware/predict/stream_predictor.h"
#include "engine/tensor/storage.h"

namespace sextant {
namespace {

constexpr double kDropoutMaskBytes = 1;  // a score; PyTorch keeps the mask as booleans
// Scale, max, subtract, exp, sum, divide; its gradient's product, sum, difference, product, scale.
constexpr double kSoftmaxFlops = 6;
constexpr double kSoftmaxGradientFlops = 5;

// Product of sizes of at most 2^40, clamped to that.
int64_t ClampedProduct(int64_t a, int64_t b) {
  return a > kMaxKernelSize / b ? kMaxKernelSize : a * b;
}

KernelTime TimeOf(const ScorePasses& passes, const StreamPredictor& streams) {
  const KernelTime softmax = streams.Predict(passes.softmax, StreamKind::kRows);
  if (passes.dropout.bytes() == 0) return softmax;
  return SumOf(softmax, streams.Predict(passes.dropout, StreamKind::kElementwise));
}

}  // namespace

OperationProducts ProductsOfUnfused(const Attention& attention) {
  const int64_t batch = ClampedProduct(attention.batch, attention.kv_heads);
  const int64_t queries =
      ClampedProduct(attention.heads / attention.kv_heads, attention.query_length);
  const int64_t keys = attention.key_length;
  const int64_t width = attention.head_size;
  const int64_t value_width = ValueHeadSize(attention);
  const auto product = [batch](int64_t m, int64_t n, int64_t k, MatmulPass pass) {
    return MatmulBatch{.batch = batch, .each = {m, n, k, pass}};
  };
  // q k^T and do v^T read both operands along rows, as a linear layer's forward pass does; p v and
  // ds k as its input gradient; p^T do and ds^T q as its weight gradient.
  return {.forward = {product(queries, keys, width, MatmulPass::kForward),
                      product(queries, value_width, keys, MatmulPass::kInputGradient)},
          .backward = {product(keys, value_width, queries, MatmulPass::kWeightGradient),
                       product(queries, keys, value_width, MatmulPass::kForward),
                       product(queries, width, keys, MatmulPass::kInputGradient),
                       product(keys, width, queries, MatmulPass::kWeightGradient)}};
}

UnfusedPasses PassesOf(const UnfusedAttention& unfused, DataType type) {
  const Attention& a = unfused.attention;
  const double rows = static_cast<double>(a.batch) * static_cast<double>(a.heads) *
                      static_cast<double>(a.query_length);
  const double scores = rows * static_cast<double>(a.key_length);
  const absl::StatusOr<Bytes> row = TensorBytes(type, {a.key_length});
  const double bytes = row.ok() ? rows * static_cast<double>(row->value()) : 0;
  const bool masked = a.causal || a.window > 0;
  UnfusedPasses out;
  out.forward.softmax = {.read_bytes = bytes,
                         .written_bytes = bytes,
                         .flops = scores * (kSoftmaxFlops + (masked ? 1 : 0))};
  out.backward.softmax = {
      .read_bytes = 2 * bytes, .written_bytes = bytes, .flops = scores * kSoftmaxGradientFlops};
  if (unfused.dropout) {
    const double mask = scores * kDropoutMaskBytes;
    out.forward.dropout = {.read_bytes = bytes, .written_bytes = bytes + mask, .flops = scores};
    out.backward.dropout = {.read_bytes = bytes + mask, .written_bytes = bytes, .flops = scores};
  }
  return out;
}

absl::StatusOr<absl::optional<OperationPrediction>> PredictUnfusedAttention(
    const UnfusedAttention& unfused, DataType type, const PlacedDevice& device) {
  absl::optional<OperationPrediction> out;
  if (device.model == nullptr) return out;
  SEXTANT_ASSIGN_OR_RETURN(const MatmulPredictor* const matmuls, device.model->Matmuls(type));
  SEXTANT_ASSIGN_OR_RETURN(const StreamPredictor* const streams, device.model->Streams(type));
  if (matmuls == nullptr || streams == nullptr) return out;
  out = PredictProducts(device, *matmuls, ProductsOfUnfused(unfused.attention));
  const UnfusedPasses passes = PassesOf(unfused, type);
  out->forward_passes = TimeOf(passes.forward, *streams);
  out->backward_passes = TimeOf(passes.backward, *streams);
  out->forward = SumOf(out->forward, *out->forward_passes);
  out->backward = SumOf(out->backward, *out->backward_passes);
  return out;
}

std::string PassesText(const OperationPrediction& prediction) {
  if (!prediction.forward_passes.has_value() || !prediction.backward_passes.has_value()) return "";
  return absl::StrFormat(
      " The time is that of products, whose source is given, and of passes over the scores between "
      "them: %.3g s of the forward pass, %.3g s of the backward pass.",
      prediction.forward_passes->expected.value(), prediction.backward_passes->expected.value());
}

}  // namespace sextant
