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
  return {{.name = "log softmax",
           .arithmetic = {Term({.name = "log softmax",
                                .what = "max, subtract, exp, sum, subtract the sum's log",
                                .work = {.plain = 4, .transcendental = 1},
                                .count = Count(op.tokens, op.vocabulary)},
                               in.convention),
                          Term({.name = "log",
                                .what = "one logarithm a token",
                                .work = {.transcendental = 1},
                                .count = Count(op.tokens)},
                               in.convention)},
           .movements = {Read(kernels.operands[0]), Write(all)}},
          {.name = "mean at the targets",
           .arithmetic = {Term({.name = "mean",
                                .what = "one addition a token, and a division",
                                .work = kOneEach,
                                .count = Count(op.tokens) + 1},
                               in.convention)},
           .movements = {Read(picked), Read(kernels.operands[1]), Write(kernels.outputs[0])}}};
}

}  // namespace

// (a, b) -> (a cos - b sin, b cos + a sin): 6 FLOPs per pair. The gradient rotates back by the
// same angle. Source: Su et al. 2021 (arXiv 2104.09864) section 3.4.
OpKernels RotaryKernels(const Rotary& op, const OpKernelsInput& in) {
  const Shape shape = {op.tokens, op.heads, op.head_size};
  const Array x = Input("x", in.types.input, shape);
  const Array y = Output("y", in.types.output, shape);
  const Array cosines = Input("cosines", in.types.input, {op.tokens, op.head_size / 2});
  const Array sines = Input("sines", in.types.input, {op.tokens, op.head_size / 2});
  const auto turn = [&](absl::string_view name) {
    return Term({.name = name,
                 .what = "4 multiplications and 2 additions a pair",
                 .work = {.plain = 6},
                 .count = Count(op.tokens, op.heads) * Count(op.head_size / 2)},
                in.convention);
  };
  OpKernels out;
  out.operands = {x, cosines, sines};
  out.outputs = {y};
  out.differentiable = OperandBit(0);
  out.forward = {{.name = "turn",
                  .arithmetic = {turn("rotation")},
                  .movements = {Read(x), Read(cosines), Read(sines), Write(y)}}};
  out.backward = {
      {.name = "turn dy back",
       .arithmetic = {turn("gradient of x")},
       .movements = {Read(GradientOf(y)), Read(cosines), Read(sines), Write(GradientOf(x))}}};
  return out;
}

// A look-up does no arithmetic. One row of the table moves per token: a row used by several tokens
// is read several times. The table's gradient is dense, torch.nn.Embedding's default.
OpKernels EmbeddingKernels(const EmbeddingLookup& op, const OpKernelsInput& in) {
  const Array table = Parameter("table", in.types.input, {op.vocabulary, op.width});
  const Array rows = Parameter("rows of table", in.types.input, {op.tokens, op.width});
  const Array ids = Indices("ids", kIdBytes, {op.tokens});
  const Array y = Output("y", in.types.output, {op.tokens, op.width});
  OpKernels out;
  out.operands = {table, ids};
  out.outputs = {y};
  out.differentiable = OperandBit(0);
  out.forward = {
      {.name = "look up", .arithmetic = {}, .movements = {Read(ids), Read(rows), Write(y)}}};
  out.backward = {{.name = "dtable from dy",
                   .arithmetic = {Term({.name = "gradient of table",
                                        .what = "one addition of each number of dy to its row",
                                        .work = kOneEach,
                                        .count = Count(op.tokens, op.width)},
                                       in.convention)},
                   .movements = {Read(GradientOf(y)), Read(ids), Write(GradientOf(table))}}};
  return out;
}

// loss = mean(L - logit[target]), L = max + log(sum(exp(logit - max)));
// dlogit = (exp(logit - L) - [target]) dloss / tokens.
OpKernels CrossEntropyKernels(const CrossEntropy& op, const OpKernelsInput& in) {
  const Array logits = Input("logits", in.types.input, {op.tokens, op.vocabulary});
  const Array targets = Indices("targets", kIdBytes, {op.tokens});
  const Array loss = Output("loss", in.types.output, {1});
  const Array log_sums = Statistic("log-sum-exp", in.types.accumulation, {op.tokens});
  const auto term = [&](absl::string_view name, absl::string_view what, Work work, double count) {
    return Term({.name = name, .what = what, .work = work, .count = count}, in.convention);
  };
  const double all = Count(op.tokens, op.vocabulary);
  const double tokens = Count(op.tokens);
  OpKernels out;
  out.operands = {logits, targets};
  out.outputs = {loss};
  out.differentiable = OperandBit(0);
  out.forward = {
      {.name = "cross-entropy",
       .arithmetic = {term("sum of powers", "max, subtract, exp, sum",
                           {.plain = 3, .transcendental = 1}, all),
                      term("tokens", "a log, max +, the target's logit -, the sum of losses +",
                           {.plain = 3, .transcendental = 1}, tokens),
                      term("mean", "one division by the tokens", kOneEach, 1)},
       .movements = {Read(logits), Read(targets), Write(loss)}}};
  out.unfused = UnfusedCrossEntropy(out, op, in);
  out.backward = {{.name = "dlogits = (softmax - target) dloss / tokens",
                   .arithmetic = {term("probabilities", "subtract L, exp, times dloss / tokens",
                                       {.plain = 2, .transcendental = 1}, all),
                                  term("targets", "one subtraction a token", kOneEach, tokens),
                                  term("mean", "one division by the tokens", kOneEach, 1)},
                   .movements = {Read(GradientOf(loss)), Read(logits), Read(log_sums),
                                 Read(targets), Write(GradientOf(logits))}}};
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
class Counting {
 public:
  Counting(const Attention& a, double pairs_per_head, FlopConvention convention)
      : heads_(Count(a.batch, a.heads)),
        pairs_(heads_ * pairs_per_head),
        head_size_(a.head_size),
        value_head_size_(ValueHeadSize(a)),
        outputs_(heads_ * Count(a.query_length, value_head_size_)),
        convention_(convention) {}

  // A product over queries and keys, or over tensors of their width.
  ArithmeticTerm OfKeys(absl::string_view name, OperandSet needed_by = kEveryOperand) const {
    return Product(name, head_size_, needed_by);
  }
  // A product over values and outputs.
  ArithmeticTerm OfValues(absl::string_view name, OperandSet needed_by = kEveryOperand) const {
    return Product(name, value_head_size_, needed_by);
  }
  ArithmeticTerm EachPair(absl::string_view name, absl::string_view what, Work work,
                          OperandSet needed_by = kEveryOperand) const {
    return Term({.name = name, .what = what, .work = work, .count = pairs_, .needed_by = needed_by},
                convention_);
  }
  ArithmeticTerm EachOutput(absl::string_view name, absl::string_view what, Work work,
                            OperandSet needed_by) const {
    return Term(
        {.name = name, .what = what, .work = work, .count = outputs_, .needed_by = needed_by},
        convention_);
  }

 private:
  ArithmeticTerm Product(absl::string_view name, int64_t width, OperandSet needed_by) const {
    return {.name = std::string(name),
            .flops = Flops(kFlopsPerMultiplyAdd * pairs_ * Count(width)),
            .matrix_product = true,
            .reason = absl::StrCat("2 x ", NumberText(pairs_), " x ", width,
                                   ": each pair of a query and a key, in each head, is ", width,
                                   " multiply-adds of 2 FLOPs"),
            .needed_by = needed_by};
  }

  double heads_;
  double pairs_;
  int64_t head_size_;
  int64_t value_head_size_;
  double outputs_;
  FlopConvention convention_;
};

std::vector<Step> ForwardSteps(const Arrays& x, const Counting& count, bool adds_mask) {
  const ArithmeticTerm softmax =
      adds_mask ? count.EachPair("softmax", "scale, mask +, max, subtract, exp, sum, divide a pair",
                                 kMaskedSoftmax)
                : count.EachPair("softmax", "scale, max, subtract, exp, sum, divide a pair",
                                 kScaledSoftmax);
  return {{.name = "scores = q k^T",
           .arithmetic = {count.OfKeys("scores")},
           .movements = {Read(x.q), Read(x.k), Write(x.scores)}},
          {.name = "softmax",
           .arithmetic = {softmax},
           .movements = {Read(x.scores), Write(x.probabilities)}},
          {.name = "o = probabilities v",
           .arithmetic = {count.OfValues("weighted sum")},
           .movements = {Read(x.probabilities), Read(x.v), Write(x.o)}}};
}

std::vector<Step> UnfusedBackward(const Arrays& x, const Counting& count) {
  Array p = x.probabilities;
  p.role = ArrayRole::kStatistic;
  const Array dp = Scratch("gradient of probabilities", p.data_type, p.shape);
  const Array ds = Scratch("gradient of scores", p.data_type, p.shape);
  return {{.name = "dv = p^T do",
           .arithmetic = {count.OfValues("gradient of v", kV)},
           .movements = {Read(p, kV), Read(GradientOf(x.o), kV), Write(GradientOf(x.v), kV)}},
          {.name = "dp = do v^T",
           .arithmetic = {count.OfValues("gradient of probabilities", kQ | kK)},
           .movements = {Read(GradientOf(x.o), kQ | kK), Read(x.v, kQ | kK), Write(dp, kQ | kK)}},
          {.name = "ds = scale p (dp - sum(dp p))",
           .arithmetic = {count.EachPair("gradient of scores",
                                         "dp p, its sum, a difference, a product, scale a pair",
                                         {.plain = 5}, kQ | kK)},
           .movements = {Read(p, kQ | kK), Read(dp, kQ | kK), Write(ds, kQ | kK)}},
          {.name = "dq = ds k",
           .arithmetic = {count.OfKeys("gradient of q", kQ)},
           .movements = {Read(ds, kQ), Read(x.k, kQ), Write(GradientOf(x.q), kQ)}},
          {.name = "dk = ds^T q",
           .arithmetic = {count.OfKeys("gradient of k", kK)},
           .movements = {Read(ds, kK), Read(x.q, kK), Write(GradientOf(x.k), kK)}}};
}

// Keys that no query attends to have a gradient of zero, which is written, too.
Step FusedBackward(const Arrays& x, const Arrays& whole, const Counting& count,
                   DataType accumulation) {
  const Array log_sums =
      Statistic("log-sum-exp", accumulation, {x.q.shape[0], x.q.shape[1], x.q.shape[2]});
  return {
      .name = "dq, dk, dv",
      .arithmetic = {count.OfKeys("scores again"),
                     count.EachPair("probabilities again",
                                    "scale, subtract the log-sum-exp, exp a pair",
                                    {.plain = 2, .transcendental = 1}),
                     count.OfValues("gradient of probabilities", kQ | kK),
                     count.EachOutput("sums of do o", "a product and an addition an output",
                                      {.plain = 2}, kQ | kK),
                     count.EachPair("gradient of scores", "a difference, a product, scale a pair",
                                    {.plain = 3}, kQ | kK),
                     count.OfValues("gradient of v", kV), count.OfKeys("gradient of q", kQ),
                     count.OfKeys("gradient of k", kK)},
      .movements = {Read(GradientOf(x.o)), Read(x.q), Read(x.k), Read(x.v, kQ | kK),
                    Read(x.o, kQ | kK), Read(log_sums), Write(GradientOf(x.q), kQ),
                    Write(GradientOf(whole.k), kK), Write(GradientOf(whole.v), kV)}};
}

}  // namespace

OpKernels AttentionKernels(const Attention& op, const OpKernelsInput& in) {
  const Arrays whole = ArraysOf(op, in, op.key_length);
  const Arrays attended = ArraysOf(op, in, AttendedKeys(op));
  const Counting all(op, Count(op.query_length, op.key_length), in.convention);
  const Counting allowed(op, AttendedPairs(op), in.convention);
  OpKernels out;
  out.operands = {whole.q, whole.k, whole.v};
  out.outputs = {whole.o};
  out.differentiable = kQ | kK | kV;
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
