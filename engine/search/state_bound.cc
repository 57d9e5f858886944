#include "engine/search/state_bound.h"

#include <algorithm>

#include "engine/memory/ledger/framework_spec.h"
#include "engine/memory/ledger/stage_memory.h"
#include "engine/memory/model_state.h"
#include "engine/memory/state/state_rules.h"
#include "engine/model/architecture/weight_tensor.h"
#include "engine/run/job.h"
#include "engine/run/memory_estimate.h"

namespace sextant {
namespace {

// A process that holds `counted` bytes, and the least reserve that the run may have, may fit.
bool MayFit(const RunSpec& run, const ResolvedRun& resolved, const ReserveSpec& reserve,
            int64_t counted) {
  const auto memory = ProcessMemoryOf(reserve, counted, Bytes(0));
  if (!memory.ok()) return false;
  const double chance = FitChance(memory->process, resolved.capacity.usable());
  return VerdictOf(chance, run.options.thresholds) != Verdict::kDoesNotFit;
}

// By bisection: the chance falls as the counted bytes grow.
double MostCounted(const RunSpec& run, const ResolvedRun& resolved) {
  const ReserveSpec reserve =
      ReserveOf(run.layout->framework, {.generation = resolved.generation,
                                        .experts = HasExperts(*resolved.shape.architecture),
                                        .communicator_count = 0});
  int64_t low = 0;
  int64_t high = 2 * resolved.capacity.usable().value();
  if (MayFit(run, resolved, reserve, high)) return 1e300;  // thresholds that exclude nothing
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    (MayFit(run, resolved, reserve, middle) ? low : high) = middle;
  }
  return static_cast<double>(low);
}

// Biases and adapters, some of which are experts', are left out, and so are scales.
WeightCount DenseOf(const ArchitectureCount& count) {
  WeightCount out = count.all;
  for (const WeightComponent other :
       {WeightComponent::kRoutedExperts, WeightComponent::kBias, WeightComponent::kAdapter}) {
    out.total -= count.of(other).total;
    out.trainable -= count.of(other).trainable;
  }
  return out;
}

}  // namespace

StateBound::StateBound(const RunSpec& run, const ResolvedRun& resolved) {
  const FrozenWeightFormat& frozen = run.layout->frozen;
  const double weight = static_cast<double>(WeightTerm(resolved.precision).element_bits) / 8;
  const double kept = frozen.data_type == DataType::kUnspecified
                          ? weight
                          : std::min(weight, static_cast<double>(QuantizedBits(frozen)) / 8);
  double gradient = 0;
  double optimizer = 0;
  for (const TermRule& rule : TrainedTerms(resolved.precision, run.training.optimizer)) {
    if (rule.scope != BufferScope::kAll || rule.shape != BufferShape::kElements) continue;
    (rule.kind == LedgerKind::kGradient ? gradient : optimizer) +=
        static_cast<double>(rule.element_bits) / 8;
  }
  const auto part = [&](const WeightCount& count) {
    const auto trained = static_cast<double>(count.trainable);
    const auto others = static_cast<double>(count.total - count.trainable);
    return Part{.weights = trained * weight + others * kept,
                .gradients = trained * gradient,
                .optimizer = trained * optimizer};
  };
  dense_ = part(DenseOf(resolved.parameters));
  experts_ = part(resolved.parameters.of(WeightComponent::kRoutedExperts));
  offloads_optimizer_ = run.layout->sharding.offload_optimizer;
  offloads_weights_ = run.layout->sharding.offload_parameters;
  most_ = MostCounted(run, resolved);
}

double StateBound::BytesOf(const LayoutChoice& choice, int64_t data) const {
  // Under DualPipe a device holds the layers of two stages.
  const double stages =
      choice.schedule == PipelineSchedule::kDualPipe ? choice.pipeline * 0.5 : choice.pipeline;
  const double each = choice.expert_tensor == 0 ? choice.tensor : choice.expert_tensor;
  const double holders = choice.expert * each;
  const double ranks = choice.shard_group > 0 ? static_cast<double>(choice.shard_group)
                                              : static_cast<double>(data) * choice.context;
  const double of_expert = std::max(ranks * choice.tensor / holders, 1.0);
  return BytesOf(dense_, choice, ranks) / (choice.tensor * stages) +
         BytesOf(experts_, choice, of_expert) / (holders * stages);
}

double StateBound::BytesOf(const Part& part, const LayoutChoice& choice, double ranks) const {
  const ZeroStage stage = choice.zero_stage;
  const bool offloads = offloads_optimizer_ || choice.offload != Offload::kNone;
  const bool away = offloads_weights_ || choice.offload == Offload::kAll;
  double out = 0;
  if (!away) out += stage >= ZeroStage::kParameters ? part.weights / ranks : part.weights;
  if (offloads) return out;
  out += stage >= ZeroStage::kGradients ? part.gradients / ranks : part.gradients;
  return out + (stage >= ZeroStage::kOptimizer ? part.optimizer / ranks : part.optimizer);
}

}  // namespace sextant
