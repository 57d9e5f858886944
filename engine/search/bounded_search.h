// Finds a fast layout of a large space within a fixed number of evaluations.
#ifndef SEXTANT_ENGINE_SEARCH_BOUNDED_SEARCH_H_
#define SEXTANT_ENGINE_SEARCH_BOUNDED_SEARCH_H_

#include "absl/status/status.h"
#include "engine/base/call_work.h"
#include "engine/search/layout_evaluator.h"
#include "engine/search/search_outcome.h"

namespace sextant {

// The most layouts of a bounded search that are evaluated, about 0.1 s of one core.
inline constexpr int64_t kBoundedEvaluations = 20'000;

// Evaluates all layouts of the space that counting leaves, if they are at most
// kBoundedEvaluations; else that many, in rounds from many groups to few. Fills in `builder`.
//
// Errors: those of LayoutEvaluator::Evaluate().
absl::Status SearchBounded(LayoutEvaluator& evaluator, CallWork& work, OutcomeBuilder& builder);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_SEARCH_BOUNDED_SEARCH_H_
