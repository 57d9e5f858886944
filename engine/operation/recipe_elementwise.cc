// Elementwise functions, alone and in chains.
//
// A function's derivative, an element and input:
//   add       dx = dy                 0, and nothing moves: dy is passed on as it is
//   multiply  dx = dy x other         1
//   square    dx = 2 x dy             2
//   scale     dx = constant x dy      1
//   exp       dx = y dy               1
//   general   dx = f'(x) dy           f' taken to cost what f costs, and 1 for the product
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "engine/operation/recipe_parts.h"

namespace sextant {
namespace {

struct FunctionWork {
  Work forward;
  Work gradient;             // of one input
  bool reads_inputs = true;  // the gradient does
  bool reads_output = false;
};

FunctionWork WorkOf(ElementwiseFunction function, int64_t inputs, double flops) {
  switch (function) {
    case ElementwiseFunction::kAdd:
      return {.forward = {.plain = Count(inputs - 1)}, .gradient = {}, .reads_inputs = false};
    case ElementwiseFunction::kMultiply:
      return {.forward = {.plain = 1}, .gradient = {.plain = 1}};
    case ElementwiseFunction::kSquare:
      return {.forward = {.plain = 1}, .gradient = {.plain = 2}};
    case ElementwiseFunction::kScale:
      return {.forward = {.plain = 1}, .gradient = {.plain = 1}, .reads_inputs = false};
    case ElementwiseFunction::kExp:
      return {.forward = {.transcendental = 1},
              .gradient = {.plain = 1},
              .reads_inputs = false,
              .reads_output = true};
    case ElementwiseFunction::kGeneral:
      break;
  }
  return {.forward = {.plain = flops}, .gradient = {.plain = flops + 1}};
}

// One application of a function: the arrays that it reads and the one that it makes.
struct Application {
  std::string name;
  ElementwiseFunction function = ElementwiseFunction::kGeneral;
  double flops_per_element = 1;
  std::vector<Array> inputs;
  Array output;
  double count = 0;

  FunctionWork work() const {
    return WorkOf(function, static_cast<int64_t>(inputs.size()), flops_per_element);
  }
};

Step ForwardStep(const Application& a, FlopConvention convention) {
  Step step = {.name = a.name, .arithmetic = {}, .movements = {}};
  step.arithmetic.push_back(Term({.name = a.name,
                                  .what = "the function's FLOPs on each element",
                                  .work = a.work().forward,
                                  .count = a.count},
                                 convention));
  for (const Array& input : a.inputs) step.movements.push_back(Read(input));
  step.movements.push_back(Write(a.output));
  return step;
}

// What the gradients of the inputs take; bits[i] says which operands need that of input i.
Step BackwardStep(const Application& a, const std::vector<OperandSet>& bits,
                  FlopConvention convention) {
  Step step = {.name = absl::StrCat("gradient of ", a.name), .arithmetic = {}, .movements = {}};
  if (a.function == ElementwiseFunction::kAdd) return step;
  const FunctionWork work = a.work();
  OperandSet any = 0;
  for (const OperandSet bit : bits) any |= bit;
  step.movements.push_back(Read(GradientOf(a.output), any));
  if (work.reads_output) step.movements.push_back(Read(a.output, any));
  for (size_t i = 0; i < a.inputs.size(); ++i) {
    OperandSet readers = any;
    if (a.function == ElementwiseFunction::kMultiply) readers = bits[1 - i];
    if (work.reads_inputs) step.movements.push_back(Read(a.inputs[i], readers));
    step.arithmetic.push_back(Term({.name = absl::StrCat("gradient of ", a.inputs[i].name),
                                    .what = "the derivative times dy on each element",
                                    .work = work.gradient,
                                    .count = a.count,
                                    .needed_by = bits[i]},
                                   convention));
    step.movements.push_back(Write(GradientOf(a.inputs[i]), bits[i]));
  }
  return step;
}

// The arrays of a chain: its inputs, and the result of each step but the last.
struct Chain {
  std::vector<Application> applications;
  std::vector<std::vector<OperandSet>> bits;  // by application and input
};

Chain ChainOf(const FusedChain& op, const RecipeInput& in, Recipe& recipe) {
  const auto add_operand = [&](const std::string& name) {
    recipe.operands.push_back(Input(name, in.types.input, {op.count}));
    return recipe.operands.back();
  };
  Chain chain;
  Array running = add_operand("x");
  OperandSet reached = OperandBit(0);
  for (size_t i = 0; i < op.steps.size(); ++i) {
    const bool last = i + 1 == op.steps.size();
    Application a = {.name = absl::StrCat("step ", i + 1),
                     .function = op.steps[i].function,
                     .flops_per_element = op.steps[i].flops_per_element,
                     .inputs = {running},
                     .output = last ? Output("y", in.types.output, {op.count})
                                    : Scratch(absl::StrCat("result of step ", i + 1),
                                              in.types.output, {op.count}),
                     .count = Count(op.count)};
    std::vector<OperandSet> bits = {reached};
    for (int64_t extra = 1; extra <= op.steps[i].extra_input_count; ++extra) {
      bits.push_back(OperandBit(recipe.operands.size()));
      reached |= bits.back();
      a.inputs.push_back(add_operand(absl::StrCat("step ", i + 1, " input ", extra)));
    }
    running = a.output;
    chain.applications.push_back(std::move(a));
    chain.bits.push_back(std::move(bits));
  }
  return chain;
}

// Whether no derivative depends on a value: nothing has to be kept, nor done again.
bool IsLinear(const Chain& chain) {
  return std::all_of(
      chain.applications.begin(), chain.applications.end(),
      [](const Application& a) { return !a.work().reads_inputs && !a.work().reads_output; });
}

// What the forward steps do again, for the values that the derivatives take.
std::vector<ArithmeticTerm> DoneAgain(const Chain& chain, FlopConvention convention) {
  std::vector<ArithmeticTerm> terms;
  for (size_t i = 0; i < chain.applications.size(); ++i) {
    const Application& a = chain.applications[i];
    if (i + 1 == chain.applications.size() && !a.work().reads_output) continue;
    terms.push_back(Term({.name = absl::StrCat(a.name, " again"),
                          .what = "done again, since the fused form keeps no result in between",
                          .work = a.work().forward,
                          .count = a.count},
                         convention));
  }
  return terms;
}

// One kernel: reads dy and, unless linear, the chain's inputs; writes each input's gradient.
Step FusedBackward(const Chain& chain, const std::vector<Array>& operands,
                   FlopConvention convention) {
  Step fused = {.name = "gradient of the chain", .arithmetic = {}, .movements = {}};
  fused.movements.push_back(Read(GradientOf(chain.applications.back().output)));
  const bool linear = IsLinear(chain);
  if (!linear) fused.arithmetic = DoneAgain(chain, convention);
  for (size_t i = 0; i < chain.applications.size(); ++i) {
    const Step step = BackwardStep(chain.applications[i], chain.bits[i], convention);
    fused.arithmetic.insert(fused.arithmetic.end(), step.arithmetic.begin(), step.arithmetic.end());
  }
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!linear) fused.movements.push_back(Read(operands[i]));
    fused.movements.push_back(Write(GradientOf(operands[i]), OperandBit(i)));
  }
  return fused;
}

}  // namespace

Recipe ElementwiseRecipe(const Elementwise& op, const RecipeInput& in) {
  Recipe out;
  std::vector<OperandSet> bits;
  for (int64_t i = 0; i < op.input_count; ++i) {
    const std::string name = op.input_count == 1 ? "x" : absl::StrCat("x", i + 1);
    out.operands.push_back(Input(name, in.types.input, {op.count}));
    bits.push_back(OperandBit(static_cast<size_t>(i)));
    out.differentiable |= bits.back();
  }
  out.outputs = {Output("y", in.types.output, {op.count})};
  const Application a = {.name = "y = f(x)",
                         .function = op.function,
                         .flops_per_element = op.flops_per_element,
                         .inputs = out.operands,
                         .output = out.outputs[0],
                         .count = Count(op.count)};
  out.forward = {ForwardStep(a, in.convention)};
  out.backward = {BackwardStep(a, bits, in.convention)};
  return out;
}

Recipe FusedChainRecipe(const FusedChain& op, const RecipeInput& in) {
  Recipe out;
  const Chain chain = ChainOf(op, in, out);
  out.outputs = {chain.applications.back().output};
  for (size_t i = 0; i < chain.applications.size(); ++i) {
    out.unfused.push_back(ForwardStep(chain.applications[i], in.convention));
    for (const OperandSet bit : chain.bits[i]) out.differentiable |= bit;
  }
  out.forward = {Fuse("chain", out.unfused)};
  out.backward = {FusedBackward(chain, out.operands, in.convention)};
  return out;
}

}  // namespace sextant
