#include "engine/time/operation_prediction.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "engine/hardware/predict/attention_predictor.h"
#include "engine/hardware/predict/gemm_predictor.h"

namespace sextant {
namespace {

constexpr size_t kNearest = 3;

absl::optional<GemmShape> GemmOf(const Operation& operation) {
  if (const auto* matmul = std::get_if<Matmul>(&operation)) {
    return GemmShape{matmul->m, matmul->n, matmul->k};
  }
  if (const auto* linear = std::get_if<Linear>(&operation)) {
    return GemmShape{linear->rows, linear->output_size, linear->input_size};
  }
  return absl::nullopt;
}

absl::optional<AttentionShape> AttentionOf(const Operation& operation) {
  const auto* attention = std::get_if<Attention>(&operation);
  if (attention == nullptr || !attention->fused ||
      attention->query_length != attention->key_length) {
    return absl::nullopt;
  }
  return AttentionShape{.batch = attention->batch,
                        .sequence = attention->query_length,
                        .heads = attention->heads,
                        .key_value_heads = attention->kv_heads,
                        .query_key_head_size = attention->head_size,
                        .value_head_size = attention->head_size,
                        .causal = attention->causal,
                        .window = attention->window};
}

absl::StatusOr<absl::optional<GemmPredictor>> GemmsOf(const PredictedDevice& device,
                                                      DataType type) {
  if (device.measured != nullptr) return GemmPredictor::OfMeasured(*device.measured, type);
  if (device.accelerator == nullptr) return absl::optional<GemmPredictor>();
  return GemmPredictor::OfAccelerator(*device.accelerator, type);
}

absl::StatusOr<absl::optional<AttentionPredictor>> AttentionsOf(const PredictedDevice& device,
                                                                DataType type) {
  if (device.measured != nullptr) return AttentionPredictor::OfMeasured(*device.measured, type);
  if (device.accelerator == nullptr) return absl::optional<AttentionPredictor>();
  return AttentionPredictor::OfAccelerator(*device.accelerator, type);
}

// One after the other; each may be off by its own interval, and both in the same direction, since
// they are guessed from the same points.
KernelTime SumOf(const KernelTime& a, const KernelTime& b) {
  return {.expected = a.expected + b.expected,
          .low = a.low + b.low,
          .high = a.high + b.high,
          .basis = std::max(a.basis, b.basis)};
}

OperationPrediction PredictionOf(const GemmPredictor& gemms, const GemmShape& shape) {
  OperationPrediction out = {.forward = gemms.Predict(shape),
                             .backward = SumOf(gemms.Predict(InputGradientOf(shape)),
                                               gemms.Predict(WeightGradientOf(shape))),
                             .source = gemms.source(),
                             .nearest = {}};
  for (const MeasuredGemm& near : gemms.Nearest(shape, kNearest)) {
    out.nearest.push_back(
        {absl::StrCat(near.shape.m, "x", near.shape.n, "x", near.shape.k), near.time});
  }
  return out;
}

absl::StatusOr<absl::optional<OperationPrediction>> PredictionOn(const PredictedDevice& device,
                                                                 const Operation& operation,
                                                                 DataType type) {
  absl::optional<OperationPrediction> out;
  if (const auto gemm = GemmOf(operation); gemm.has_value()) {
    SEXTANT_ASSIGN_OR_RETURN(const absl::optional<GemmPredictor> gemms, GemmsOf(device, type));
    if (gemms.has_value()) out = PredictionOf(*gemms, *gemm);
  } else if (const auto attention = AttentionOf(operation); attention.has_value()) {
    SEXTANT_ASSIGN_OR_RETURN(const absl::optional<AttentionPredictor> attentions,
                             AttentionsOf(device, type));
    if (attentions.has_value()) {
      out = OperationPrediction{.forward = attentions->Predict(*attention),
                                .backward = attentions->PredictBackward(*attention),
                                .source = attentions->SourceOf(*attention),
                                .nearest = {},
                                .backward_source = attentions->BackwardSourceOf(*attention)};
    }
  }
  return out;
}

}  // namespace

size_t DecidingDevice(absl::Span<const double> seconds, DeviceJoin join,
                      absl::Span<const RateSource> sources) {
  std::vector<size_t> order(seconds.size());
  std::iota(order.begin(), order.end(), size_t{0});
  if (join == DeviceJoin::kMedian && !sources.empty()) {
    const RateSource best = *std::min_element(sources.begin(), sources.end());
    order.erase(std::remove_if(order.begin(), order.end(),
                               [&](size_t device) { return sources[device] != best; }),
                order.end());
  }
  std::stable_sort(order.begin(), order.end(),
                   [seconds](size_t a, size_t b) { return seconds[a] < seconds[b]; });
  return join == DeviceJoin::kSlowest ? order.back() : order[(order.size() - 1) / 2];
}

absl::StatusOr<absl::optional<OperationPrediction>> PredictOperation(
    const Operation& operation, DataType type, absl::Span<const PredictedDevice> devices,
    DeviceJoin join) {
  std::vector<OperationPrediction> all;
  std::vector<double> seconds;
  std::vector<RateSource> sources;
  for (const PredictedDevice& device : devices) {
    SEXTANT_ASSIGN_OR_RETURN(absl::optional<OperationPrediction> one,
                             PredictionOn(device, operation, type));
    if (!one.has_value()) return absl::optional<OperationPrediction>();
    seconds.push_back(one->forward.expected.value());
    sources.push_back(one->source.source);
    all.push_back(*std::move(one));
  }
  if (all.empty()) return absl::optional<OperationPrediction>();
  return absl::make_optional(std::move(all[DecidingDevice(seconds, join, sources)]));
}

}  // namespace sextant
