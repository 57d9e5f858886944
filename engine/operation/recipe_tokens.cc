// What is done a token: rotary positions, the embedding, the loss.
#include "engine/operation/recipe_parts.h"

namespace sextant {
namespace {

// A token's id is an int64, as torch.long.
constexpr int64_t kIdBytes = 8;

constexpr Work kOneEach = {.plain = 1};

}  // namespace

// (a, b) -> (a cos - b sin, b cos + a sin): 6 FLOPs a pair. The gradient turns back by the
// same angle. Source: Su et al. 2021 (arXiv 2104.09864) section 3.4.
Recipe RotaryRecipe(const Rotary& op, const RecipeInput& in) {
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
  Recipe out;
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

// A lookup does no arithmetic. One row of the table moves a token: rows that several tokens
// name are read again. The table's gradient is dense, as torch.nn.Embedding's by default.
Recipe EmbeddingRecipe(const EmbeddingLookup& op, const RecipeInput& in) {
  const Array table = Parameter("table", in.types.input, {op.vocabulary, op.width});
  const Array rows = Parameter("rows of table", in.types.input, {op.tokens, op.width});
  const Array ids = Indices("ids", kIdBytes, {op.tokens});
  const Array y = Output("y", in.types.output, {op.tokens, op.width});
  Recipe out;
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

namespace {

// The log-probabilities, and the targets' mean: torch's log_softmax and nll_loss.
std::vector<Step> UnfusedCrossEntropy(const Recipe& recipe, const CrossEntropy& op,
                                      const RecipeInput& in) {
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
           .movements = {Read(recipe.operands[0]), Write(all)}},
          {.name = "mean at the targets",
           .arithmetic = {Term({.name = "mean",
                                .what = "one addition a token, and a division",
                                .work = kOneEach,
                                .count = Count(op.tokens) + 1},
                               in.convention)},
           .movements = {Read(picked), Read(recipe.operands[1]), Write(recipe.outputs[0])}}};
}

}  // namespace

// loss = mean(L - logit[target]), L = max + log(sum(exp(logit - max)));
// dlogit = (exp(logit - L) - [target]) dloss / tokens.
Recipe CrossEntropyRecipe(const CrossEntropy& op, const RecipeInput& in) {
  const Array logits = Input("logits", in.types.input, {op.tokens, op.vocabulary});
  const Array targets = Indices("targets", kIdBytes, {op.tokens});
  const Array loss = Output("loss", in.types.output, {1});
  const Array log_sums = Statistic("log-sum-exp", in.types.accumulation, {op.tokens});
  const auto term = [&](absl::string_view name, absl::string_view what, Work work, double count) {
    return Term({.name = name, .what = what, .work = work, .count = count}, in.convention);
  };
  const double all = Count(op.tokens, op.vocabulary);
  const double tokens = Count(op.tokens);
  Recipe out;
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

}  // namespace sextant
