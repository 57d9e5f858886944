#include "engine/memory/model_state.h"

#include "engine/base/checked_math.h"
#include "engine/base/field_violation.h"
#include "engine/memory/optimizer_state.h"
#include "engine/memory/state/term_rule.h"

namespace sextant {
namespace {

// Adds terms and keeps their sum, remembering an overflow.
class TermList {
 public:
  void Add(StateTerm term) {
    if (term.elements == 0) return;
    const CheckedInt size = CheckedInt(term.elements) * term.element_bytes + term.scale_bytes;
    total_ = total_ + size;
    term.size = Bytes(size.value());
    state_.terms.push_back(term);
  }
  absl::StatusOr<ModelState> Finish() {
    if (!total_.ok()) return InvalidField("model", "needs more than 9.2e18 bytes of state");
    state_.total = Bytes(total_.value());
    return state_;
  }

 private:
  ModelState state_;
  CheckedInt total_ = 0;
};

StateTerm TermOf(const TermRule& rule, int64_t elements) {
  return {.name = rule.name,
          .data_type = rule.data_type,
          .elements = elements,
          .element_bytes = rule.element_bits / 8,
          .source = rule.source};
}

}  // namespace

absl::StatusOr<ModelState> ModelStateOf(const WeightCount& parameters, const WeightTensors& tensors,
                                        const PrecisionPolicy& precision,
                                        const OptimizerSpec& optimizer) {
  TermList terms;
  const int64_t trained = parameters.trainable;
  terms.Add(TermOf(WeightTerm(precision), parameters.total));
  for (const TermRule& rule : TrainedTerms(precision, optimizer)) {
    StateTerm term = TermOf(rule, BufferElements(rule.shape, rule.scope, trained, tensors));
    if (rule.block_size > 0) {
      term.scale_bytes = kBlockScaleBytes * ScaleCount(rule.block_size, trained, tensors);
    }
    terms.Add(term);
  }
  return terms.Finish();
}

}  // namespace sextant
