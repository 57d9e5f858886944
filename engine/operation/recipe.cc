#include "engine/operation/recipe.h"

#include "absl/strings/str_cat.h"
#include "engine/base/text.h"
#include "engine/operation/recipe_parts.h"

namespace sextant {
namespace {

// One overload per operation.
struct Visitor {
  const RecipeInput& in;

  Recipe operator()(const Matmul& op) const { return MatmulRecipe(op, in); }
  Recipe operator()(const BatchedMatmul& op) const { return BatchedMatmulRecipe(op, in); }
  Recipe operator()(const Linear& op) const { return LinearRecipe(op, in); }
  Recipe operator()(const Elementwise& op) const { return ElementwiseRecipe(op, in); }
  Recipe operator()(const FusedChain& op) const { return FusedChainRecipe(op, in); }
  Recipe operator()(const Reduction& op) const { return ReductionRecipe(op, in); }
  Recipe operator()(const Softmax& op) const { return SoftmaxRecipe(op, in); }
  Recipe operator()(const LayerNorm& op) const { return LayerNormRecipe(op, in); }
  Recipe operator()(const RmsNorm& op) const { return RmsNormRecipe(op, in); }
  Recipe operator()(const Activation& op) const { return ActivationRecipe(op, in); }
  Recipe operator()(const SwiGlu& op) const { return SwiGluRecipe(op, in); }
  Recipe operator()(const Rotary& op) const { return RotaryRecipe(op, in); }
  Recipe operator()(const Dropout& op) const { return DropoutRecipe(op, in); }
  Recipe operator()(const EmbeddingLookup& op) const { return EmbeddingRecipe(op, in); }
  Recipe operator()(const CrossEntropy& op) const { return CrossEntropyRecipe(op, in); }
  Recipe operator()(const Attention& op) const { return AttentionRecipe(op, in); }
  Recipe operator()(const OptimizerUpdate& op) const { return OptimizerRecipe(op, in); }
  Recipe operator()(const HostCopy& op) const { return HostCopyRecipe(op, in); }
  Recipe operator()(const Einsum& op) const { return EinsumRecipe(op, in); }
  Recipe operator()(const Experts& op) const { return ExpertsRecipe(op, in); }
};

Array MakeArray(absl::string_view name, ArrayRole role, DataType type, const Shape& shape) {
  return {.name = std::string(name), .role = role, .data_type = type, .shape = shape};
}

}  // namespace

Recipe RecipeOf(const Operation& operation, const RecipeInput& input) {
  return std::visit(Visitor{input}, operation);
}

Array Input(absl::string_view name, DataType type, const Shape& shape) {
  return MakeArray(name, ArrayRole::kInput, type, shape);
}
Array Parameter(absl::string_view name, DataType type, const Shape& shape) {
  return MakeArray(name, ArrayRole::kParameter, type, shape);
}
Array Output(absl::string_view name, DataType type, const Shape& shape) {
  return MakeArray(name, ArrayRole::kOutput, type, shape);
}
Array Statistic(absl::string_view name, DataType type, const Shape& shape) {
  return MakeArray(name, ArrayRole::kStatistic, type, shape);
}
Array Scratch(absl::string_view name, DataType type, const Shape& shape) {
  return MakeArray(name, ArrayRole::kScratch, type, shape);
}
Array Indices(absl::string_view name, int64_t index_bytes, const Shape& shape) {
  Array out = Input(name, DataType::kUnspecified, shape);
  out.index_bytes = index_bytes;
  return out;
}
Array GradientOf(const Array& array) {
  return MakeArray(absl::StrCat("gradient of ", array.name), ArrayRole::kGradient, array.data_type,
                   array.shape);
}

Movement Read(const Array& array, OperandSet needed_by) {
  return {.array = array, .written = false, .needed_by = needed_by};
}
Movement Write(const Array& array, OperandSet needed_by) {
  return {.array = array, .written = true, .needed_by = needed_by};
}

ArithmeticTerm Product(absl::string_view name, const ProductSize& s, OperandSet needed_by) {
  const double outputs = Count(s.batch) * Count(s.m, s.n);
  std::string reason = absl::StrCat("2 x ", s.m, " x ", s.n, " x ", s.k, ": each of ", s.m, " x ",
                                    s.n, " outputs is ", s.k, " multiply-adds of 2 FLOPs");
  if (s.batch > 1) absl::StrAppend(&reason, ", in each of ", s.batch, " products");
  return {.name = std::string(name),
          .flops = Flops(kFlopsPerMultiplyAdd * outputs * Count(s.k)),
          .matrix_product = true,
          .reason = std::move(reason),
          .needed_by = needed_by};
}

ArithmeticTerm Term(const Repeated& r, FlopConvention convention) {
  const Flops each = FlopsOf(r.work, convention);
  return {
      .name = std::string(r.name),
      .flops = each * r.count,
      .matrix_product = false,
      .reason = absl::StrCat(NumberText(each.value()), " x ", NumberText(r.count), ": ", r.what),
      .needed_by = r.needed_by};
}

}  // namespace sextant
