#include "proto/text/matmul_sections.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/matmul_kind.h"
#include "proto/text/calibration_text.h"
#include "tests/proto/text/sample_calibration.h"
#include "tests/support/matmul_kinds.h"

namespace sextant::text {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(MatmulSection, ShowsALargeGridInPartAndSaysSo) {
  v1::Calibration calibration;
  for (int i = 0; i < 41; ++i) {
    v1::MatmulMeasurement* const matmul = calibration.add_matmuls();
    matmul->set_data_type(v1::DATA_TYPE_BF16);
    matmul->set_m(7000 + i);
    matmul->set_n(i < 5 ? 512 : 1024);
    matmul->set_k(512);
  }
  EXPECT_THAT(MatmulSection(calibration, "--format=json"),
              AllOf(HasSubstr("7004x512x512"), Not(HasSubstr("7005x1024x512")),
                    HasSubstr("bf16: 36 more shapes; --format=json has them")));
  calibration.mutable_matmuls()->RemoveLast();
  EXPECT_THAT(MatmulSection(calibration, "--format=json"),
              AllOf(HasSubstr("7005x1024x512"), Not(HasSubstr("more shapes"))));
}

// The best of several kernels has a column where any was tried.
TEST(MatmulSection, ShowsTheBestOfAllKernelsThatWereTried) {
  v1::Calibration searched = SampleCalibration();
  EXPECT_THAT(CalibrationText(searched, std::nullopt), Not(HasSubstr("best  ")));
  searched.mutable_matmuls(0)->set_best_flops_per_second(300e9);
  const std::string text = CalibrationText(searched, std::nullopt);
  EXPECT_THAT(text, HasSubstr("268.44 GFLOP/s  300.00 GFLOP/s"));
  EXPECT_THAT(text, HasSubstr("429.50 GFLOP/s               -"));
  EXPECT_THAT(text, HasSubstr("rate: of the library's own choice; best: of all kernels that were"));
}

TEST(OtherMatmulSection, ShowsBatchesLayoutsAndSums) {
  v1::Calibration calibration = SampleCalibration();
  EXPECT_EQ(OtherMatmulSection(calibration), "");
  v1::MatmulMeasurement* const batch = calibration.add_matmuls();
  *batch = calibration.matmuls(0);
  batch->set_purpose(v1::MatmulMeasurement::PURPOSE_OTHER);
  batch->set_data_type(v1::DATA_TYPE_FP8_E4M3);
  batch->set_batch_count(128);
  batch->set_layout(v1::MatmulMeasurement::LAYOUT_COLUMN_BY_ROW);
  batch->set_fast_accumulation(true);
  AddMatmulAs(calibration.matmuls(0), v1::MatmulMeasurement::WINDOW_BURST,
              v1::MatmulMeasurement::PURPOSE_OTHER, &calibration);
  EXPECT_THAT(OtherMatmulSection(calibration),
              AllOf(HasSubstr("fp8-e4m3  512x512x512    128  column-by-row  fast"),
                    HasSubstr("bf16      512x512x512      1  row-by-column  -")));
}

// Clocks and power are reported by GPUs only, and not by all.
TEST(SustainedConditionsSection, ShowsWhatTheDeviceTold) {
  v1::Calibration calibration = SampleCalibration();
  EXPECT_EQ(SustainedConditionsSection(calibration), "");
  v1::MatmulMeasurement* const matmul = FirstMatmul(IsSustained, &calibration);
  matmul->set_sm_clock_hertz(1.755e9);
  matmul->set_counted_sm_clock_hertz(1.7545e9);
  matmul->set_clock_limit_ratio(0.875);
  EXPECT_EQ(SustainedConditionsSection(calibration), R"(
During sustained matrix multiplication
  type     clock  counted clock  power  of the limit
  bf16  1755 MHz       1754 MHz      -       87.50 %
  counted clock: by a multiprocessor's own cycles; of the limit: the rate over what the matrix
  units can do at that clock
)");
}

}  // namespace
}  // namespace sextant::text
