// Faults of other tools that must not be ours, each under its name.
#include <gtest/gtest.h>

#include "tests/engine/model/architecture/architectures.h"
#include "tests/engine/model/flops/flops_cases.h"

namespace sextant {
namespace {

constexpr auto kCausal = MaskConvention::kCausal;

// Llama-2-7B's shape.
ArchitectureSpec LlamaSpec() {
  ArchitectureSpec spec = SmallDecoder();
  spec.hidden_size = 4096;
  spec.embedding.vocabulary_size = 32000;
  spec.layer_kinds = {DenseLayer(Heads(32, 32, 128), Gated(11008))};
  spec.decoder.layers = {{.layer_kind = 0, .count = 32}};
  return spec;
}

ArchitectureSpec Mixtral() {
  ArchitectureSpec spec = LlamaSpec();
  LayerSpec& layer = spec.layer_kinds[0];
  layer.attention = Heads(32, 8, 128);
  layer.feed_forward.reset();
  layer.experts = ExpertsSpec{.expert_count = 8, .experts_per_token = 2, .expert = Gated(14336)};
  return spec;
}

double ModelFlops(const ArchitectureSpec& spec, int64_t length) {
  return Counted(spec, {.sequences = {{1, length}}}).PerToken(kCausal).Model().value();
}

// llm-analysis: one expert a token whatever top-k is, which leaves Mixtral 41 % low.
TEST(FlopsPeerFaults, TopKIgnored) {
  ArchitectureSpec one = Mixtral();
  one.layer_kinds[0].experts->experts_per_token = 1;
  const double expert = 6.0 * 32 * 3 * 4096 * 14336;
  EXPECT_EQ(ModelFlops(Mixtral(), 4096) - ModelFlops(one, 4096), expert);
  // An expert less of the full-mask count, which that tool makes.
  const double full = Counted(Mixtral(), {.sequences = {{1, 4096}}})
                          .PerToken(MaskConvention::kFull)
                          .Model()
                          .value();
  EXPECT_NEAR((full - expert) / full, 1 - 0.41, 0.005);
}

// llm-analysis: embeddings always tied. A head multiplies by as much, tied or not; only the
// parameters differ.
TEST(FlopsPeerFaults, EmbeddingsAlwaysTied) {
  ArchitectureSpec tied = LlamaSpec();
  tied.output.head = OutputHeadKind::kTied;
  const TrainingStepSpec step = {.sequences = {{1, 4096}}};
  EXPECT_EQ(ModelFlops(LlamaSpec(), 4096), ModelFlops(tied, 4096));
  const double head = 6.0 * 32000 * 4096;
  EXPECT_EQ(Convention(FlopsConvention::kSixNTotal, LlamaSpec(), step).per_token.value() -
                Convention(FlopsConvention::kSixNTotal, tied, step).per_token.value(),
            head);
}

// torchtitan issue 4300: layers of a sliding window counted at full length, so that a GPU that
// does nothing but what is needed shows an MFU above 100 %.
TEST(FlopsPeerFaults, SlidingWindowAtFullLength) {
  ArchitectureSpec windows = LlamaSpec();
  windows.layer_kinds[0].attention->window = 4096;
  const double all = ModelFlops(LlamaSpec(), 131072);
  const double needed = ModelFlops(windows, 131072);
  const double projections = 6.0 * (32 * (4 * 4096.0 * 4096 + 3 * 4096.0 * 11008) + 32000 * 4096.0);
  EXPECT_EQ(all, projections + 12.0 * 32 * 4096 * 131072 / 2);
  EXPECT_EQ(needed, projections + 12.0 * 32 * 4096 * (4096 - 4096.0 * 4096 / (2 * 131072)));
  EXPECT_GT(all / needed, 3);  // at 40 % of the peak the fault shows 120 %
}

// SimuMax, Megatron-LM: the router's products are left out. It is 0.008 % of Mixtral.
TEST(FlopsPeerFaults, RouterMissing) {
  const StepFlops flops = Counted(Mixtral(), {.sequences = {{1, 4096}}});
  double router = 0;
  for (const ComponentFlops& row : flops.components) {
    if (row.component == FlopsComponent::kRouter) {
      router += row.per_token[static_cast<size_t>(kCausal)].Model().value();
    }
  }
  EXPECT_EQ(router, 6.0 * 32 * 4096 * 8);
  EXPECT_NEAR(router / flops.PerToken(kCausal).Model().value(), 8e-5, 0.5e-5);
}

// llm-analysis: the pass that recomputes is in the model's FLOPs, which an MFU is of.
TEST(FlopsPeerFaults, RecomputeInModelFlops) {
  for (const RecomputePolicy policy : {RecomputePolicy::kSelective, RecomputePolicy::kFull}) {
    const PassFlops flops =
        Counted(LlamaSpec(), {.sequences = {{1, 4096}}, .recompute = policy}).PerToken(kCausal);
    EXPECT_EQ(flops.Model().value(), ModelFlops(LlamaSpec(), 4096));
    EXPECT_GT(flops.HardwareWithoutFlashRecompute(), flops.Model());
  }
}

}  // namespace
}  // namespace sextant
