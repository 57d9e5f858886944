// Shards take blocks of kShardBlock consecutive layouts in turn, which keeps an evaluator's caches
// useful. IsBetter() is a total order, so the merged result does not depend on the number of
// shards.
//
// Time is linear in the groups, and in the layouts that are evaluated. Layouts are not stored; of
// groups, a guess and a count.
#include "engine/search/exhaustive_search.h"

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/base/status_macros.h"
#include "engine/search/bounded_search.h"

namespace sextant {
namespace {

// Layouts that one shard takes in a row: they share much, and far ones differ in what they take.
constexpr size_t kShardBlock = 1024;

struct CountedGroup {
  double guess = 0;
  size_t index = 0;
  int64_t left = 0;
  KernelChoice kernels = {};
};

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
    if (left_ > shard_.max_evaluations && space_.kernels.size() > 1) {
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
        if (block % shard_.count == shard_.index) status = builder_.Evaluate(choice).status();
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
      groups_.push_back({GuessOf(group, space_), groups_.size(), counts.left, group.sizes.kernels});
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
    const KernelChoice kernels = sample.out().best.front().choice.kernels;
    left_ = 0;
    for (CountedGroup& group : groups_) {
      if (group.kernels != kernels) group.left = 0;
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

absl::Status SearchExhaustively(LayoutEvaluator& evaluator, const SearchShard& shard,
                                CallWork& work, OutcomeBuilder& builder) {
  return ExhaustiveSearch(evaluator, shard, work, builder).Run();
}

}  // namespace sextant
