// Matrix products: C = A B gives dA = dC B^T and dB = A^T dC, each a product of the same
// m n k multiply-adds, so that a backward pass with both gradients is twice the forward pass.
// Source: matrix calculus, d<dC, A B> = <dC B^T, dA> + <A^T dC, dB>.
#include "engine/operation/recipe_parts.h"

namespace sextant {
namespace {

Recipe ProductRecipe(const ProductSize& s, const Array& a, const Array& b, const Array& c) {
  Recipe out;
  out.operands = {a, b};
  out.outputs = {c};
  out.differentiable = OperandBit(0) | OperandBit(1);
  out.forward = {{.name = "c = a b",
                  .arithmetic = {Product("product", s)},
                  .movements = {Read(a), Read(b), Write(c)}}};
  const OperandSet left = OperandBit(0);
  const OperandSet right = OperandBit(1);
  out.backward = {
      {.name = "da = dc b^T",
       .arithmetic = {Product("gradient of a", {.batch = s.batch, .m = s.m, .n = s.k, .k = s.n},
                              left)},
       .movements = {Read(GradientOf(c), left), Read(b, left), Write(GradientOf(a), left)}},
      {.name = "db = a^T dc",
       .arithmetic = {Product("gradient of b", {.batch = s.batch, .m = s.k, .n = s.n, .k = s.m},
                              right)},
       .movements = {Read(GradientOf(c), right), Read(a, right), Write(GradientOf(b), right)}}};
  return out;
}

// db is the column sums of dy.
void AddBias(const Linear& op, const RecipeInput& in, Recipe& recipe) {
  const Array bias = Parameter("bias", in.types.input, {op.output_size});
  const OperandSet bit = OperandBit(recipe.operands.size());
  recipe.operands.push_back(bias);
  recipe.differentiable |= bit;
  const double outputs = Count(op.rows, op.output_size);
  Step& forward = recipe.forward[0];
  forward.name = "y = x w + bias";
  forward.arithmetic.push_back(Term(
      {.name = "bias", .what = "one addition an output", .work = {.plain = 1}, .count = outputs},
      in.convention));
  forward.movements.push_back(Read(bias));
  recipe.backward.push_back(
      {.name = "dbias = column sums of dy",
       .arithmetic = {Term({.name = "gradient of bias",
                            .what = "one addition of each number of dy",
                            .work = {.plain = 1},
                            .count = outputs,
                            .needed_by = bit},
                           in.convention)},
       .movements = {Read(GradientOf(recipe.outputs[0]), bit), Write(GradientOf(bias), bit)}});
}

}  // namespace

Recipe MatmulRecipe(const Matmul& op, const RecipeInput& in) {
  return ProductRecipe({.m = op.m, .n = op.n, .k = op.k}, Input("a", in.types.input, {op.m, op.k}),
                       Input("b", in.types.input, {op.k, op.n}),
                       Output("c", in.types.output, {op.m, op.n}));
}

Recipe BatchedMatmulRecipe(const BatchedMatmul& op, const RecipeInput& in) {
  return ProductRecipe({.batch = op.batch, .m = op.m, .n = op.n, .k = op.k},
                       Input("a", in.types.input, {op.batch, op.m, op.k}),
                       Input("b", in.types.input, {op.batch, op.k, op.n}),
                       Output("c", in.types.output, {op.batch, op.m, op.n}));
}

Recipe LinearRecipe(const Linear& op, const RecipeInput& in) {
  Recipe out = ProductRecipe({.m = op.rows, .n = op.output_size, .k = op.input_size},
                             Input("x", in.types.input, {op.rows, op.input_size}),
                             Parameter("w", in.types.input, {op.input_size, op.output_size}),
                             Output("y", in.types.output, {op.rows, op.output_size}));
  out.forward[0].name = "y = x w";
  out.backward[0].name = "dx = dy w^T";
  out.backward[0].arithmetic[0].name = "gradient of x";
  out.backward[1].name = "dw = x^T dy";
  out.backward[1].arithmetic[0].name = "gradient of w";
  if (op.bias) AddBias(op, in, out);
  return out;
}

}  // namespace sextant
