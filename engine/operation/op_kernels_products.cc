// Kernels of matrix products: alone, in batches, with a bias, and as einsums.
#include "absl/strings/str_cat.h"
#include "engine/operation/einsum_plan.h"
#include "engine/operation/op_kernels_parts.h"

namespace sextant {

// Matrix products: C = A B gives dA = dC B^T and dB = A^T dC, each a product of the same
// m n k multiply-adds, so that a backward pass with both gradients is twice the forward pass.
// Source: matrix calculus, d<dC, A B> = <dC B^T, dA> + <A^T dC, dB>.

namespace {

OpKernels ProductKernels(const ProductSize& s, const Array& a, const Array& b, const Array& c) {
  OpKernels out = KernelsOf({a, b}, c, OperandBit(0) | OperandBit(1));
  out.forward = {{"c = a b", {Product("product", s)}, {Read(a), Read(b), Write(c)}}};
  const OperandSet left = OperandBit(0);
  const OperandSet right = OperandBit(1);
  out.backward = {
      {"da = dc b^T",
       {Product("gradient of a", {.batch = s.batch, .m = s.m, .n = s.k, .k = s.n}, left)},
       {Read(GradientOf(c), left), Read(b, left), Write(GradientOf(a), left)}},
      {"db = a^T dc",
       {Product("gradient of b", {.batch = s.batch, .m = s.k, .n = s.n, .k = s.m}, right)},
       {Read(GradientOf(c), right), Read(a, right), Write(GradientOf(b), right)}}};
  return out;
}

// db is the column sums of dy.
void AddBias(const Linear& op, const OpKernelsInput& in, OpKernels& kernels) {
  const Array bias = Parameter("bias", in.types.input, {op.output_size});
  const OperandSet bit = OperandBit(kernels.operands.size());
  kernels.operands.push_back(bias);
  kernels.differentiable |= bit;
  const double outputs = Count(op.rows, op.output_size);
  Step& forward = kernels.forward[0];
  forward.name = "y = x w + bias";
  forward.arithmetic.push_back(
      Each(outputs, in.convention)("bias", "one addition an output", {.plain = 1}));
  forward.movements.push_back(Read(bias));
  kernels.backward.push_back(
      {"dbias = column sums of dy",
       {Each(outputs, in.convention)("gradient of bias", "one addition of each number of dy",
                                     {.plain = 1}, bit)},
       {Read(GradientOf(kernels.outputs[0]), bit), Write(GradientOf(bias), bit)}});
}

}  // namespace

OpKernels KernelsOf(const Matmul& op, const OpKernelsInput& in) {
  return ProductKernels({.m = op.m, .n = op.n, .k = op.k}, Input("a", in.types.input, {op.m, op.k}),
                        Input("b", in.types.input, {op.k, op.n}),
                        Output("c", in.types.output, {op.m, op.n}));
}

OpKernels KernelsOf(const BatchedMatmul& op, const OpKernelsInput& in) {
  return ProductKernels({.batch = op.batch, .m = op.m, .n = op.n, .k = op.k},
                        Input("a", in.types.input, {op.batch, op.m, op.k}),
                        Input("b", in.types.input, {op.batch, op.k, op.n}),
                        Output("c", in.types.output, {op.batch, op.m, op.n}));
}

OpKernels KernelsOf(const Linear& op, const OpKernelsInput& in) {
  OpKernels out = ProductKernels({.m = op.rows, .n = op.output_size, .k = op.input_size},
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

// Einsums: one kernel per contraction of two tensors. Intermediates are written and read again.
// einsum_plan.h derives the gradients.

namespace {

// Returns "operand 1" or "d(operand 1)".
std::string TextOfName(const Array& array) {
  constexpr absl::string_view kGradient = "gradient of ";
  absl::string_view name = array.name;
  if (array.role != ArrayRole::kGradient) return array.name;
  name.remove_prefix(kGradient.size());
  return absl::StrCat("d(", name, ")");
}

// The arithmetic of one contraction; none where a single tensor is not summed.
struct Arithmetic {
  bool pair = true;
  bool sums = false;
  Flops flops = {};
};

std::vector<ArithmeticTerm> WorkOf(const Arithmetic& work, OperandSet needed_by) {
  if (work.flops == Flops(0)) return {};
  const double each = work.pair && work.sums ? kFlopsPerMultiplyAdd : 1;
  const absl::string_view what = !work.pair  ? "one addition of each element"
                                 : work.sums ? "a multiply-add at each index of all axes"
                                             : "one multiplication at each index of all axes";
  ArithmeticTerm term = Each(work.flops.value() / each, {})(work.pair ? "product" : "sum", what,
                                                            {.plain = each}, needed_by);
  term.matrix_product = work.pair && work.sums;
  return {term};
}

// The step "made = einsum(first, second)"; `second` may be null.
Step StepOf(const Array& made, const Array& first, const Array* second, const Arithmetic& work,
            OperandSet needed_by) {
  Step step = {absl::StrCat(TextOfName(made), " = einsum(", TextOfName(first)),
               WorkOf(work, needed_by),
               {Read(first, needed_by)}};
  if (second != nullptr) {
    absl::StrAppend(&step.name, ", ", TextOfName(*second));
    step.movements.push_back(Read(*second, needed_by));
  }
  step.name += ")";
  step.movements.push_back(Write(made, needed_by));
  return step;
}

// The operands as read: only the elements of a diagonal.
std::vector<Array> ReadOf(const OpKernels& kernels, const Contraction& contraction) {
  std::vector<Array> out = kernels.operands;
  for (size_t i = 0; i < out.size(); ++i) {
    Shape read = ShapeOf(contraction, contraction.operands[i]);
    if (ElementCount(read) != ElementCount(out[i].shape)) out[i].shape = std::move(read);
  }
  return out;
}

// The tensors of the kernels, numbered as in ContractionStep, and their gradients. The forward pass
// makes the intermediates and keeps them for the backward pass.
struct Tensors {
  std::vector<Array> forward;
  std::vector<Array> backward;
  std::vector<Array> gradients;
};

Tensors TensorsOf(const EinsumPlan& plan, const OpKernels& kernels) {
  Tensors out;
  out.forward = ReadOf(kernels, plan.contraction);
  out.backward = out.forward;
  for (const Array& operand : kernels.operands) out.gradients.push_back(GradientOf(operand));
  const Array& result = kernels.outputs[0];
  for (size_t i = 0; i + 1 < plan.order.steps.size(); ++i) {
    const Shape shape = ShapeOf(plan.contraction, plan.order.steps[i].axis_set);
    const std::string name = absl::StrCat("result part ", i + 1);
    out.forward.push_back(Scratch(name, result.data_type, shape));
    out.backward.push_back(Statistic(name, result.data_type, shape));
    out.gradients.push_back(Scratch(absl::StrCat("d(", name, ")"), result.data_type, shape));
  }
  out.forward.push_back(result);
  out.backward.push_back(result);
  out.gradients.push_back(GradientOf(result));
  return out;
}

}  // namespace

// A gradient is written in full: constant along axes that only its operand has, zero outside a
// diagonal.
OpKernels KernelsOf(const Einsum& op, const OpKernelsInput& in) {
  const EinsumPlan plan = PlanEinsum(op).value();
  OpKernels out;
  for (size_t i = 0; i < op.operands.size(); ++i) {
    out.operands.push_back(Input(absl::StrCat("operand ", i), in.types.input, op.operands[i]));
    out.differentiable |= OperandBit(i);
  }
  out.outputs = {Output("result", in.types.output, plan.shape)};
  const Tensors tensors = TensorsOf(plan, out);
  for (size_t i = 0; i < plan.order.steps.size(); ++i) {
    const ContractionStep& s = plan.order.steps[i];
    const Array* right = s.right < 0 ? nullptr : &tensors.forward[static_cast<size_t>(s.right)];
    out.forward.push_back(StepOf(
        tensors.forward[op.operands.size() + i], tensors.forward[static_cast<size_t>(s.left)],
        right, {.pair = s.right >= 0, .sums = s.sums, .flops = s.flops}, kEveryOperand));
  }
  for (const PairGradient& g : plan.gradients) {
    const Array* other = g.other < 0 ? nullptr : &tensors.backward[static_cast<size_t>(g.other)];
    out.backward.push_back(StepOf(tensors.gradients[g.of], tensors.gradients[g.result], other,
                                  {.sums = g.sums, .flops = g.flops}, g.operands));
  }
  return out;
}

}  // namespace sextant
