// Kernels of elementwise operations: functions, alone and in chains, optimizer updates and copies.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "engine/operation/op_kernels_parts.h"

namespace sextant {

// Elementwise functions, alone and in chains.
//
// A function's derivative, with its FLOPs per element and input:
//   add       dx = dy                 0, and nothing moves: dy is passed on unchanged
//   multiply  dx = dy x other         1
//   square    dx = 2 x dy             2
//   scale     dx = constant x dy      1
//   exp       dx = y dy               1
//   general   dx = f'(x) dy           f' is assumed to cost as much as f, plus 1 for the product

namespace {

struct FunctionWork {
  Work forward;
  Work gradient;             // of one input
  bool reads_inputs = true;  // by the gradient
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

// One application of a function: its input arrays and its output array.
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
  Step step = {a.name, {}, {}};
  step.arithmetic.push_back(
      Each(a.count, convention)(a.name, "the function's FLOPs on each element", a.work().forward));
  for (const Array& input : a.inputs) step.movements.push_back(Read(input));
  step.movements.push_back(Write(a.output));
  return step;
}

// The step of the inputs' gradients; bits[i] are the operands that need the gradient of input i.
Step BackwardStep(const Application& a, const std::vector<OperandSet>& bits,
                  FlopConvention convention) {
  Step step = {absl::StrCat("gradient of ", a.name), {}, {}};
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
    step.arithmetic.push_back(Each(a.count, convention)(
        absl::StrCat("gradient of ", a.inputs[i].name), "the derivative times dy on each element",
        work.gradient, bits[i]));
    step.movements.push_back(Write(GradientOf(a.inputs[i]), bits[i]));
  }
  return step;
}

// The arrays of a chain: its inputs, and the results of all steps except the last.
struct Chain {
  std::vector<Application> applications;
  std::vector<std::vector<OperandSet>> bits;  // by application and input
};

Chain ChainOf(const FusedChain& op, const OpKernelsInput& in, OpKernels& kernels) {
  const auto add_operand = [&](const std::string& name) {
    kernels.operands.push_back(Input(name, in.types.input, {op.count}));
    return kernels.operands.back();
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
      bits.push_back(OperandBit(kernels.operands.size()));
      reached |= bits.back();
      a.inputs.push_back(add_operand(absl::StrCat("step ", i + 1, " input ", extra)));
    }
    running = a.output;
    chain.applications.push_back(std::move(a));
    chain.bits.push_back(std::move(bits));
  }
  return chain;
}

// True where no derivative depends on a value: nothing is kept or recomputed.
bool IsLinear(const Chain& chain) {
  return std::all_of(
      chain.applications.begin(), chain.applications.end(),
      [](const Application& a) { return !a.work().reads_inputs && !a.work().reads_output; });
}

// The forward arithmetic that is repeated for the values in derivatives.
std::vector<ArithmeticTerm> DoneAgain(const Chain& chain, FlopConvention convention) {
  std::vector<ArithmeticTerm> terms;
  for (size_t i = 0; i < chain.applications.size(); ++i) {
    const Application& a = chain.applications[i];
    if (i + 1 == chain.applications.size() && !a.work().reads_output) continue;
    terms.push_back(Each(a.count, convention)(
        absl::StrCat(a.name, " again"),
        "done again, since the fused form keeps no result in between", a.work().forward));
  }
  return terms;
}

// One kernel: reads dy and, unless linear, the chain's inputs; writes each input's gradient.
Step FusedBackward(const Chain& chain, const std::vector<Array>& operands,
                   FlopConvention convention) {
  Step fused = {"gradient of the chain", {}, {}};
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

OpKernels KernelsOf(const Elementwise& op, const OpKernelsInput& in) {
  OpKernels out;
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

OpKernels KernelsOf(const FusedChain& op, const OpKernelsInput& in) {
  OpKernels out;
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

// Operations without a gradient: optimizer updates and copies between host and device.

namespace {

struct UpdateWork {
  Work work;
  int states = 0;
  absl::string_view what;
};

// FLOPs per parameter. Powers of beta and products of constants are computed once per step and not
// counted; AdamW and Lion include weight decay.
// Sources: torch.optim's documented algorithms of SGD, Adagrad and RMSprop; Kingma, Ba 2015
// (arXiv 1412.6980) algorithm 1; Loshchilov, Hutter 2019 (arXiv 1711.05101) algorithm 2;
// Chen et al. 2023 (arXiv 2302.06675) algorithm 2.
UpdateWork WorkOf(UpdateRule rule) {
  switch (rule) {
    case UpdateRule::kSgd:
      return {{.plain = 2}, 0, "w -= lr g"};
    case UpdateRule::kSgdMomentum:
      return {{.plain = 4}, 1, "m = mu m + g; w -= lr m"};
    case UpdateRule::kAdagrad:
      return {{.plain = 6, .transcendental = 1}, 1, "s += g^2; w -= lr g / (sqrt(s) + eps)"};
    case UpdateRule::kRmsprop:
      return {{.plain = 8, .transcendental = 1},
              1,
              "s = a s + (1 - a) g^2; w -= lr g / (sqrt(s) + eps)"};
    case UpdateRule::kAdam:
      return {{.plain = 13, .transcendental = 1},
              2,
              "m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g^2; "
              "w -= lr (m / c1) / (sqrt(v / c2) + eps)"};
    case UpdateRule::kAdamw:
      return {{.plain = 14, .transcendental = 1},
              2,
              "w *= 1 - lr decay; m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g^2; "
              "w -= lr (m / c1) / (sqrt(v / c2) + eps)"};
    case UpdateRule::kLion:
      break;
  }
  return {{.plain = 11}, 1, "w -= lr (sign(b1 m + (1 - b1) g) + decay w); m = b2 m + (1 - b2) g"};
}

Array State(absl::string_view name, const OptimizerUpdate& op, const OpKernelsInput& in) {
  return {.name = std::string(name),
          .role = ArrayRole::kState,
          .data_type = in.types.accumulation,
          .shape = {op.parameters}};
}

}  // namespace

// A master weight is read and written in place of the weight, which is then written, too.
OpKernels KernelsOf(const OptimizerUpdate& op, const OpKernelsInput& in) {
  const Array gradient = Input("gradient", in.types.input, {op.parameters});
  const Array weight = Parameter("weight", in.types.output, {op.parameters});
  const UpdateWork work = WorkOf(op.rule);
  OpKernels out = KernelsOf({gradient, weight}, weight);
  Step step = {"update", {}, {Read(gradient), Write(weight)}};
  step.arithmetic = {Each(Count(op.parameters), in.convention)("update", work.what, work.work)};
  if (!op.master_weights) step.movements.push_back(Read(weight));
  std::vector<Array> kept;
  if (op.master_weights) kept.push_back(State("master weight", op, in));
  for (int i = 1; i <= work.states; ++i) kept.push_back(State(absl::StrCat("state ", i), op, in));
  for (const Array& array : kept) {
    out.operands.push_back(array);
    step.movements.push_back(Read(array));
    step.movements.push_back(Write(array));
  }
  out.forward = {step};
  return out;
}

// Pageable memory is copied into pinned memory first: its bytes move twice.
OpKernels KernelsOf(const HostCopy& op, const OpKernelsInput&) {
  const Array source = Indices("source", 1, {op.bytes});
  Array target = source;
  target.name = "target";
  target.role = ArrayRole::kOutput;
  Array staged = source;
  staged.name = "pinned staging buffer";
  OpKernels out = KernelsOf({source}, target);
  if (op.pinned) {
    out.forward = {{"send", {}, {Read(source), Write(target)}}};
  } else {
    out.forward = {{"stage", {}, {Read(source), Write(staged)}},
                   {"send", {}, {Read(staged), Write(target)}}};
  }
  return out;
}

}  // namespace sextant
