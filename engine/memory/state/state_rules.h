// The rules for a model's state, independent of stages: the formats of every tensor, their scales,
// and the number of ranks that divide it.
#ifndef SEXTANT_ENGINE_MEMORY_STATE_STATE_RULES_H_
#define SEXTANT_ENGINE_MEMORY_STATE_STATE_RULES_H_

#include <cstdint>

#include "engine/memory/model_state.h"
#include "engine/memory/state/state_spec.h"
#include "engine/model/architecture/architecture_spec.h"
#include "engine/model/architecture/weight_tensor.h"
#include "engine/model/sharding/parallel_layout.h"
#include "engine/model/sharding/sharded_weights.h"
#include "engine/model/sharding/tensor_shard.h"

namespace sextant {

// The number of ranks among which data parallelism divides state.
struct StateRanks {
  int64_t dense = 1;
  int64_t expert = 1;

  int64_t of(ShardGroup group) const { return group == ShardGroup::kDense ? dense : expert; }
};

// With d data, c context and t tensor parallel ranks a stage has d c t GPUs. Dense parameters are
// divided among the d c that hold the same part of them, or shard_group_size of these. Routed
// experts are held by x x_t ranks, so that the same GPUs hold each part
//   shard group x t / (x x_t)
// times, and divide it among themselves. CheckStateSpec() has passed, so this is a whole number.
StateRanks StateRanksOf(const ParallelLayout& layout, const StateSharding& sharding,
                        int64_t context_parallel_size);

// The state that data parallel ranks divide.
inline bool DividesOptimizer(const StateSharding& s) { return s.zero_stage != ZeroStage::kNone; }

inline bool DividesGradients(const StateSharding& s) {
  return s.zero_stage == ZeroStage::kGradients || s.zero_stage == ZeroStage::kParameters;
}

// True where a rank's gradients are kept in host memory.
inline bool OffloadsGradients(const StateSpec& s) {
  return s.sharding.offload_optimizer && s.gradient_offload != GradientOffload::kAtStep;
}

inline bool DividesParameters(const StateSharding& s) {
  return s.zero_stage == ZeroStage::kParameters;
}

// True for a matrix product's weight inside the layers. fp8 recipes multiply these in 8 bits, and
// frozen models quantise them. Adapters are trained in the weights' type, and routers compute in
// wider types.
inline bool IsLayerMatrix(const WeightTensor& tensor) {
  return tensor.role == WeightRole::kWeight && IsHiddenMatrix(tensor) &&
         tensor.component != WeightComponent::kRouter;
}

// True where the frozen layers of `tensor` are quantised.
inline bool IsQuantized(const FrozenWeightFormat& format, const WeightTensor& tensor) {
  return format.data_type != DataType::kUnspecified && IsLayerMatrix(tensor);
}

// Bits of a quantised element: 4 or 8.
inline int64_t QuantizedBits(const FrozenWeightFormat& format) {
  return format.data_type == DataType::kInt8 ? 8 : 4;
}

// Bytes of an element with its share of scales: an fp32 a block, or a byte and an fp32 for 256 of
// these (double quantisation). INT8's scales a row are left out.
// Source: Dettmers et al. 2023 (arXiv 2305.14314) section 3.
inline double QuantizedBytesAnElement(const FrozenWeightFormat& format) {
  const double bytes = static_cast<double>(QuantizedBits(format)) / 8;
  if (format.data_type == DataType::kInt8) return bytes;
  const double block = format.block_size > 0 ? static_cast<double>(format.block_size) : 64;
  return bytes + (format.double_quantization ? 1 + 4.0 / 256 : 4.0) / block;
}

// Bytes of scales for a GPU's part of a tensor, in one layer, stored in fp8.
//   kTensor  4 per matrix                               per-tensor scaling, arXiv 2209.05433
//   kBlock   4 ceil(rows / 128) ceil(columns / 128)     DeepSeek-V3, arXiv 2412.19437, section 3.3
//   kMx      rows x ceil(columns / 32); a vector's 32   OCP MX v1.0: a byte (E8M0) per 32 elements
// `transposed`: the copy with contiguous columns, whose blocks of 32 are along columns.
int64_t Fp8ScaleBytes(WeightScaling scaling, const TensorShard& shard, bool transposed);

// The same for storage in `format`: one fp32 per block, or per row where block_size is 0 and a
// weight has 8 bits. With double quantisation, one byte per block, and one fp32 per 256 blocks:
//   8 / 64 + 32 / (64 x 256) = 0.127 bits per parameter
// Source: Dettmers et al. 2023 (QLoRA, arXiv 2305.14314) section 3. Rows: Dettmers et al. 2022
// (LLM.int8(), arXiv 2208.07339) section 2.
int64_t QuantizedScaleBytes(const FrozenWeightFormat& format, const TensorShard& shard);

// A model under a layout, and the format of its state, all checked (CheckStateSpec()). `weights`
// are those of `spec` under `layout`.
struct StageStateContext {
  const ArchitectureSpec& spec;
  const ParallelLayout& layout;
  const ShardedWeights& weights;
  const StateSpec& state;
  int64_t context_parallel_size = 1;
};

struct StateRules {
  StateRanks ranks;
  TermRule weight;
  TermRules trained;
  bool scales_fp8 = false;    // weights are in 8 bits, with scales
  bool all_plain = true;      // IsPlain() of all trained terms
  bool by_scope = false;      // some terms cover only hidden matrices, or only the others
  bool only_numbers = false;  // terms depend only on the number of elements
};

// True where each element of the tensor has one element of the term, without scales.
inline bool IsPlain(const TermRule& rule) {
  return rule.shape == BufferShape::kElements && rule.block_size == 0;
}

StateRules StateRulesOf(const StageStateContext& context);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MEMORY_STATE_STATE_RULES_H_
