#include "engine/memory/state/stage_state.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "engine/base/checked_math.h"
#include "engine/base/field_violation.h"
#include "engine/memory/model_state.h"
#include "engine/memory/state/gathered_units.h"
#include "engine/memory/state/state_list.h"
#include "engine/memory/state/state_rules.h"

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

// Plain terms are multiples of the element count, so only counts are added up tensor by tensor.
class StageSum {
 public:
  StageSum(const StageStateContext& context, const StateRules& rules, LedgerRows* rows)
      : state_(context.state), sharding_(state_.sharding), rules_(rules), list_(rows) {}

  // Used where no term depends on the tensor: the shorter path, taken by most stages.
  void AddNumbers(const TensorRun& run, absl::Span<const int64_t> elements,
                  const KindLayers& layers) {
    ranks_here_ = rules_.ranks.of(run.group);
    const auto here = [&](int64_t of_layers, bool divided) {
      if (!divided || ranks_here_ == 1) return run.elements * of_layers;
      int64_t sum = 0;
      for (const int64_t tensor : elements) sum += CeilDivide(tensor * of_layers, ranks_here_);
      return sum;
    };
    weight_numbers_ += here(layers.count, DividesParameters(sharding_));
    numbers_[0].whole += run.elements * layers.not_frozen;
    numbers_[0].divided += here(layers.not_frozen, DividesOptimizer(sharding_));
  }

  void Add(const WeightTensor& tensor, const TensorShard& shard, const KindLayers& layers) {
    list_.GoTo(tensor, shard);
    ranks_here_ = rules_.ranks.of(shard.group);
    const bool quantized = IsQuantized(state_.frozen, tensor);
    if (quantized) AddQuantized(shard, layers.count - layers.not_frozen);
    AddWeights(shard, quantized ? layers.not_frozen : layers.count);
    if (layers.not_frozen > 0) AddTrained(tensor, shard, layers.not_frozen);
    if (state_.fp8_weight_copies > 0) AddFp8Copies(tensor, shard, layers);
  }

  // Call after all tensors were added.
  void AddPlainTerms() {
    list_.AddSum(rules_.weight, weight_numbers_, sharding_.offload_parameters);
    for (const TermRule& rule : rules_.trained) {
      if (!IsPlain(rule)) continue;
      int64_t numbers = 0;
      for (const BufferScope scope : {BufferScope::kHiddenMatrices, BufferScope::kOthers}) {
        if (rule.scope != BufferScope::kAll && rule.scope != scope) continue;
        const Numbers& of = numbers_[scope == BufferScope::kHiddenMatrices ? 0 : 1];
        numbers += IsDivided(rule) ? of.divided : of.whole;
      }
      list_.AddSum(rule, numbers, IsOffloaded(rule));
    }
  }

  StateList& list() { return list_; }
  // Bytes of the largest quantised matrix.
  int64_t largest_quantized() const { return largest_quantized_; }

 private:
  struct Numbers {
    int64_t whole = 0;
    int64_t divided = 0;
  };

  bool IsDivided(const TermRule& rule) const {
    return rule.kind == LedgerKind::kGradient ? DividesGradients(sharding_)
                                              : DividesOptimizer(sharding_);
  }

  // `rule` is of a term of a trained tensor.
  bool IsOffloaded(const TermRule& rule) const {
    if (rule.kind == LedgerKind::kGradient) return OffloadsGradients(state_);
    const bool paged = state_.optimizer.paged && rule.kind == LedgerKind::kOptimizerState;
    return sharding_.offload_optimizer || paged;
  }

  // The elements of ShareOf().
  int64_t NumbersHere(int64_t numbers, bool divided) const {
    return divided && ranks_here_ > 1 ? CeilDivide(numbers, ranks_here_) : numbers;
  }

  StateAmount WeightShare(const StateAmount& amount) const {
    return DividesParameters(sharding_) ? ShareOf(amount, ranks_here_) : amount;
  }

  void AddWeights(const TensorShard& shard, int64_t layers) {
    if (layers == 0) return;
    if (rules_.scales_fp8) {
      const int64_t scales = Fp8ScaleBytes(state_.weight_scaling, shard, false);
      const StateAmount whole = {
          .elements = shard.elements(), .scale_bytes = scales, .layers = layers};
      list_.Add(rules_.weight, WeightShare(whole), sharding_.offload_parameters);
      return;
    }
    weight_numbers_ += NumbersHere(shard.elements() * layers, DividesParameters(sharding_));
    if (!list_.has_rows()) return;
    list_.AddRow(rules_.weight, WeightShare({.elements = shard.elements(), .layers = layers}),
                 sharding_.offload_parameters);
  }

  void AddQuantized(const TensorShard& shard, int64_t layers) {
    if (layers == 0) return;
    const StateAmount whole = {.elements = shard.elements(),
                               .scale_bytes = QuantizedScaleBytes(state_.frozen, shard),
                               .layers = layers};
    list_.Add(QuantizedTerm(state_.frozen), WeightShare(whole), sharding_.offload_parameters);
    largest_quantized_ = std::max(largest_quantized_, shard.rows * shard.columns);
  }

  void AddFp8Copies(const WeightTensor& tensor, const TensorShard& shard,
                    const KindLayers& layers) {
    const bool quantized = IsQuantized(state_.frozen, tensor);
    const int64_t copied = quantized ? layers.not_frozen : layers.count;
    if (!IsLayerMatrix(tensor) || copied == 0) return;
    for (int64_t i = 0; i < state_.fp8_weight_copies; ++i) {
      const int64_t scales = Fp8ScaleBytes(state_.weight_scaling, shard, i == 1);
      list_.Add(Fp8CopyTerm(i == 0 ? "fp8_copy" : "fp8_transpose"),
                {.elements = shard.elements(), .scale_bytes = scales, .layers = copied}, false);
    }
  }

  void AddTrained(const WeightTensor& tensor, const TensorShard& shard, int64_t layers) {
    const int64_t whole = shard.elements() * layers;
    Numbers& numbers = numbers_[rules_.by_scope && !IsHiddenMatrix(tensor) ? 1 : 0];
    numbers.whole += whole;
    numbers.divided += NumbersHere(whole, DividesOptimizer(sharding_));
    if (rules_.all_plain && !list_.has_rows()) return;
    for (const TermRule& rule : rules_.trained) {
      if (!InScope(rule.scope, tensor)) continue;
      if (!IsPlain(rule)) {
        list_.Add(rule, BufferShare(rule, tensor, shard, layers), IsOffloaded(rule));
      } else if (list_.has_rows()) {
        const StateAmount amount = {.elements = shard.elements(), .layers = layers};
        list_.AddRow(rule, IsDivided(rule) ? ShareOf(amount, ranks_here_) : amount,
                     IsOffloaded(rule));
      }
    }
  }

  // Ranks share a matrix by rows, as FSDP cuts it: a rank that updates some rows needs the sums of
  // these rows and of all columns.
  StateAmount BufferShare(const TermRule& rule, const WeightTensor& tensor,
                          const TensorShard& shard, int64_t layers) {
    const int64_t ranks = DividesOptimizer(sharding_) ? ranks_here_ : 1;
    if (rule.shape == BufferShape::kLowRank) {  // of whole matrices: CheckStateSpec()
      return {.elements = LowRankNumbers(shard.rows, shard.columns, rule.rank) * shard.copies,
              .layers = layers};
    }
    if (rule.shape == BufferShape::kRowsAndColumns) {
      const int64_t columns = tensor.is_vector() ? 0 : shard.columns;
      StateAmount out = ShareOf({.elements = shard.rows * shard.copies, .layers = layers}, ranks);
      out.elements += columns * shard.copies * (layers / out.layers);
      return out;
    }
    const int64_t blocks = CeilDivide(shard.rows * shard.columns, rule.block_size) * shard.copies;
    return ShareOf(
        {.elements = shard.elements(), .scale_bytes = kBlockScaleBytes * blocks, .layers = layers},
        ranks);
  }

  const StateSpec& state_;
  const StateSharding& sharding_;
  const StateRules& rules_;
  StateList list_;
  int64_t ranks_here_ = 1;
  int64_t weight_numbers_ = 0;
  std::array<Numbers, 2> numbers_{};  // of hidden matrices, of all others, where rules differ
  int64_t largest_quantized_ = 0;
};

int64_t AddDequantized(const PrecisionPolicy& precision, int64_t elements, StateList& list) {
  const DataType type = StorageFor(precision.compute_data_type);
  if (list.has_rows()) {
    list.AddTransient({.name = "dequantized_weight",
                       .shape = "the largest quantised matrix",
                       .data_type = type,
                       .element_bits = 8 * StorageBytes(type),
                       .elements = elements,
                       .alive = "while a quantised matrix is multiplied with",
                       .why = "matrix units multiply in the compute type",
                       .source = kQuantizedSource});
  }
  return elements * StorageBytes(type);
}

}  // namespace

StageState SumOf(const StageState& a, const StageState& b) {
  return {.weights = a.weights + b.weights,
          .gradients = a.gradients + b.gradients,
          .master_weights = a.master_weights + b.master_weights,
          .optimizer_state = a.optimizer_state + b.optimizer_state,
          .host = a.host + b.host,
          .gathered_weights = a.gathered_weights + b.gathered_weights,
          .gathered_gradients = a.gathered_gradients + b.gathered_gradients,
          .dequantized_weights = a.dequantized_weights + b.dequantized_weights};
}

absl::StatusOr<StageState> StageStateOf(const StageStateContext& context, int64_t stage,
                                        LedgerRows* rows) {
  return StageStateOf(context, StateRulesOf(context), stage, rows);
}

absl::StatusOr<StageState> StageStateOf(const StageStateContext& context, const StateRules& rules,
                                        int64_t stage, LedgerRows* rows) {
  if (stage < 0 || stage >= context.weights.stage_count()) {
    return InvalidField(
        "stage", absl::StrCat("must be 0 to ", context.weights.stage_count() - 1, ", not ", stage));
  }
  StageSum sum(context, rules, rows);
  if (rules.only_numbers && rows == nullptr) {
    context.weights.ForEachRun(
        stage, [&sum](const TensorRun& run, absl::Span<const int64_t> elements,
                      const KindLayers& layers) { sum.AddNumbers(run, elements, layers); });
  } else {
    context.weights.ForEachTensor(
        stage, [&sum](const WeightTensor& tensor, const TensorShard& shard,
                      const KindLayers& layers) { sum.Add(tensor, shard, layers); });
  }
  sum.AddPlainTerms();
  StateList& list = sum.list();
  const int64_t dequantized =
      AddDequantized(context.state.precision, sum.largest_quantized(), list);
  GatheredSizes gathered;
  const StateSharding& s = context.state.sharding;
  if (DividesParameters(s) || OffloadsGradients(context.state)) {
    gathered = GatheredSizesOf(context, rules.ranks, stage, list);
  }
  const auto bytes = [&list](LedgerKind kind) { return Bytes(list.of(kind)); };
  return StageState{.weights = bytes(LedgerKind::kWeight),
                    .gradients = bytes(LedgerKind::kGradient),
                    .master_weights = bytes(LedgerKind::kMasterWeight),
                    .optimizer_state = bytes(LedgerKind::kOptimizerState),
                    .host = Bytes(list.host()),
                    .gathered_weights = Bytes(gathered.weights),
                    .gathered_gradients = Bytes(gathered.gradients),
                    .dequantized_weights = Bytes(dequantized)};
}

}  // namespace sextant
