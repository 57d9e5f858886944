#include "engine/memory/state/stage_state.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "engine/base/field_violation.h"
#include "engine/memory/state/frozen_weights.h"
#include "engine/memory/state/gathered_units.h"
#include "engine/memory/state/state_list.h"
#include "engine/memory/state/state_ranks.h"
#include "engine/memory/state/term_rule.h"
#include "engine/memory/state/weight_scales.h"

namespace sextant {
namespace {

constexpr char kQuantizedSource[] =
    "4 bits: Dettmers et al. 2023 (arXiv 2305.14314) section 3; 8 bits: Dettmers et al. 2022 "
    "(arXiv 2208.07339) section 2";

TermRule QuantizedTerm(const FrozenWeightFormat& format) {
  return {.kind = LedgerKind::kWeight,
          .name = "quantized_weight",
          .data_type = format.data_type,
          .element_bits = QuantizedBits(format),
          .why = "frozen: multiplied with in the compute type, matrix by matrix",
          .source = kQuantizedSource};
}

TermRule Fp8CopyTerm(absl::string_view name) {
  return {.kind = LedgerKind::kWeight,
          .name = name,
          .data_type = DataType::kFp8,
          .element_bits = 8,
          .why = "what matrix units multiply with, made from the weight once a step",
          .source = "NVIDIA Transformer Engine: cached fp8 weights"};
}

class StageSum {
 public:
  StageSum(const StageStateContext& context, LedgerRows* rows)
      : state_(context.state),
        ranks_(StateRanksOf(context.layout, state_.sharding, context.context_parallel_size)),
        weight_(WeightTerm(state_.precision)),
        trained_(TrainedTerms(state_.precision, state_.optimizer)),
        list_(rows) {}

  void Add(const WeightTensor& tensor, const TensorShard& shard, const KindLayers& layers) {
    list_.GoTo(tensor, shard);
    ranks_here_ = ranks_.of(shard.group);
    if (IsQuantized(state_.frozen, tensor)) {
      AddWeights(shard, layers.not_frozen);
      AddQuantized(shard, layers.count - layers.not_frozen);
    } else {
      AddWeights(shard, layers.count);
    }
    if (layers.not_frozen > 0) AddTrained(tensor, shard, layers.not_frozen);
    if (state_.fp8_weight_copies > 0) AddFp8Copies(tensor, shard, layers);
  }

  StateList& list() { return list_; }
  const StateRanks& ranks() const { return ranks_; }
  // Of the largest quantised matrix.
  int64_t largest_quantized() const { return largest_quantized_; }
  bool ok() const { return scales_ok_; }

 private:
  int64_t RanksOf(bool divided) const { return divided ? ranks_here_ : 1; }

  // Checked once more where sums are: an overflow here is one of these.
  int64_t Scales(CheckedInt bytes) {
    scales_ok_ = scales_ok_ && bytes.ok();
    return bytes.value();
  }

  void PutWeight(const TermRule& rule, const StateAmount& amount) {
    const StateAmount share = ShareOf(amount, RanksOf(DividesParameters(state_.sharding)));
    if (state_.sharding.offload_parameters) {
      list_.AddToHost(rule, share);
    } else {
      list_.Add(rule, share);
    }
  }

  void AddWeights(const TensorShard& shard, int64_t layers) {
    if (layers == 0) return;
    StateAmount amount = {.elements = shard.elements(), .layers = layers};
    if (weight_.element_bits == 8 && state_.weight_scaling != WeightScaling::kNone) {
      amount.scale_bytes = Scales(Fp8ScaleBytes(state_.weight_scaling, shard, false));
    }
    PutWeight(weight_, amount);
  }

  void AddQuantized(const TensorShard& shard, int64_t layers) {
    if (layers == 0) return;
    PutWeight(QuantizedTerm(state_.frozen),
              {.elements = shard.elements(),
               .scale_bytes = Scales(QuantizedScaleBytes(state_.frozen, shard)),
               .layers = layers});
    largest_quantized_ = std::max(largest_quantized_, shard.rows * shard.columns);
  }

  void AddFp8Copies(const WeightTensor& tensor, const TensorShard& shard,
                    const KindLayers& layers) {
    const bool quantized = IsQuantized(state_.frozen, tensor);
    const int64_t copied = quantized ? layers.not_frozen : layers.count;
    // Routers decide in wider types.
    if (!IsLayerMatrix(tensor) || tensor.component == WeightComponent::kRouter || copied == 0) {
      return;
    }
    for (int64_t i = 0; i < state_.fp8_weight_copies; ++i) {
      const CheckedInt scales = Fp8ScaleBytes(state_.weight_scaling, shard, i == 1);
      list_.Add(Fp8CopyTerm(i == 0 ? "fp8_copy" : "fp8_transpose"),
                {.elements = shard.elements(), .scale_bytes = Scales(scales), .layers = copied});
    }
  }

  void AddTrained(const WeightTensor& tensor, const TensorShard& shard, int64_t layers) {
    const StateAmount whole = {.elements = shard.elements(), .layers = layers};
    const StateAmount share =
        DividesOptimizer(state_.sharding) ? ShareOf(whole, ranks_here_) : whole;
    for (const TermRule& rule : trained_) {
      if (!InScope(rule.scope, tensor)) continue;
      const bool gradient = rule.kind == LedgerKind::kGradient;
      const bool divided = gradient ? DividesGradients(state_.sharding) : true;
      const bool plain = rule.shape == BufferShape::kElements && rule.block_size == 0;
      Put(rule, !plain ? BufferShare(rule, tensor, shard, layers) : divided ? share : whole);
    }
  }

  void Put(const TermRule& rule, const StateAmount& amount) {
    if (state_.sharding.offload_optimizer) {
      list_.AddToHost(rule, amount);
    } else {
      list_.Add(rule, amount);
    }
  }

  // Ranks share a matrix by rows, as FSDP cuts it: whoever updates some of them needs the sums of
  // these and those of all columns.
  StateAmount BufferShare(const TermRule& rule, const WeightTensor& tensor,
                          const TensorShard& shard, int64_t layers) {
    const int64_t ranks = RanksOf(DividesOptimizer(state_.sharding));
    if (rule.shape == BufferShape::kRowsAndColumns) {
      const int64_t columns = tensor.is_vector() ? 0 : shard.columns;
      StateAmount out = ShareOf({.elements = shard.rows * shard.copies, .layers = layers}, ranks);
      out.elements += columns * shard.copies * (layers / out.layers);
      return out;
    }
    const int64_t blocks = CeilDivide(shard.rows * shard.columns, rule.block_size) * shard.copies;
    return ShareOf({.elements = shard.elements(),
                    .scale_bytes = Scales(CheckedInt(kBlockScaleBytes) * blocks),
                    .layers = layers},
                   ranks);
  }

  const StateSpec& state_;
  const StateRanks ranks_;
  const TermRule weight_;
  const TermRules trained_;
  StateList list_;
  int64_t ranks_here_ = 1;
  int64_t largest_quantized_ = 0;
  bool scales_ok_ = true;
};

CheckedInt AddDequantized(const StageStateContext& context, int64_t elements, StateList& list) {
  const DataType type = StorageFor(context.state.precision.compute_data_type);
  return list.AddTransient({.name = "dequantized_weight",
                            .shape = "the largest quantised matrix",
                            .data_type = DataTypeName(type),
                            .element_bits = 8 * StorageBytes(type),
                            .elements = elements,
                            .alive = "while a quantised matrix is multiplied with",
                            .why = "matrix units multiply in the compute type",
                            .source = kQuantizedSource});
}

}  // namespace

absl::StatusOr<StageState> StageStateOf(const StageStateContext& context, int64_t stage,
                                        LedgerRows* rows) {
  StageSum sum(context, rows);
  context.weights.ForEachTensor(
      stage, [&sum](const WeightTensor& tensor, const TensorShard& shard,
                    const KindLayers& layers) { sum.Add(tensor, shard, layers); });
  StateList& list = sum.list();
  const CheckedInt dequantized = AddDequantized(context, sum.largest_quantized(), list);
  GatheredSizes gathered;
  const StateSharding& s = context.state.sharding;
  if (DividesParameters(s) || s.offload_optimizer) {
    gathered = GatheredSizesOf(context, sum.ranks(), stage, list);
  }
  const CheckedInt state = list.of(LedgerKind::kWeight) + list.of(LedgerKind::kGradient) +
                           list.of(LedgerKind::kMasterWeight) +
                           list.of(LedgerKind::kOptimizerState);
  const CheckedInt all = state + list.host() + gathered.weights + gathered.gradients + dequantized;
  if (!sum.ok() || !all.ok()) {
    return InvalidField("model", absl::StrCat("needs more than 9.2e18 bytes of state on a GPU of "
                                              "stage ",
                                              stage));
  }
  const auto bytes = [&list](LedgerKind kind) { return Bytes(list.of(kind).value()); };
  return StageState{.weights = bytes(LedgerKind::kWeight),
                    .gradients = bytes(LedgerKind::kGradient),
                    .master_weights = bytes(LedgerKind::kMasterWeight),
                    .optimizer_state = bytes(LedgerKind::kOptimizerState),
                    .host = Bytes(list.host().value()),
                    .gathered_weights = Bytes(gathered.weights.value()),
                    .gathered_gradients = Bytes(gathered.gradients.value()),
                    .dequantized_weights = Bytes(dequantized.value())};
}

}  // namespace sextant
