#include "engine/operation/operation.h"

#include <array>

#include "absl/strings/str_cat.h"
#include "engine/operation/array.h"

namespace sextant {
namespace {

// In the order of the variant.
constexpr std::array<absl::string_view, std::variant_size_v<Operation>> kNames = {
    "matmul",     "batched_matmul", "linear",     "elementwise",      "reduction", "softmax",
    "layer_norm", "rms_norm",       "activation", "swiglu",           "rotary",    "dropout",
    "embedding",  "cross_entropy",  "attention",  "optimizer_update", "host_copy", "fused_chain"};

void CheckType(DataType type, absl::string_view path, absl::string_view name,
               FieldViolations& violations) {
  if (CanHoldArray(type)) return;
  violations.Add(FieldPath(path, name),
                 absl::StrCat("arrays of ", DataTypeName(type),
                              " have no size here: write one of the formats of ListDataTypes "
                              "that name their layout, e.g. bf16"));
}

}  // namespace

absl::string_view OperationName(const Operation& operation) { return kNames[operation.index()]; }

OperationTypes WithDefaults(OperationTypes types) {
  if (types.output == DataType::kUnspecified) types.output = types.input;
  if (types.accumulation == DataType::kUnspecified) {
    types.accumulation = types.input == DataType::kFp64 ? DataType::kFp64 : DataType::kFp32;
  }
  return types;
}

void CheckTypes(const OperationTypes& types, absl::string_view path, FieldViolations& violations) {
  if (types.input == DataType::kUnspecified) {
    violations.Add(FieldPath(path, "input_data_type"), "is required: write e.g. bf16");
    return;
  }
  const OperationTypes filled = WithDefaults(types);
  CheckType(filled.input, path, "input_data_type", violations);
  if (filled.output != filled.input) {
    CheckType(filled.output, path, "output_data_type", violations);
  }
  CheckType(filled.accumulation, path, "accumulation_data_type", violations);
}

}  // namespace sextant
