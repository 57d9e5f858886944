// The result of a search for a layout, in parts and merged.
#ifndef SEXTANT_ENGINE_SEARCH_SEARCH_OUTCOME_H_
#define SEXTANT_ENGINE_SEARCH_SEARCH_OUTCOME_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "engine/base/call_work.h"
#include "engine/search/layout_choice.h"
#include "engine/search/layout_evaluator.h"
#include "engine/search/layout_space.h"

namespace sextant {

// Better options first: those that fit before tight ones, then by time, memory and choice. A total
// order, so that every division of a search finds the same.
bool IsBetter(const LayoutOption& a, const LayoutOption& b);

// The options that an outcome lists.
inline constexpr size_t kAlternatives = 10;

// The result of a search, or of a part of one.
struct SearchOutcome {
  int64_t considered = 0;  // layouts whose sizes divide the devices
  PrunedCounts pruned = {};
  int64_t by_state = 0;                  // of `pruned` for memory: a StateBound excluded them
  int64_t evaluated = 0;                 // memory and time were both computed
  int64_t to_search = 0;                 // as SearchProgress; 0 where nobody watches
  int64_t layer_count = 0;               // of the model
  MissingField untimed = {};             // why no layout was looked at: no step can be predicted
  MissingField untimed_offload = {};     // likewise of layouts that offload
  bool exhaustive = true;                // nothing that was considered was left out
  std::vector<LayoutOption> best = {};   // the first kAlternatives by IsBetter()
  std::vector<LayoutOption> front = {};  // no other is faster and smaller; from the fastest on
  // The first by IsBetter() of those that may fit and have sizes of published runs.
  absl::optional<LayoutOption> published = {};
  // The layout that takes the least memory, where none of `best` fits.
  absl::optional<LayoutOption> smallest = {};
};

// Adds a layout whose memory, and where it may fit whose step, was computed. If it is to be listed,
// `complete` sets its step's interval first.
void Add(LayoutOption option, absl::FunctionRef<void(LayoutOption&)> complete, SearchOutcome& to);

// Keeps it as the smallest, if it is, and changes nothing else.
void AddSmallest(LayoutOption option, absl::FunctionRef<void(LayoutOption&)> complete,
                 SearchOutcome& to);

// Adds `from`, of another shard of the same search.
void Merge(SearchOutcome from, SearchOutcome& to);

// Within this ratio of the fastest, a layout whose sizes published runs have comes first: a part of
// the median error of a prediction (kTieRatio), so that it says nothing of which is faster.
inline constexpr double kPublishedFirst = 0.01;

// Puts `published` first, where its verdict is the best one's and its step within kPublishedFirst.
void PutPublishedFirst(SearchOutcome& outcome);

// How far a search, or a part of one, has come.
struct SearchProgress {
  int64_t searched = 0;   // layouts whose memory was computed
  int64_t to_search = 0;  // layouts to search in total; only shard 0 sets it
  int64_t layer_count = 0;
  absl::optional<LayoutOption> best = {};  // so far; absent where nothing that may fit was found
};

SearchProgress ProgressOf(const SearchOutcome& so_far);

// Called with the search's progress, about once per 1,000 layouts.
using SearchWatch = std::function<void(const SearchProgress& progress)>;

// Evaluates the layouts that a search, or a part of one, looks at, and keeps the outcome.
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
  // The same where the layout itself is not asked for: its step is not timed to the end where it is
  // too long to be listed.
  absl::Status Visit(const LayoutChoice& choice);

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

  absl::StatusOr<absl::optional<LayoutOption>> AddWithin(const LayoutChoice& choice,
                                                         LayoutEvaluator::StepLimit limit);

  LayoutEvaluator& evaluator_;
  const SearchWatch& watch_;
  const bool times_all_;
  int64_t watched_ = 0;
  SearchOutcome out_;
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_SEARCH_SEARCH_OUTCOME_H_
