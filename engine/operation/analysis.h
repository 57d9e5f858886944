// The full cost of one operation, forward and backward.
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
#include "engine/operation/op_kernels.h"
#include "engine/operation/operation.h"

namespace sextant {

// An array of the forward pass that the backward pass reads.
struct SavedArray {
  Array array;
  int64_t elements = 0;
  Bytes size = Bytes(0);
  // True for a parameter, which is in memory anyway; false for an activation, which has to be
  // kept.
  bool held_anyway = false;
  std::string reason;  // "dw = x^T dy reads it"
};

struct BackwardCost {
  OperationCost cost;
  std::vector<SavedArray> saved;
  Bytes saved_bytes;  // without arrays that are held anyway
};

struct OperationAnalysis {
  absl::string_view name;
  OperationTypes types = {};  // defaults filled in
  std::vector<Array> operands;
  std::vector<Array> outputs;
  OperationCost forward;
  // The same in separate kernels, each with its own round trip; absent where there is no other
  // form.
  absl::optional<OperationCost> unfused;
  // Includes the gradients of all differentiable operands; absent where there are none.
  absl::optional<BackwardCost> backward;
  // The same without the first input's gradient, as in a model's first layer; absent where nothing
  // would remain.
  absl::optional<BackwardCost> backward_without_input;
};

struct OperationRequest {
  Operation operation;
  OperationTypes types = {};
  FlopConvention convention = {};
};

// Errors: kInvalidArgument naming the operation's fields below `path`, as CheckOperation() does,
// "data_types.input" (except for a host copy, which moves any type) and "transcendental_flops";
// `path` itself ("shape" where that is empty) where an array or the total traffic exceeds 9.2e18
// bytes.
absl::StatusOr<OperationAnalysis> AnalyzeOperation(const OperationRequest& request,
                                                   absl::string_view path);

// Adds "transcendental_flops" below `path` where it is not a number from 0 to 1e6.
void CheckConvention(const FlopConvention& convention, absl::string_view path,
                     FieldViolations& violations);

// Adds the errors of `status` below `path`; those of an array's shape, which a request does not
// have, against `path`, where there is one.
void AddBelow(const absl::Status& status, absl::string_view path, FieldViolations& violations);

// The cost of only the gradients of `needed`, as a graph requests it.
absl::StatusOr<BackwardCost> BackwardCostOf(const OpKernels& kernels, OperandSet needed);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_OPERATION_ANALYSIS_H_
