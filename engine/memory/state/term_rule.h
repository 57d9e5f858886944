// The terms of model state as rules: what is kept for which parameters, and in which format.
#ifndef SEXTANT_ENGINE_MEMORY_STATE_TERM_RULE_H_
#define SEXTANT_ENGINE_MEMORY_STATE_TERM_RULE_H_

#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "absl/strings/string_view.h"
#include "engine/memory/ledger_row.h"
#include "engine/memory/optimizer_state.h"
#include "engine/memory/training_policy.h"

namespace sextant {

// Views are of literals: never freed.
struct TermRule {
  LedgerKind kind = LedgerKind::kWeight;
  absl::string_view name = "";
  DataType data_type = DataType::kUnspecified;
  int64_t element_bits = 0;
  int64_t block_size = 0;  // elements that share an fp32 scale; 0: no scales
  BufferShape shape = BufferShape::kElements;
  BufferScope scope = BufferScope::kAll;
  absl::string_view why = "";
  absl::string_view source = "";
};

using TermRules = absl::InlinedVector<TermRule, 5>;

// `precision` has its defaults filled in.
TermRule WeightTerm(const PrecisionPolicy& precision);

// What is kept besides for what is trained: gradient, master weight, the optimizer's buffers. At
// most 5, so that nothing is allocated.
TermRules TrainedTerms(const PrecisionPolicy& precision, const OptimizerSpec& optimizer);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MEMORY_STATE_TERM_RULE_H_
