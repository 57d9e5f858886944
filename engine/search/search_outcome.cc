#include "engine/search/search_outcome.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace sextant {
namespace {

bool IsDominated(const LayoutOption& option, const std::vector<LayoutOption>& front) {
  return std::any_of(front.begin(), front.end(), [&](const LayoutOption& other) {
    return other.step.expected <= option.step.expected &&
           other.process.expected <= option.process.expected && IsBetter(other, option);
  });
}

void AddToFront(const LayoutOption& option, std::vector<LayoutOption>& front) {
  if (option.verdict != Verdict::kFits || IsDominated(option, front)) return;
  std::erase_if(front, [&](const LayoutOption& other) {
    return option.step.expected <= other.step.expected &&
           option.process.expected <= other.process.expected;
  });
  front.insert(std::upper_bound(front.begin(), front.end(), option, IsBetter), option);
}

void AddToBest(const LayoutOption& option, std::vector<LayoutOption>& best) {
  const auto at = std::upper_bound(best.begin(), best.end(), option, IsBetter);
  if (best.size() == kAlternatives && at == best.end()) return;
  best.insert(at, option);
  if (best.size() > kAlternatives) best.pop_back();
}

void AddSmallest(const LayoutOption& option, absl::optional<LayoutOption>& smallest) {
  const auto key = [](const LayoutOption& of) {
    return std::make_tuple(of.process.expected, of.choice);
  };
  if (!smallest.has_value() || key(option) < key(*smallest)) smallest = option;
}

}  // namespace

bool IsBetter(const LayoutOption& a, const LayoutOption& b) {
  const auto key = [](const LayoutOption& of) {
    return std::make_tuple(of.verdict, of.step.expected.value(), of.process.expected.value(),
                           of.choice);
  };
  return key(a) < key(b);
}

void Add(const LayoutOption& option, SearchOutcome& to) {
  AddSmallest(option, to.smallest);
  if (option.verdict == Verdict::kDoesNotFit) {
    ++to.pruned[static_cast<size_t>(Pruned::kMemory)];
    return;
  }
  ++to.evaluated;
  AddToBest(option, to.best);
  AddToFront(option, to.front);
}

void Merge(SearchOutcome from, SearchOutcome& to) {
  to.considered += from.considered;
  for (size_t i = 0; i < kPrunedCount; ++i) to.pruned[i] += from.pruned[i];
  to.evaluated += from.evaluated;
  to.layer_count = from.layer_count;
  to.exhaustive = to.exhaustive && from.exhaustive;
  to.untimed = std::move(from.untimed);
  to.untimed_offload = std::move(from.untimed_offload);
  for (const LayoutOption& option : from.best) AddToBest(option, to.best);
  for (const LayoutOption& option : from.front) AddToFront(option, to.front);
  if (from.smallest.has_value()) AddSmallest(*from.smallest, to.smallest);
}

SearchProgress ProgressOf(const SearchOutcome& so_far) {
  const auto count = [&so_far](Pruned reason) {
    return so_far.pruned[static_cast<size_t>(reason)];
  };
  SearchProgress out = {
      .searched = so_far.evaluated + count(Pruned::kRefused) + count(Pruned::kMemory),
      .to_search = so_far.to_search,
      .layer_count = so_far.layer_count};
  if (!so_far.best.empty()) out.best = so_far.best.front();
  return out;
}

}  // namespace sextant
