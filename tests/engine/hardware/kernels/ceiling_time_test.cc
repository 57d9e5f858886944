#include "engine/hardware/kernels/ceiling_time.h"

#include <gtest/gtest.h>

#include <cmath>

namespace sextant {
namespace {

constexpr KernelCeilings kCeilings = {.matrix = FlopsPerSecond(1e12),
                                      .memory = BytesPerSecond(1e9),
                                      .floor = Seconds(1e-3),
                                      .basis = KernelBasis::kMeasuredRate};

// 3 s of arithmetic and 4 s of memory overlap to 5 s; the shortest kernel adds 1 ms.
TEST(TimeUnderCeilings, JoinsBothCeilings) {
  const KernelTime time = TimeUnderCeilings({.flops = Flops(3e12), .moved_bytes = 4e9}, kCeilings,
                                            ErrorUnderCeilings(kCeilings.basis, DataType::kBf16));
  const PredictionError error = ErrorUnderCeilings(kCeilings.basis, DataType::kBf16);
  EXPECT_NEAR(time.expected.value(), 5.001 * error.median, 1e-12);
  EXPECT_NEAR(time.low.value(), 5.001 * error.p10, 1e-12);
  EXPECT_NEAR(time.high.value(), 5.001 * error.p90, 1e-12);
  EXPECT_EQ(time.basis, KernelBasis::kMeasuredRate);
}

TEST(TimeUnderCeilings, NothingToDoTakesTheFloor) {
  const KernelTime time =
      TimeUnderCeilings({}, kCeilings, ErrorUnderCeilings(kCeilings.basis, DataType::kBf16));
  EXPECT_GT(time.low.value(), 0.9e-3);
  EXPECT_LT(time.high.value(), 1.4e-3);
}

// Less certain times have wider intervals, and narrow types the widest.
TEST(ErrorUnderCeilings, WidensWithWhatIsNotKnown) {
  const auto width = [](KernelBasis basis, DataType type) {
    const PredictionError e = ErrorUnderCeilings(basis, type);
    EXPECT_LT(e.p10, e.median);
    EXPECT_LT(e.median, e.p90);
    return std::log(e.p90 / e.p10);
  };
  for (const DataType type : {DataType::kBf16, DataType::kTf32, DataType::kFp8E4m3}) {
    EXPECT_LT(width(KernelBasis::kMeasuredRate, type), width(KernelBasis::kDatasheet, type));
  }
  EXPECT_LT(width(KernelBasis::kDatasheet, DataType::kTf32),
            width(KernelBasis::kDatasheet, DataType::kInt8));
}

}  // namespace
}  // namespace sextant
