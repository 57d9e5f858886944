// Counting FLOPs allocates nothing, however many layers, runs of layers and sequences there are.
#include <gtest/gtest.h>

#include "engine/model/architecture/model_weights.h"
#include "engine/model/flops/count_flops.h"
#include "tests/engine/model/flops/counting_allocator.h"

namespace sextant {
namespace {

// Dense layers and layers of experts in turn, `pairs` times.
ArchitectureSpec Alternating(int pairs) {
  const AttentionSpec attention = {.head_count = 16,
                                   .key_value_head_count = 4,
                                   .query_key_head_size = 64,
                                   .value_head_size = 64};
  const FeedForwardSpec gated = {.kind = FeedForwardKind::kGated, .size = 4096};
  LayerSpec dense = {.name = "dense",
                     .norm = NormVariant::kRmsNorm,
                     .attention = attention,
                     .feed_forward = gated};
  LayerSpec experts = {
      .name = "experts",
      .norm = NormVariant::kRmsNorm,
      .attention = attention,
      .experts = ExpertsSpec{.expert_count = 64, .experts_per_token = 8, .expert = gated}};
  ArchitectureSpec spec;
  spec.hidden_size = 1024;
  spec.norm = NormVariant::kRmsNorm;
  spec.embedding.vocabulary_size = 32000;
  spec.layer_kinds = {dense, experts};
  for (int i = 0; i < pairs; ++i) {
    spec.decoder.layers.push_back({.layer_kind = 0, .count = 1});
    spec.decoder.layers.push_back({.layer_kind = 1, .count = 1});
  }
  spec.output.head = OutputHeadKind::kTied;
  return spec;
}

TEST(FlopsAllocation, OfTotalsIsNone) {
  for (const int pairs : {1, 63, 1000}) {
    const ArchitectureSpec spec = Alternating(pairs);
    const WeightTensors tensors = WeightsOf(spec);
    TrainingStepSpec step = {.recompute = RecomputePolicy::kFull};
    for (int64_t length = 1; length <= 500; ++length) step.sequences.push_back({2, length});
    const int64_t before = AllocationCount();
    const StepFlops flops = CountFlops(spec, tensors, step, FlopsDetail::kTotals);
    EXPECT_EQ(AllocationCount() - before, 0) << pairs;
    EXPECT_GT(flops.PerToken(MaskConvention::kCausal).Model().value(), 0);
  }
  const int64_t before = AllocationCount();
  const WeightTensors tensors = WeightsOf(Alternating(1));
  EXPECT_GT(AllocationCount() - before, 0);  // the count counts
}

}  // namespace
}  // namespace sextant
