#include "engine/time/memory_pass_prediction.h"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "engine/base/status_macros.h"

namespace sextant {
namespace {

constexpr size_t kNearestPasses = 3;

// Softmax, norms, reductions and the loss sum over rows, and an embedding looks rows up by id; all
// other kernels process each element separately.
StreamKind KindOf(const Operation& operation) {
  const bool rows =
      std::holds_alternative<Reduction>(operation) || std::holds_alternative<Softmax>(operation) ||
      std::holds_alternative<LayerNorm>(operation) || std::holds_alternative<RmsNorm>(operation) ||
      std::holds_alternative<EmbeddingLookup>(operation) ||
      std::holds_alternative<CrossEntropy>(operation) || std::holds_alternative<Einsum>(operation);
  return rows ? StreamKind::kRows : StreamKind::kElementwise;
}

StreamWork WorkOf(const CostSum& sum) {
  return {.read_bytes = static_cast<double>(sum.read.value()),
          .written_bytes = static_cast<double>(sum.written.value()),
          .flops = sum.other_flops.value()};
}

KernelTime SumOfKernels(const OperationCost& cost, StreamKind kind,
                        const StreamPredictor& predictor) {
  KernelTime out;
  out.basis = KernelBasis::kMeasured;
  for (const StepCost& step : cost.steps) {
    const KernelTime time = predictor.Predict(WorkOf(step.sum), kind);
    out.expected = out.expected + time.expected;
    out.low = out.low + time.low;
    out.high = out.high + time.high;
    out.basis = std::max(out.basis, time.basis);
  }
  return out;
}

OperationPrediction PredictionBy(const PlacedDevice& device, const StreamPredictor& predictor,
                                 StreamKind kind, const OperationAnalysis& analysis) {
  OperationPrediction out = {.forward = SumOfKernels(analysis.forward, kind, predictor),
                             .backward = {},
                             .source = device.SourceOf(predictor.source()),
                             .nearest = {},
                             .memory_pass = true};
  if (analysis.unfused.has_value()) out.unfused = SumOfKernels(*analysis.unfused, kind, predictor);
  if (analysis.backward.has_value()) {
    out.backward = SumOfKernels(analysis.backward->cost, kind, predictor);
  }
  for (const NearbyPass& pass : predictor.Nearest(WorkOf(analysis.forward.sum), kNearestPasses)) {
    out.nearest.push_back({pass.work, pass.time});
  }
  return out;
}

}  // namespace

absl::StatusOr<absl::optional<OperationPrediction>> PredictMemoryPasses(
    const Operation& operation, const OperationAnalysis& analysis,
    absl::Span<const PlacedDevice> devices, DeviceJoin join) {
  absl::optional<OperationPrediction> out;
  const bool memory_pass = analysis.forward.sum.matrix_flops == Flops() &&
                           !analysis.forward.steps.empty() &&
                           !std::holds_alternative<HostCopy>(operation);
  if (!memory_pass || devices.empty()) return out;
  const StreamKind kind = KindOf(operation);
  std::vector<OperationPrediction> all;
  std::vector<double> seconds;
  std::vector<RateSource> sources;
  for (const PlacedDevice& device : devices) {
    if (device.model == nullptr) return out;
    SEXTANT_ASSIGN_OR_RETURN(const StreamPredictor* const predictor,
                             device.model->Streams(analysis.types.input));
    if (predictor == nullptr) return out;
    all.push_back(PredictionBy(device, *predictor, kind, analysis));
    all.back().device = all.size() - 1;
    seconds.push_back(all.back().forward.expected.value());
    sources.push_back(all.back().source.source);
  }
  out = std::move(all[DecidingDevice(seconds, join, sources)]);
  return out;
}

}  // namespace sextant
