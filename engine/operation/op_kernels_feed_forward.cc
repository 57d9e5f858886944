// Kernels of a feed-forward's parts: activations, dropout, and a layer of experts.
#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "engine/operation/op_kernels_parts.h"

namespace sextant {

// Activations and dropout. Backward, with s = 1/(1 + exp(-x)), Phi and phi the normal
// distribution and its density:
//   relu       dx = dy where y > 0
//   silu       dx = dy s (1 + x (1 - s))
//   gelu erf   dx = dy (Phi(x) + x phi(x))
//   gelu tanh  dx = dy (0.5 (1 + t) + 0.5 x (1 - t^2) u'),  t = tanh(u),
//              u = sqrt(2/pi) (x + 0.044715 x^3)
// Sources: Hendrycks, Gimpel 2016 (arXiv 1606.08415) for GELU and its two forms; Shazeer 2020
// (arXiv 2002.05202) for SwiGLU; derivatives by calculus.

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

OpKernels KernelsOf(const Activation& op, const OpKernelsInput& in) {
  const Array x = Input("x", in.types.input, {op.count});
  const Array y = Output("y", in.types.output, {op.count});
  const ActivationWork work = WorkOf(op.function);
  const double count = Count(op.count);
  OpKernels out = KernelsOf({x}, y, OperandBit(0));
  out.forward = {{"y = f(x)",
                  {Each(count, in.convention)("activation", work.forward_what, work.forward)},
                  {Read(x), Write(y)}}};
  // relu's sign is that of its output, which the next operation keeps anyway.
  const Array& saved = op.function == ActivationFunction::kRelu ? y : x;
  out.backward = {{"dx = f'(x) dy",
                   {Each(count, in.convention)("gradient of x", work.gradient_what, work.gradient)},
                   {Read(GradientOf(y)), Read(saved), Write(GradientOf(x))}}};
  return out;
}

OpKernels KernelsOf(const SwiGlu& op, const OpKernelsInput& in) {
  const Shape shape = {op.rows, op.columns};
  const Array gate = Input("gate", in.types.input, shape);
  const Array up = Input("up", in.types.input, shape);
  const Array y = Output("y", in.types.output, shape);
  const Array silu = Scratch("silu(gate)", in.types.output, shape);
  const Each each(Count(op.rows, op.columns), in.convention);
  const OperandSet g = OperandBit(0);
  const OperandSet u = OperandBit(1);
  OpKernels out = KernelsOf({gate, up}, y, g | u);
  out.unfused = {{"silu",
                  {each("silu", "exp, an addition, a division", {.plain = 2, .transcendental = 1})},
                  {Read(gate), Write(silu)}},
                 {"multiply",
                  {each("multiply", "one multiplication", {.plain = 1})},
                  {Read(silu), Read(up), Write(y)}}};
  out.forward = {Fuse("SwiGLU", out.unfused)};
  out.backward = {{"dgate, dup",
                   {each("sigmoid again", "exp, an addition, a division", kSigmoid),
                    each("gradient of up", "gate s, times dy", {.plain = 2}, u),
                    each("gradient of gate", "dy up s (1 + gate (1 - s))", {.plain = 6}, g)},
                   {Read(GradientOf(y)), Read(gate), Read(up, g), Write(GradientOf(gate), g),
                    Write(GradientOf(up), u)}}};
  return out;
}

OpKernels KernelsOf(const Dropout& op, const OpKernelsInput& in) {
  const Array x = Input("x", in.types.input, {op.count});
  const Array y = Output("y", in.types.output, {op.count});
  const Array mask = As(ArrayRole::kStatistic, Indices("mask", 1, {op.count}));
  const Each each(Count(op.count), in.convention);
  OpKernels out = KernelsOf({x}, y, OperandBit(0));
  out.forward = {{"dropout",
                  {each("mask", "one comparison with a random number", {.plain = 1}),
                   each("scale", "one multiplication by 1/(1 - p)", {.plain = 1})},
                  {Read(x), Write(y), Write(mask)}}};
  out.backward = {{"dx = mask dy / (1 - p)",
                   {each("gradient of x", "one multiplication by 1/(1 - p)", {.plain = 1})},
                   {Read(GradientOf(y)), Read(mask), Write(GradientOf(x))}}};
  return out;
}

// A layer of experts on one device: grouped products, each expert's rows times its own matrix.
//
// The n = tokens x experts_per_token rows of the group are spread evenly: a device has n over the
// number of devices; where that is not whole, the fullest has one more. Rows are sorted by expert.
// A grouped product is one kernel, as in MegaBlocks (Gale et al. 2022, arXiv 2211.15841). The
// gate's product runs in the same kernel as up's: their matrices are side by side. SwiGLU: Shazeer
// 2020 (arXiv 2002.05202).
//
// Each product of r rows is 2 r h f FLOPs and has two gradients of the same size, as in
// op_kernels_products.cc. A kernel reads the weights of experts with rows once. The gradient of a
// weight is dense: zero for experts without rows.

namespace {

constexpr OperandSet kTokenRows = OperandBit(0);
constexpr OperandSet kUpWeights = OperandBit(1);
constexpr OperandSet kDownWeights = OperandBit(2);

// Weights of all experts on the device, and of those that are read.
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
  ExpertWeights w_up;  // including the gate
  ExpertWeights w_down;
  Array up;
  Array hidden;
  Array y;
  Each each_hidden;
};

ExpertArrays ExpertArraysOf(const Experts& op, const OpKernelsInput& in) {
  const int64_t rows = DeviceRows(op);
  const int64_t h = op.hidden_size;
  const int64_t f = op.feed_forward_size;
  const int64_t wide = op.gated ? 2 * f : f;
  return {.x = Input("x", in.types.input, {rows, h}),
          .w_up = WeightsOf(op.gated ? "w_gate_up" : "w_up", in.types.input, op, {h, wide}),
          .w_down = WeightsOf("w_down", in.types.input, op, {f, h}),
          .up = Scratch(op.gated ? "gate_up" : "up", in.types.output, {rows, wide}),
          .hidden = Scratch("hidden", in.types.output, {rows, f}),
          .y = Output("y", in.types.output, {rows, h}),
          .each_hidden = {Count(rows, f), in.convention}};
}

// The function between both products, and its gradient: as above, and times up where gated.
ActivationWork BetweenOf(const Experts& op) {
  if (!op.gated) return WorkOf(ActivationFunction::kGeluErf);
  return {.forward = {.plain = 3, .transcendental = 1},
          .gradient = {.plain = 10, .transcendental = 1},
          .forward_what = "exp, an addition, a division, a multiplication",
          .gradient_what = "the sigmoid s again, dy gate s, and dy up s (1 + gate (1 - s))"};
}

// out [m, n], summed over k.
ProductSize SizeOfOut(const Array& out, int64_t k) {
  return {.m = out.shape[0], .n = out.shape[1], .k = k};
}

std::vector<Step> ExpertsForward(const Experts& op, const ExpertArrays& a) {
  const ActivationWork between = BetweenOf(op);
  return {{absl::StrCat(a.up.name, " = x ", a.w_up.whole.name),
           {Product("first product", SizeOfOut(a.up, op.hidden_size))},
           {Read(a.x), Read(a.w_up.active), Write(a.up)}},
          {op.gated ? "hidden = silu(gate) up" : "hidden = gelu(up)",
           {a.each_hidden("activation", between.forward_what, between.forward)},
           {Read(a.up), Write(a.hidden)}},
          {"y = hidden w_down",
           {Product("second product", SizeOfOut(a.y, op.feed_forward_size))},
           {Read(a.hidden), Read(a.w_down.active), Write(a.y)}}};
}

// For a weight [held, m, n]: every row is a multiply-add at each index of its expert's matrix.
ArithmeticTerm WeightGradient(const Array& weight, int64_t rows, OperandSet needed_by) {
  const int64_t m = weight.shape[1];
  const int64_t n = weight.shape[2];
  ArithmeticTerm out = Product(GradientOf(weight).name, {.m = m, .n = n, .k = rows}, needed_by);
  out.reason = absl::StrCat("2 x ", m, " x ", n, " x ", rows, ": each of ", rows,
                            " rows is a multiply-add of 2 FLOPs at each of ", m, " x ", n,
                            " weights of its expert");
  return out;
}

std::vector<Step> ExpertsBackward(const Experts& op, const ExpertArrays& a) {
  const ActivationWork between = BetweenOf(op);
  const Array up = As(ArrayRole::kStatistic, a.up);
  const Array hidden = As(ArrayRole::kStatistic, a.hidden);
  const Array dy = GradientOf(a.y);
  const Array d_hidden = Scratch("gradient of hidden", a.hidden.data_type, a.hidden.shape);
  const Array d_up = Scratch(GradientOf(a.up).name, a.up.data_type, a.up.shape);
  const OperandSet before = kTokenRows | kUpWeights;
  return {
      {"dw_down = hidden^T dy",
       {WeightGradient(a.w_down.whole, hidden.shape[0], kDownWeights)},
       {Read(hidden, kDownWeights), Read(dy, kDownWeights),
        Write(GradientOf(a.w_down.whole), kDownWeights)}},
      {"dhidden = dy w_down^T",
       {Product("gradient of hidden", SizeOfOut(d_hidden, op.hidden_size), before)},
       {Read(dy, before), Read(a.w_down.active, before), Write(d_hidden, before)}},
      {absl::StrCat("d", a.up.name),
       {a.each_hidden("gradient of activation", between.gradient_what, between.gradient, before)},
       {Read(d_hidden, before), Read(up, before), Write(d_up, before)}},
      {absl::StrCat("dx = d", a.up.name, " ", a.w_up.whole.name, "^T"),
       {Product("gradient of x", SizeOfOut(a.x, d_up.shape[1]), kTokenRows)},
       {Read(d_up, kTokenRows), Read(a.w_up.active, kTokenRows),
        Write(GradientOf(a.x), kTokenRows)}},
      {absl::StrCat("d", a.w_up.whole.name, " = x^T d", a.up.name),
       {WeightGradient(a.w_up.whole, a.x.shape[0], kUpWeights)},
       {Read(a.x, kUpWeights), Read(d_up, kUpWeights),
        Write(GradientOf(a.w_up.whole), kUpWeights)}}};
}

}  // namespace

int64_t DeviceRows(const Experts& experts) {
  const int64_t rows = experts.tokens * experts.experts_per_token;  // at most 2^56
  return (rows - 1) / experts.expert_parallel_size + 1;
}

OpKernels KernelsOf(const Experts& op, const OpKernelsInput& in) {
  const ExpertArrays a = ExpertArraysOf(op, in);
  OpKernels out =
      KernelsOf({a.x, a.w_up.whole, a.w_down.whole}, a.y, kTokenRows | kUpWeights | kDownWeights);
  out.forward = ExpertsForward(op, a);
  out.backward = ExpertsBackward(op, a);
  return out;
}

}  // namespace sextant
