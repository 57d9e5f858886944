// A layer of experts on one device: grouped products, each expert's rows times its own matrix.
//
// The n = tokens x experts_per_token rows of the group are spread evenly: a device has n over its
// number of devices, where that is no whole number the fullest has one more. They lie sorted by
// expert. A grouped product is one kernel, as in MegaBlocks (Gale et al. 2022, arXiv 2211.15841),
// and a gate is a product of the same kernel as what it multiplies: their matrices lie side by
// side. SwiGLU: Shazeer 2020 (arXiv 2002.05202).
//
// Each product of r rows is 2 r h f FLOPs and has two gradients of as many, as in recipe_matrix.cc.
// A kernel reads the weights of those experts that have a row, once. The gradient of a weight is
// dense: zero where no row asked for its expert.
#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "engine/operation/recipe_parts.h"

namespace sextant {
namespace {

constexpr OperandSet kTokenRows = OperandBit(0);
constexpr OperandSet kUpWeights = OperandBit(1);
constexpr OperandSet kDownWeights = OperandBit(2);

// Weights of all experts that the device holds, and of those that it reads.
struct ExpertWeights {
  Array whole;
  Array active;
};

ExpertWeights WeightsOf(absl::string_view name, DataType type, const Experts& op,
                        std::array<int64_t, 2> matrix) {
  const int64_t held = op.expert_count / op.expert_parallel_size;
  const int64_t active = std::min(held, DeviceRows(op));
  return {.whole = Parameter(name, type, {held, matrix[0], matrix[1]}),
          .active = Parameter(name, type, {active, matrix[0], matrix[1]})};
}

struct ExpertArrays {
  Array x;
  ExpertWeights w_up;  // of the gate too
  ExpertWeights w_down;
  Array up;
  Array hidden;
  Array y;
};

ExpertArrays ExpertArraysOf(const Experts& op, const RecipeInput& in) {
  const int64_t rows = DeviceRows(op);
  const int64_t h = op.hidden_size;
  const int64_t f = op.feed_forward_size;
  const int64_t wide = op.gated ? 2 * f : f;
  return {.x = Input("x", in.types.input, {rows, h}),
          .w_up = WeightsOf(op.gated ? "w_gate_up" : "w_up", in.types.input, op, {h, wide}),
          .w_down = WeightsOf("w_down", in.types.input, op, {f, h}),
          .up = Scratch(op.gated ? "gate_up" : "up", in.types.output, {rows, wide}),
          .hidden = Scratch("hidden", in.types.output, {rows, f}),
          .y = Output("y", in.types.output, {rows, h})};
}

Array KeptOf(Array array) {
  array.role = ArrayRole::kStatistic;
  return array;
}

// What lies between both products, and its gradient, by the functions of recipe_activations.cc.
struct BetweenProducts {
  absl::string_view name;
  absl::string_view what;
  Work forward;
  absl::string_view gradient_what;
  Work gradient;
};

BetweenProducts BetweenOf(const Experts& op) {
  if (!op.gated) {
    return {.name = "hidden = gelu(up)",
            .what = "0.5 x (1 + erf(x / sqrt 2))",
            .forward = {.plain = 4, .transcendental = 1},
            .gradient_what = "dy (Phi(x) + x phi(x)), with an erf and an exp",
            .gradient = {.plain = 9, .transcendental = 2}};
  }
  return {.name = "hidden = silu(gate) up",
          .what = "exp, an addition, a division, a multiplication",
          .forward = {.plain = 3, .transcendental = 1},
          .gradient_what = "the sigmoid s again, dy gate s, and dy up s (1 + gate (1 - s))",
          .gradient = {.plain = 10, .transcendental = 1}};
}

ArithmeticTerm EachHidden(absl::string_view name, absl::string_view what, Work work,
                          const ExpertArrays& a, const RecipeInput& in,
                          OperandSet needed_by = kEveryOperand) {
  return Term({.name = name,
               .what = what,
               .work = work,
               .count = Count(a.hidden.shape[0], a.hidden.shape[1]),
               .needed_by = needed_by},
              in.convention);
}

// out [m, n], summed over k.
ProductSize SizeOfOut(const Array& out, int64_t k) {
  return {.m = out.shape[0], .n = out.shape[1], .k = k};
}

std::vector<Step> ExpertsForward(const Experts& op, const ExpertArrays& a, const RecipeInput& in) {
  const BetweenProducts between = BetweenOf(op);
  return {{.name = absl::StrCat(a.up.name, " = x ", a.w_up.whole.name),
           .arithmetic = {Product("first product", SizeOfOut(a.up, op.hidden_size))},
           .movements = {Read(a.x), Read(a.w_up.active), Write(a.up)}},
          {.name = std::string(between.name),
           .arithmetic = {EachHidden("activation", between.what, between.forward, a, in)},
           .movements = {Read(a.up), Write(a.hidden)}},
          {.name = "y = hidden w_down",
           .arithmetic = {Product("second product", SizeOfOut(a.y, op.feed_forward_size))},
           .movements = {Read(a.hidden), Read(a.w_down.active), Write(a.y)}}};
}

// Of a weight [held, m, n]: every row is a multiply-add at each index of its expert's matrix.
ArithmeticTerm WeightGradient(const Array& weight, int64_t rows, OperandSet needed_by) {
  const int64_t m = weight.shape[1];
  const int64_t n = weight.shape[2];
  ArithmeticTerm out = Product(GradientOf(weight).name, {.m = m, .n = n, .k = rows}, needed_by);
  out.reason = absl::StrCat("2 x ", m, " x ", n, " x ", rows, ": each of ", rows,
                            " rows is a multiply-add of 2 FLOPs at each of ", m, " x ", n,
                            " weights of its expert");
  return out;
}

std::vector<Step> ExpertsBackward(const Experts& op, const ExpertArrays& a, const RecipeInput& in) {
  const BetweenProducts between = BetweenOf(op);
  const Array up = KeptOf(a.up);
  const Array hidden = KeptOf(a.hidden);
  const Array dy = GradientOf(a.y);
  const Array d_hidden = Scratch("gradient of hidden", a.hidden.data_type, a.hidden.shape);
  const Array d_up = Scratch(GradientOf(a.up).name, a.up.data_type, a.up.shape);
  const OperandSet before = kTokenRows | kUpWeights;
  return {
      {.name = "dw_down = hidden^T dy",
       .arithmetic = {WeightGradient(a.w_down.whole, hidden.shape[0], kDownWeights)},
       .movements = {Read(hidden, kDownWeights), Read(dy, kDownWeights),
                     Write(GradientOf(a.w_down.whole), kDownWeights)}},
      {.name = "dhidden = dy w_down^T",
       .arithmetic = {Product("gradient of hidden", SizeOfOut(d_hidden, op.hidden_size), before)},
       .movements = {Read(dy, before), Read(a.w_down.active, before), Write(d_hidden, before)}},
      {.name = absl::StrCat("d", a.up.name),
       .arithmetic = {EachHidden("gradient of activation", between.gradient_what, between.gradient,
                                 a, in, before)},
       .movements = {Read(d_hidden, before), Read(up, before), Write(d_up, before)}},
      {.name = absl::StrCat("dx = d", a.up.name, " ", a.w_up.whole.name, "^T"),
       .arithmetic = {Product("gradient of x", SizeOfOut(a.x, d_up.shape[1]), kTokenRows)},
       .movements = {Read(d_up, kTokenRows), Read(a.w_up.active, kTokenRows),
                     Write(GradientOf(a.x), kTokenRows)}},
      {.name = absl::StrCat("d", a.w_up.whole.name, " = x^T d", a.up.name),
       .arithmetic = {WeightGradient(a.w_up.whole, a.x.shape[0], kUpWeights)},
       .movements = {Read(a.x, kUpWeights), Read(d_up, kUpWeights),
                     Write(GradientOf(a.w_up.whole), kUpWeights)}}};
}

}  // namespace

int64_t DeviceRows(const Experts& experts) {
  const int64_t rows = experts.tokens * experts.experts_per_token;  // at most 2^56
  return (rows - 1) / experts.expert_parallel_size + 1;
}

Recipe ExpertsRecipe(const Experts& op, const RecipeInput& in) {
  const ExpertArrays a = ExpertArraysOf(op, in);
  Recipe out;
  out.operands = {a.x, a.w_up.whole, a.w_down.whole};
  out.outputs = {a.y};
  out.differentiable = kTokenRows | kUpWeights | kDownWeights;
  out.forward = ExpertsForward(op, a, in);
  out.backward = ExpertsBackward(op, a, in);
  return out;
}

}  // namespace sextant
