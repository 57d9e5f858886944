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

// The arithmetic of one contraction; of one tensor that nothing is summed of there is none.
std::vector<ArithmeticTerm> WorkOf(const ContractionStep& step, OperandSet needed_by) {
  if (step.flops == Flops(0)) return {};
  const bool pair = step.right >= 0;
  const double each = pair && step.sums ? kFlopsPerMultiplyAdd : 1;
  const absl::string_view what = !pair       ? "one addition of each element"
                                 : step.sums ? "a multiply-add at each index of all axes"
                                             : "one multiplication at each index of all axes";
  ArithmeticTerm term = Term({.name = pair ? "product" : "sum",
                              .what = what,
                              .work = {.plain = each},
                              .count = step.flops.value() / each,
                              .needed_by = needed_by},
                             {});
  term.matrix_product = pair && step.sums;
  return {term};
}

// A contraction's tensors as arrays, and who needs its steps.
struct Contracted {
  const OrderedContraction& contraction;
  std::vector<Array> tensors;
  Array result;
  DataType intermediate_type = DataType::kUnspecified;
  OperandSet needed_by = kEveryOperand;
};

std::vector<Step> StepsOf(Contracted c) {
  std::vector<Step> steps;
  const auto& order = c.contraction.order.steps;
  for (const ContractionStep& s : order) {
    const bool last = &s == &order.back();
    const Array& left = c.tensors[static_cast<size_t>(s.left)];
    const Array& right = c.tensors[static_cast<size_t>(s.right < 0 ? s.left : s.right)];
    const Array made =
        last ? c.result
             : Scratch(absl::StrCat(TextOfName(c.result), " part ", steps.size() + 1),
                       c.intermediate_type, ShapeOf(c.contraction.contraction, s.axis_set));
    Step step = {.name = absl::StrCat(TextOfName(made), " = einsum(", TextOfName(left)),
                 .arithmetic = WorkOf(s, c.needed_by),
                 .movements = {Read(left, c.needed_by)}};
    if (s.right >= 0) {
      absl::StrAppend(&step.name, ", ", TextOfName(right));
      step.movements.push_back(Read(right, c.needed_by));
    }
    step.name += ")";
    step.movements.push_back(Write(made, c.needed_by));
    steps.push_back(std::move(step));
    c.tensors.push_back(made);
  }
  return steps;
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
  const Array result = Output("result", in.types.output, plan.shape);
  const std::vector<Array> read = ReadOf(out, plan.forward.contraction);
  out.outputs = {result};
  out.forward = StepsOf({.contraction = plan.forward,
                         .tensors = read,
                         .result = result,
                         .intermediate_type = in.types.output});
  for (size_t i = 0; i < out.operands.size(); ++i) {
    Contracted gradient = {.contraction = plan.gradients[i],
                           .tensors = {GradientOf(result)},
                           .result = GradientOf(out.operands[i]),
                           .intermediate_type = in.types.output,
                           .needed_by = OperandBit(i)};
    for (size_t other = 0; other < read.size(); ++other) {
      if (other != i) gradient.tensors.push_back(read[other]);
    }
    const std::vector<Step> steps = StepsOf(std::move(gradient));
    out.backward.insert(out.backward.end(), steps.begin(), steps.end());
  }
  return out;
}

}  // namespace sextant
