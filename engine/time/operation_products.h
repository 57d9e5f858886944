// The products of matrices that an operation is made of.
#ifndef SEXTANT_ENGINE_TIME_OPERATION_PRODUCTS_H_
#define SEXTANT_ENGINE_TIME_OPERATION_PRODUCTS_H_

#include <vector>

#include "absl/types/optional.h"
#include "engine/hardware/kernels/gemm_shape.h"
#include "engine/operation/operation.h"

namespace sextant {

// One after the other.
struct OperationProducts {
  std::vector<BatchedGemm> forward;
  std::vector<BatchedGemm> backward;  // with the gradients of all operands
};

// Of matrix products, in batches too, a linear layer (its bias is added by the same kernel), and
// einsums whose every step is one. The gradients of a product y [m, n] over k are two: one of
// [m, k] over n, one of [n, k] over m. Absent of other operations: of einsums that sum an operand
// alone, read a diagonal, or multiply without a sum too.
//
// `operation` has passed CheckOperation().
absl::optional<OperationProducts> ProductsOf(const Operation& operation);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_TIME_OPERATION_PRODUCTS_H_
