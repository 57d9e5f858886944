#include "engine/search/outcome_builder.h"

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/base/status_macros.h"

namespace sextant {
namespace {

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

void OutcomeBuilder::Count(const LayoutCounts& counts) {
  for (size_t i = 0; i < kPrunedCount; ++i) {
    out_.pruned[i] += counts.pruned[i];
    out_.considered += counts.pruned[i];
  }
  out_.by_state += counts.pruned[static_cast<size_t>(Pruned::kMemory)];
  out_.considered += counts.left;
}

absl::StatusOr<absl::optional<LayoutOption>> OutcomeBuilder::Evaluate(const LayoutChoice& choice) {
  if (watch_ && ++watched_ % kLayoutsAReport == 0) watch_(ProgressOf(out_));
  SEXTANT_ASSIGN_OR_RETURN(const absl::optional<LayoutOption> option,
                           evaluator_.Evaluate(choice, times_all_));
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
