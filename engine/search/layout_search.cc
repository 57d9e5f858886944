// Searches a space and plans the best layout. bounded_search.cc searches a part of a large space;
// an exhaustive search is here. Its shards take blocks of kShardBlock consecutive layouts in turn,
// which keeps an evaluator's caches useful. IsBetter() is a total order, so the merged result does
// not depend on the number of shards.
//
// Time is linear in the groups, and in the layouts that are evaluated. Layouts are not stored; of
// groups, a guess and a count.
#include "engine/search/layout_search.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "engine/base/status_macros.h"
#include "engine/framework/software_stack.h"
#include "engine/memory/ledger/framework_spec.h"
#include "engine/model/sharding/parallel_layout.h"
#include "engine/run/layout_fields.h"
#include "engine/search/bounded_search.h"

namespace sextant {
namespace {

// Stages of a layout times the devices on which they are timed: a search keeps 1.3 KB for each, of
// four ways to divide state.
constexpr int64_t kMaxTimedStages = 16'384;

// The run without anything that only its answer needs.
RunSpec BaseOf(const RunSpec& run) {
  RunSpec out = run;
  out.options.full = false;
  out.options.include_derivation = false;
  out.options.include_ledger = false;
  out.options.include_operations = false;
  if (!out.layout.has_value()) out.layout = RunLayout{};
  out.layout->framework.searched = true;
  return out;
}

void CheckTimedStages(const RunSpec& run, FieldViolations& violations) {
  if (!run.layout.has_value()) return;
  const int64_t stages = run.layout->parallel.pipeline_parallel_size.value_or(0);
  const auto devices = static_cast<int64_t>(run.cluster.device.models().size());
  if (stages < 1 || stages > kMaxPipelineParallelSize || devices * stages <= kMaxTimedStages) {
    return;
  }
  violations.Add(
      run.cluster.device.ListField("cluster.device"),
      absl::StrCat("has ", devices, " devices to search layouts of ", stages,
                   " stages on: give at most ", kMaxTimedStages / stages,
                   ", the slowest, or a smaller layout.parallel.pipeline_parallel_size"));
}

void CheckSearch(const RunSpec& run, FieldViolations& violations) {
  if (run.model.parameter_count.has_value()) {
    violations.Add("options.search", "needs the model's shape, not model.parameter_count alone");
  }
  if (!run.training.sequence_length.has_value()) {
    violations.Add("training.sequence_length", "is required for options.search");
  }
  CheckTimedStages(run, violations);
  // Fields that are invalid whatever the search finds.
  if (run.layout.has_value()) {
    CheckLayoutRanges(LayoutOf(run.layout->parallel), "layout.parallel", violations);
    CheckSoftware(run.layout->software, "layout.software", violations);
  }
  if (!run.layout.has_value() || !run.layout->global_batch_size.has_value()) {
    violations.Add("layout.global_batch_size",
                   "is required for options.search: the sequences of a step");
  }
}

// Appends the parallel sizes that `run` gives, or the pairs of them, that the devices are not a
// multiple of.
void AddConflicts(const RunSpec& run, FieldViolations& violations) {
  const int64_t devices = run.cluster.device_count;
  const auto fits = [devices](int64_t size) { return size >= 1 && devices % size == 0; };
  const LayoutField sizes[] = {kTensorParallelField, kPipelineParallelField, kContextParallelField};
  for (size_t i = 0; i < std::size(sizes); ++i) {
    const absl::optional<int64_t> size = sizes[i].in(*run.layout);
    if (!size.has_value()) continue;
    if (!fits(*size)) {
      violations.Add(std::string(sizes[i].path),
                     absl::StrCat("is ", *size, ", which the ", devices,
                                  " of cluster.device_count are not a multiple of"));
      continue;
    }
    for (size_t j = i + 1; j < std::size(sizes); ++j) {
      const int64_t other = sizes[j].in(*run.layout).value_or(1);
      if (!fits(other) || fits(*size * other)) continue;
      violations.Add(std::string(sizes[i].path),
                     absl::StrCat("is ", *size, ", and with ", sizes[j].path, " ", other,
                                  " takes a multiple of ", *size * other, " devices, which ",
                                  devices, " are not"));
    }
  }
}

// The error where no layout is left: the fields that contradict each other, or what all others
// were pruned for.
absl::Status NoLayout(const RunSpec& run, const PrunedCounts& pruned) {
  FieldViolations violations;
  AddConflicts(run, violations);
  if (!violations.empty()) return violations.ToStatus();
  const auto count = [&pruned](Pruned reason) { return pruned[static_cast<size_t>(reason)]; };
  const int64_t batch = count(Pruned::kBatch) + count(Pruned::kRounds);
  if (batch > 0 && count(Pruned::kRefused) == 0) {
    return InvalidField("layout.global_batch_size",
                        absl::StrCat("leaves no layout of ", run.cluster.device_count,
                                     " devices: no number of data parallel ranks, and of "
                                     "micro-batches for the stages, divides ",
                                     *run.layout->global_batch_size));
  }
  return InvalidField(
      "layout",
      absl::StrCat("leaves no layout: the framework (", run.layout->framework.traits().title,
                   ") or the model's shape refuses all ", count(Pruned::kRefused),
                   " that divide the devices and "
                   "the global batch; give fewer of its fields"));
}

// Rates as slow or fast as they are taken to be, the nearest first.
constexpr double kSlownesses[] = {1.1, 1 / 1.1, 1.25,         1 / 1.25,
                                  1.5, 1 / 1.5, kMaxSlowness, 1 / kMaxSlowness};
constexpr size_t kSlownessCount = sizeof(kSlownesses) / sizeof(kSlownesses[0]);

// The steps of all listed layouts at each slowness of each rate.
using SlowSteps = std::array<std::array<std::vector<double>, kSlownessCount>, kStepRateCount>;

absl::StatusOr<SlowSteps> SlowStepsOf(const RunSpec& run, const SearchOutcome& outcome,
                                      CallWork& work, const KnownParts& known) {
  LayoutEvaluator evaluator(BaseOf(run), work);
  SEXTANT_RETURN_IF_ERROR(evaluator.Prepare({}, /*offloads=*/false, known));
  SlowSteps out;
  for (const LayoutOption& option : outcome.best) {
    SEXTANT_RETURN_IF_ERROR(evaluator.Evaluate(option.choice).status());
    for (size_t rate = 0; rate < kStepRateCount; ++rate) {
      for (size_t i = 0; i < kSlownessCount; ++i) {
        const Seconds step = evaluator.SecondsWhere(static_cast<StepRate>(rate), kSlownesses[i]);
        out[rate][i].push_back(step.value());
      }
    }
  }
  return out;
}

absl::Status AddSensitivities(const RunSpec& run, CallWork& work, const KnownParts& searched,
                              SearchedPlan& out) {
  if (out.outcome.best.size() < 2) return absl::OkStatus();
  SEXTANT_ASSIGN_OR_RETURN(const SlowSteps steps, SlowStepsOf(run, out.outcome, work, searched));
  for (size_t i = 0; i < kSlownessCount; ++i) {
    for (size_t rate = 0; rate < kStepRateCount; ++rate) {
      const std::vector<double>& each = steps[rate][i];
      const auto least = std::min_element(each.begin(), each.end());
      const auto known = std::find_if(out.sensitivities.begin(), out.sensitivities.end(),
                                      [&](const ChoiceSensitivity& other) {
                                        return static_cast<size_t>(other.rate) == rate &&
                                               (other.slowness > 1) == (kSlownesses[i] > 1);
                                      });
      if (known != out.sensitivities.end() || each.front() <= (1 + kTieRatio) * *least) continue;
      out.sensitivities.push_back({.rate = static_cast<StepRate>(rate),
                                   .slowness = kSlownesses[i],
                                   .other = static_cast<size_t>(least - each.begin())});
    }
  }
  return absl::OkStatus();
}

// Says why no layout that offloads was searched for, where nothing else fits.
void AddOffloadNote(const SearchOutcome& outcome, Plan& plan) {
  const MissingField& missing = outcome.untimed_offload;
  if (missing.field.empty()) return;
  plan.notes.push_back(
      {.kind = NoteKind::kHostLinkUnknown,
       .text = absl::StrCat(
           "Layouts that keep state in host memory were not looked at: ", missing.why, "."),
       .fields = {missing.field}});
}

// Layouts that one shard takes in a row: they share much, and far ones differ in what they take.
constexpr size_t kShardBlock = 1024;

struct CountedGroup {
  double guess = 0;
  size_t index = 0;
  int64_t left = 0;
  absl::optional<LossKind> loss = {};
};

// Evaluates the part of `shard` of the layouts that counting leaves: all, or max_evaluations of
// the groups that GuessOf() puts first, with the kernels of the best that a bounded search finds.
// The first shard counts for all.
class ExhaustiveSearch {
 public:
  ExhaustiveSearch(LayoutEvaluator& evaluator, const SearchShard& shard, CallWork& work,
                   OutcomeBuilder& builder)
      : evaluator_(evaluator),
        space_(evaluator.space()),
        shard_(shard),
        work_(work),
        builder_(builder) {}

  absl::Status Run() {
    SEXTANT_RETURN_IF_ERROR(FindGroups());
    if (left_ > shard_.max_evaluations && space_.loss.size() > 1) {
      SEXTANT_RETURN_IF_ERROR(KeepKernels());
    }
    ChooseGroups();
    const StateBound* const bound = shard_.times_all ? nullptr : &evaluator_.bound();
    size_t group_index = 0;
    size_t index = 0;  // of the layouts that counting left
    absl::Status status;
    space_.ForEachGroup([&](const LayoutGroup& group) {
      if (!is_chosen_[group_index++]) return true;
      return space_.ForEachIn(group, bound, [&](const LayoutChoice& choice, const Pruned* pruned) {
        status = work_.Spend(1);
        if (!IsLeft(pruned) || !status.ok()) return status.ok();
        const auto block = static_cast<int64_t>(index++ / kShardBlock);
        if (block % shard_.count == shard_.index) status = builder_.Visit(choice);
        return status.ok();
      });
    });
    return status;
  }

 private:
  bool IsLeft(const Pruned* pruned) const {
    return pruned == nullptr || (shard_.times_all && *pruned == Pruned::kWeights);
  }

  absl::Status FindGroups() {
    absl::Status status;
    space_.ForEachGroup([&](const LayoutGroup& group) {
      LayoutCounts counts = space_.CountOf(group, evaluator_.bound());
      if (shard_.times_all) {
        for (const Pruned reason : {Pruned::kWeights, Pruned::kMemory}) {
          counts.left += std::exchange(counts.pruned[static_cast<size_t>(reason)], 0);
        }
      }
      if (shard_.index == 0) builder_.Count(counts);
      left_ += counts.left;
      groups_.push_back({GuessOf(group, space_), groups_.size(), counts.left, group.sizes.loss});
      status = work_.Spend(kStepsAGroup);
      return status.ok();
    });
    return status;
  }

  // Leaves out layouts of other kernels than those of the best that a bounded search finds.
  absl::Status KeepKernels() {
    const SearchWatch nobody;
    OutcomeBuilder sample(evaluator_, nobody, /*times_all=*/false);
    SEXTANT_RETURN_IF_ERROR(SearchBounded(evaluator_, work_, sample));
    if (!sample.has_best()) return absl::OkStatus();
    const absl::optional<LossKind> loss = sample.out().best.front().choice.loss;
    left_ = 0;
    for (CountedGroup& group : groups_) {
      if (group.loss != loss) group.left = 0;
      left_ += group.left;
    }
    builder_.out().exhaustive = false;
    return absl::OkStatus();
  }

  // The first ones of equal guesses.
  void ChooseGroups() {
    is_chosen_.resize(groups_.size());
    for (const CountedGroup& group : groups_) {
      is_chosen_[group.index] = group.left > 0 && left_ <= shard_.max_evaluations;
    }
    if (shard_.index == 0) builder_.out().to_search = std::min(left_, shard_.max_evaluations);
    if (left_ <= shard_.max_evaluations) return;
    builder_.out().exhaustive = false;
    std::sort(groups_.begin(), groups_.end(), [](const CountedGroup& a, const CountedGroup& b) {
      return std::tie(a.guess, a.index) < std::tie(b.guess, b.index);
    });
    int64_t chosen = 0;
    for (const CountedGroup& group : groups_) {
      if (chosen + group.left > shard_.max_evaluations) break;
      chosen += group.left;
      is_chosen_[group.index] = group.left > 0;
    }
  }

  LayoutEvaluator& evaluator_;
  const LayoutSpace& space_;
  const SearchShard& shard_;
  CallWork& work_;
  OutcomeBuilder& builder_;
  int64_t left_ = 0;
  std::vector<CountedGroup> groups_;
  std::vector<bool> is_chosen_;  // by a group's index
};

}  // namespace

bool HasToOffload(const RunSpec& run, const SearchOutcome& outcome) {
  const bool fits = !outcome.best.empty() && outcome.best.front().verdict == Verdict::kFits;
  return !fits && outcome.untimed.field.empty() && outcome.untimed_offload.field.empty() &&
         MayOffload(run);
}

absl::StatusOr<SearchOutcome> SearchLayouts(const RunSpec& run, SearchShard shard,
                                            FieldViolations found, CallWork& work,
                                            const SearchWatch& watch) {
  CheckSearch(run, found);
  LayoutEvaluator evaluator(BaseOf(run), work);
  SEXTANT_RETURN_IF_ERROR(evaluator.Prepare(std::move(found), shard.offloads, shard.known));
  if (!evaluator.untimed().field.empty()) {
    SearchOutcome out;
    out.untimed = evaluator.untimed();
    return out;
  }
  OutcomeBuilder builder(evaluator, watch, shard.times_all);
  if (run.options.search != SearchExtent::kBounded) {
    SEXTANT_RETURN_IF_ERROR(ExhaustiveSearch(evaluator, shard, work, builder).Run());
  } else if (shard.index == 0) {
    SEXTANT_RETURN_IF_ERROR(SearchBounded(evaluator, work, builder));
  }
  // Where nothing fits, the first shard has found nothing, either.
  if (shard.index == 0 && !builder.has_best()) {
    SEXTANT_RETURN_IF_ERROR(builder.EvaluateSmallest(work));
  }
  return std::move(builder.out());
}

absl::StatusOr<SearchOutcome> SearchAsPlanned(const RunSpec& run, FieldViolations found,
                                              CallWork& work, const KnownParts& known) {
  SearchShard whole = {.known = known};
  SEXTANT_ASSIGN_OR_RETURN(SearchOutcome out, SearchLayouts(run, whole, std::move(found), work));
  if (!HasToOffload(run, out)) return out;
  whole.offloads = true;
  SEXTANT_ASSIGN_OR_RETURN(SearchOutcome away, SearchLayouts(run, whole, {}, work));
  Merge(std::move(away), out);
  return out;
}

absl::StatusOr<SearchedPlan> PlanBest(const RunSpec& run, SearchOutcome outcome, CallWork& work,
                                      const KnownParts& known) {
  if (!outcome.untimed.field.empty()) {
    return InvalidField(outcome.untimed.field,
                        absl::StrCat("is needed to compare layouts: ", outcome.untimed.why,
                                     "; options.search NONE plans the layout as it is"));
  }
  PutPublishedFirst(outcome);
  const LayoutOption* const chosen = !outcome.best.empty()          ? &outcome.best.front()
                                     : outcome.smallest.has_value() ? &*outcome.smallest
                                                                    : nullptr;
  if (chosen == nullptr) return NoLayout(run, outcome.pruned);
  const RunSpec base = BaseOf(run);
  KnownParts searched = known;
  absl::optional<ResolvedRun> resolved;
  if (searched.model == nullptr) {
    SEXTANT_ASSIGN_OR_RETURN(resolved, Resolve(base, {}, work));
    searched = resolved->Known({});
  }
  auto planned = std::make_unique<RunSpec>(run);
  planned->options.search = SearchExtent::kNone;
  ApplyTo(chosen->choice, outcome.layer_count, *planned);
  SEXTANT_ASSIGN_OR_RETURN(Plan plan, PlanRun(*planned, {}, work, {.model = searched.model}));
  if (plan.verdict() != Verdict::kFits && MayOffload(run)) AddOffloadNote(outcome, plan);
  SearchedPlan out = {
      .run = std::move(planned), .plan = std::move(plan), .outcome = std::move(outcome)};
  const TimeEstimate* const least = out.plan.estimate(EstimateKind::kLowerBound);
  if (least != nullptr && out.plan.step.has_value()) {
    const double steps =
        static_cast<double>(out.plan.token_count) / static_cast<double>(out.plan.step->token_count);
    out.lower_bound = least->duration * (1 / steps);
  }
  SEXTANT_RETURN_IF_ERROR(AddSensitivities(run, work, searched, out));
  return out;
}

}  // namespace sextant
