// Sums without rows allocate nothing, however many layers and stages there are.
#include <gtest/gtest.h>

#include "engine/memory/activations/activations.h"
#include "engine/memory/transients/stage_transients.h"
#include "engine/model/presets/presets.h"
#include "tests/engine/model/flops/counting_allocator.h"

namespace sextant {
namespace {

TEST(ActivationsAllocation, OfSumsIsNone) {
  const ParallelLayout layout;
  for (const char* name : {"llama-3.1-405b", "deepseek-v3", "mixtral-8x7b"}) {
    const auto preset = FindModelPreset(name);
    ASSERT_TRUE(preset.ok()) << name;
    const ArchitectureSpec& spec = (*preset)->architecture;
    const LayerPlacement placement(spec, layout);
    MicroBatchSpec batch = {.sequence_length = 4096};
    for (const auto policy :
         {RecomputePolicy::kNone, RecomputePolicy::kSelective, RecomputePolicy::kFull}) {
      batch.recomputation.policy = policy;
      const ActivationContext context = {spec, layout, batch};
      const int64_t before = AllocationCount();
      const auto kept = ChunkActivations(context, placement, {.stage = 0});
      EXPECT_EQ(AllocationCount() - before, 0) << name;
      EXPECT_GT(kept->total(), Bytes(0));
      ActivationTensors rows;
      EXPECT_EQ(ChunkActivations(context, placement, {.stage = 0}, &rows)->total(), kept->total());
      EXPECT_GT(AllocationCount() - before, 0);  // the count counts
    }
  }
}

// Chunks, flows of gradients that are there already, and transients.
TEST(ActivationsAllocation, OfTransientsIsNone) {
  const ParallelLayout layout = {.pipeline_parallel_size = 2, .virtual_stage_count = 1};
  const BufferSpec buffers = {.fused_weight_gradient = false};
  for (const char* name : {"llama-3.1-405b", "mixtral-8x7b"}) {
    const ArchitectureSpec& spec = (*FindModelPreset(name))->architecture;
    const LayerPlacement placement(spec, layout);
    const GradientFlow flow(spec);
    for (const auto policy : {RecomputePolicy::kNone, RecomputePolicy::kFull}) {
      const MicroBatchSpec batch = {.sequence_length = 4096, .recomputation = {.policy = policy}};
      const ActivationContext activations = {spec, layout, batch, &flow};
      const TransientContext context = {activations, placement, buffers};
      const int64_t before = AllocationCount();
      const auto kept = ChunkActivations(activations, placement, {.stage = 1, .chunk = 0});
      const auto transients = StageTransientsOf(context, 1, *kept);
      EXPECT_EQ(AllocationCount() - before, 0) << name;
      EXPECT_GT(transients->At(StagePhase::kLayer).added, Bytes(0));
    }
  }
}

}  // namespace
}  // namespace sextant
