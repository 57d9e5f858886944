// Successive halving: rounds over fewer and fewer groups, of which each gets more evaluations. A
// group that did badly is not looked at again. Source of the method: Jamieson and Talwalkar 2016
// (arXiv 1502.07943). Within a group each next layout is the nearest to its fastest.
// One that needs at least as much memory as one that did not fit is passed over: more in a
// micro-batch, less that is computed again or divided.
//
// The guess may leave out good groups of a very large space, and a first layout may be a bad sample
// of its group. So the last rounds add the neighbours of the best groups: those that differ in one
// pair of sizes, in their schedule or in their kernels.
//
// Each round visits its groups in the order of the space, in which an evaluator shares most.
#include "engine/search/bounded_search.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "engine/base/status_macros.h"

namespace sextant {
namespace {

bool IsFull(const Recomputation& again) { return again.policy == RecomputePolicy::kFull; }

bool IsByOperator(const Recomputation& again) {
  return again.policy == RecomputePolicy::kOperators;
}

bool IsSubset(const Recomputation& a, const Recomputation& b) {
  return a.policy <= b.policy && a.norm_outputs <= b.norm_outputs &&
         a.activation_function <= b.activation_function &&
         a.latent_up_projections <= b.latent_up_projections;
}

// Recomputes at most what `b` does, so that it keeps at least as much.
bool KeepsMore(const Recomputation& a, const Recomputation& b) {
  if (IsFull(a)) return IsFull(b) && a.layers_per_block == b.layers_per_block;
  // Sums that are saved by operator are in no other list.
  if (IsByOperator(a) != IsByOperator(b)) return IsFull(b);
  return IsFull(b) || IsSubset(a, b);
}

// Larger for layouts that are likely to take less memory.
auto ThriftOf(const LayoutChoice& of) {
  return std::make_tuple(-of.micro_batch, of.recompute, of.zero_stage, of.offload,
                         of.sequence_parallel, !of.stays_gathered, -of.shard_group);
}

// Smaller for the better samples of a group. Micro-batches of at least 2,048 tokens, all parts
// computed again but not whole layers, and state that is divided, but not gathered for each
// micro-batch, or within servers.
auto SampleOrderOf(const LayoutChoice& of, int64_t tokens) {
  const Recomputation& again = of.recompute;
  const int parts = (again.policy == RecomputePolicy::kSelective) + again.norm_outputs +
                    again.activation_function + again.latent_up_projections;
  const int state = of.zero_stage == ZeroStage::kParameters ? -1 : static_cast<int>(of.zero_stage);
  return std::make_tuple(IsFull(again), tokens < 2048, of.micro_batch * (tokens < 2048 ? -1 : 1),
                         -parts, -state, of.offload, !of.sequence_parallel, of.stays_gathered,
                         of.shard_group);
}

int DoublingsBetween(int32_t a, int32_t b) {
  int out = 0;
  for (int32_t low = std::min(a, b); low < std::max(a, b); low *= 2) ++out;
  return out;
}

// `a` takes at least the memory of `b`, of the same group: more in a micro-batch, less that is
// computed again or divided.
bool TakesMore(const LayoutChoice& a, const LayoutChoice& b) {
  return a.micro_batch >= b.micro_batch && KeepsMore(a.recompute, b.recompute) &&
         a.sequence_parallel <= b.sequence_parallel && a.zero_stage <= b.zero_stage &&
         a.stays_gathered >= b.stays_gathered && a.shard_group == b.shard_group &&
         a.offload <= b.offload;
}

// `a` probably takes less memory than `b`.
bool IsThriftier(const LayoutChoice& a, const LayoutChoice& b) { return ThriftOf(a) > ThriftOf(b); }

// `a` is a better first sample of the group of both: likely to fit, and neither among the slowest
// nor among the fastest. `sequence_length` in tokens.
bool IsBetterSample(const LayoutChoice& a, const LayoutChoice& b, int64_t sequence_length) {
  const auto order = [sequence_length](const LayoutChoice& of) {
    return SampleOrderOf(of, of.micro_batch * sequence_length / of.context);
  };
  return order(a) < order(b);
}

// The number of choices in which layouts of one group differ.
int DistanceOf(const LayoutChoice& a, const LayoutChoice& b) {
  const bool same_state = a.zero_stage == b.zero_stage && a.shard_group == b.shard_group &&
                          a.stays_gathered == b.stays_gathered && a.offload == b.offload;
  return DoublingsBetween(a.micro_batch, b.micro_batch) + (a.recompute == b.recompute ? 0 : 1) +
         (a.sequence_parallel == b.sequence_parallel ? 0 : 1) + (same_state ? 0 : 1);
}

// The groups of `a` and `b` differ in exactly one of: tensor and context, pipeline and virtual
// stages, the expert sizes, the schedule, the kernels.
bool IsNear(const LayoutChoice& a, const LayoutChoice& b) {
  const auto each = [](const LayoutChoice& of) {
    return of.expert_tensor == 0 ? of.tensor : of.expert_tensor;
  };
  const bool differ[] = {
      a.tensor != b.tensor || a.context != b.context,
      a.pipeline != b.pipeline || a.virtual_stages != b.virtual_stages,
      a.expert != b.expert || (each(a) != each(b) && a.expert_tensor != b.expert_tensor),
      a.schedule != b.schedule,
      a.loss != b.loss,
  };
  return std::count(std::begin(differ), std::end(differ), true) == 1;
}

constexpr double kNoTime = std::numeric_limits<double>::infinity();

// A round takes the first `groups` and gives each up to `fits` evaluations of layouts that fit, and
// `all` in total.
struct Round {
  size_t groups = 0;
  int64_t fits = 0;
  int64_t all = 0;
};
constexpr Round kRounds[] = {{3072, 1, 3}, {768, 2, 5}, {192, 8, 16}, {48, 64, 96}};
constexpr size_t kMaxGroups = 3072;
// Then neighbours of the first kCentres groups are added as long as that finds a faster layout, and
// the best are searched whole.
constexpr size_t kCentres = 4;
constexpr Round kOfNeighbours = {256, 8, 12};
constexpr size_t kWholeGroups = 12;

// A layout that may fit comes after all that do.
double TimeOf(const LayoutOption& option) {
  if (option.verdict == Verdict::kDoesNotFit) return kNoTime;
  return option.step.expected.value() * (option.verdict == Verdict::kFits ? 1 : 1e6);
}

struct RoundGroup {
  double guess = 0;
  double best = kNoTime;  // the time of a step
  size_t index = 0;
  LayoutGroup group = {};
  LayoutChoice fastest = {};            // if there is a time
  std::vector<LayoutChoice> seen = {};  // that were evaluated; sorted
  std::vector<LayoutChoice> full = {};  // those of them that did not fit

  auto Rank() const { return std::make_tuple(best, guess, index); }
};

using Guessed = std::pair<double, LayoutChoice>;

class BoundedSearch {
 public:
  BoundedSearch(LayoutEvaluator& evaluator, CallWork& work, OutcomeBuilder& builder)
      : evaluator_(evaluator),
        space_(evaluator.space()),
        coarse_(space_),
        work_(work),
        builder_(builder),
        out_(builder.out()) {
    if (coarse_.shard_group.size() < 3) return;
    std::erase_if(coarse_.shard_group,
                  [this](int32_t group) { return group != 0 && group != space_.node_devices; });
  }

  absl::Status Run() {
    SEXTANT_RETURN_IF_ERROR(FindGroups());
    if (left_ <= kBoundedEvaluations) return EvaluateAll();
    out_.exhaustive = false;
    out_.to_search = kBoundedEvaluations;
    SEXTANT_RETURN_IF_ERROR(RunRounds());
    if (!builder_.has_best()) {
      SEXTANT_RETURN_IF_ERROR(FindSmallGroups());
      SEXTANT_RETURN_IF_ERROR(RunRounds());
    }
    return absl::OkStatus();
  }

 private:
  absl::Status FindGroups() {
    size_t index = 0;
    absl::Status status;
    space_.ForEachGroup([&](const LayoutGroup& group) {
      const LayoutCounts counts = space_.CountOf(group, evaluator_.bound());
      builder_.Count(counts);
      left_ += counts.left;
      if (counts.left > 0) Keep({.guess = GuessOf(group, space_), .index = index, .group = group});
      ++index;
      status = work_.Spend(kStepsAGroup);
      return status.ok();
    });
    if (groups_.size() > kMaxGroups) DropLast();
    return status;
  }

  // The groups whose state is smallest, of those that FindGroups() did not keep.
  absl::Status FindSmallGroups() {
    absl::flat_hash_set<size_t> known;
    for (const RoundGroup& group : groups_) known.insert(group.index);
    groups_.clear();
    size_t index = 0;
    absl::Status status;
    space_.ForEachGroup([&](const LayoutGroup& group) {
      const size_t here = index++;
      const LayoutCounts counts = space_.CountOf(group, evaluator_.bound());
      if (counts.left > 0 && !known.contains(here)) {
        Keep({.guess = counts.least_bytes, .index = here, .group = group});
      }
      status = work_.Spend(kStepsAGroup);
      return status.ok();
    });
    if (groups_.size() > kMaxGroups) DropLast();
    return status;
  }

  absl::Status RunRounds() {
    for (const Round& round : kRounds) SEXTANT_RETURN_IF_ERROR(Run(round));
    double before = kNoTime;
    for (double best = BestTime(); best < before; best = BestTime()) {
      before = best;
      SEXTANT_RETURN_IF_ERROR(AddNeighbours());
      SEXTANT_RETURN_IF_ERROR(Run(kOfNeighbours));
    }
    for (const size_t i : FirstOf(kWholeGroups)) {
      SEXTANT_RETURN_IF_ERROR(RunWhole(groups_[i]));
    }
    return absl::OkStatus();
  }

  void Keep(RoundGroup group) {
    groups_.push_back(std::move(group));
    if (groups_.size() == 4 * kMaxGroups) DropLast();
  }
  void DropLast() {
    std::nth_element(groups_.begin(), groups_.begin() + kMaxGroups, groups_.end(), IsBefore);
    groups_.resize(kMaxGroups);
  }

  static bool IsBefore(const RoundGroup& a, const RoundGroup& b) { return a.Rank() < b.Rank(); }

  absl::Status EvaluateAll() {
    out_.to_search = left_;
    absl::Status status;
    space_.ForEachGroup([&](const LayoutGroup& group) {
      return space_.ForEachIn(group, &evaluator_.bound(),
                              [&](const LayoutChoice& choice, const Pruned* pruned) {
                                if (pruned == nullptr) status = builder_.Visit(choice);
                                return status.ok();
                              });
    });
    return status;
  }

  double BestTime() const {
    double out = kNoTime;
    for (const RoundGroup& group : groups_) out = std::min(out, group.best);
    return out;
  }

  // The first `count` groups by their rank, in the order of the space.
  std::vector<size_t> FirstOf(size_t count) const {
    std::vector<size_t> out(groups_.size());
    std::iota(out.begin(), out.end(), size_t{0});
    std::sort(out.begin(), out.end(),
              [this](size_t a, size_t b) { return IsBefore(groups_[a], groups_[b]); });
    out.resize(std::min(out.size(), count));
    std::sort(out.begin(), out.end(),
              [this](size_t a, size_t b) { return groups_[a].index < groups_[b].index; });
    return out;
  }

  absl::Status Run(const Round& round) {
    for (const size_t i : FirstOf(round.groups)) {
      SEXTANT_RETURN_IF_ERROR(Run(round, groups_[i]));
    }
    return absl::OkStatus();
  }

  // A group that is new ranks after those that have a time: it gets one evaluation here.
  absl::Status AddNeighbours() {
    std::vector<LayoutChoice> centres;
    for (const size_t i : FirstOf(kCentres)) centres.push_back(groups_[i].group.sizes);
    absl::flat_hash_set<size_t> known;
    for (const RoundGroup& group : groups_) known.insert(group.index);
    size_t index = 0;
    absl::Status status;
    space_.ForEachGroup([&](const LayoutGroup& group) {
      const size_t here = index++;
      const bool is_near =
          std::any_of(centres.begin(), centres.end(),
                      [&](const LayoutChoice& centre) { return IsNear(centre, group.sizes); });
      if (!is_near || known.contains(here)) return true;
      if (space_.CountOf(group, evaluator_.bound()).left == 0) return true;
      groups_.push_back({.guess = GuessOf(group, space_), .index = here, .group = group});
      status = Run({.groups = 1, .fits = 1, .all = 3}, groups_.back());
      return status.ok();
    });
    return status;
  }

  absl::Status Run(const Round& round, RoundGroup& group) {
    FindLayouts(coarse_, group);
    int64_t fits = 0;
    for (int64_t all = 0; fits < round.fits && all < round.all; ++all) {
      const LayoutChoice* const next = NextOf(group);
      if (next == nullptr) return absl::OkStatus();
      SEXTANT_ASSIGN_OR_RETURN(const bool fit, Evaluate(*next, group));
      fits += fit;
    }
    return absl::OkStatus();
  }

  // All that are left of a group, the likely best first.
  absl::Status RunWhole(RoundGroup& group) {
    FindLayouts(space_, group);
    std::stable_sort(layouts_.begin(), layouts_.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [guess, choice] : layouts_) {
      if (IsFull(choice, group)) continue;
      SEXTANT_RETURN_IF_ERROR(Evaluate(choice, group).status());
    }
    return absl::OkStatus();
  }

  // True where it fits.
  absl::StatusOr<bool> Evaluate(const LayoutChoice& choice, RoundGroup& group) {
    if (evaluated_ == kBoundedEvaluations) return false;
    ++evaluated_;
    group.seen.insert(std::upper_bound(group.seen.begin(), group.seen.end(), choice), choice);
    SEXTANT_ASSIGN_OR_RETURN(const absl::optional<LayoutOption> option, builder_.Evaluate(choice));
    if (!option.has_value()) return false;
    if (const double time = TimeOf(*option); time < group.best) {
      group.best = time;
      group.fastest = choice;
    }
    if (option->verdict != Verdict::kFits) group.full.push_back(choice);
    return option->verdict == Verdict::kFits;
  }

  static bool IsFull(const LayoutChoice& choice, const RoundGroup& group) {
    return std::any_of(group.full.begin(), group.full.end(),
                       [&](const LayoutChoice& other) { return TakesMore(choice, other); });
  }

  // The next of `layouts_`: a sample, then the one that is likely to take the least memory until
  // one fits, then the nearest to the fastest. Null: none is left.
  const LayoutChoice* NextOf(const RoundGroup& group) const {
    const Guessed* out = nullptr;
    const auto is_before = [&](const Guessed& a, const Guessed& b) {
      if (group.best < kNoTime) {
        return std::make_tuple(DistanceOf(a.second, group.fastest), a.first) <
               std::make_tuple(DistanceOf(b.second, group.fastest), b.first);
      }
      if (!group.seen.empty()) return IsThriftier(a.second, b.second);
      return IsBetterSample(a.second, b.second, space_.sequence_length);
    };
    for (const Guessed& each : layouts_) {
      if (out != nullptr && !is_before(each, *out)) continue;
      if (std::binary_search(group.seen.begin(), group.seen.end(), each.second)) continue;
      if (!IsFull(each.second, group)) out = &each;
    }
    return out == nullptr ? nullptr : &out->second;
  }

  // The layouts of a group that were not evaluated, with their guesses.
  void FindLayouts(const LayoutSpace& space, const RoundGroup& of) {
    layouts_.clear();
    space.ForEachIn(
        of.group, &evaluator_.bound(), [&](const LayoutChoice& choice, const Pruned* pruned) {
          if (pruned == nullptr && !std::binary_search(of.seen.begin(), of.seen.end(), choice)) {
            layouts_.emplace_back(GuessWithin(choice, of.group, space_), choice);
          }
          return true;
        });
  }

  LayoutEvaluator& evaluator_;
  const LayoutSpace& space_;
  LayoutSpace coarse_;  // with few of the shard groups
  CallWork& work_;
  OutcomeBuilder& builder_;
  SearchOutcome& out_;
  int64_t left_ = 0;
  int64_t evaluated_ = 0;
  std::vector<RoundGroup> groups_;
  std::vector<Guessed> layouts_;  // of one group
};

}  // namespace

absl::Status SearchBounded(LayoutEvaluator& evaluator, CallWork& work, OutcomeBuilder& builder) {
  return BoundedSearch(evaluator, work, builder).Run();
}

}  // namespace sextant
