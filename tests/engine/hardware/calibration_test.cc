#include "engine/hardware/calibration.h"

#include <gtest/gtest.h>

namespace sextant {
namespace {

MeasuredMatmul Matmul(double flops_per_second, bool stable = true, bool sustained = false) {
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
  EXPECT_EQ(RateKept({Matmul(3), Matmul(5), Matmul(4)}), 5);  // the best of the grid
  // Stable before one that is not and at most a ninth faster, in any order; unstable rather
  // than none, or than a much slower one.
  EXPECT_EQ(RateKept({Matmul(100, false), Matmul(91), Matmul(99, false)}), 91);
  EXPECT_EQ(RateKept({Matmul(91), Matmul(99, false), Matmul(100, false)}), 91);
  EXPECT_EQ(RateKept({Matmul(100, false), Matmul(89), Matmul(80, false)}), 100);
  EXPECT_EQ(RateKept({Matmul(89), Matmul(80, false), Matmul(100, false)}), 100);
  EXPECT_EQ(RateKept({Matmul(8, false), Matmul(9, false)}), 9);
  // Sustained before any burst, in either order.
  EXPECT_EQ(RateKept({Matmul(9), Matmul(4, true, true)}), 4);
  EXPECT_EQ(RateKept({Matmul(4, false, true), Matmul(9)}), 4);
}

double FasterBurst(std::initializer_list<MeasuredMatmul> matmuls) {
  DeviceCalibration calibration;
  for (const MeasuredMatmul& matmul : matmuls) calibration.KeepIfBetter(matmul);
  const MeasuredMatmul* burst = calibration.FasterBurstIn(DataType::kBf16);
  return burst == nullptr ? 0 : burst->rate.value();
}

// Sustained wins all the same; but a stable burst a tenth faster says that it was disturbed.
TEST(DeviceCalibration, RemembersTheStableBurstThatCastsDoubt) {
  const MeasuredMatmul unsteady = Matmul(80, false, true);
  EXPECT_EQ(RateKept({unsteady, Matmul(100)}), 80);
  EXPECT_EQ(FasterBurst({unsteady, Matmul(95), Matmul(100), Matmul(90)}), 100);
  EXPECT_EQ(FasterBurst({Matmul(100), unsteady}), 100);
  EXPECT_EQ(FasterBurst({Matmul(100), Matmul(80, true, true)}), 0);   // stable: it is that slow
  EXPECT_EQ(FasterBurst({Matmul(100, false), unsteady}), 0);          // as doubtful itself
  EXPECT_EQ(FasterBurst({Matmul(100), Matmul(90, false, true)}), 0);  // close by
  EXPECT_EQ(FasterBurst({Matmul(100), Matmul(89.9, false, true)}), 100);
  EXPECT_EQ(FasterBurst({Matmul(120, false), Matmul(100)}), 0);  // nothing sustained
  EXPECT_EQ(FasterBurst({unsteady}), 0);
  EXPECT_EQ(FasterBurst({}), 0);
}

TEST(DeviceCalibration, KeepsDataTypesApart) {
  DeviceCalibration calibration;
  MeasuredMatmul fp32 = Matmul(2);
  fp32.data_type = DataType::kFp32;
  calibration.KeepIfBetter(fp32);
  calibration.KeepIfBetter(Matmul(7));
  EXPECT_EQ(calibration.MatmulIn(DataType::kFp32)->rate.value(), 2);
  EXPECT_EQ(calibration.MatmulIn(DataType::kBf16)->rate.value(), 7);
  EXPECT_EQ(calibration.MatmulIn(DataType::kFp16), nullptr);
}

TEST(CitationOf, SaysWhatWasMeasuredHowAndWhen) {
  DeviceCalibration calibration;
  calibration.measured_unix_seconds = 1'769'860'800;
  calibration.probe_version = "sextant-probe 0.1.0";
  EXPECT_EQ(CitationOf(calibration, Matmul(5)),
            "best matmul 1024x2048x512 by onednn 2.6.3, median of 12 samples, relative spread "
            "0.0125; measured 2026-01-31T12:00:00Z by sextant-probe 0.1.0");
  EXPECT_EQ(CitationOf(calibration, Matmul(5, true, true)).substr(0, 16), "sustained matmul");
}

}  // namespace
}  // namespace sextant
