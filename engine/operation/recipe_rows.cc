// Functions of rows: reductions, softmax and the norms.
#include "engine/operation/recipe_parts.h"

namespace sextant {
namespace {

constexpr Work kOne = {.plain = 1};

// What a reduction does beside one FLOP for each of its inputs.
struct ReductionWork {
  absl::string_view what;
  double forward_per_output = 0;
  double gradient_per_input = 0;
  double gradient_per_output = 0;
  bool reads_values = false;
};

// sum: dy to each.  mean: dy / n to each.  max, min: dy shared out among the inputs that are
// the extreme: found by comparing (1), counted (1), given their share (1), which is dy over
// their number, as torch.amax does.  product: dx = dy y / x.
ReductionWork WorkOf(ReductionKind function) {
  switch (function) {
    case ReductionKind::kSum:
      return {.what = "one addition of each input"};
    case ReductionKind::kMean:
      return {
          .what = "one addition of each input", .forward_per_output = 1, .gradient_per_output = 1};
    case ReductionKind::kMax:
    case ReductionKind::kMin:
      return {.what = "one comparison of each input",
              .gradient_per_input = 3,
              .gradient_per_output = 1,
              .reads_values = true};
    case ReductionKind::kProduct:
      break;
  }
  return {.what = "one multiplication of each input",
          .gradient_per_input = 1,
          .gradient_per_output = 1,
          .reads_values = true};
}

}  // namespace

Recipe ReductionRecipe(const Reduction& op, const RecipeInput& in) {
  const Array x = Input("x", in.types.input, {op.outer, op.reduced});
  const Array y = Output("y", in.types.output, {op.outer});
  const ReductionWork work = WorkOf(op.function);
  const double inputs = Count(op.outer, op.reduced);
  const double outputs = Count(op.outer);
  Recipe out;
  out.operands = {x};
  out.outputs = {y};
  out.differentiable = OperandBit(0);
  Step forward = {.name = "reduce", .arithmetic = {}, .movements = {Read(x), Write(y)}};
  forward.arithmetic.push_back(
      Term({.name = "inputs", .what = work.what, .work = kOne, .count = inputs}, in.convention));
  if (work.forward_per_output > 0) {
    forward.arithmetic.push_back(Term({.name = "outputs",
                                       .what = "one division of each sum",
                                       .work = {.plain = work.forward_per_output},
                                       .count = outputs},
                                      in.convention));
  }
  out.forward = {forward};
  Step backward = {.name = "dx from dy", .arithmetic = {}, .movements = {Read(GradientOf(y))}};
  backward.arithmetic = {Term({.name = "inputs",
                               .what = "finds each input's share of dy",
                               .work = {.plain = work.gradient_per_input},
                               .count = inputs},
                              in.convention),
                         Term({.name = "outputs",
                               .what = "scales each dy",
                               .work = {.plain = work.gradient_per_output},
                               .count = outputs},
                              in.convention)};
  if (work.reads_values) {
    backward.movements.push_back(Read(x));
    backward.movements.push_back(Read(y));
  }
  backward.movements.push_back(Write(GradientOf(x)));
  out.backward = {backward};
  return out;
}

// y = e / sum(e), e = exp(x - max(x)); dx = y (dy - sum(dy y)).
Recipe SoftmaxRecipe(const Softmax& op, const RecipeInput& in) {
  const Shape matrix = {op.rows, op.columns};
  const Array x = Input("x", in.types.input, matrix);
  const Array y = Output("y", in.types.output, matrix);
  const Array largest = Scratch("max", in.types.accumulation, {op.rows});
  const Array shifted = Scratch("x - max", in.types.output, matrix);
  const Array powers = Scratch("exp(x - max)", in.types.output, matrix);
  const Array sums = Scratch("sum", in.types.accumulation, {op.rows});
  const double count = Count(op.rows, op.columns);
  const auto each = [&](absl::string_view name, absl::string_view what, Work work) {
    return Term({.name = name, .what = what, .work = work, .count = count}, in.convention);
  };
  Recipe out;
  out.operands = {x};
  out.outputs = {y};
  out.differentiable = OperandBit(0);
  out.unfused = {{.name = "max",
                  .arithmetic = {each("max", "one comparison an element", kOne)},
                  .movements = {Read(x), Write(largest)}},
                 {.name = "subtract",
                  .arithmetic = {each("subtract", "one subtraction an element", kOne)},
                  .movements = {Read(x), Read(largest), Write(shifted)}},
                 {.name = "exp",
                  .arithmetic = {each("exp", "one exponential an element", {.transcendental = 1})},
                  .movements = {Read(shifted), Write(powers)}},
                 {.name = "sum",
                  .arithmetic = {each("sum", "one addition an element", kOne)},
                  .movements = {Read(powers), Write(sums)}},
                 {.name = "divide",
                  .arithmetic = {each("divide", "one division an element", kOne)},
                  .movements = {Read(powers), Read(sums), Write(y)}}};
  out.forward = {Fuse("softmax", out.unfused)};
  out.backward = {
      {.name = "dx = y (dy - sum(dy y))",
       .arithmetic = {each("gradient of x", "dy y, its sum, a difference, a product an element",
                           {.plain = 4})},
       .movements = {Read(GradientOf(y)), Read(y), Write(GradientOf(x))}}};
  return out;
}

}  // namespace sextant
