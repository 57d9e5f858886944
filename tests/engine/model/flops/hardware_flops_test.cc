// FLOPs beyond the model's mathematics: recomputation, padded experts.
#include <gtest/gtest.h>

#include "tests/engine/model/architecture/architectures.h"
#include "tests/engine/model/flops/flops_cases.h"

namespace sextant {
namespace {

// A token's FLOPs of SmallDecoder() on 16 tokens, forward: worked in count_flops_test.cc.
constexpr double kLayers = 512 + 256 + 3072;
constexpr double kHead = 1600;
constexpr double kScores = 512;  // full mask; the sum over values as much again

PassFlops Count(ArchitectureSpec spec, RecomputePolicy recompute) {
  return Counted(spec, {.sequences = {{1, 16}}, .recompute = recompute})
      .PerToken(MaskConvention::kFull);
}

TEST(HardwareFlops, WithoutRecomputeAreModelFlopsAndTheScoresAgain) {
  const PassFlops flops = Count(SmallDecoder(), RecomputePolicy::kNone);
  EXPECT_EQ(flops.HardwareWithoutFlashRecompute(), flops.Model());
  EXPECT_EQ(flops.HardwareWithFlashRecompute().value(), flops.Model().value() + kScores);
}

TEST(HardwareFlops, OfSelectiveRecomputeAddCoreAttention) {
  const PassFlops flops = Count(SmallDecoder(), RecomputePolicy::kSelective);
  EXPECT_EQ(flops.recompute.value(), 2 * kScores);
}

// One forward pass of the layers, not of the head: published HFU is 4/3 of MFU but for that.
TEST(HardwareFlops, OfFullRecomputeAddOneForwardOfTheLayers) {
  const PassFlops flops = Count(SmallDecoder(), RecomputePolicy::kFull);
  EXPECT_EQ(flops.recompute.value(), kLayers + 2 * kScores);
  EXPECT_EQ(flops.HardwareWithoutFlashRecompute().value(), 4 * (kLayers + 2 * kScores) + 3 * kHead);
  EXPECT_EQ(flops.HardwareWithFlashRecompute().value(),
            4 * (kLayers + 2 * kScores) + 3 * kHead + kScores);
}

TEST(HardwareFlops, NeverChangeModelFlops) {
  const Flops none = Count(SmallDecoder(), RecomputePolicy::kNone).Model();
  EXPECT_EQ(Count(SmallDecoder(), RecomputePolicy::kSelective).Model(), none);
  EXPECT_EQ(Count(SmallDecoder(), RecomputePolicy::kFull).Model(), none);
}

// Layers before the first trained tensor have no backward pass, and nothing to do again.
TEST(HardwareFlops, LeaveOutLayersWithoutABackwardPass) {
  ArchitectureSpec spec = SmallDecoder();
  spec.decoder.layers = {{.layer_kind = 0, .count = 1, .frozen = true},
                         {.layer_kind = 0, .count = 1}};
  spec.frozen_components = {WeightComponent::kTokenEmbedding};
  const PassFlops full = Count(spec, RecomputePolicy::kFull);
  EXPECT_EQ(full.recompute.value(), (kLayers + 2 * kScores) / 2);
  EXPECT_EQ(full.flash_recompute.value(), kScores / 2);
  EXPECT_EQ(Count(spec, RecomputePolicy::kSelective).recompute.value(), kScores);
}

// Modules of multi-token prediction are layers, with their projections outside them.
TEST(HardwareFlops, OfFullRecomputeLeaveOutTheHeadsOfModules) {
  ArchitectureSpec spec = SmallDecoder();
  spec.multi_token_prediction = MultiTokenPredictionSpec{.module_count = 2};
  const PassFlops flops = Count(spec, RecomputePolicy::kFull);
  EXPECT_EQ(flops.recompute.value(), 2 * (kLayers + 2 * kScores));
}

// Experts padded to 1.25 of their tokens compute a quarter more, in all passes.
TEST(HardwareFlops, OfExpertCapacity) {
  const ArchitectureSpec spec = SmallMixture();
  TrainingStepSpec step = {.sequences = {{1, 16}}};
  const StepFlops plain = Counted(spec, step);
  step.expert_capacity_factor = 1.25;
  const double experts = 2 * 2 * 2 * 3 * 3 * 8;  // a forward pass
  const PassFlops padded = Counted(spec, step).PerToken(MaskConvention::kFull);
  EXPECT_EQ(padded.Model(), plain.PerToken(MaskConvention::kFull).Model());
  EXPECT_EQ(padded.capacity.value(), 0.25 * 3 * experts);
  step.recompute = RecomputePolicy::kFull;
  EXPECT_EQ(Counted(spec, step).PerToken(MaskConvention::kFull).capacity.value(),
            0.25 * 4 * experts);
  step.expert_capacity_factor = 0.5;  // half of the tokens are dropped
  EXPECT_EQ(Counted(spec, step).PerToken(MaskConvention::kFull).capacity.value(),
            -0.5 * 4 * experts);
}

}  // namespace
}  // namespace sextant
