// What steps cost: every term with its reason, and their sums.
#ifndef SEXTANT_ENGINE_OPERATION_COST_H_
#define SEXTANT_ENGINE_OPERATION_COST_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "engine/base/units.h"
#include "engine/operation/step.h"

namespace sextant {

struct TrafficTerm {
  Array array;
  bool written = false;
  Bytes size = Bytes(0);
  std::string reason;  // "x [4, 8] fp32 is read once"
};

struct CostSum {
  Flops matrix_flops = {};  // of matrix products
  Flops other_flops = {};
  Bytes read = Bytes(0);
  Bytes written = Bytes(0);

  Flops flops() const { return matrix_flops + other_flops; }
  // At most 9.2e18, or CostOf() had failed.
  Bytes moved() const { return read + written; }
  // FLOPs a byte moved; absent where nothing moves.
  absl::optional<double> intensity() const;
};

struct StepCost {
  std::string name;
  std::vector<ArithmeticTerm> arithmetic;
  std::vector<TrafficTerm> traffic;
  CostSum sum;
};

struct OperationCost {
  std::vector<StepCost> steps;
  CostSum sum;  // exactly that of the steps
};

// Errors: kInvalidArgument "shape" where more than 9.2e18 bytes move.
absl::StatusOr<CostSum> SumOf(const CostSum& a, const CostSum& b);

// The cost of `steps`, as far as the gradients of `needed` take them; steps of which nothing
// is left are left out.
//
// Errors: kInvalidArgument "shape" where there are more than 9.2e18 bytes.
absl::StatusOr<OperationCost> CostOf(absl::Span<const Step> steps, OperandSet needed);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_OPERATION_COST_H_
