#include "engine/memory/state/state_rules.h"

namespace sextant {

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
