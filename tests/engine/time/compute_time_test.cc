#include "engine/time/compute_time.h"

#include <gtest/gtest.h>

namespace sextant {
namespace {

// 8e15 FLOP on 4 devices of 1e15 FLOP/s: 2 s at full peak, 5 s at MFU 0.4.
TEST(ComputeTime, IsFlopsOverTheRateReached) {
  ComputeTimeInput input = {
      .flops = Flops(8e15), .rate = FlopsPerSecond(1e15), .device_count = 4, .utilisation = 1};
  EXPECT_DOUBLE_EQ(ComputeTime(input).value(), 2);
  input.utilisation = 0.4;
  EXPECT_DOUBLE_EQ(ComputeTime(input).value(), 5);
}

}  // namespace
}  // namespace sextant
