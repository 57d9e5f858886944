#include "engine/search/search_outcome.h"

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/base/status_macros.h"

namespace sextant {
namespace {

// True if an option is to be listed.
bool BelongsToFront(const LayoutOption& option, const std::vector<LayoutOption>& front) {
  return option.verdict == Verdict::kFits &&
         std::none_of(front.begin(), front.end(), [&](const LayoutOption& other) {
           return other.step.expected <= option.step.expected &&
                  other.process.expected <= option.process.expected && IsBetter(other, option);
         });
}
bool BelongsToBest(const LayoutOption& option, const std::vector<LayoutOption>& best) {
  return best.size() < kAlternatives || IsBetter(option, best.back());
}
bool IsSmallest(const LayoutOption& option, const absl::optional<LayoutOption>& smallest) {
  const auto key = [](const LayoutOption& of) {
    return std::make_tuple(of.process.expected, of.choice);
  };
  return !smallest.has_value() || key(option) < key(*smallest);
}

// The longest step, in seconds, with which `option`, whose memory and verdict are known, may be
// listed in `so_far`.
double LongestListed(const LayoutOption& option, const SearchOutcome& so_far) {
  if (IsSmallest(option, so_far.smallest)) return kNoLimit;
  const auto before = [&option](const LayoutOption& other) {
    return option.verdict < other.verdict ? kNoLimit : other.step.expected.value();
  };
  double out = 0;
  if (so_far.best.size() < kAlternatives) return kNoLimit;
  if (option.verdict <= so_far.best.back().verdict) out = before(so_far.best.back());
  if (IsPublished(option.choice)) {
    if (!so_far.published.has_value()) return kNoLimit;
    if (option.verdict <= so_far.published->verdict) {
      out = std::max(out, before(*so_far.published));
    }
  }
  if (option.verdict != Verdict::kFits) return out;
  double of_front = kNoLimit;
  for (const LayoutOption& other : so_far.front) {
    if (other.process.expected > option.process.expected) continue;
    of_front = std::min(of_front, other.step.expected.value());
  }
  return std::max(out, of_front);
}

void AddToFront(const LayoutOption& option, std::vector<LayoutOption>& front) {
  std::erase_if(front, [&](const LayoutOption& other) {
    return option.step.expected <= other.step.expected &&
           option.process.expected <= other.process.expected;
  });
  front.insert(std::upper_bound(front.begin(), front.end(), option, IsBetter), option);
}

void AddToBest(const LayoutOption& option, std::vector<LayoutOption>& best) {
  best.insert(std::upper_bound(best.begin(), best.end(), option, IsBetter), option);
  if (best.size() > kAlternatives) best.pop_back();
}

// Where nothing fits: the groups whose state is smallest, and layouts of each.
constexpr size_t kSmallGroups = 256;
constexpr size_t kSmallLayouts = 4;

struct SmallGroup {
  double bytes = 0;
  size_t index = 0;
  LayoutGroup group = {};

  bool operator<(const SmallGroup& o) const {
    return std::tie(bytes, index) < std::tie(o.bytes, o.index);
  }
};

// Larger for layouts that are likely to take less memory than others of their group.
auto SmallnessOf(const LayoutChoice& of) {
  return std::make_tuple(-of.micro_batch, of.zero_stage, of.offload, of.recompute,
                         of.sequence_parallel, !of.stays_gathered, -of.shard_group);
}

// The layouts of `group` that are likely to take the least memory.
std::vector<LayoutChoice> SmallLayoutsOf(const LayoutSpace& space, const LayoutGroup& group) {
  std::vector<LayoutChoice> out;
  const auto is_smaller = [](const LayoutChoice& a, const LayoutChoice& b) {
    return SmallnessOf(a) > SmallnessOf(b);
  };
  space.ForEachIn(group, /*bound=*/nullptr, [&](const LayoutChoice& choice, const Pruned* pruned) {
    if (pruned != nullptr && *pruned != Pruned::kWeights) return true;
    out.insert(std::upper_bound(out.begin(), out.end(), choice, is_smaller), choice);
    if (out.size() > kSmallLayouts) out.pop_back();
    return true;
  });
  return out;
}

}  // namespace

bool IsBetter(const LayoutOption& a, const LayoutOption& b) {
  const auto key = [](const LayoutOption& of) {
    return std::make_tuple(of.verdict, of.step.expected.value(), of.process.expected.value());
  };
  const auto order = key(a) <=> key(b);
  return order != 0 ? order < 0 : a.choice < b.choice;
}

void Add(LayoutOption option, absl::FunctionRef<void(LayoutOption&)> complete, SearchOutcome& to) {
  const bool may_fit = option.verdict != Verdict::kDoesNotFit;
  const bool smallest = IsSmallest(option, to.smallest);
  const bool best = may_fit && BelongsToBest(option, to.best);
  const bool front = may_fit && BelongsToFront(option, to.front);
  const bool published = may_fit && IsPublished(option.choice) &&
                         (!to.published.has_value() || IsBetter(option, *to.published));
  if (smallest || best || front || published) complete(option);
  if (published) to.published = option;
  if (smallest) to.smallest = option;
  if (best) AddToBest(option, to.best);
  if (front) AddToFront(option, to.front);
  ++(may_fit ? to.evaluated : to.pruned[static_cast<size_t>(Pruned::kMemory)]);
}

void AddSmallest(LayoutOption option, absl::FunctionRef<void(LayoutOption&)> complete,
                 SearchOutcome& to) {
  if (!IsSmallest(option, to.smallest)) return;
  complete(option);
  to.smallest = option;
}

void Merge(SearchOutcome from, SearchOutcome& to) {
  to.considered += from.considered;
  for (size_t i = 0; i < kPrunedCount; ++i) to.pruned[i] += from.pruned[i];
  to.by_state += from.by_state;
  to.evaluated += from.evaluated;
  to.layer_count = from.layer_count;
  to.exhaustive = to.exhaustive && from.exhaustive;
  to.untimed = std::move(from.untimed);
  to.untimed_offload = std::move(from.untimed_offload);
  for (const LayoutOption& option : from.best) {
    if (BelongsToBest(option, to.best)) AddToBest(option, to.best);
  }
  for (const LayoutOption& option : from.front) {
    if (BelongsToFront(option, to.front)) AddToFront(option, to.front);
  }
  if (from.published.has_value() &&
      (!to.published.has_value() || IsBetter(*from.published, *to.published))) {
    to.published = from.published;
  }
  if (from.smallest.has_value() && IsSmallest(*from.smallest, to.smallest)) {
    to.smallest = std::move(from.smallest);
  }
}

void PutPublishedFirst(SearchOutcome& outcome) {
  std::vector<LayoutOption>& best = outcome.best;
  if (best.empty() || !outcome.published.has_value() || IsPublished(best.front().choice)) return;
  const LayoutOption& published = *outcome.published;
  if (published.verdict != best.front().verdict ||
      published.step.expected.value() >
          (1 + kPublishedFirst) * best.front().step.expected.value()) {
    return;
  }
  std::erase_if(best, [&](const LayoutOption& other) { return other.choice == published.choice; });
  best.insert(best.begin(), published);
  if (best.size() > kAlternatives) best.pop_back();
}

SearchProgress ProgressOf(const SearchOutcome& so_far) {
  const auto count = [&so_far](Pruned reason) {
    return so_far.pruned[static_cast<size_t>(reason)];
  };
  SearchProgress out = {.searched = so_far.evaluated + count(Pruned::kRefused) +
                                    count(Pruned::kMemory) - so_far.by_state,
                        .to_search = so_far.to_search,
                        .layer_count = so_far.layer_count};
  if (!so_far.best.empty()) out.best = so_far.best.front();
  return out;
}

void OutcomeBuilder::Count(const LayoutCounts& counts) {
  for (size_t i = 0; i < kPrunedCount; ++i) {
    out_.pruned[i] += counts.pruned[i];
    out_.considered += counts.pruned[i];
  }
  out_.by_state += counts.pruned[static_cast<size_t>(Pruned::kMemory)];
  out_.considered += counts.left;
}

absl::StatusOr<absl::optional<LayoutOption>> OutcomeBuilder::Evaluate(const LayoutChoice& choice) {
  return AddWithin(choice, [](const LayoutOption&) { return kNoLimit; });
}

absl::Status OutcomeBuilder::Visit(const LayoutChoice& choice) {
  if (times_all_) return Evaluate(choice).status();
  return AddWithin(choice, [this](const LayoutOption& of) { return LongestListed(of, out_); })
      .status();
}

absl::StatusOr<absl::optional<LayoutOption>> OutcomeBuilder::AddWithin(
    const LayoutChoice& choice, LayoutEvaluator::StepLimit limit) {
  if (watch_ && ++watched_ % kLayoutsAReport == 0) watch_(ProgressOf(out_));
  SEXTANT_ASSIGN_OR_RETURN(const absl::optional<LayoutOption> option,
                           evaluator_.EvaluateWithin(choice, times_all_, limit));
  if (!option.has_value()) {
    ++out_.pruned[static_cast<size_t>(Pruned::kRefused)];
    return option;
  }
  const auto complete = [this](LayoutOption& listed) { evaluator_.Complete(listed); };
  Add(*option, complete, out_);
  return option;
}

absl::Status OutcomeBuilder::EvaluateSmallest(CallWork& work) {
  const LayoutSpace& space = evaluator_.space();
  const auto complete = [this](LayoutOption& listed) { evaluator_.Complete(listed); };
  std::vector<SmallGroup> groups;
  absl::Status status;
  size_t index = 0;
  space.ForEachGroup([&](const LayoutGroup& group) {
    const LayoutCounts counts = space.CountOf(group, evaluator_.bound());
    const int64_t refused = counts.pruned[static_cast<size_t>(Pruned::kBatch)] +
                            counts.pruned[static_cast<size_t>(Pruned::kRounds)];
    if (refused < counts.all()) groups.push_back({counts.least_bytes, index, group});
    ++index;
    status = work.Spend(kStepsAGroup);
    return status.ok();
  });
  SEXTANT_RETURN_IF_ERROR(status);
  if (groups.size() > kSmallGroups) {
    std::nth_element(groups.begin(), groups.begin() + kSmallGroups, groups.end());
    groups.resize(kSmallGroups);
  }
  for (const SmallGroup& group : groups) {
    for (const LayoutChoice& choice : SmallLayoutsOf(space, group.group)) {
      SEXTANT_ASSIGN_OR_RETURN(const absl::optional<LayoutOption> option,
                               evaluator_.Evaluate(choice));
      if (option.has_value()) AddSmallest(*option, complete, out_);
    }
  }
  return absl::OkStatus();
}

}  // namespace sextant
