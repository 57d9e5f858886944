#include "engine/tensor/expression/contraction.h"

#include <algorithm>
#include <tuple>

#include "absl/strings/str_join.h"
#include "engine/base/checked_math.h"
#include "engine/base/field_violation.h"
#include "engine/tensor/expression/contraction_steps.h"

namespace sextant {
namespace {

template <typename Visit>
void ForEach(const AxisSet& axes, Visit visit) {
  for (size_t i = axes._Find_first(); i < axes.size(); i = axes._Find_next(i)) visit(i);
}

std::string AxesText(const Contraction& contraction, const AxisSet& axes) {
  std::vector<absl::string_view> names;
  ForEach(axes, [&](size_t i) { names.push_back(contraction.axes[i].name); });
  return absl::StrJoin(names, " ");
}

std::string OutputText(const Contraction& contraction) {
  std::vector<absl::string_view> names;
  for (const int i : contraction.output) {
    names.push_back(contraction.axes[static_cast<size_t>(i)].name);
  }
  return absl::StrJoin(names, " ");
}

double Product(const Contraction& contraction, const AxisSet& axes) {
  double product = 1;
  ForEach(axes, [&](size_t i) { product *= static_cast<double>(contraction.axes[i].size); });
  return product;
}

// One operand: nothing to multiply.
ContractionOrder OneStep(const Contraction& contraction) {
  const AxisSet output = OutputSet(contraction);
  ContractionStep step = {.left = 0, .axes = OutputText(contraction)};
  step.axis_set = output;
  step.result_elements = ElementsOf(contraction, output).value_or(0);
  step.sums = contraction.operands[0] != output;
  if (step.sums) step.flops = Flops(Product(contraction, contraction.operands[0]));
  return {.steps = {step}, .flops = step.flops};
}

bool IsExact(const Contraction& contraction) {
  return contraction.operands.size() <= kMaxExactOperands;
}

// What the search finds, of at least two operands; nothing where every order that it looks at
// has too large an intermediate.
absl::optional<ContractionOrder> Searched(const Contraction& contraction) {
  const ContractionPairs pairs =
      IsExact(contraction) ? ExactPairs(contraction) : GreedyPairs(contraction);
  if (pairs.size() + 1 != contraction.operands.size()) return absl::nullopt;
  return OrderOf(contraction, pairs);
}

}  // namespace

AxisSet OutputSet(const Contraction& contraction) {
  AxisSet output;
  for (const int i : contraction.output) output.set(static_cast<size_t>(i));
  return output;
}

absl::optional<int64_t> ElementsOf(const Contraction& contraction, const AxisSet& axes) {
  CheckedInt count = 1;
  ForEach(axes, [&](size_t i) { count = count * contraction.axes[i].size; });
  if (!count.ok()) return absl::nullopt;
  return count.value();
}

Flops PairFlops(const Contraction& contraction, const AxisSet& all, const AxisSet& kept) {
  return Flops(Product(contraction, all) * (all == kept ? 1 : 2));
}

absl::optional<ContractionOrder> OrderOf(const Contraction& contraction,
                                         const ContractionPairs& pairs) {
  std::vector<AxisSet> tensors = contraction.operands;
  std::vector<bool> waits(tensors.size(), true);
  const AxisSet output = OutputSet(contraction);
  ContractionOrder order;
  for (const auto& [left, right] : pairs) {
    const auto a = static_cast<size_t>(left);
    const auto b = static_cast<size_t>(right);
    waits[a] = waits[b] = false;
    AxisSet needed = output;
    for (size_t i = 0; i < tensors.size(); ++i) {
      if (waits[i]) needed |= tensors[i];
    }
    const AxisSet all = tensors[a] | tensors[b];
    const AxisSet kept = all & needed;
    const absl::optional<int64_t> elements = ElementsOf(contraction, kept);
    if (!elements.has_value()) return absl::nullopt;
    const bool is_last = order.steps.size() + 1 == pairs.size();
    order.steps.push_back({.left = left,
                           .right = right,
                           .axes = is_last ? OutputText(contraction) : AxesText(contraction, kept),
                           .axis_set = kept,
                           .result_elements = *elements,
                           .sums = all != kept,
                           .flops = PairFlops(contraction, all, kept)});
    order.flops = order.flops + order.steps.back().flops;
    if (!is_last) {
      order.largest_intermediate_elements =
          std::max(order.largest_intermediate_elements, *elements);
    }
    tensors.push_back(kept);
    waits.push_back(true);
  }
  return order;
}

absl::StatusOr<ContractionOrder> LeftToRight(const Contraction& contraction) {
  if (contraction.operands.size() == 1) return OneStep(contraction);
  const int count = static_cast<int>(contraction.operands.size());
  ContractionPairs pairs = {{0, 1}};
  for (int i = 2; i < count; ++i) pairs.push_back({count + i - 2, i});
  const absl::optional<ContractionOrder> order = OrderOf(contraction, pairs);
  if (order.has_value()) return *order;
  return InvalidField("operands",
                      "contracted from left to right, an intermediate has more than 9.2e18 "
                      "elements: put operands that share axes side by side");
}

ContractionOrder BestOrder(const Contraction& contraction, const ContractionOrder& left_to_right) {
  ContractionOrder best = left_to_right;
  if (contraction.operands.size() > 2) {
    const absl::optional<ContractionOrder> found = Searched(contraction);
    const auto cost = [](const ContractionOrder& order) {
      return std::make_tuple(order.flops, order.largest_intermediate_elements);
    };
    if (found.has_value() && cost(*found) < cost(best)) best = *found;
  }
  best.search = IsExact(contraction) ? OrderSearch::kExact : OrderSearch::kGreedy;
  return best;
}

absl::StatusOr<ContractionOrder> BestOrder(const Contraction& contraction) {
  const absl::StatusOr<ContractionOrder> left_to_right = LeftToRight(contraction);
  if (left_to_right.ok()) return BestOrder(contraction, *left_to_right);
  absl::optional<ContractionOrder> found = Searched(contraction);
  if (!found.has_value()) {
    return InvalidField("operands",
                        "no order of contraction was found whose intermediates all have at most "
                        "9.2e18 elements: write smaller sizes, or fewer operands");
  }
  found->search = IsExact(contraction) ? OrderSearch::kExact : OrderSearch::kGreedy;
  return *found;
}

}  // namespace sextant
