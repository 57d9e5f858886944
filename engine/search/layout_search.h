// Finds the fastest layout of a run that fits its devices.
#ifndef SEXTANT_ENGINE_SEARCH_LAYOUT_SEARCH_H_
#define SEXTANT_ENGINE_SEARCH_LAYOUT_SEARCH_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/base/call_work.h"
#include "engine/base/field_violation.h"
#include "engine/base/units.h"
#include "engine/run/plan.h"
#include "engine/run/resolve.h"
#include "engine/run/run_spec.h"
#include "engine/search/search_outcome.h"
#include "engine/time/step_time.h"

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
  KnownParts known = {};  // see Resolve()
};

// Options within this ratio of the best are ties: the median error of one layout's time
// predicted from another's of the same run (docs/accuracy_step_time.md, one measured step).
inline constexpr double kTieRatio = 0.03;
// One shard of the search of `run`, which has options.search. Pure; merged outcomes of n shards are
// equal for every n. `watch` may be null. A bounded search is the first shard's alone.
//
// Errors: those of PlanRun() and `work`; kInvalidArgument for a run without a shape, a sequence
// length or a global batch.
absl::StatusOr<SearchOutcome> SearchLayouts(const RunSpec& run, SearchShard shard,
                                            FieldViolations found, CallWork& work,
                                            const SearchWatch& watch = nullptr);

// True where nothing fits in `outcome`, the merged shards of `run`, and layouts that keep state in
// host memory may: their shards (SearchShard::offloads) are then to be merged, too. They are slower
// than the same without, so that usual searches need not look at them.
bool HasToOffload(const RunSpec& run, const SearchOutcome& outcome);

// The search of `run` that a plan makes: SearchLayouts() of one shard, and where nothing fits also
// the layouts that keep state in host memory. `known`: see Resolve().
//
// Errors: those of SearchLayouts().
absl::StatusOr<SearchOutcome> SearchAsPlanned(const RunSpec& run, FieldViolations found,
                                              CallWork& work, const KnownParts& known = {});

// A rate on which the choice depends.
struct ChoiceSensitivity {
  StepRate rate = StepRate::kArithmetic;
  // Slowdown of this rate at which `best[other]` beats the choice by more than a tie. Below 1: a
  // speed-up.
  double slowness = 1;
  size_t other = 0;  // index in `best`
};
// The farthest that rates are taken to be off, either way.
inline constexpr double kMaxSlowness = 2;

// A plan of the best layout.
struct SearchedPlan {
  std::unique_ptr<const RunSpec> run;  // with that layout; the plan points into it
  Plan plan;
  SearchOutcome outcome;
  std::vector<ChoiceSensitivity> sensitivities = {};  // the nearest first
  Seconds lower_bound = {};  // of a step: its FLOPs at the peak of all devices; 0: not known
};

// Plans `run` with the best layout of `outcome`, or the smallest where none fits. `known`: that of
// the search.
//
// Errors: those of PlanRun(); kInvalidArgument where every layout was refused, or `untimed`.
absl::StatusOr<SearchedPlan> PlanBest(const RunSpec& run, SearchOutcome outcome, CallWork& work,
                                      const KnownParts& known = {});

}  // namespace sextant

#endif  // SEXTANT_ENGINE_SEARCH_LAYOUT_SEARCH_H_
