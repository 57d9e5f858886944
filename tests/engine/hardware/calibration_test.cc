#include "engine/hardware/calibration.h"

#include <gtest/gtest.h>

namespace sextant {
namespace {

MeasuredMatmul ProductAt(double flops_per_second, bool stable = true, bool sustained = false) {
  return {.data_type = DataType::kBf16,
          .m = 1024,
          .n = 2048,
          .k = 512,
          .rate = FlopsPerSecond(flops_per_second),
          .relative_spread = 0.0125,
          .sample_count = 12,
          .stable = stable,
          .sustained = sustained,
          .engine = "onednn 2.6.3"};
}

double RateKept(std::initializer_list<MeasuredMatmul> matmuls) {
  DeviceCalibration calibration;
  for (const MeasuredMatmul& matmul : matmuls) calibration.KeepIfBetter(matmul);
  const MeasuredMatmul* kept = calibration.MatmulIn(DataType::kBf16);
  return kept == nullptr ? 0 : kept->rate.value();
}

TEST(DeviceCalibration, KeepsTheRateThatSaysMost) {
  EXPECT_EQ(RateKept({}), 0);
  EXPECT_EQ(RateKept({ProductAt(3), ProductAt(5), ProductAt(4)}), 5);  // the best of the grid
  // Stable before one that is not and at most a ninth faster, in any order; unstable rather
  // than none, or than a much slower one.
  EXPECT_EQ(RateKept({ProductAt(100, false), ProductAt(91), ProductAt(99, false)}), 91);
  EXPECT_EQ(RateKept({ProductAt(91), ProductAt(99, false), ProductAt(100, false)}), 91);
  EXPECT_EQ(RateKept({ProductAt(100, false), ProductAt(89), ProductAt(80, false)}), 100);
  EXPECT_EQ(RateKept({ProductAt(89), ProductAt(80, false), ProductAt(100, false)}), 100);
  EXPECT_EQ(RateKept({ProductAt(8, false), ProductAt(9, false)}), 9);
  // Sustained before any burst, in either order.
  EXPECT_EQ(RateKept({ProductAt(9), ProductAt(4, true, true)}), 4);
  EXPECT_EQ(RateKept({ProductAt(4, false, true), ProductAt(9)}), 4);
}

double FasterBurst(std::initializer_list<MeasuredMatmul> matmuls) {
  DeviceCalibration calibration;
  for (const MeasuredMatmul& matmul : matmuls) calibration.KeepIfBetter(matmul);
  const MeasuredMatmul* burst = calibration.FasterBurstIn(DataType::kBf16);
  return burst == nullptr ? 0 : burst->rate.value();
}

// Sustained wins all the same; but a stable burst a tenth faster says that it was disturbed.
TEST(DeviceCalibration, RemembersTheStableBurstThatCastsDoubt) {
  const MeasuredMatmul unsteady = ProductAt(80, false, true);
  EXPECT_EQ(RateKept({unsteady, ProductAt(100)}), 80);
  EXPECT_EQ(FasterBurst({unsteady, ProductAt(95), ProductAt(100), ProductAt(90)}), 100);
  EXPECT_EQ(FasterBurst({ProductAt(100), unsteady}), 100);
  EXPECT_EQ(FasterBurst({ProductAt(100), ProductAt(80, true, true)}),
            0);                                                  // stable: it is that slow
  EXPECT_EQ(FasterBurst({ProductAt(100, false), unsteady}), 0);  // as doubtful itself
  EXPECT_EQ(FasterBurst({ProductAt(100), ProductAt(90, false, true)}), 0);  // close by
  EXPECT_EQ(FasterBurst({ProductAt(100), ProductAt(89.9, false, true)}), 100);
  EXPECT_EQ(FasterBurst({ProductAt(120, false), ProductAt(100)}), 0);  // nothing sustained
  EXPECT_EQ(FasterBurst({unsteady}), 0);
  EXPECT_EQ(FasterBurst({}), 0);
}

TEST(DeviceCalibration, KeepsDataTypesApart) {
  DeviceCalibration calibration;
  MeasuredMatmul fp32 = ProductAt(2);
  fp32.data_type = DataType::kFp32;
  calibration.KeepIfBetter(fp32);
  calibration.KeepIfBetter(ProductAt(7));
  EXPECT_EQ(calibration.MatmulIn(DataType::kFp32)->rate.value(), 2);
  EXPECT_EQ(calibration.MatmulIn(DataType::kBf16)->rate.value(), 7);
  EXPECT_EQ(calibration.MatmulIn(DataType::kFp16), nullptr);
}

TEST(CitationOf, SaysWhatWasMeasuredHowAndWhen) {
  DeviceCalibration calibration;
  calibration.measured_unix_seconds = 1'769'860'800;
  calibration.probe_version = "sextant-probe 0.1.0";
  EXPECT_EQ(CitationOf(calibration, ProductAt(5)),
            "best matmul 1024x2048x512 by onednn 2.6.3, median of 12 samples, relative spread "
            "0.0125; measured 2026-01-31T12:00:00Z by sextant-probe 0.1.0");
  EXPECT_EQ(CitationOf(calibration, ProductAt(5, true, true)).substr(0, 16), "sustained matmul");
}

}  // namespace
}  // namespace sextant
