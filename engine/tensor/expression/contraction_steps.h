// What the searches for an order of contraction share.
#ifndef SEXTANT_ENGINE_TENSOR_EXPRESSION_CONTRACTION_STEPS_H_
#define SEXTANT_ENGINE_TENSOR_EXPRESSION_CONTRACTION_STEPS_H_

#include <utility>
#include <vector>

#include "absl/types/optional.h"
#include "engine/tensor/expression/contraction.h"

namespace sextant {

// The pair of each step, numbered as in ContractionStep.
using ContractionPairs = std::vector<std::pair<int, int>>;

AxisSet OutputSet(const Contraction& contraction);

// The product of the sizes of `axes`; nothing where it exceeds 9.2e18.
absl::optional<int64_t> ElementsOf(const Contraction& contraction, const AxisSet& axes);

// FLOPs of the step that makes a tensor of axes `kept` of two whose axes together are `all`.
Flops PairFlops(const Contraction& contraction, const AxisSet& all, const AxisSet& kept);

// The order that `pairs` describe, worked out step by step; nothing where an intermediate
// exceeds 9.2e18 elements. (A step's FLOPs are then below 2 x 9.2e18 squared: a double holds all.)
absl::optional<ContractionOrder> OrderOf(const Contraction& contraction,
                                         const ContractionPairs& pairs);

// contraction_exact.cc: of all orders. At most kMaxExactOperands, at least 2.
ContractionPairs ExactPairs(const Contraction& contraction);

// contraction_greedy.cc: as OrderSearch::kGreedy; empty where every pair's result is too large.
ContractionPairs GreedyPairs(const Contraction& contraction);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_TENSOR_EXPRESSION_CONTRACTION_STEPS_H_
