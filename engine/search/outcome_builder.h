// Evaluates the layouts that a search, or a part of one, looks at, and keeps the outcome.
#ifndef SEXTANT_ENGINE_SEARCH_OUTCOME_BUILDER_H_
#define SEXTANT_ENGINE_SEARCH_OUTCOME_BUILDER_H_

#include <cstdint>
#include <functional>

#include "absl/status/statusor.h"
#include "engine/search/layout_evaluator.h"
#include "engine/search/layout_space.h"
#include "engine/search/search_outcome.h"

namespace sextant {

// Called with the search's progress, about once per 1,000 layouts.
using SearchWatch = std::function<void(const SearchProgress& progress)>;

class OutcomeBuilder {
 public:
  // `evaluator` and `watch`, which may be null, outlive this.
  OutcomeBuilder(LayoutEvaluator& evaluator, const SearchWatch& watch, bool times_all)
      : evaluator_(evaluator), watch_(watch), times_all_(times_all) {
    out_.layer_count = evaluator.space().layer_count;
    out_.untimed_offload = evaluator.untimed_offload();
  }

  // Adds the layouts of a group, those that are left to `considered` alone.
  void Count(const LayoutCounts& counts);

  // Errors: those of LayoutEvaluator::Evaluate().
  absl::StatusOr<absl::optional<LayoutOption>> Evaluate(const LayoutChoice& choice);

  // Looks for the smallest layout among those that were pruned for their memory, too. Changes
  // nothing else. For a space where nothing fits.
  //
  // Errors: those of LayoutEvaluator::Evaluate() and of `work`.
  absl::Status EvaluateSmallest(CallWork& work);

  // True where a layout was found that fits, or may.
  bool has_best() const { return !out_.best.empty(); }
  SearchOutcome& out() { return out_; }

 private:
  static constexpr int64_t kLayoutsAReport = 1024;

  LayoutEvaluator& evaluator_;
  const SearchWatch& watch_;
  const bool times_all_;
  int64_t watched_ = 0;
  SearchOutcome out_;
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_SEARCH_OUTCOME_BUILDER_H_
