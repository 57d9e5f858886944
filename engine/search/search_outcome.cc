#include "engine/search/search_outcome.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "engine/search/layout_choice.h"

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

}  // namespace

bool IsBetter(const LayoutOption& a, const LayoutOption& b) {
  const auto key = [](const LayoutOption& of) {
    return std::make_tuple(of.verdict, of.step.expected.value(), of.process.expected.value(),
                           of.choice);
  };
  return key(a) < key(b);
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

}  // namespace sextant
