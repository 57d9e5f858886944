// The tensors of a layer that recomputation by operator keeps, counted by hand from torchtitan's
// save list.
#include <gtest/gtest.h>

#include "engine/memory/transients/layer_backward.h"
#include "engine/model/presets/presets.h"
#include "tests/engine/memory/activations/activation_cases.h"

namespace sextant {
namespace {

constexpr int64_t kRankTokens = 256;

ActivationCase CaseOf(const char* preset) {
  ActivationCase c;
  c.spec = FindModelPreset(preset).value()->architecture;
  c.batch.sequence_length = kRankTokens;
  c.batch.recomputation.policy = RecomputePolicy::kOperators;
  return c;
}

// The block's input; wq, wv, w1 and w2; attention's output and a number a token and head.
constexpr int64_t kResidual = 4096;
constexpr int64_t kKeyWidth = 1024;
constexpr int64_t kInner = 14336;
constexpr int64_t kHeadCount = 32;

TEST(OperatorActivationsTest, OfALlama) {
  const int64_t elements = kResidual + kResidual + kKeyWidth + kInner + kResidual + kResidual;
  EXPECT_EQ(LayerBytes(CaseOf("llama-3.1-8b")), kRankTokens * (2 * elements + 4 * kHeadCount));
}

// Each of two ranks has half of heads and features. Its part of w2's sum is of all tokens; both
// sums that are scattered, and the block's input, are of half of the tokens.
TEST(OperatorActivationsTest, OfDividedMatrices) {
  ActivationCase c = CaseOf("llama-3.1-8b");
  c.layout.tensor_parallel_size = 2;
  c.batch.sequence_parallel = true;
  const int64_t halves = kResidual + kResidual + kKeyWidth + kInner + kResidual + 2 * kResidual;
  EXPECT_EQ(LayerBytes(c), kRankTokens * (2 * (halves / 2 + kResidual) + 4 * kHeadCount / 2));
}

// The layer's backward pass begins with everything that no policy keeps, but for w2's output,
// which no gradient reads.
TEST(OperatorActivationsTest, AllElseIsThereInTheBackwardPass) {
  const ActivationCase c = CaseOf("llama-3.1-8b");
  ActivationCase keeps_all = c;
  keeps_all.batch.recomputation = {};
  const ActivationContext context = c.context();
  const LayerSteps steps = LayerStepsOf(context, {.layer_kind = 0}, nullptr);
  const int64_t there = HeldFrom(steps.kept, 0) + HeldFrom(steps.again, 0);
  EXPECT_EQ(there, LayerBytes(keeps_all) + kRankTokens * 2 * kResidual);
  EXPECT_EQ(HeldFrom(steps.kept, 0), LayerBytes(c));
}

// DeepSeek-V3's mixtures: wq_a (1,536), wkv_a (576), wo and the shared expert's w3 (2,048), heads
// of 128 x 128 with their numbers; nothing of the routed experts on one rank. Of eight ranks, the
// tokens that arrive, and their outputs that come back: eight experts a token.
TEST(OperatorActivationsTest, OfAMixture) {
  ActivationCase c = CaseOf("deepseek-v3");
  const auto bytes = [&c] {
    return LayerActivations(c.context(), ModelPart::kDecoder, 1).value().value();
  };
  const int64_t hidden = 7168;
  const int64_t elements = hidden + 1536 + 576 + hidden + 2048 + 128 * 128;
  const int64_t whole = kRankTokens * (2 * elements + 4 * 128);
  EXPECT_EQ(bytes(), whole);
  c.layout.expert_parallel_size = 8;
  EXPECT_EQ(bytes(), whole + kRankTokens * 2 * 8 * 2 * hidden);
}

// Mixtral's experts on two ranks, which scatter the sum of attention and that of the experts. The
// products are those of attention; heads and statistics are halved.
TEST(OperatorActivationsTest, OfAMixtureOnRanksThatScatterSums) {
  ActivationCase c = CaseOf("mixtral-8x7b");
  c.layout.tensor_parallel_size = 2;
  c.batch.sequence_parallel = true;
  const int64_t halves = kResidual + kResidual + kKeyWidth + kResidual + 2 * kResidual;
  EXPECT_EQ(LayerBytes(c), kRankTokens * (2 * halves / 2 + 4 * kHeadCount / 2));
}

}  // namespace
}  // namespace sextant
