#include "engine/search/sized_run.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "engine/run/plan.h"
#include "engine/run/whole_run.h"

namespace sextant {
namespace {

// Absent where no layout is allowed.
absl::StatusOr<absl::optional<SearchedPlan>> PlanOf(RunSpec run, CallWork& work,
                                                    const KnownParts& known,
                                                    int64_t& layout_count) {
  absl::optional<SearchedPlan> out;
  if (BasisOfRun(run) == SizeBasis::kLayouts) {
    run.options.search = SearchExtent::kBounded;
    SEXTANT_ASSIGN_OR_RETURN(SearchOutcome outcome, SearchAsPlanned(run, {}, work, known));
    layout_count = ProgressOf(outcome).searched;
    if (outcome.best.empty() && !outcome.smallest.has_value()) return out;
    SEXTANT_ASSIGN_OR_RETURN(out, PlanBest(run, std::move(outcome), work, known));
    return out;
  }
  auto planned = std::make_unique<RunSpec>(std::move(run));
  SEXTANT_ASSIGN_OR_RETURN(Plan plan, PlanRun(*planned, {}, work, known));
  out = SearchedPlan{.run = std::move(planned), .plan = std::move(plan), .outcome = {}};
  return out;
}

// The memory that a device, or a server, needs over what it has.
double MemoryRatio(const Plan& plan) {
  const double usable = static_cast<double>(plan.capacity.usable().value());
  if (!plan.memory_estimate.has_value()) {
    return static_cast<double>(plan.fit.per_device.value()) / usable;
  }
  const MemoryEstimate& memory = *plan.memory_estimate;
  const double device = static_cast<double>(memory.peak().process.expected.value()) / usable;
  if (!memory.host.server.memory.has_value()) return device;
  const double server = static_cast<double>(memory.host.server.memory->value());
  return std::max(device, static_cast<double>(memory.host.need.value()) / server);
}

// Fills in the time and cost of `plan`, which fits, and which of its limits it misses.
void CompareWithLimits(const EconomicsSpec& economics, const Plan& plan, SizedRun& out) {
  const TimeEstimate* const estimate = BasisOf(plan);
  const auto compare = [&out](double figure, absl::optional<double> limit, SizeLimit which) {
    if (!limit.has_value()) return;
    out.excess = std::max(out.excess, figure / *limit);
    if (figure > *limit && out.misses == SizeLimit::kNone) out.misses = which;
  };
  if (estimate == nullptr) {
    // No rate of the devices is known, so that no limit can be said to be met.
    if (economics.seconds_to_deadline.has_value()) out.misses = SizeLimit::kDeadline;
    return;
  }
  out.elapsed = estimate->elapsed;
  out.cost = estimate->cost;
  out.energy = estimate->energy;
  compare(estimate->elapsed.value(), economics.seconds_to_deadline, SizeLimit::kDeadline);
  if (estimate->cost.has_value()) {
    compare(estimate->cost->value(), economics.budget_usd, SizeLimit::kBudget);
  }
}

}  // namespace

SizeBasis BasisOfRun(const RunSpec& run) {
  return run.layout.has_value() ? SizeBasis::kLayouts : SizeBasis::kStateAlone;
}

bool IsNearer(const SizedRun& a, const SizedRun& b) {
  const auto key = [](const SizedRun& run) {
    return std::make_tuple(!run.elapsed.has_value(), !run.has_plan, run.excess);
  };
  return key(a) < key(b);
}

void CheckSizedLayout(const RunSpec& run, FieldViolations& violations) {
  if (!run.layout.has_value()) return;
  const absl::optional<int64_t> batch = run.layout->global_batch_size;
  if (!batch.has_value()) {
    violations.Add("layout.global_batch_size",
                   "is required with a layout: the sequences of a step, among which layouts are "
                   "searched; or leave out layout, to count state alone");
  } else if (*batch < 1) {
    violations.Add("layout.global_batch_size", absl::StrCat("must be at least 1, not ", *batch));
  }
}

absl::StatusOr<SizedRun> TryRun(RunSpec run, CallWork& work, const KnownParts& known) {
  const EconomicsSpec economics = run.economics;
  SizedRun out;
  SEXTANT_ASSIGN_OR_RETURN(absl::optional<SearchedPlan> planned,
                           PlanOf(std::move(run), work, known, out.layout_count));
  if (!planned.has_value()) {
    out.misses = SizeLimit::kLayout;
    return out;
  }
  out.has_plan = true;
  out.plan = std::make_shared<const SearchedPlan>(*std::move(planned));
  const Plan& plan = out.plan->plan;
  if (plan.verdict() != Verdict::kFits && plan.verdict() != Verdict::kStateFits) {
    out.misses = SizeLimit::kMemory;
    out.excess = MemoryRatio(plan);
    return out;
  }
  CompareWithLimits(economics, plan, out);
  return out;
}

absl::StatusOr<SizedRun> TryCheckedRun(RunSpec run, CallWork& work, const KnownParts& known) {
  absl::StatusOr<SizedRun> tried = TryRun(std::move(run), work, known);
  if (tried.ok() || tried.status().code() != absl::StatusCode::kInvalidArgument) return tried;
  return SizedRun{.misses = SizeLimit::kLayout};
}

}  // namespace sextant
