#include "engine/memory/state/state_rules.h"

#include <utility>

#include "engine/base/checked_math.h"

namespace sextant {
namespace {

constexpr int64_t kFp32Bytes = 4;
constexpr int64_t kFp8Block = 128;
constexpr int64_t kMxBlock = 32;
constexpr int64_t kFourBitBlock = 64;
constexpr int64_t kScalesOfAScale = 256;

}  // namespace

StateRanks StateRanksOf(const ParallelLayout& layout, const StateSharding& sharding,
                        int64_t context_parallel_size) {
  const int64_t all = sharding.data_parallel_size * context_parallel_size;
  const int64_t group = sharding.shard_group_size == 0 ? all : sharding.shard_group_size;
  const int64_t holders = layout.expert_parallel_size * ExpertTensorParallelSize(layout);
  return {.dense = group, .expert = group * layout.tensor_parallel_size / holders};
}

int64_t Fp8ScaleBytes(WeightScaling scaling, const TensorShard& shard, bool transposed) {
  int64_t rows = shard.rows;
  int64_t columns = shard.columns;
  if (transposed || columns == 1) std::swap(rows, columns);
  switch (scaling) {
    case WeightScaling::kNone:
      return 0;
    case WeightScaling::kTensor:
      return kFp32Bytes * shard.copies;
    case WeightScaling::kBlock:
      return kFp32Bytes * CeilDivide(rows, kFp8Block) * CeilDivide(columns, kFp8Block) *
             shard.copies;
    case WeightScaling::kMx:
      return rows * CeilDivide(columns, kMxBlock) * shard.copies;
  }
  return 0;
}

int64_t QuantizedScaleBytes(const FrozenWeightFormat& format, const TensorShard& shard) {
  const bool by_row = format.block_size == 0 && format.data_type == DataType::kInt8;
  const int64_t block = format.block_size == 0 ? kFourBitBlock : format.block_size;
  const int64_t scales = by_row ? shard.rows : CeilDivide(shard.rows * shard.columns, block);
  const int64_t bytes = format.double_quantization
                            ? kFp32Bytes * CeilDivide(scales, kScalesOfAScale) + scales
                            : kFp32Bytes * scales;
  return bytes * shard.copies;
}

StateRules StateRulesOf(const StageStateContext& context) {
  const StateSpec& state = context.state;
  StateRules out = {
      .ranks = StateRanksOf(context.layout, state.sharding, context.context_parallel_size),
      .weight = WeightTerm(state.precision),
      .trained = TrainedTerms(state.precision, state.optimizer)};
  out.scales_fp8 = out.weight.element_bits == 8 && state.weight_scaling != WeightScaling::kNone;
  for (const TermRule& rule : out.trained) {
    out.all_plain = out.all_plain && IsPlain(rule);
    out.by_scope = out.by_scope || rule.scope != BufferScope::kAll;
  }
  out.only_numbers = out.all_plain && !out.by_scope && !out.scales_fp8 &&
                     state.frozen.data_type == DataType::kUnspecified &&
                     state.fp8_weight_copies == 0;
  return out;
}

}  // namespace sextant
