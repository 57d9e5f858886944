// Building blocks of recipes. Only for the files recipe_*.cc.
#ifndef SEXTANT_ENGINE_OPERATION_RECIPE_PARTS_H_
#define SEXTANT_ENGINE_OPERATION_RECIPE_PARTS_H_

#include <cstdint>
#include <initializer_list>
#include <string>

#include "absl/strings/string_view.h"
#include "engine/operation/recipe.h"

namespace sextant {

Array Input(absl::string_view name, DataType type, const Shape& shape);
Array Parameter(absl::string_view name, DataType type, const Shape& shape);
Array Output(absl::string_view name, DataType type, const Shape& shape);
Array Statistic(absl::string_view name, DataType type, const Shape& shape);
Array Scratch(absl::string_view name, DataType type, const Shape& shape);
// An array of ids or masks.
Array Indices(absl::string_view name, int64_t index_bytes, const Shape& shape);
// "gradient of x", in x's shape and format.
Array GradientOf(const Array& array);

Movement Read(const Array& array, OperandSet needed_by = kEveryOperand);
Movement Write(const Array& array, OperandSet needed_by = kEveryOperand);

// batch x 2 m n k FLOPs; `m`, `n` and `k` are those of the product itself.
struct ProductSize {
  int64_t batch = 1;
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
};
ArithmeticTerm Product(absl::string_view name, const ProductSize& size,
                       OperandSet needed_by = kEveryOperand);

// `work` on each of `count` elements or rows; `what` describes it in words.
struct Repeated {
  absl::string_view name;
  absl::string_view what;
  Work work;
  double count = 0;
  OperandSet needed_by = kEveryOperand;
};
ArithmeticTerm Term(const Repeated& repeated, FlopConvention convention);

constexpr double Count(int64_t n) { return static_cast<double>(n); }
// a x b as a double, where an int64 could overflow.
constexpr double Count(int64_t a, int64_t b) { return Count(a) * Count(b); }

// Defined in the files recipe_*.cc.
Recipe MatmulRecipe(const Matmul& op, const RecipeInput& in);
Recipe BatchedMatmulRecipe(const BatchedMatmul& op, const RecipeInput& in);
Recipe LinearRecipe(const Linear& op, const RecipeInput& in);
Recipe ElementwiseRecipe(const Elementwise& op, const RecipeInput& in);
Recipe FusedChainRecipe(const FusedChain& op, const RecipeInput& in);
Recipe ReductionRecipe(const Reduction& op, const RecipeInput& in);
Recipe SoftmaxRecipe(const Softmax& op, const RecipeInput& in);
Recipe LayerNormRecipe(const LayerNorm& op, const RecipeInput& in);
Recipe RmsNormRecipe(const RmsNorm& op, const RecipeInput& in);
Recipe ActivationRecipe(const Activation& op, const RecipeInput& in);
Recipe SwiGluRecipe(const SwiGlu& op, const RecipeInput& in);
Recipe RotaryRecipe(const Rotary& op, const RecipeInput& in);
Recipe DropoutRecipe(const Dropout& op, const RecipeInput& in);
Recipe EmbeddingRecipe(const EmbeddingLookup& op, const RecipeInput& in);
Recipe CrossEntropyRecipe(const CrossEntropy& op, const RecipeInput& in);
Recipe AttentionRecipe(const Attention& op, const RecipeInput& in);
Recipe OptimizerRecipe(const OptimizerUpdate& op, const RecipeInput& in);
Recipe HostCopyRecipe(const HostCopy& op, const RecipeInput& in);
Recipe EinsumRecipe(const Einsum& op, const RecipeInput& in);
Recipe ExpertsRecipe(const Experts& op, const RecipeInput& in);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_OPERATION_RECIPE_PARTS_H_
