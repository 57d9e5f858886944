// Contractions of several tensors in pairs, and their cheapest order.
#ifndef SEXTANT_ENGINE_TENSOR_EXPRESSION_CONTRACTION_H_
#define SEXTANT_ENGINE_TENSOR_EXPRESSION_CONTRACTION_H_

#include <bitset>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/base/units.h"
#include "engine/tensor/expression/axis_term.h"

namespace sextant {

inline constexpr int kMaxEinsumAxes = 256;
using AxisSet = std::bitset<kMaxEinsumAxes>;

// The tensors to contract. An operand has each of its axes once, with full size; axes that it
// stretches (size 1 against a larger one) are left out.
struct Contraction {
  std::vector<AxisSize> axes = {};
  std::vector<AxisSet> operands = {};  // at least one
  std::vector<int> output = {};        // indices of axes, each in some operand, in order
};

// One tensor made from two. Numbering of tensors: first the operands, then the results of the
// steps in order.
//
// FLOPs: a loop over every index of all axes of both does one multiplication, and one addition
// where an axis is summed:
//   2 x product of all axes where the step sums (2 m n k of a matmul),
//   1 x product where it only multiplies (an outer or an elementwise product).
// A step on a single tensor, with right = -1, multiplies nothing: 1 x product where it sums, else
// 0. Axes of only one tensor are summed in the step, not before it. Source: derivation from the
// loop; the same count as opt_einsum's flop_count() of pairs (Smith, Gray, JOSS 3(26), 2018).
struct ContractionStep {
  int left = 0;
  int right = -1;
  std::string axes = {};  // of the result: "b s t"
  AxisSet axis_set = {};  // the same as a set
  int64_t result_elements = 0;
  bool sums = false;
  Flops flops = Flops(0);
};

enum class OrderSearch {
  kLeftToRight,
  kExact,   // no order costs fewer FLOPs
  kGreedy,  // the better of left to right and repeatedly the pair whose result grows least
};

struct ContractionOrder {
  OrderSearch search = OrderSearch::kLeftToRight;
  std::vector<ContractionStep> steps = {};
  Flops flops = Flops(0);
  // Over all results except the last; 0 where there is one step.
  int64_t largest_intermediate_elements = 0;
};

// The best order is exact up to this number of operands: a search over all subsets takes 3^n
// steps.
inline constexpr int kMaxExactOperands = 10;

// ((first, second), third), ...
//
// Errors: kInvalidArgument "operands" where an intermediate exceeds 9.2e18 elements.
absl::StatusOr<ContractionOrder> LeftToRight(const Contraction& contraction);

// The order of fewest FLOPs; among equals, the one with the smallest largest intermediate. Orders
// with an intermediate above 9.2e18 elements are excluded. Returns `left_to_right`, the result of
// LeftToRight(), where nothing is better.
ContractionOrder BestOrder(const Contraction& contraction, const ContractionOrder& left_to_right);

// The same where the order from left to right may have an intermediate above 9.2e18 elements.
//
// Errors: kInvalidArgument "operands" where no order was found without one.
absl::StatusOr<ContractionOrder> BestOrder(const Contraction& contraction);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_TENSOR_EXPRESSION_CONTRACTION_H_
