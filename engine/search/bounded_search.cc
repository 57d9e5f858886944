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
#include "engine/search/choice_order.h"

namespace sextant {
namespace {

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
                                if (pruned == nullptr) status = builder_.Evaluate(choice).status();
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
