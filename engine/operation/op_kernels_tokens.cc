// Kernels per token: rotary positions, the embedding, the loss, attention.
#include "absl/strings/str_cat.h"
#include "engine/base/text.h"
#include "engine/operation/op_kernels_parts.h"
#include "engine/operation/operation.h"

namespace sextant {

// Per token: rotary positions, the embedding, the loss.

namespace {

// A token id is an int64, as torch.long.
constexpr int64_t kIdBytes = 8;
constexpr Work kOneEach = {.plain = 1};

// The log-probabilities, and the targets' mean: torch's log_softmax and nll_loss.
std::vector<Step> UnfusedCrossEntropy(const OpKernels& kernels, const CrossEntropy& op,
                                      const OpKernelsInput& in) {
  const Array all = Scratch("log-probabilities", in.types.output, {op.tokens, op.vocabulary});
  const Array picked = Scratch("the targets' log-probabilities", in.types.output, {op.tokens});
  return {{"log softmax",
           {Each(Count(op.tokens, op.vocabulary), in.convention)(
                "log softmax", "max, subtract, exp, sum, subtract the sum's log",
                {.plain = 4, .transcendental = 1}),
            Each(Count(op.tokens), in.convention)("log", "one logarithm a token",
                                                  {.transcendental = 1})},
           {Read(kernels.operands[0]), Write(all)}},
          {"mean at the targets",
           {Each(Count(op.tokens) + 1, in.convention)(
               "mean", "one addition a token, and a division", kOneEach)},
           {Read(picked), Read(kernels.operands[1]), Write(kernels.outputs[0])}}};
}

}  // namespace

// (a, b) -> (a cos - b sin, b cos + a sin): 6 FLOPs per pair. The gradient rotates back by the
// same angle. Source: Su et al. 2021 (arXiv 2104.09864) section 3.4.
OpKernels KernelsOf(const Rotary& op, const OpKernelsInput& in) {
  const Shape shape = {op.tokens, op.heads, op.head_size};
  const Array x = Input("x", in.types.input, shape);
  const Array y = Output("y", in.types.output, shape);
  const Array cosines = Input("cosines", in.types.input, {op.tokens, op.head_size / 2});
  const Array sines = Input("sines", in.types.input, {op.tokens, op.head_size / 2});
  const Each each_pair(Count(op.tokens, op.heads) * Count(op.head_size / 2), in.convention);
  constexpr absl::string_view kTurn = "4 multiplications and 2 additions a pair";
  OpKernels out = KernelsOf({x, cosines, sines}, y, OperandBit(0));
  out.forward = {{"turn",
                  {each_pair("rotation", kTurn, {.plain = 6})},
                  {Read(x), Read(cosines), Read(sines), Write(y)}}};
  out.backward = {{"turn dy back",
                   {each_pair("gradient of x", kTurn, {.plain = 6})},
                   {Read(GradientOf(y)), Read(cosines), Read(sines), Write(GradientOf(x))}}};
  return out;
}

// A look-up does no arithmetic. One row of the table moves per token: a row used by several tokens
// is read several times. The table's gradient is dense, torch.nn.Embedding's default.
OpKernels KernelsOf(const EmbeddingLookup& op, const OpKernelsInput& in) {
  const Array table = Parameter("table", in.types.input, {op.vocabulary, op.width});
  const Array rows = Parameter("rows of table", in.types.input, {op.tokens, op.width});
  const Array ids = Indices("ids", kIdBytes, {op.tokens});
  const Array y = Output("y", in.types.output, {op.tokens, op.width});
  OpKernels out = KernelsOf({table, ids}, y, OperandBit(0));
  out.forward = {{"look up", {}, {Read(ids), Read(rows), Write(y)}}};
  out.backward = {
      {"dtable from dy",
       {Each(Count(op.tokens, op.width), in.convention)(
           "gradient of table", "one addition of each number of dy to its row", kOneEach)},
       {Read(GradientOf(y)), Read(ids), Write(GradientOf(table))}}};
  return out;
}

// loss = mean(L - logit[target]), L = max + log(sum(exp(logit - max)));
// dlogit = (exp(logit - L) - [target]) dloss / tokens.
OpKernels KernelsOf(const CrossEntropy& op, const OpKernelsInput& in) {
  const Array logits = Input("logits", in.types.input, {op.tokens, op.vocabulary});
  const Array targets = Indices("targets", kIdBytes, {op.tokens});
  const Array loss = Output("loss", in.types.output, {1});
  const Array log_sums = Statistic("log-sum-exp", in.types.accumulation, {op.tokens});
  const Each each(Count(op.tokens, op.vocabulary), in.convention);
  const Each each_token(Count(op.tokens), in.convention);
  const Each once(1, in.convention);
  OpKernels out = KernelsOf({logits, targets}, loss, OperandBit(0));
  out.forward = {
      {"cross-entropy",
       {each("sum of powers", "max, subtract, exp, sum", {.plain = 3, .transcendental = 1}),
        each_token("tokens", "a log, max +, the target's logit -, the sum of losses +",
                   {.plain = 3, .transcendental = 1}),
        once("mean", "one division by the tokens", kOneEach)},
       {Read(logits), Read(targets), Write(loss)}}};
  out.unfused = UnfusedCrossEntropy(out, op, in);
  out.backward = {{"dlogits = (softmax - target) dloss / tokens",
                   {each("probabilities", "subtract L, exp, times dloss / tokens",
                         {.plain = 2, .transcendental = 1}),
                    each_token("targets", "one subtraction a token", kOneEach),
                    once("mean", "one division by the tokens", kOneEach)},
                   {Read(GradientOf(loss)), Read(logits), Read(log_sums), Read(targets),
                    Write(GradientOf(logits))}}};
  return out;
}

// Attention, as separate kernels and as one.
//
// Unfused, s = q k^T, p = softmax(scale s + mask), o = p v: both matrices of q x k numbers are
// written and read, and masked entries are computed, too. Its backward pass keeps p: dv = p^T do,
// dp = do v^T, ds = scale p (dp - sum(dp p)), dq = ds k, dk = ds^T q: four products, twice the
// forward pass.
//
// Fused (Dao et al. 2022, arXiv 2205.14135; Dao 2023, arXiv 2307.08691): no such matrix moves, and
// masked blocks are skipped. Its backward pass keeps only o and the rows' log-sum-exp and
// recomputes s: five products, 2.5 times the forward pass. The rescaling of partial sums between
// blocks depends on the block's size and is not counted.
//
// In multi-head latent attention (DeepSeek-V2, arXiv 2405.04434, section 2.1) values are narrower
// than keys. Scores, dq and dk are products of the keys' width, o, dp and dv of the values'; the
// ratios of backward to forward above hold for equal widths.
//
// Keys and values of kv_heads heads are each read by heads / kv_heads query heads; their gradients
// are summed within the products' own additions.

namespace {

constexpr OperandSet kQ = OperandBit(0);
constexpr OperandSet kK = OperandBit(1);
constexpr OperandSet kV = OperandBit(2);

// The softmax itself: max, subtract, exp, sum, divide.
constexpr Work kScaledSoftmax = {.plain = 5, .transcendental = 1};
constexpr Work kMaskedSoftmax = {.plain = 6, .transcendental = 1};

struct Arrays {
  Array q;
  Array k;
  Array v;
  Array o;
  Array scores;
  Array probabilities;
};

Arrays ArraysOf(const Attention& a, const OpKernelsInput& in, int64_t keys) {
  const Shape queries = {a.batch, a.heads, a.query_length, a.head_size};
  const Shape outputs = {a.batch, a.heads, a.query_length, ValueHeadSize(a)};
  const Shape key = {a.batch, a.kv_heads, keys, a.head_size};
  const Shape value = {a.batch, a.kv_heads, keys, ValueHeadSize(a)};
  const Shape square = {a.batch, a.heads, a.query_length, keys};
  return {.q = Input("q", in.types.input, queries),
          .k = Input("k", in.types.input, key),
          .v = Input("v", in.types.input, value),
          .o = Output("o", in.types.output, outputs),
          .scores = Scratch("scores", in.types.output, square),
          .probabilities = Scratch("probabilities", in.types.output, square)};
}

// Counts over all heads and sequences.
struct Counting {
  Counting(const Attention& a, double pairs_per_head, FlopConvention convention)
      : heads(Count(a.batch, a.heads)),
        pairs(heads * pairs_per_head),
        head_size(a.head_size),
        value_head_size(ValueHeadSize(a)),
        each_pair(pairs, convention),
        each_output(heads * Count(a.query_length, value_head_size), convention) {}

  // A product over queries and keys, or over tensors of their width.
  ArithmeticTerm OfKeys(absl::string_view name, OperandSet needed_by = kEveryOperand) const {
    return Product(name, head_size, needed_by);
  }
  // A product over values and outputs.
  ArithmeticTerm OfValues(absl::string_view name, OperandSet needed_by = kEveryOperand) const {
    return Product(name, value_head_size, needed_by);
  }

  ArithmeticTerm Product(absl::string_view name, int64_t width, OperandSet needed_by) const {
    return {.name = std::string(name),
            .flops = Flops(kFlopsPerMultiplyAdd * pairs * Count(width)),
            .matrix_product = true,
            .reason = absl::StrCat("2 x ", NumberText(pairs), " x ", width,
                                   ": each pair of a query and a key, in each head, is ", width,
                                   " multiply-adds of 2 FLOPs"),
            .needed_by = needed_by};
  }

  double heads;
  double pairs;
  int64_t head_size;
  int64_t value_head_size;
  Each each_pair;
  Each each_output;
};

std::vector<Step> ForwardSteps(const Arrays& x, const Counting& count, bool adds_mask) {
  const ArithmeticTerm softmax =
      adds_mask
          ? count.each_pair("softmax", "scale, mask +, max, subtract, exp, sum, divide a pair",
                            kMaskedSoftmax)
          : count.each_pair("softmax", "scale, max, subtract, exp, sum, divide a pair",
                            kScaledSoftmax);
  return {{"scores = q k^T", {count.OfKeys("scores")}, {Read(x.q), Read(x.k), Write(x.scores)}},
          {"softmax", {softmax}, {Read(x.scores), Write(x.probabilities)}},
          {"o = probabilities v",
           {count.OfValues("weighted sum")},
           {Read(x.probabilities), Read(x.v), Write(x.o)}}};
}

std::vector<Step> UnfusedBackward(const Arrays& x, const Counting& count) {
  const Array p = As(ArrayRole::kStatistic, x.probabilities);
  const Array dp = Scratch("gradient of probabilities", p.data_type, p.shape);
  const Array ds = Scratch("gradient of scores", p.data_type, p.shape);
  return {{"dv = p^T do",
           {count.OfValues("gradient of v", kV)},
           {Read(p, kV), Read(GradientOf(x.o), kV), Write(GradientOf(x.v), kV)}},
          {"dp = do v^T",
           {count.OfValues("gradient of probabilities", kQ | kK)},
           {Read(GradientOf(x.o), kQ | kK), Read(x.v, kQ | kK), Write(dp, kQ | kK)}},
          {"ds = scale p (dp - sum(dp p))",
           {count.each_pair("gradient of scores",
                            "dp p, its sum, a difference, a product, scale a pair", {.plain = 5},
                            kQ | kK)},
           {Read(p, kQ | kK), Read(dp, kQ | kK), Write(ds, kQ | kK)}},
          {"dq = ds k",
           {count.OfKeys("gradient of q", kQ)},
           {Read(ds, kQ), Read(x.k, kQ), Write(GradientOf(x.q), kQ)}},
          {"dk = ds^T q",
           {count.OfKeys("gradient of k", kK)},
           {Read(ds, kK), Read(x.q, kK), Write(GradientOf(x.k), kK)}}};
}

// Keys that no query attends to have a gradient of zero, which is written, too.
Step FusedBackward(const Arrays& x, const Arrays& whole, const Counting& count,
                   DataType accumulation) {
  const Array log_sums =
      Statistic("log-sum-exp", accumulation, {x.q.shape[0], x.q.shape[1], x.q.shape[2]});
  return {"dq, dk, dv",
          {count.OfKeys("scores again"),
           count.each_pair("probabilities again", "scale, subtract the log-sum-exp, exp a pair",
                           {.plain = 2, .transcendental = 1}),
           count.OfValues("gradient of probabilities", kQ | kK),
           count.each_output("sums of do o", "a product and an addition an output", {.plain = 2},
                             kQ | kK),
           count.each_pair("gradient of scores", "a difference, a product, scale a pair",
                           {.plain = 3}, kQ | kK),
           count.OfValues("gradient of v", kV), count.OfKeys("gradient of q", kQ),
           count.OfKeys("gradient of k", kK)},
          {Read(GradientOf(x.o)), Read(x.q), Read(x.k), Read(x.v, kQ | kK), Read(x.o, kQ | kK),
           Read(log_sums), Write(GradientOf(x.q), kQ), Write(GradientOf(whole.k), kK),
           Write(GradientOf(whole.v), kV)}};
}

}  // namespace

OpKernels KernelsOf(const Attention& op, const OpKernelsInput& in) {
  const Arrays whole = ArraysOf(op, in, op.key_length);
  const Arrays attended = ArraysOf(op, in, AttendedKeys(op));
  const Counting all(op, Count(op.query_length, op.key_length), in.convention);
  const Counting allowed(op, AttendedPairs(op), in.convention);
  OpKernels out = KernelsOf({whole.q, whole.k, whole.v}, whole.o, kQ | kK | kV);
  std::vector<Step> unfused = ForwardSteps(whole, all, op.causal || op.window > 0);
  if (op.fused) {
    out.forward = {Fuse("attention", ForwardSteps(attended, allowed, false))};
    out.unfused = std::move(unfused);
    out.backward = {FusedBackward(attended, whole, allowed, in.types.accumulation)};
  } else {
    out.forward = std::move(unfused);
    out.backward = UnfusedBackward(whole, all);
  }
  return out;
}

}  // namespace sextant
