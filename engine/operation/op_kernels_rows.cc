// Kernels of functions of rows: reductions, softmax and the norms.
#include "engine/operation/op_kernels_parts.h"

namespace sextant {

// Functions of rows: reductions, softmax and the norms.

namespace {

constexpr Work kOne = {.plain = 1};

// The work of a reduction in addition to one FLOP per input.
struct ReductionWork {
  absl::string_view what;
  double forward_per_output = 0;
  double gradient_per_input = 0;
  double gradient_per_output = 0;
  bool reads_values = false;
};

// sum: dy to each.  mean: dy / n to each.  max, min: dy divided among the inputs equal to the
// extreme: a comparison (1), a count (1), and the share (1), which is dy over their number, as in
// torch.amax.  product: dx = dy y / x.
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

OpKernels KernelsOf(const Reduction& op, const OpKernelsInput& in) {
  const Array x = Input("x", in.types.input, {op.outer, op.reduced});
  const Array y = Output("y", in.types.output, {op.outer});
  const ReductionWork work = WorkOf(op.function);
  const double inputs = Count(op.outer, op.reduced);
  const double outputs = Count(op.outer);
  OpKernels out = KernelsOf({x}, y, OperandBit(0));
  Step forward = {"reduce", {}, {Read(x), Write(y)}};
  forward.arithmetic.push_back(Each(inputs, in.convention)("inputs", work.what, kOne));
  if (work.forward_per_output > 0) {
    forward.arithmetic.push_back(Each(outputs, in.convention)("outputs", "one division of each sum",
                                                              {.plain = work.forward_per_output}));
  }
  out.forward = {forward};
  Step backward = {"dx from dy", {}, {Read(GradientOf(y))}};
  backward.arithmetic = {Each(inputs, in.convention)("inputs", "finds each input's share of dy",
                                                     {.plain = work.gradient_per_input}),
                         Each(outputs, in.convention)("outputs", "scales each dy",
                                                      {.plain = work.gradient_per_output})};
  if (work.reads_values) {
    backward.movements.push_back(Read(x));
    backward.movements.push_back(Read(y));
  }
  backward.movements.push_back(Write(GradientOf(x)));
  out.backward = {backward};
  return out;
}

// y = e / sum(e), e = exp(x - max(x)); dx = y (dy - sum(dy y)).
OpKernels KernelsOf(const Softmax& op, const OpKernelsInput& in) {
  const Shape matrix = {op.rows, op.columns};
  const Array x = Input("x", in.types.input, matrix);
  const Array y = Output("y", in.types.output, matrix);
  const Array largest = Scratch("max", in.types.accumulation, {op.rows});
  const Array shifted = Scratch("x - max", in.types.output, matrix);
  const Array powers = Scratch("exp(x - max)", in.types.output, matrix);
  const Array sums = Scratch("sum", in.types.accumulation, {op.rows});
  const Each each(Count(op.rows, op.columns), in.convention);
  OpKernels out = KernelsOf({x}, y, OperandBit(0));
  out.unfused = {
      {"max", {each("max", "one comparison an element", kOne)}, {Read(x), Write(largest)}},
      {"subtract",
       {each("subtract", "one subtraction an element", kOne)},
       {Read(x), Read(largest), Write(shifted)}},
      {"exp",
       {each("exp", "one exponential an element", {.transcendental = 1})},
       {Read(shifted), Write(powers)}},
      {"sum", {each("sum", "one addition an element", kOne)}, {Read(powers), Write(sums)}},
      {"divide",
       {each("divide", "one division an element", kOne)},
       {Read(powers), Read(sums), Write(y)}}};
  out.forward = {Fuse("softmax", out.unfused)};
  out.backward = {
      {"dx = y (dy - sum(dy y))",
       {each("gradient of x", "dy y, its sum, a difference, a product an element", {.plain = 4})},
       {Read(GradientOf(y)), Read(y), Write(GradientOf(x))}}};
  return out;
}

// LayerNorm (Ba et al. 2016, arXiv 1607.06450): y = (x - mean) r w + b, r = 1/sqrt(var + eps).
// RMSNorm (Zhang, Sennrich 2019, arXiv 1910.07467): y = x r w, r = 1/sqrt(mean(x^2) + eps).
//
// Backward, where z is y's normalised argument (x - mean) r or x r, g = dy w, n = columns:
//   LayerNorm  dx = r (g - sum(g)/n - z sum(g z)/n),  dw = sum dy z,  db = sum dy
//   RMSNorm    dx = r (g - z sum(g z)/n),             dw = sum dy z

namespace {

// The arrays and the arithmetic of one norm.
struct Norm {
  Array x;
  Array w;
  Array b;
  Array y;
  Array mean;
  Array scale;  // 1/sqrt(var + eps), per row
  Each each;    // element
  Each each_row;
};

struct Size {
  int64_t rows = 0;
  int64_t columns = 0;
};

Norm NormOf(Size size, const OpKernelsInput& in) {
  const Shape matrix = {size.rows, size.columns};
  return {.x = Input("x", in.types.input, matrix),
          .w = Parameter("weight", in.types.input, {size.columns}),
          .b = Parameter("bias", in.types.input, {size.columns}),
          .y = Output("y", in.types.output, matrix),
          .mean = Statistic("mean", in.types.accumulation, {size.rows}),
          .scale = Statistic("reciprocal deviation", in.types.accumulation, {size.rows}),
          .each = {Count(size.rows, size.columns), in.convention},
          .each_row = {Count(size.rows), in.convention}};
}

constexpr Work kReciprocalDeviation = {.plain = 2, .transcendental = 1};

// In separate kernels, the rows' statistics are arrays between them. LayerNorm `centres` the
// numbers first, and adds a bias at the end.
std::vector<Step> NormSteps(const Norm& n, bool centres) {
  const auto between = [&n](absl::string_view name) {
    return Scratch(name, n.y.data_type, n.x.shape);
  };
  const Array x = centres ? between("x - mean") : n.x;
  const Array normal = between("normalised");
  const Array weighted = centres ? between("normalised x weight") : n.y;
  const Array mean = As(ArrayRole::kScratch, n.mean);
  const Array scale = As(ArrayRole::kScratch, n.scale);
  std::vector<Step> steps;
  if (centres) {
    steps = {{"mean",
              {n.each("sum", "one addition an element", kOne),
               n.each_row("mean", "one division a row", kOne)},
              {Read(n.x), Write(mean)}},
             {"centre",
              {n.each("centre", "one subtraction an element", kOne)},
              {Read(n.x), Read(mean), Write(x)}}};
  }
  steps.push_back({centres ? "variance" : "mean square",
                   {n.each(centres ? "variance" : "squares", "a square and an addition an element",
                           {.plain = 2}),
                    n.each_row("reciprocal deviation",
                               "a division by n, an addition of eps, a reciprocal root a row",
                               kReciprocalDeviation)},
                   {Read(x), Write(scale)}});
  steps.push_back({"normalise",
                   {n.each("normalise", "one multiplication an element", kOne)},
                   {Read(x), Read(scale), Write(normal)}});
  steps.push_back({"weight",
                   {n.each("weight", "one multiplication an element", kOne)},
                   {Read(normal), Read(n.w), Write(weighted)}});
  if (centres) {
    steps.push_back({"bias",
                     {n.each("bias", "one addition an element", kOne)},
                     {Read(weighted), Read(n.b), Write(n.y)}});
  }
  return steps;
}

constexpr OperandSet kX = OperandBit(0);
constexpr OperandSet kW = OperandBit(1);
constexpr OperandSet kB = OperandBit(2);

// The part that both norms' gradients share; `normalise` is the work of z = (x - mean) r.
Step CommonBackward(const Norm& n, Work normalise) {
  return {"dx, dweight",
          {n.each("normalise again", "z from x and the rows' statistics", normalise, kX | kW),
           n.each("gradient of weight", "dy z and its sum over rows", {.plain = 2}, kW)},
          {Read(GradientOf(n.y)), Read(n.x, kX | kW), Read(n.scale, kX | kW), Read(n.w, kX),
           Write(GradientOf(n.x), kX), Write(GradientOf(n.w), kW)}};
}

}  // namespace

OpKernels KernelsOf(const LayerNorm& op, const OpKernelsInput& in) {
  const Norm n = NormOf({op.rows, op.columns}, in);
  OpKernels out = KernelsOf({n.x, n.w, n.b}, n.y, kX | kW | kB);
  out.unfused = NormSteps(n, true);
  out.forward = {Fuse("layer norm", out.unfused)};
  Step backward = CommonBackward(n, {.plain = 2});
  backward.name += ", dbias";
  // g, sum(g), g z, sum(g z); z times its mean, two differences, times r
  backward.arithmetic.push_back(
      n.each("gradient of x", "g = dy w, sum(g), sum(g z), and r (g - means)", {.plain = 8}, kX));
  backward.arithmetic.push_back(
      n.each_row("gradient of x, rows", "two divisions by n a row", {.plain = 2}, kX));
  backward.arithmetic.push_back(
      n.each("gradient of bias", "the sum of dy over rows", {.plain = 1}, kB));
  backward.movements.push_back(Read(n.mean, kX | kW));
  backward.movements.push_back(Write(GradientOf(n.b), kB));
  out.backward = {backward};
  return out;
}

OpKernels KernelsOf(const RmsNorm& op, const OpKernelsInput& in) {
  const Norm n = NormOf({op.rows, op.columns}, in);
  OpKernels out = KernelsOf({n.x, n.w}, n.y, kX | kW);
  out.unfused = NormSteps(n, false);
  out.forward = {Fuse("RMS norm", out.unfused)};
  Step backward = CommonBackward(n, {.plain = 1});
  // g, g z, sum(g z); z times its mean, a difference, times r
  backward.arithmetic.push_back(
      n.each("gradient of x", "g = dy w, sum(g z), and r (g - z mean)", {.plain = 6}, kX));
  backward.arithmetic.push_back(
      n.each_row("gradient of x, rows", "one division by n a row", {.plain = 1}, kX));
  out.backward = {backward};
  return out;
}

}  // namespace sextant
