// Counting FLOPs allocates nothing, however many layers, runs of layers and sequences there are.
#include <gtest/gtest.h>

#include "engine/model/architecture/model_weights.h"
#include "engine/model/flops/count_flops.h"
#include "tests/engine/model/architecture/architectures.h"
#include "tests/engine/model/flops/counting_allocator.h"

namespace sextant {
namespace {

// Dense layers and layers of experts in turn, `pairs` times.
ArchitectureSpec Alternating(int pairs) {
  ArchitectureSpec spec = SmallMixture();
  spec.layer_kinds.push_back(SmallDecoder().layer_kinds[0]);
  spec.decoder.layers.clear();
  for (int i = 0; i < 2 * pairs; ++i) spec.decoder.layers.push_back({i % 2, 1});
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
