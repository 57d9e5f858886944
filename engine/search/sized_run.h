// One of the runs that a question of size tries: how many devices, how large a model.
#ifndef SEXTANT_ENGINE_SEARCH_SIZED_RUN_H_
#define SEXTANT_ENGINE_SEARCH_SIZED_RUN_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "engine/base/call_work.h"
#include "engine/base/field_violation.h"
#include "engine/base/units.h"
#include "engine/run/resolve.h"
#include "engine/run/run_spec.h"
#include "engine/search/layout_search.h"

namespace sextant {

// The basis of an answer: searched layouts and their predicted time, or, where the run has no
// layout, model state alone and the textbook estimate.
enum class SizeBasis { kLayouts, kStateAlone };

SizeBasis BasisOfRun(const RunSpec& run);

// The first of these that a run misses.
enum class SizeLimit {
  kNone,
  kLayout,  // no layout is allowed
  kMemory,
  kDeadline,
  kBudget,
};

struct SizedRun {
  SizeLimit misses = SizeLimit::kNone;
  // From the run's start to its end, and its price. Absent where it does not fit.
  absl::optional<Seconds> elapsed = {};
  absl::optional<Dollars> cost = {};   // also absent without a price
  absl::optional<Joules> energy = {};  // also absent without a power
  // The largest of its time and cost over their limits; where it does not fit, of its memory.
  double excess = 0;
  int64_t layout_count = 0;  // layouts whose memory was computed
  bool has_plan = false;     // false: no layout is allowed
  // Where it has one, until a better run is tried: a plan of thousands of stages takes megabytes.
  std::shared_ptr<const SearchedPlan> plan = nullptr;
};

// True where `a` comes nearer to what was asked for: those that fit, then those that have a layout,
// each by excess.
bool IsNearer(const SizedRun& a, const SizedRun& b);

// Appends what the layout of `run` lacks for a search.
void CheckSizedLayout(const RunSpec& run, FieldViolations& violations);

// Plans `run`, whose economics have the limits; with a layout by a bounded search.
//
// `known`: see Resolve(). Errors: those of PlanRun() and SearchLayouts().
absl::StatusOr<SizedRun> TryRun(RunSpec run, CallWork& work, const KnownParts& known);

// The same, where the fields of `run` were already checked on another size: an invalid field is
// then a layout that this size does not allow.
//
// Errors: those of `work`, and of missing rates.
absl::StatusOr<SizedRun> TryCheckedRun(RunSpec run, CallWork& work, const KnownParts& known);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_SEARCH_SIZED_RUN_H_
