#include "engine/time/operation_prediction.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "engine/base/status_macros.h"
#include "engine/operation/einsum_plan.h"
#include "engine/time/unfused_attention.h"

namespace sextant {
namespace {

constexpr size_t kNearest = 3;

AttentionShape ShapeOf(const Attention& attention) {
  return {.batch = attention.batch,
          .sequence = attention.query_length,
          .key_sequence = attention.key_length,
          .heads = attention.heads,
          .key_value_heads = attention.kv_heads,
          .query_key_head_size = attention.head_size,
          .value_head_size = ValueHeadSize(attention),
          .causal = attention.causal,
          .window = attention.window};
}

absl::StatusOr<absl::optional<OperationPrediction>> PredictFused(const Attention& attention,
                                                                 DataType type,
                                                                 const PlacedDevice& device) {
  absl::optional<OperationPrediction> out;
  SEXTANT_ASSIGN_OR_RETURN(const AttentionPredictor* const by, device.model->Attention(type));
  if (by == nullptr) return out;
  const AttentionShape shape = ShapeOf(attention);
  out = OperationPrediction{.forward = by->Predict(shape),
                            .backward = by->PredictBackward(shape),
                            .source = device.SourceOf(by->SourceOf(shape)),
                            .nearest = {},
                            .attention = true,
                            .backward_source = device.SourceOf(by->BackwardSourceOf(shape))};
  return out;
}

// Products one after the other.
struct ProductsTime {
  KernelTime time;
  double work_share = 0;    // of the time
  MatmulSlowdown slowdown;  // the largest
};

ProductsTime SumOf(const MatmulPredictor& matmuls, absl::Span<const MatmulBatch> products) {
  ProductsTime sum;
  double work = 0;
  for (const MatmulBatch& product : products) {
    const KernelTime time = matmuls.PredictBatch(product);
    sum.time = &product == &products[0] ? time : SumOf(sum.time, time);
    work += time.expected.value() * matmuls.WorkShare(product);
    const MatmulSlowdown slowdown = matmuls.SlowdownOf(product);
    if (slowdown.high > sum.slowdown.high) sum.slowdown = slowdown;
  }
  sum.work_share = work / sum.time.expected.value();
  return sum;
}

// Nothing where no size is off.
void AddSlowdown(const MatmulSlowdown& slowdown, Notes& notes) {
  if (slowdown.high == 1) return;
  notes.push_back(
      {.kind = NoteKind::kProductUnaligned,
       .text = absl::StrFormat(
           "Sizes off a multiple of 64, or of 8, make a product slower: by %.3g times where "
           "arithmetic decides, up to %.3g. Stated, since no times of such sizes are known here; "
           "multiples of 64 avoid it.",
           slowdown.expected, slowdown.high),
       .values = {{"expected_factor", slowdown.expected}, {"high_factor", slowdown.high}}});
}

absl::StatusOr<absl::optional<OperationPrediction>> PredictionOn(const PlacedDevice& device,
                                                                 const Operation& operation,
                                                                 const OperationTypes& types) {
  const DataType type = types.input;
  if (const auto* experts = std::get_if<Experts>(&operation)) {
    return PredictExperts(*experts, type, device, types.scaling);
  }
  absl::optional<OperationPrediction> out;
  if (device.model == nullptr) return out;
  if (const auto* attention = std::get_if<Attention>(&operation)) {
    return attention->fused ? PredictFused(*attention, type, device)
                            : PredictUnfusedAttention({.attention = *attention}, type, device);
  }
  if (const auto products = ProductsOf(operation); products.has_value()) {
    const MatmulType scaled = {type, ScaledMatmulType(type, types.scaling).scaling};
    SEXTANT_ASSIGN_OR_RETURN(const MatmulPredictor* const matmuls, device.model->Matmuls(scaled));
    if (matmuls != nullptr) out = PredictProducts(device, *matmuls, *products);
  }
  return out;
}

OperationProducts ProductWithGradients(const MatmulBatch& product) {
  return {.forward = {product},
          .backward = {{product.batch, InputGradientOf(product.each)},
                       {product.batch, WeightGradientOf(product.each)}}};
}

int64_t SizeOfAxes(const Contraction& contraction, const AxisSet& axes) {
  int64_t size = 1;  // of a part of one tensor, at most 9.2e18 elements
  for (size_t i = 0; i < contraction.axes.size(); ++i) {
    if (axes[i]) size *= contraction.axes[i].size;
  }
  return size;
}

// The product that contracts `left` and `right` to `result`. Absent where an axis of only one of
// them is summed.
absl::optional<MatmulBatch> ContractionAsProduct(const Contraction& contraction,
                                                 const AxisSet& left, const AxisSet& right,
                                                 const AxisSet& result) {
  if (((left ^ right) & ~result).any()) return absl::nullopt;
  const auto size = [&contraction](const AxisSet& axes) { return SizeOfAxes(contraction, axes); };
  return MatmulBatch{
      .batch = size(left & right & result),
      .each = {
          .m = size(left & ~right), .n = size(right & ~left), .k = size(left & right & ~result)}};
}

// True where every operand is read whole.
bool ReadsNoDiagonal(const Einsum& op, const Contraction& contraction) {
  for (size_t i = 0; i < op.operands.size(); ++i) {
    if (ElementCount(op.operands[i]) != SizeOfAxes(contraction, contraction.operands[i])) {
      return false;
    }
  }
  return true;
}

absl::optional<OperationProducts> ProductsOfEinsum(const Einsum& op) {
  const absl::StatusOr<EinsumPlan> plan = PlanEinsum(op);
  if (!plan.ok() || !ReadsNoDiagonal(op, plan->contraction)) return absl::nullopt;
  const std::vector<AxisSet>& tensors = plan->tensors;
  OperationProducts out;
  for (const ContractionStep& step : plan->order.steps) {
    if (step.right < 0 || !step.sums) return absl::nullopt;
    const auto product =
        ContractionAsProduct(plan->contraction, tensors[static_cast<size_t>(step.left)],
                             tensors[static_cast<size_t>(step.right)], step.axis_set);
    if (!product.has_value()) return absl::nullopt;
    out.forward.push_back(*product);
  }
  for (const PairGradient& gradient : plan->gradients) {
    auto product =
        ContractionAsProduct(plan->contraction, tensors[gradient.result],
                             tensors[static_cast<size_t>(gradient.other)], tensors[gradient.of]);
    if (!product.has_value()) return absl::nullopt;
    product->each.pass = MatmulPass::kOtherLayout;
    out.backward.push_back(*product);
  }
  return out;
}

// Products and attention run longer; the `passes` between products do not.
void MakeSustained(const Derating& derating, const absl::optional<KernelTime>& passes,
                   double work_share, KernelTime& time) {
  const KernelTime constant = passes.value_or(KernelTime{});
  KernelTime rest = time;
  rest.expected = rest.expected - constant.expected;
  rest.low = rest.low - constant.low;
  rest.high = rest.high - constant.high;
  time = Sustained(rest, derating, work_share);
  time.expected = time.expected + constant.expected;
  time.low = time.low + constant.low;
  time.high = time.high + constant.high;
}

}  // namespace

absl::StatusOr<absl::optional<OperationPrediction>> PredictOperation(
    const Operation& operation, const OperationTypes& types, absl::Span<const PlacedDevice> devices,
    DeviceJoin join, CallWork* work) {
  std::vector<OperationPrediction> all;
  std::vector<double> seconds;
  std::vector<RateSource> sources;
  for (const PlacedDevice& device : devices) {
    if (work != nullptr) SEXTANT_RETURN_IF_ERROR(work->Spend(kStepsAFit));
    SEXTANT_ASSIGN_OR_RETURN(absl::optional<OperationPrediction> one,
                             PredictionOn(device, operation, types));
    if (!one.has_value()) return absl::optional<OperationPrediction>();
    seconds.push_back(one->forward.expected.value());
    sources.push_back(one->source.source);
    all.push_back(*std::move(one));
  }
  if (all.empty()) return absl::optional<OperationPrediction>();
  const size_t deciding = DecidingDevice(seconds, join, sources);
  all[deciding].device = deciding;
  return absl::make_optional(std::move(all[deciding]));
}

KernelTime SumOf(const KernelTime& a, const KernelTime& b) {
  return {.expected = a.expected + b.expected,
          .low = a.low + b.low,
          .high = a.high + b.high,
          .basis = std::max(a.basis, b.basis)};
}

OperationPrediction PredictProducts(const PlacedDevice& device, const MatmulPredictor& matmuls,
                                    const OperationProducts& products) {
  const ProductsTime forward = SumOf(matmuls, products.forward);
  const ProductsTime backward = SumOf(matmuls, products.backward);
  OperationPrediction out = {.forward = forward.time,
                             .backward = backward.time,
                             .source = device.SourceOf(matmuls.source()),
                             .nearest = {},
                             .forward_work_share = forward.work_share,
                             .backward_work_share = backward.work_share};
  const bool backward_slower = backward.slowdown.high > forward.slowdown.high;
  AddSlowdown(backward_slower ? backward.slowdown : forward.slowdown, out.notes);
  for (const MatmulPoint& near : matmuls.Nearest(StackedMatmul(products.forward[0]), kNearest)) {
    out.nearest.push_back({near.shape, near.time});
  }
  return out;
}

absl::optional<OperationProducts> ProductsOf(const Operation& operation) {
  if (const auto* op = std::get_if<Matmul>(&operation)) {
    return ProductWithGradients({.each = {op->m, op->n, op->k}});
  }
  if (const auto* op = std::get_if<Linear>(&operation)) {
    return ProductWithGradients({.each = {op->rows, op->output_size, op->input_size}});
  }
  if (const auto* op = std::get_if<BatchedMatmul>(&operation)) {
    return ProductWithGradients({.batch = op->batch, .each = {op->m, op->n, op->k}});
  }
  if (const auto* op = std::get_if<Einsum>(&operation)) return ProductsOfEinsum(*op);
  return absl::nullopt;
}

GroupedMatmulShape LayerShapeOf(const Experts& experts) {
  return {.tokens = experts.tokens,
          .hidden = experts.hidden_size,
          .intermediate = experts.feed_forward_size,
          .experts_per_token = experts.experts_per_token,
          .experts = experts.expert_count,
          .expert_parallel = experts.expert_parallel_size,
          .gated = experts.gated};
}

absl::StatusOr<absl::optional<OperationPrediction>> PredictExperts(
    const Experts& experts, DataType type, const PlacedDevice& device,
    absl::optional<MatmulScaling> scaling) {
  absl::optional<OperationPrediction> out;
  if (device.model == nullptr) return out;
  SEXTANT_ASSIGN_OR_RETURN(
      const GroupedMatmulPredictor* const layers,
      device.model->Experts({.type = type, .gated = experts.gated, .scaling = scaling}));
  if (layers == nullptr) return out;
  const KernelTime forward = layers->Predict(LayerShapeOf(experts));
  out = OperationPrediction{.forward = forward,
                            .backward = Widened(forward, kExpertsBackwardOverForward,
                                                kExpertsBackward, KernelBasis::kOtherPass),
                            .source = device.SourceOf(layers->source()),
                            .nearest = {}};
  return out;
}

absl::StatusOr<Note> MakeSustained(const PlacedDevice& device, DataType type,
                                   OperationPrediction& prediction) {
  prediction.regime = KernelRegime::kSustained;
  if (prediction.memory_pass) {
    return Note{NoteKind::kSustainedTimes,
                "Times are sustained: what memory bounds is taken to be no slower than in bursts."};
  }
  Derating derating = DeratingOfUnmeasured(nullptr, type);
  if (device.model != nullptr) {
    SEXTANT_ASSIGN_OR_RETURN(derating, device.model->SustainedDerating(type));
  }
  if (prediction.attention) derating = DeratingOfAttention(std::move(derating));
  const double burst = prediction.forward.expected.value();
  MakeSustained(derating, prediction.forward_passes, prediction.forward_work_share,
                prediction.forward);
  MakeSustained(derating, prediction.backward_passes, prediction.backward_work_share,
                prediction.backward);
  return Note{NoteKind::kSustainedTimes,
              absl::StrCat(absl::StrFormat(
                               "Times are sustained, %.3g times a burst's, %.3g where arithmetic "
                               "alone decides: %s.",
                               prediction.forward.expected.value() / burst, derating.expected,
                               derating.citation),
                           PassesText(prediction))};
}

}  // namespace sextant
