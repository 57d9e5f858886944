// Activations and dropout. Backward, with s = 1/(1 + exp(-x)), Phi and phi the normal
// distribution and its density:
//   relu       dx = dy where y > 0
//   silu       dx = dy s (1 + x (1 - s))
//   gelu erf   dx = dy (Phi(x) + x phi(x))
//   gelu tanh  dx = dy (0.5 (1 + t) + 0.5 x (1 - t^2) u'),  t = tanh(u),
//              u = sqrt(2/pi) (x + 0.044715 x^3)
// Sources: Hendrycks, Gimpel 2016 (arXiv 1606.08415) for GELU and its two forms; Shazeer 2020
// (arXiv 2002.05202) for SwiGLU; derivatives by calculus.
#include "engine/operation/recipe_parts.h"

namespace sextant {
namespace {

struct ActivationWork {
  Work forward;
  Work gradient;
  absl::string_view forward_what;
  absl::string_view gradient_what;
};

// exp(-x), 1 +, 1 /
constexpr Work kSigmoid = {.plain = 2, .transcendental = 1};

ActivationWork WorkOf(ActivationFunction function) {
  switch (function) {
    case ActivationFunction::kRelu:
      return {.forward = {.plain = 1},
              .gradient = {.plain = 1},
              .forward_what = "one comparison",
              .gradient_what = "one comparison"};
    case ActivationFunction::kSilu:
      // x / (1 + exp(-x)); the sigmoid, then 1 - s, x, 1 +, s, dy
      return {.forward = {.plain = 2, .transcendental = 1},
              .gradient = kSigmoid + Work{.plain = 5},
              .forward_what = "exp, an addition, a division",
              .gradient_what = "the sigmoid s, then dy s (1 + x (1 - s))"};
    case ActivationFunction::kGeluErf:
      // 0.5 x (1 + erf(x c)); Phi 3 + erf, phi 3 + exp, x phi, +, dy
      return {.forward = {.plain = 4, .transcendental = 1},
              .gradient = {.plain = 9, .transcendental = 2},
              .forward_what = "0.5 x (1 + erf(x / sqrt 2))",
              .gradient_what = "dy (Phi(x) + x phi(x)), with an erf and an exp"};
    case ActivationFunction::kGeluTanh:
      break;
  }
  // u: x^2, 0.044715, 1 +, x, sqrt(2/pi); tanh; 1 +, x, 0.5. Backward: u 5, tanh, u' from x^2
  // 3, then 1 + t, 0.5, t^2, 1 -, x, 0.5, u', +, dy
  return {.forward = {.plain = 8, .transcendental = 1},
          .gradient = {.plain = 17, .transcendental = 1},
          .forward_what = "0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))",
          .gradient_what = "that tanh again, and its derivative"};
}

}  // namespace

Recipe ActivationRecipe(const Activation& op, const RecipeInput& in) {
  const Array x = Input("x", in.types.input, {op.count});
  const Array y = Output("y", in.types.output, {op.count});
  const ActivationWork work = WorkOf(op.function);
  const double count = Count(op.count);
  Recipe out;
  out.operands = {x};
  out.outputs = {y};
  out.differentiable = OperandBit(0);
  out.forward = {
      {.name = "y = f(x)",
       .arithmetic = {Term(
           {.name = "activation", .what = work.forward_what, .work = work.forward, .count = count},
           in.convention)},
       .movements = {Read(x), Write(y)}}};
  // relu's sign is that of its output, which the next operation keeps anyway.
  const Array& saved = op.function == ActivationFunction::kRelu ? y : x;
  out.backward = {{.name = "dx = f'(x) dy",
                   .arithmetic = {Term({.name = "gradient of x",
                                        .what = work.gradient_what,
                                        .work = work.gradient,
                                        .count = count},
                                       in.convention)},
                   .movements = {Read(GradientOf(y)), Read(saved), Write(GradientOf(x))}}};
  return out;
}

Recipe SwiGluRecipe(const SwiGlu& op, const RecipeInput& in) {
  const Shape shape = {op.rows, op.columns};
  const Array gate = Input("gate", in.types.input, shape);
  const Array up = Input("up", in.types.input, shape);
  const Array y = Output("y", in.types.output, shape);
  const Array silu = Scratch("silu(gate)", in.types.output, shape);
  const auto each = [&](absl::string_view name, absl::string_view what, Work work,
                        OperandSet needed_by = kEveryOperand) {
    return Term({.name = name,
                 .what = what,
                 .work = work,
                 .count = Count(op.rows, op.columns),
                 .needed_by = needed_by},
                in.convention);
  };
  const OperandSet g = OperandBit(0);
  const OperandSet u = OperandBit(1);
  Recipe out;
  out.operands = {gate, up};
  out.outputs = {y};
  out.differentiable = g | u;
  out.unfused = {{.name = "silu",
                  .arithmetic = {each("silu", "exp, an addition, a division",
                                      {.plain = 2, .transcendental = 1})},
                  .movements = {Read(gate), Write(silu)}},
                 {.name = "multiply",
                  .arithmetic = {each("multiply", "one multiplication", {.plain = 1})},
                  .movements = {Read(silu), Read(up), Write(y)}}};
  out.forward = {Fuse("SwiGLU", out.unfused)};
  out.backward = {
      {.name = "dgate, dup",
       .arithmetic = {each("sigmoid again", "exp, an addition, a division", kSigmoid),
                      each("gradient of up", "gate s, times dy", {.plain = 2}, u),
                      each("gradient of gate", "dy up s (1 + gate (1 - s))", {.plain = 6}, g)},
       .movements = {Read(GradientOf(y)), Read(gate), Read(up, g), Write(GradientOf(gate), g),
                     Write(GradientOf(up), u)}}};
  return out;
}

Recipe DropoutRecipe(const Dropout& op, const RecipeInput& in) {
  const Array x = Input("x", in.types.input, {op.count});
  const Array y = Output("y", in.types.output, {op.count});
  Array mask = Indices("mask", 1, {op.count});
  mask.role = ArrayRole::kStatistic;
  const auto each = [&](absl::string_view name, absl::string_view what, Work work) {
    return Term({.name = name, .what = what, .work = work, .count = Count(op.count)},
                in.convention);
  };
  Recipe out;
  out.operands = {x};
  out.outputs = {y};
  out.differentiable = OperandBit(0);
  out.forward = {{.name = "dropout",
                  .arithmetic = {each("mask", "one comparison with a random number", {.plain = 1}),
                                 each("scale", "one multiplication by 1/(1 - p)", {.plain = 1})},
                  .movements = {Read(x), Write(y), Write(mask)}}};
  out.backward = {
      {.name = "dx = mask dy / (1 - p)",
       .arithmetic = {each("gradient of x", "one multiplication by 1/(1 - p)", {.plain = 1})},
       .movements = {Read(GradientOf(y)), Read(mask), Write(GradientOf(x))}}};
  return out;
}

}  // namespace sextant
