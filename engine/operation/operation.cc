#include "engine/operation/operation.h"

#include <array>

namespace sextant {
namespace {

// In the order of the variant.
constexpr std::array<absl::string_view, std::variant_size_v<Operation>> kNames = {
    "matmul",           "batched_matmul", "linear",      "elementwise",   "reduction",
    "softmax",          "layer_norm",     "rms_norm",    "activation",    "swiglu",
    "rotary",           "dropout",        "embedding",   "cross_entropy", "attention",
    "optimizer_update", "host_copy",      "fused_chain", "einsum",        "experts"};

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
    violations.Add(FieldPath(path, "input"), "is required: write e.g. bf16");
  }
}

}  // namespace sextant
