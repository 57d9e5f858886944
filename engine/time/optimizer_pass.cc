#include "engine/time/optimizer_pass.h"

#include "engine/memory/state/state_rules.h"
#include "engine/memory/training_policy.h"

namespace sextant {
namespace {

constexpr double kFp32Bytes = 4;

// Numbers of the optimizer a parameter; of Adafactor its rows and columns, which are few.
double NumbersOf(const OptimizerSpec& optimizer) {
  switch (optimizer.kind) {
    case OptimizerKind::kSgd:
      return 0;
    case OptimizerKind::kAdafactor:
      return optimizer.adafactor_momentum ? 1 : 0;
    case OptimizerKind::kAdam:
    case OptimizerKind::kAdamw:
      return 2;
    case OptimizerKind::kAdam8bit:
      return 0.5;  // two bytes, in numbers of four
    default:
      return 1;
  }
}

}  // namespace

RankParameters RankParametersOf(const MemoryJob& job, const StageWeights& weights) {
  const StateSharding& sharding = job.state.sharding;
  const StateRanks ranks = StateRanksOf(job.layout, sharding, job.batch.context_parallel_size);
  RankParameters out;
  for (const ShardGroup group : {ShardGroup::kDense, ShardGroup::kExpert}) {
    const auto trainable = static_cast<double>(weights.of(group).trainable);
    const auto divided = static_cast<double>(ranks.of(group));
    out.held += DividesGradients(sharding) ? trainable / divided : trainable;
    out.updated += DividesOptimizer(sharding) ? trainable / divided : trainable;
  }
  return out;
}

PassWork OptimizerPass(const StateSpec& state, double parameters) {
  const PrecisionPolicy& precision = state.precision;
  const bool master = precision.master_weights.value_or(true);
  const auto gradient = static_cast<double>(StorageBytes(precision.gradient_data_type));
  const auto weight = static_cast<double>(StorageBytes(precision.weight_data_type));
  const double kept = NumbersOf(state.optimizer) *
                          static_cast<double>(StorageBytes(precision.optimizer_data_type)) +
                      (master ? kFp32Bytes : 0);
  return {.read_bytes = parameters * (gradient + kept + (master ? 0 : weight)),
          .written_bytes = parameters * (kept + weight)};
}

}  // namespace sextant
