// Einsums: one kernel a contraction of two tensors. What lies between two contractions is
// written and read again. einsum_plan.h derives the gradients.
#include "absl/strings/str_cat.h"
#include "engine/operation/einsum_plan.h"
#include "engine/operation/recipe_parts.h"

namespace sextant {
namespace {

// "operand 1", "d(operand 1)".
std::string TextOfName(const Array& array) {
  constexpr absl::string_view kGradient = "gradient of ";
  absl::string_view name = array.name;
  if (array.role != ArrayRole::kGradient) return array.name;
  name.remove_prefix(kGradient.size());
  return absl::StrCat("d(", name, ")");
}

// What one contraction does; nothing where nothing is summed of one tensor.
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
  ArithmeticTerm term = Term({.name = work.pair ? "product" : "sum",
                              .what = what,
                              .work = {.plain = each},
                              .count = work.flops.value() / each,
                              .needed_by = needed_by},
                             {});
  term.matrix_product = work.pair && work.sums;
  return {term};
}

// "made = einsum(first, second)"; `second` may be null.
Step StepOf(const Array& made, const Array& first, const Array* second, const Arithmetic& work,
            OperandSet needed_by) {
  Step step = {.name = absl::StrCat(TextOfName(made), " = einsum(", TextOfName(first)),
               .arithmetic = WorkOf(work, needed_by),
               .movements = {Read(first, needed_by)}};
  if (second != nullptr) {
    absl::StrAppend(&step.name, ", ", TextOfName(*second));
    step.movements.push_back(Read(*second, needed_by));
  }
  step.name += ")";
  step.movements.push_back(Write(made, needed_by));
  return step;
}

// The operands as they are read: of a diagonal only its elements.
std::vector<Array> ReadOf(const Recipe& recipe, const Contraction& contraction) {
  std::vector<Array> out = recipe.operands;
  for (size_t i = 0; i < out.size(); ++i) {
    Shape read = ShapeOf(contraction, contraction.operands[i]);
    if (ElementCount(read) != ElementCount(out[i].shape)) out[i].shape = std::move(read);
  }
  return out;
}

// The recipe's tensors, numbered as in ContractionStep, and their gradients. What lies between
// two steps is made on the way; the backward pass reads what the forward pass kept of it.
struct Tensors {
  std::vector<Array> forward;
  std::vector<Array> backward;
  std::vector<Array> gradients;
};

Tensors TensorsOf(const EinsumPlan& plan, const Recipe& recipe) {
  Tensors out;
  out.forward = ReadOf(recipe, plan.contraction);
  out.backward = out.forward;
  for (const Array& operand : recipe.operands) out.gradients.push_back(GradientOf(operand));
  const Array& result = recipe.outputs[0];
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

// A gradient is written whole: the same along axes that its operand alone has, zero beside a
// diagonal.
Recipe EinsumRecipe(const Einsum& op, const RecipeInput& in) {
  const EinsumPlan plan = PlanEinsum(op).value();
  Recipe out;
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
