// Passes over memory are predicted without a heap.
#include <gtest/gtest.h>

#include <cmath>

#include "engine/hardware/kernels/stream_model.h"
#include "tests/engine/hardware/kernels/made_kernels.h"
#include "tests/engine/model/flops/counting_allocator.h"

namespace sextant {
namespace {

TEST(PredictedPasses, AllocateNothing) {
  const StreamModel model = StreamModel::Of(MadePasses(PlainSeconds, 0.1, 1)).value();
  double sum = 0;
  const int64_t before = AllocationCount();
  for (int i = 0; i < 1000; ++i) {
    const double bytes = std::exp2(0.06 * i);
    sum += model.Predict({bytes, 0.5 * bytes, 1e6}, {}).high.value();
  }
  EXPECT_EQ(AllocationCount() - before, 0);
  EXPECT_GT(sum, 0);
  const StreamModel another = StreamModel::Of(MadePasses(PlainSeconds, 0.1, 2)).value();
  EXPECT_GT(AllocationCount() - before, 0);  // the count counts
}

}  // namespace
}  // namespace sextant
