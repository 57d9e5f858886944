// Sums without rows allocate nothing, however many layers and stages there are.
#include <gtest/gtest.h>

#include "engine/memory/state/stage_state.h"
#include "engine/model/presets/presets.h"
#include "tests/engine/model/flops/counting_allocator.h"

namespace sextant {
namespace {

TEST(StateAllocation, OfSumsIsNone) {
  const ParallelLayout layout;
  for (const char* name : {"llama-3.1-405b", "deepseek-v3", "mixtral-8x7b"}) {
    const auto preset = FindModelPreset(name);
    ASSERT_TRUE(preset.ok()) << name;
    const ArchitectureSpec& spec = (*preset)->architecture;
    const auto weights = ShardedWeights::Of(spec, "model", layout, "layout");
    ASSERT_TRUE(weights.ok()) << name;
    StateSpec state = {.precision = WithDefaults(PrecisionPolicy())};
    state.sharding.data_parallel_size = 8;
    for (const auto zero : {ZeroStage::kNone, ZeroStage::kOptimizer, ZeroStage::kParameters}) {
      for (const auto kind : {OptimizerKind::kAdamw, OptimizerKind::kMuon}) {
        state.sharding.zero_stage = zero;
        state.optimizer.kind = kind;
        const StageStateContext context = {spec, layout, *weights, state};
        const int64_t before = AllocationCount();
        const absl::StatusOr<StageState> sums = StageStateOf(context, 0);
        EXPECT_EQ(AllocationCount() - before, 0) << name;
        LedgerRows rows;
        EXPECT_EQ(StageStateOf(context, 0, &rows)->total(), sums->total());
        EXPECT_GT(sums->total(), Bytes(0));
        EXPECT_GT(AllocationCount() - before, 0);  // the count counts
      }
    }
  }
}

}  // namespace
}  // namespace sextant
