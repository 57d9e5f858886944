// Everything that one operation costs, forward and backward.
#ifndef SEXTANT_ENGINE_OPERATION_ANALYSIS_H_
#define SEXTANT_ENGINE_OPERATION_ANALYSIS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "engine/base/field_violation.h"
#include "engine/base/units.h"
#include "engine/operation/cost.h"
#include "engine/operation/flop_convention.h"
#include "engine/operation/operation.h"
#include "engine/operation/recipe.h"

namespace sextant {

// What the backward pass reads of the forward pass.
struct SavedArray {
  Array array;
  int64_t elements = 0;
  Bytes size = Bytes(0);
  // A parameter, which is in memory anyway; else an activation that has to be kept.
  bool held_anyway = false;
  std::string reason;  // "dw = x^T dy reads it"
};

struct BackwardCost {
  OperationCost cost;
  std::vector<SavedArray> saved;
  Bytes saved_bytes;  // of what is not held anyway
};

struct OperationAnalysis {
  absl::string_view name;
  OperationTypes types = {};  // defaults filled in
  std::vector<Array> operands;
  std::vector<Array> outputs;
  OperationCost forward;
  // The same in kernels that each pay their round trip; absent where there is no other form.
  absl::optional<OperationCost> unfused;
  // With the gradients of all operands that can have one; absent where none can.
  absl::optional<BackwardCost> backward;
  // The same without the first input's, as in a model's first layer; absent where nothing
  // would be left to do.
  absl::optional<BackwardCost> backward_without_input;
};

struct OperationRequest {
  Operation operation;
  OperationTypes types = {};
  FlopConvention convention = {};
};

// Errors: kInvalidArgument, naming the fields of the operation below `path`, as CheckOperation()
// does, "data_types.input" (but of a host copy, which moves any) and "transcendental_flops";
// `path` itself ("shape" where that is empty) where an array or all traffic exceeds 9.2e18 bytes.
absl::StatusOr<OperationAnalysis> AnalyzeOperation(const OperationRequest& request,
                                                   absl::string_view path);

// Adds "transcendental_flops" below `path` where it is not a number from 0 to 1e6.
void CheckConvention(const FlopConvention& convention, absl::string_view path,
                     FieldViolations& violations);

// What the gradients of `needed` alone take: what a graph asks for.
absl::StatusOr<BackwardCost> BackwardCostOf(const Recipe& recipe, OperandSet needed);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_OPERATION_ANALYSIS_H_
