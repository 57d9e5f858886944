// Searches all layouts of a space, or the first kBoundedEvaluations by GuessOf(). Counting prunes a
// layout whose batch or weights can't work; the others are evaluated as PlanRun() would. Shards
// take blocks of kShardBlock consecutive layouts in turn, which keeps an evaluator's caches useful.
// IsBetter() is a total order, so the merged result does not depend on the number of shards.
//
// Time is linear in the layouts considered, at most kMaxConsidered, plus the evaluations. Layouts
// are not stored: a bounded search keeps at most 2 kBoundedEvaluations guesses, and drops the worse
// half by std::nth_element() when it is full, in constant amortised time.
#include "engine/search/layout_search.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "engine/base/status_macros.h"
#include "engine/framework/software_stack.h"
#include "engine/memory/ledger/framework_spec.h"
#include "engine/model/sharding/parallel_layout.h"

namespace sextant {
namespace {

// Layouts that one shard takes in a row: they share much, and far ones differ in what they take.
constexpr size_t kShardBlock = 1024;
constexpr int64_t kMaxGlobalBatch = 1'000'000'000'000;  // as a layout's

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

void CheckSearch(const RunSpec& run, FieldViolations& violations) {
  if (run.model.parameter_count.has_value()) {
    violations.Add("options.search", "needs the model's shape, not model.parameter_count alone");
  }
  if (!run.training.sequence_length.has_value()) {
    violations.Add("training.sequence_length", "is required for options.search");
  }
  // Fields that are invalid whatever the search finds.
  if (run.layout.has_value()) {
    CheckLayoutRanges(run.layout->parallel, "layout.parallel", violations);
    CheckFramework(run.layout->framework, "layout.framework", violations);
    CheckSoftware(run.layout->software, "layout.software", violations);
  }
  if (!run.layout.has_value() || !run.layout->global_batch_size.has_value()) {
    violations.Add("layout.global_batch_size",
                   "is required for options.search: the sequences of a step");
  } else {
    violations.RequireRange("layout", "global_batch_size", *run.layout->global_batch_size, 1,
                            kMaxGlobalBatch);
  }
}

// One shard's way through the space. Keeps no list of the layouts, of which there may be millions.
class ShardSearch {
 public:
  ShardSearch(LayoutEvaluator& evaluator, SearchShard shard, CallWork& work,
              const SearchWatch& watch)
      : evaluator_(evaluator),
        space_(evaluator.space()),
        shard_(shard),
        work_(work),
        watch_(watch) {
    out_.layer_count = space_.layer_count;
    out_.untimed_offload = evaluator.untimed_offload();
  }

  absl::StatusOr<SearchOutcome> Run(bool bounded) {
    if (watch_ && !bounded && shard_.index == 0) CountSearched();
    space_.ForEach([&](const LayoutChoice& choice, const Pruned* pruned) {
      if (!Count(choice, pruned)) return out_.considered <= kMaxConsidered && status_.ok();
      const size_t index = kept_++;
      if (bounded) {
        KeepIfAmongFirst({GuessOf(choice, space_), index, choice});
      } else if (IsMine(index)) {
        status_ = Evaluate(choice);
      }
      return status_.ok();
    });
    if (out_.considered > kMaxConsidered) out_.considered = kMaxConsidered;
    if (bounded) EvaluateFirst();
    if (kept_ == 0 && heaviest_.has_value() && status_.ok()) {
      status_ = Evaluate(*heaviest_);
      out_.pruned[static_cast<size_t>(Pruned::kMemory)] = 0;  // it was counted for its weights
    }
    SEXTANT_RETURN_IF_ERROR(status_);
    if (shard_.index > 0) {  // the first shard counts for all
      out_.considered = 0;
      for (const Pruned reason : {Pruned::kBatch, Pruned::kRounds, Pruned::kWeights}) {
        out_.pruned[static_cast<size_t>(reason)] = 0;
      }
    }
    return std::move(out_);
  }

 private:
  struct Guessed {
    double guess = 0;
    size_t index = 0;
    LayoutChoice choice = {};

    bool operator<(const Guessed& o) const {
      return guess != o.guess ? guess < o.guess : index < o.index;
    }
  };
  static constexpr size_t kMax = kBoundedEvaluations;

  bool IsMine(size_t index) const {
    return static_cast<int64_t>(index / kShardBlock) % shard_.count == shard_.index;
  }

  // Returns true where the layout is left by counting.
  bool Count(const LayoutChoice& choice, const Pruned* pruned) {
    status_ = work_.Spend(1);
    if (++out_.considered > kMaxConsidered) out_.exhaustive = false;
    if (!status_.ok() || out_.considered > kMaxConsidered) return false;
    if (pruned == nullptr || (shard_.times_all && *pruned == Pruned::kWeights)) return true;
    ++out_.pruned[static_cast<size_t>(*pruned)];
    if (*pruned == Pruned::kWeights) KeepHeaviest(choice);
    return false;
  }

  // Counts what is left to search, for those who watch.
  void CountSearched() {
    int64_t considered = 0;
    space_.ForEach([&](const LayoutChoice&, const Pruned* pruned) {
      status_ = work_.Spend(1);
      out_.to_search += pruned == nullptr;
      return ++considered < kMaxConsidered && status_.ok();
    });
  }

  // Where weights alone exceed every device: the choice that divides them most.
  void KeepHeaviest(const LayoutChoice& choice) {
    const auto parts = [](const LayoutChoice& of) {
      return std::make_tuple(int64_t{of.tensor} * of.pipeline * of.expert, of.recompute,
                             of.zero_stage, of.sequence_parallel);
    };
    if (!heaviest_.has_value() || parts(*heaviest_) < parts(choice)) heaviest_ = choice;
  }

  void KeepIfAmongFirst(const Guessed& guessed) {
    first_.push_back(guessed);
    if (first_.size() == 2 * kMax) DropLast();
  }
  void DropLast() {
    std::nth_element(first_.begin(), first_.begin() + kMax, first_.end());
    first_.resize(kMax);
  }

  // Evaluates this shard's part of the layouts that the guess puts first, in the order of the
  // space.
  void EvaluateFirst() {
    if (first_.size() > kMax) DropLast();
    if (kept_ > kMax) out_.exhaustive = false;
    if (watch_ && shard_.index == 0) out_.to_search = static_cast<int64_t>(first_.size());
    std::sort(first_.begin(), first_.end(),
              [](const Guessed& a, const Guessed& b) { return a.index < b.index; });
    for (size_t i = 0; i < first_.size() && status_.ok(); ++i) {
      if (IsMine(i)) status_ = Evaluate(first_[i].choice);
    }
  }

  absl::Status Evaluate(const LayoutChoice& choice) {
    if (watch_ && ++searched_ % kShardBlock == 0) watch_(ProgressOf(out_));
    SEXTANT_ASSIGN_OR_RETURN(const absl::optional<LayoutOption> option,
                             evaluator_.Evaluate(choice, space_.layer_count, shard_.times_all));
    if (!option.has_value()) {
      ++out_.pruned[static_cast<size_t>(Pruned::kRefused)];
      return absl::OkStatus();
    }
    Add(
        *option, [this](LayoutOption& listed) { evaluator_.Complete(listed); }, out_);
    return absl::OkStatus();
  }

  LayoutEvaluator& evaluator_;
  const LayoutSpace& space_;
  const SearchShard shard_;
  CallWork& work_;
  absl::Status status_;
  const SearchWatch& watch_;
  size_t searched_ = 0;         // of a search that is watched
  size_t kept_ = 0;             // layouts that counting left
  std::vector<Guessed> first_;  // of a bounded search
  absl::optional<LayoutChoice> heaviest_;
  SearchOutcome out_;
};

struct GivenSize {
  absl::string_view field;
  int64_t size = 1;
};

// The parallel sizes that `run` gives, whose product has to divide the devices.
std::vector<GivenSize> GivenSizesOf(const RunSpec& run) {
  const RunLayout& layout = *run.layout;
  std::vector<GivenSize> out;
  const auto add = [&out](bool given, absl::string_view field, int64_t size) {
    if (given) out.push_back({field, size});
  };
  add(layout.given.tensor, "layout.parallel.tensor_parallel_size",
      layout.parallel.tensor_parallel_size);
  add(layout.given.pipeline, "layout.parallel.pipeline_parallel_size",
      layout.parallel.pipeline_parallel_size);
  add(layout.context_parallel_size.has_value(), "layout.context_parallel_size",
      layout.context_parallel_size.value_or(1));
  return out;
}

// Appends the sizes, or the pairs of them, that the devices are not a multiple of.
void AddConflicts(const RunSpec& run, FieldViolations& violations) {
  const int64_t devices = run.cluster.device_count;
  const std::vector<GivenSize> given = GivenSizesOf(run);
  const auto fits = [devices](int64_t size) { return size >= 1 && devices % size == 0; };
  for (size_t i = 0; i < given.size(); ++i) {
    if (!fits(given[i].size)) {
      violations.Add(std::string(given[i].field),
                     absl::StrCat("is ", given[i].size, ", which the ", devices,
                                  " of cluster.device_count are not a multiple of"));
      continue;
    }
    for (size_t j = i + 1; j < given.size(); ++j) {
      if (!fits(given[j].size) || fits(given[i].size * given[j].size)) continue;
      violations.Add(
          std::string(given[i].field),
          absl::StrCat("is ", given[i].size, ", and with ", given[j].field, " ", given[j].size,
                       " takes a multiple of ", given[i].size * given[j].size, " devices, which ",
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
                                      CallWork& work) {
  LayoutEvaluator evaluator(BaseOf(run), work);
  SEXTANT_RETURN_IF_ERROR(evaluator.Prepare({}));
  SlowSteps out;
  for (const LayoutOption& option : outcome.best) {
    SEXTANT_RETURN_IF_ERROR(evaluator.Evaluate(option.choice, outcome.layer_count).status());
    for (size_t rate = 0; rate < kStepRateCount; ++rate) {
      for (size_t i = 0; i < kSlownessCount; ++i) {
        const Seconds step = evaluator.SecondsWhere(static_cast<StepRate>(rate), kSlownesses[i]);
        out[rate][i].push_back(step.value());
      }
    }
  }
  return out;
}

absl::Status AddSensitivities(const RunSpec& run, CallWork& work, SearchedPlan& out) {
  if (out.outcome.best.size() < 2) return absl::OkStatus();
  SEXTANT_ASSIGN_OR_RETURN(const SlowSteps steps, SlowStepsOf(run, out.outcome, work));
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
  SEXTANT_RETURN_IF_ERROR(evaluator.Prepare(std::move(found), shard.offloads));
  if (!evaluator.untimed().field.empty()) {
    SearchOutcome out;
    out.untimed = evaluator.untimed();
    return out;
  }
  const bool bounded = run.options.search == SearchExtent::kBounded;
  return ShardSearch(evaluator, shard, work, watch).Run(bounded);
}

absl::StatusOr<SearchOutcome> SearchAsPlanned(const RunSpec& run, FieldViolations found,
                                              CallWork& work) {
  SEXTANT_ASSIGN_OR_RETURN(SearchOutcome out, SearchLayouts(run, {}, std::move(found), work));
  if (!HasToOffload(run, out)) return out;
  SEXTANT_ASSIGN_OR_RETURN(SearchOutcome away, SearchLayouts(run, {.offloads = true}, {}, work));
  Merge(std::move(away), out);
  return out;
}

absl::StatusOr<SearchedPlan> PlanBest(const RunSpec& run, SearchOutcome outcome, CallWork& work) {
  if (!outcome.untimed.field.empty()) {
    return InvalidField(outcome.untimed.field,
                        absl::StrCat("is needed to compare layouts: ", outcome.untimed.why,
                                     "; options.search NONE plans the layout as it is"));
  }
  const LayoutOption* const chosen = !outcome.best.empty()          ? &outcome.best.front()
                                     : outcome.smallest.has_value() ? &*outcome.smallest
                                                                    : nullptr;
  if (chosen == nullptr) return NoLayout(run, outcome.pruned);
  auto planned = std::make_unique<RunSpec>(run);
  planned->options.search = SearchExtent::kNone;
  ApplyTo(chosen->choice, outcome.layer_count, *planned);
  SEXTANT_ASSIGN_OR_RETURN(Plan plan, PlanRun(*planned, {}, work));
  if (plan.verdict() != Verdict::kFits && MayOffload(run)) AddOffloadNote(outcome, plan);
  SearchedPlan out = {
      .run = std::move(planned), .plan = std::move(plan), .outcome = std::move(outcome)};
  const TimeEstimate* const least = out.plan.estimate(EstimateKind::kLowerBound);
  if (least != nullptr && out.plan.step.has_value()) {
    const double steps =
        static_cast<double>(out.plan.token_count) / static_cast<double>(out.plan.step->token_count);
    out.lower_bound = least->duration * (1 / steps);
  }
  SEXTANT_RETURN_IF_ERROR(AddSensitivities(run, work, out));
  return out;
}

}  // namespace sextant
