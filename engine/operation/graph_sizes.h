// The sizes of an operation, derived from the tensors that it reads.
#ifndef SEXTANT_ENGINE_OPERATION_GRAPH_SIZES_H_
#define SEXTANT_ENGINE_OPERATION_GRAPH_SIZES_H_

#include <cstddef>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "engine/base/field_violation.h"
#include "engine/operation/operation.h"
#include "engine/tensor/shape.h"

namespace sextant {

// A tensor that an operation reads. Its shape has passed CheckShape().
struct OperationInput {
  absl::string_view name = {};
  absl::Span<const int64_t> shape = {};
  bool is_index = false;  // ids or a mask
};

struct SizedOperation {
  Operation operation;           // all sizes given; has passed CheckOperation()
  std::vector<size_t> operands;  // of the kernels, by input
  Shape shape;                   // of the output
};

// `operation` with its zero sizes computed from `inputs`, as docs/operation_costs.md, "Graphs"
// lists. Absent where there are errors, which are added: "operations[3].inputs[1]" below `path`
// where a tensor does not fit, "operations[3].operation.linear.input_size" where a given size does
// not.
absl::optional<SizedOperation> SizeOperation(const Operation& operation,
                                             absl::Span<const OperationInput> inputs,
                                             absl::string_view path, FieldViolations& violations);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_OPERATION_GRAPH_SIZES_H_
