// Layers of eager code and under torch.autocast, counted by hand from the modules' code.
#include <gtest/gtest.h>

#include "engine/memory/transients/layer_backward.h"
#include "tests/engine/memory/activations/activation_cases.h"
#include "tests/engine/memory/transients/transient_cases.h"
#include "tests/engine/model/architecture/architectures.h"

namespace sextant {
namespace {

struct Sizes {
  int64_t hidden;
  int64_t heads;
  int64_t key_heads;
  int64_t features;
  int64_t tokens;
};

class EagerLayerTest : public ::testing::TestWithParam<Sizes> {
 protected:
  static ActivationCase Case() {
    const Sizes& size = GetParam();
    ActivationCase c;
    c.spec = SmallDecoder();
    c.spec.hidden_size = size.hidden;
    c.spec.layer_kinds = {DenseLayer(Heads(size.heads, size.key_heads, size.hidden / size.heads),
                                     Gated(size.features))};
    c.spec.layer_kinds[0].norm = NormVariant::kRmsNorm;
    c.spec.decoder.layers = {{.layer_kind = 0, .count = 1}};
    c.batch.sequence_length = size.tokens;
    return c;
  }
  // A tensor of the hidden size, by its bytes an element.
  static int64_t Hidden(int64_t bytes) { return GetParam().tokens * GetParam().hidden * bytes; }

  // modeling_llama.py, between the norms: query, key, value and output of a fused core, which the
  // output's matrix reads too, and a number a token and head; gate, up and their product.
  static int64_t Branches() {
    const Sizes& size = GetParam();
    const int64_t keys = size.hidden / size.heads * size.key_heads;
    return size.tokens * (2 * (2 * size.hidden + 2 * keys + 3 * size.features) + 4 * size.heads);
  }
  // act_fn(gate_proj(x)), which the product with up_proj(x) reads.
  static int64_t Activated() { return GetParam().tokens * GetParam().features * 2; }
};

// LlamaRMSNorm: pow(2) and x * rsqrt() keep the fp32 copy of x, the product with the weight what is
// normalised, in 16 bits. The matrices that read the result keep it once.
TEST_P(EagerLayerTest, OfNormsInFp32) {
  ActivationCase c = Case();
  c.batch.eager_layers = true;
  EXPECT_EQ(LayerBytes(c), 2 * (Hidden(4) + Hidden(2) + Hidden(2)) + Branches() + Activated());
}

// With fp32 weights x is the residual itself, the normalised tensor is in fp32, and autocast makes
// a cast for each of query, key, value; gate, up.
TEST_P(EagerLayerTest, OfAResidualInFp32) {
  ActivationCase c = Case();
  c.batch.eager_layers = true;
  c.batch.wide_residual = true;
  const int64_t branches = (3 + 2) * Hidden(2) + Branches() + Activated();
  EXPECT_EQ(LayerBytes(c), 2 * (Hidden(4) + Hidden(4)) + branches);
  // nn.LayerNorm keeps its input alone: its kernel normalises again.
  c.spec.layer_kinds[0].norm = NormVariant::kLayerNorm;
  EXPECT_EQ(LayerBytes(c), 2 * Hidden(4) + branches);
}

// eager_attention_forward(): softmax in fp32, kept for its gradient, and its cast, which the
// product with the values keeps; with dropout the product keeps what is dropped out of the cast,
// and a mask.
TEST_P(EagerLayerTest, OfASoftmaxInFp32) {
  ActivationCase c = Case();
  c.batch.attention = AttentionKernel::kUnfused;
  const int64_t scores = GetParam().heads * GetParam().tokens * GetParam().tokens;
  const int64_t narrow = LayerBytes(c);
  c.batch.wide_softmax = true;
  EXPECT_EQ(LayerBytes(c), narrow + scores * (4 + 2 - 2));
  c.batch.dropout = true;
  const int64_t dropped = LayerBytes(c);
  c.batch.wide_softmax = false;
  EXPECT_EQ(dropped, LayerBytes(c) + scores * (4 - 2));
  c.batch.compute_data_type = DataType::kFp32;
  const int64_t wide = LayerBytes(c);
  c.batch.wide_softmax = true;
  EXPECT_EQ(LayerBytes(c), wide);
}

// A layer's input is kept apart from the first norm's fp32 copy of it, unless it is in fp32 itself.
TEST_P(EagerLayerTest, OfALayerThatIsComputedAgain) {
  // The bytes of the input and of what is computed again.
  const auto held = [](const ActivationCase& c) {
    const LayerSteps steps = LayerStepsOf(c.context(), {.layer_kind = 0}, nullptr);
    int64_t out = 0;
    for (size_t i = 0; i < steps.again.size(); ++i) out += steps.again[i] + steps.kept[i];
    return out;
  };
  ActivationCase c = Case();
  c.batch.eager_layers = true;
  const int64_t narrow = LayerBytes(c);
  c.batch.recomputation.policy = RecomputePolicy::kFull;
  EXPECT_EQ(LayerBytes(c), Hidden(2));
  EXPECT_EQ(held(c), Hidden(2) + narrow);
  c.batch.recomputation = {};
  c.batch.wide_residual = true;
  const int64_t wide = LayerBytes(c);
  c.batch.recomputation.policy = RecomputePolicy::kFull;
  EXPECT_EQ(LayerBytes(c), Hidden(4));
  EXPECT_EQ(held(c), wide);
}

// PEFT's Linear casts x to the adapter's fp32, and autocast that to 16 bits: a tensor for each of
// query, key and value. A frozen norm keeps its fp32 copy alone; below the layer nothing is
// trained, so that its first norm keeps nothing, and no mask of dropout is kept.
TEST_P(EagerLayerTest, OfAdaptersThatCastTheirInputs) {
  ActivationCase c = Case();
  c.spec.base_frozen = true;
  c.spec.adapters = AdapterSpec{
      .rank = 4, .targets = {{"attention", "query"}, {"attention", "key"}, {"attention", "value"}}};
  const GradientFlow flow(c.spec);
  const LayerPlacement placement(c.spec, c.layout);
  const auto layers = [&] {
    return ChunkActivations({c.spec, c.layout, c.batch, &flow}, placement, {})->layers.value();
  };
  const int64_t shared = layers();
  c.batch.adapters_cast_input = true;
  EXPECT_EQ(layers() - shared, 2 * Hidden(2));
  c.batch.eager_layers = true;
  EXPECT_EQ(layers() - shared, 2 * Hidden(2) + Hidden(2) + Activated());
  c.batch.adapter_dropout = true;  // whose copies take the place of the casts
  EXPECT_EQ(layers() - shared, 2 * Hidden(2) + Hidden(2) + Activated());
}

// MatMul8bitLt keeps the 16-bit input of each frozen matrix: the second norm's output for gate and
// up, the heads for the output's, and the product for down's. The first norm's needs no gradient.
TEST_P(EagerLayerTest, OfABaseInEightBits) {
  ActivationCase c = Case();
  c.spec.base_frozen = true;
  c.spec.adapters = AdapterSpec{.rank = 4, .targets = {{"attention", "value"}}};
  const GradientFlow flow(c.spec);
  const LayerPlacement placement(c.spec, c.layout);
  const auto layers = [&] {
    return ChunkActivations({c.spec, c.layout, c.batch, &flow}, placement, {})->layers.value();
  };
  const int64_t others = layers();
  c.batch.keeps_frozen_inputs = true;
  EXPECT_EQ(layers() - others, Hidden(2) + 2 * GetParam().tokens * GetParam().features);
  // A residual in fp32 makes all of these so, but for the heads; gate and up, too.
  c.batch.wide_residual = true;
  const int64_t wide = layers();
  c.batch.keeps_frozen_inputs = false;
  EXPECT_EQ(wide - layers(), Hidden(4) + (4 + 2 * 2) * GetParam().tokens * GetParam().features);
}

// While the loss runs, fused: 10 bytes a logit; 8 where the output is the first copy, 6 without a
// second. Plain: 14, and 12.
TEST(EagerLoss, KeepsTheCopiesOfItsRelease) {
  constexpr int64_t kLogits = 6 * 128;
  TransientCase c;
  c.base.spec = SmallDecoder();
  c.base.spec.embedding.padded_vocabulary_size = 128;
  c.base.batch.sequence_length = 6;
  const auto bytes = [&c](LossKind loss, LogitCopies copies) {
    c.base.batch.loss = loss;
    c.base.batch.logit_copies = copies;
    return EndBytes(c.base) + c.Added(StagePhase::kLoss);
  };
  const int64_t none = bytes(LossKind::kFused, LogitCopies::kNone);  // 2: overwritten
  EXPECT_EQ(bytes(LossKind::kFused, LogitCopies::kShifted), none + 8 * kLogits);
  EXPECT_EQ(bytes(LossKind::kFused, LogitCopies::kOutput), none + 6 * kLogits);
  EXPECT_EQ(bytes(LossKind::kFused, LogitCopies::kOne), none + 4 * kLogits);
  const int64_t plain = bytes(LossKind::kPlain, LogitCopies::kShifted);
  EXPECT_EQ(bytes(LossKind::kPlain, LogitCopies::kOutput), plain - 2 * kLogits);
  EXPECT_EQ(bytes(LossKind::kPlain, LogitCopies::kOne), plain);
}

INSTANTIATE_TEST_SUITE_P(All, EagerLayerTest,
                         ::testing::Values(Sizes{64, 4, 4, 96, 10}, Sizes{96, 6, 2, 256, 7},
                                           Sizes{4096, 32, 8, 14336, 4096}));

}  // namespace
}  // namespace sextant
