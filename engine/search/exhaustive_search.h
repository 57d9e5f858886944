// Evaluates all layouts of a space, or of a very large one those of the likely fastest groups.
#ifndef SEXTANT_ENGINE_SEARCH_EXHAUSTIVE_SEARCH_H_
#define SEXTANT_ENGINE_SEARCH_EXHAUSTIVE_SEARCH_H_

#include <cstdint>

#include "absl/status/status.h"
#include "engine/base/call_work.h"
#include "engine/search/layout_evaluator.h"
#include "engine/search/outcome_builder.h"

namespace sextant {

// The most layouts of any search that are evaluated, about 4 s of one core.
inline constexpr int64_t kMaxEvaluations = 4'000'000;

// A part of a search.
struct SearchShard {
  int64_t index = 0;
  int64_t count = 1;
  // Also computes the time of layouts that do not fit, and memory and time of those whose state
  // alone is too large: the same outcome, without what pruning saves. For benchmarks.
  bool times_all = false;
  int64_t max_evaluations = kMaxEvaluations;
  bool offloads = false;  // of the layouts that keep state in host memory: HasToOffload()
};

// Evaluates the part of `shard` of the layouts that counting leaves: all, or max_evaluations of
// the groups that GuessOf() puts first, with the kernels of the best that a bounded search finds.
// The first shard counts for all.
//
// Errors: those of LayoutEvaluator::Evaluate() and of `work`.
absl::Status SearchExhaustively(LayoutEvaluator& evaluator, const SearchShard& shard,
                                CallWork& work, OutcomeBuilder& builder);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_SEARCH_EXHAUSTIVE_SEARCH_H_
