#include "client/calibration_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/format.h"
#include "client/table.h"
#include "tests/client/sample_calibration.h"

namespace sextant {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// The figures are worked in sample_calibration.cc.
constexpr char kGoldenCalibration[] = R"(Example 8-Core Processor
  kind          cpu
  uuid          CPU-0123456789abcdef
  host          node7
  cores         8
  memory        32.00 GiB
  last cache    32.00 MiB
  instructions  avx2, avx512f, avx512_bf16
  measured      2025-11-21 12:00:00 UTC, 3.0 hours ago
  by            sextant-probe 0.1.0, mode standard, in 5.02 s
  coverage      100.00 % of the planned points
  drift         +1.20 % time from the first pass to the third
  checked       12 results, all of them right

Best of each kind
  matmul bf16     429.50 GFLOP/s  1024x1024x1024, 85.90 % of registers, spread 1.00 %
  matmul fp32     134.22 GFLOP/s  512x512x512, 67.11 % of registers, spread 20.00 %, unstable
  sustained bf16  343.60 GFLOP/s  1024x1024x1024, 68.72 % of registers, spread 1.00 %
  memory copy         21.47 GB/s  spread 1.00 %
  memory triad        26.84 GB/s  spread 1.00 %
  ridge           8.00 FLOP/byte  elementwise work below it waits for memory
  fusion                  4.00 x  as fast, 4 operations in one pass

Matrix multiplication (C[m,n] = A[m,k] B[k,n])
  type  m x n x k                 rate  registers  MFU   median   spread   n
  fp32  512x512x512     134.22 GFLOP/s    67.11 %    -  2.00 ms  20.00 %  12  unstable
  bf16  512x512x512     268.44 GFLOP/s    53.69 %    -  1.00 ms   1.00 %  12
  bf16  1024x1024x1024  429.50 GFLOP/s    85.90 %    -  5.00 ms   1.00 %  12
  registers: share of what the type's registers do; MFU: no datasheet peak known for this device

Sustained matrix multiplication (without a pause)
  type  m x n x k                 rate  registers  MFU   median  spread   n
  bf16  1024x1024x1024  343.60 GFLOP/s    68.72 %    -  6.25 ms  1.00 %  12
  registers: share of what the type's registers do; MFU: no datasheet peak known for this device

Kernels of matrix multiplication
  type  shapes  kernel
  fp32       1  onednn 2.6.3
  bf16       2  onednn 2.6.3, brgemm:avx512_core_bf16

Registers (multiply-adds that touch no memory)
  type            rate   median  spread   n    instruction
  fp32  200.00 GFLOP/s  1.00 ms  1.00 %  12    avx512f vfmadd
  bf16  500.00 GFLOP/s  1.00 ms  1.00 %  12    avx512_bf16 vdpbf16ps

Memory (bytes read plus bytes written)
  pass   in           array        rate     median  spread   n
  copy   cache   256.00 KiB  52.43 GB/s   10.00 us  1.00 %  12
  copy   memory    1.00 GiB  21.47 GB/s  100.00 ms  1.00 %  12
  triad  memory    1.00 GiB  26.84 GB/s  120.00 ms  1.00 %  12

Elementwise (multiply-adds an fp32 element, in place)
  multiply-adds  FLOP/byte            rate   bandwidth  bound by      median  spread   n
              1       0.25    5.37 GFLOP/s  21.47 GB/s  memory      25.00 ms  1.00 %  12
             64         16  171.80 GFLOP/s  10.74 GB/s  arithmetic  50.00 ms  1.00 %  12
  ridge: 8.00 FLOP a byte; below it memory binds, above it arithmetic

Fusion
  chain                     median  spread   n
  one pass an operation  100.00 ms  1.00 %  12
  one pass for all        25.00 ms  1.00 %  12
  4 operations over 256.00 MiB, fused: 4.00 times as fast

Notes
  - Other programs ran meanwhile.

engine 0.1.0, calibration c0ffee
)";

std::vector<std::string> Lines(const std::string& text) { return absl::StrSplit(text, '\n'); }

TEST(CalibrationText, IsAsWorkedByHand) {
  EXPECT_EQ(HeldCalibrationText(SampleHeldCalibration()), kGoldenCalibration);
}

TEST(CalibrationText, ShowsTheShapesAskedForApart) {
  v1::Calibration calibration = SampleCalibration();
  calibration.mutable_matmuls()->DeleteSubrange(1, 2);
  calibration.mutable_matmuls(0)->set_requested(true);
  const std::string text = CalibrationText(calibration, std::nullopt);
  EXPECT_THAT(text, HasSubstr(R"(
Shapes asked for (C[m,n] = A[m,k] B[k,n])
  type  m x n x k              rate  registers  MFU   median  spread   n
  bf16  512x512x512  268.44 GFLOP/s    53.69 %    -  1.00 ms  1.00 %  12
  registers: share of what the type's registers do; MFU: no datasheet peak known for this device
)"));
  EXPECT_THAT(text, Not(HasSubstr("\nMatrix multiplication")));
  EXPECT_THAT(text, Not(HasSubstr("matmul bf16")));  // nor among the best of each kind
}

// As plans choose: the fastest of the sample, 429.50 GFLOP/s, is no best where it was asked for.
TEST(CalibrationText, CallsNoShapeAskedForTheBest) {
  v1::Calibration calibration = SampleCalibration();
  calibration.mutable_matmuls(2)->set_requested(true);
  EXPECT_THAT(CalibrationText(calibration, std::nullopt),
              HasSubstr("\n  matmul bf16     268.44 GFLOP/s  512x512x512"));
}

// 268.44 of 989.4 TFLOP/s would be 0.03 %; any ratio will do to see where it stands.
TEST(CalibrationText, ShowsMfuWhereTheDatasheetIsKnown) {
  v1::Calibration calibration = SampleCalibration();
  calibration.mutable_matmuls(2)->set_datasheet_mfu(0.625);
  const std::string text = CalibrationText(calibration, std::nullopt);
  EXPECT_THAT(text, HasSubstr("429.50 GFLOP/s    85.90 %  62.50 %  5.00 ms"));
  EXPECT_THAT(text, HasSubstr("MFU: share of the datasheet's dense peak\n"));
  EXPECT_THAT(text, HasSubstr("85.90 % of registers, 62.50 % MFU, spread"));
}

TEST(CalibrationText, SaysThatAPartialOneIsPartial) {
  v1::Calibration calibration = SampleCalibration();
  calibration.set_coverage_ratio(0.5);
  EXPECT_THAT(CalibrationText(calibration, std::nullopt),
              HasSubstr("coverage      50.00 % of the planned points: partial, the time was up"));
}

TEST(CalibrationText, ClaimsNoSpreadOfASingleSample) {
  v1::Calibration calibration = SampleCalibration();
  for (auto& matmul : *calibration.mutable_matmuls()) {
    matmul.mutable_time()->set_sample_count(1);
    matmul.mutable_time()->set_relative_spread(0);
  }
  const std::string text = CalibrationText(calibration, std::nullopt);
  EXPECT_THAT(text, HasSubstr("a single sample"));
  EXPECT_THAT(text, Not(HasSubstr(" 0.00 %")));
}

TEST(ProbeResultText, SaysWhatBecameOfIt) {
  v1::RunProbeResponse::Result result = SampleProbeResult().result();
  EXPECT_THAT(ProbeResultText(result),
              HasSubstr("\nIn use: plans on this device stand on it from now on.\n"
                        "engine 0.1.0, calibration c0ffee\n"));
  EXPECT_THAT(ProbeResultText(result), HasSubstr("measured      2025-11-21 12:00:00 UTC\n"));
  result.set_in_use(false);
  EXPECT_THAT(ProbeResultText(result),
              HasSubstr("\nNot in use: plans on this device go on as before.\n"));
  result.set_unused_text("The full calibration of last week stays in use: it is better.");
  EXPECT_THAT(ProbeResultText(result),
              HasSubstr("\nNot in use. The full calibration of last week stays in use: it is "
                        "better.\n"));
  result.set_storage_warning("/var is full");
  EXPECT_THAT(ProbeResultText(result), HasSubstr("\nWarning: /var is full\n"));
}

// Words stand where nothing is known, never a zero that reads as measured.
TEST(CalibrationText, OfNothingSaysSo) {
  EXPECT_EQ(CalibrationText({}, std::nullopt),
            "a device without a name\n"
            "  measured  at a time not known\n"
            "  by        in 0.00 s\n"
            "  coverage  0.00 % of the planned points: partial, the time was up before the rest\n"
            "  checked   no result\n");
}

TEST(CalibrationText, ShowsAMeasurementWithoutItsParts) {
  v1::Calibration calibration;
  calibration.add_matmuls();
  calibration.add_registers();
  calibration.add_streams();
  calibration.add_elementwise();
  calibration.mutable_fusion();
  const std::string text = CalibrationText(calibration, std::nullopt);
  EXPECT_THAT(text,
              HasSubstr("\n  -     -          0.00 FLOP/s          -    -       -       -  -\n"));
  EXPECT_THAT(text, HasSubstr("\n  one pass for all            -       -  -\n"));
}

// A newer server may send what this client has no name for.
TEST(CalibrationText, ShowsTheNumberOfWhatIsNotKnown) {
  v1::Calibration calibration = SampleCalibration();
  calibration.mutable_device()->set_kind(static_cast<v1::DeviceKind>(77));
  calibration.set_mode(static_cast<v1::ProbeMode>(78));
  calibration.mutable_matmuls(0)->set_data_type(static_cast<v1::DataType>(79));
  calibration.mutable_streams(0)->set_operation(static_cast<v1::StreamMeasurement::Operation>(80));
  const std::string text = CalibrationText(calibration, std::nullopt);
  for (const char* expect : {"kind          77", "mode 78", "\n  79    512x512x512", "\n  80 "}) {
    EXPECT_THAT(text, HasSubstr(expect));
  }
}

// A figure that makes no sense is shown as it is, and never as the best.
TEST(CalibrationText, SurvivesEveryNumber) {
  for (const double value :
       {0.0, -1.0, 1e300, -1e300, 1e-300, std::numeric_limits<double>::infinity(),
        -std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    v1::GetCalibrationResponse response = SampleHeldCalibration();
    v1::Calibration* calibration = response.mutable_calibration();
    response.set_age_seconds(value);
    calibration->set_coverage_ratio(value);
    calibration->set_drift_ratio(value);
    calibration->set_duration_seconds(value);
    calibration->set_ridge_flops_per_byte(value);
    for (v1::MatmulMeasurement& matmul : *calibration->mutable_matmuls()) {
      matmul.set_m(std::numeric_limits<int64_t>::min());
      matmul.set_flops_per_second(value);
      matmul.set_register_ratio(value);
      matmul.set_datasheet_mfu(value);
      matmul.mutable_time()->set_median_seconds(value);
      matmul.mutable_time()->set_relative_spread(value);
      matmul.mutable_time()->set_sample_count(std::numeric_limits<int32_t>::min());
    }
    calibration->mutable_streams(0)->set_bytes_per_second(value);
    calibration->mutable_elementwise(0)->set_flops_per_byte(value);
    calibration->mutable_fusion()->set_speedup_ratio(value);
    for (const std::string& line : Lines(HeldCalibrationText(response))) {
      EXPECT_LE(DisplayWidth(line), static_cast<int64_t>(kTextWidth)) << line;
    }
  }
}

TEST(CalibrationText, NeverCallsNanTheBest) {
  v1::Calibration calibration = SampleCalibration();
  calibration.mutable_matmuls(0)->set_flops_per_second(std::numeric_limits<double>::quiet_NaN());
  EXPECT_THAT(CalibrationText(calibration, std::nullopt),
              HasSubstr("\n  matmul bf16     429.50 GFLOP/s  1024x1024x1024"));
}

// The plan's own rule: see BestSection().
TEST(CalibrationText, CallsAStableRateBetterUnlessItIsMuchSlower) {
  for (const auto& [stable_rate, best] : {std::pair(400e9, "400.00 G"),
                                          {390e9, "390.00 G"},
                                          {385e9, "429.50 G"},
                                          {500e9, "500.00 G"}}) {
    for (const int stable : {0, 2}) {
      v1::Calibration calibration = SampleCalibration();
      v1::MatmulMeasurement* unstable = calibration.mutable_matmuls(2 - stable);
      unstable->mutable_time()->set_stable(false);
      unstable->set_flops_per_second(429.5e9);
      calibration.mutable_matmuls(stable)->set_flops_per_second(stable_rate);
      EXPECT_THAT(CalibrationText(calibration, std::nullopt),
                  HasSubstr(absl::StrCat("\n  matmul bf16     ", best, "FLOP/s")));
    }
  }
}

TEST(CalibrationText, CountsOperationsOfInt8) {
  v1::Calibration calibration = SampleCalibration();
  for (auto& matmul : *calibration.mutable_matmuls()) matmul.set_data_type(v1::DATA_TYPE_INT8);
  calibration.mutable_registers(1)->set_data_type(v1::DATA_TYPE_INT8);
  const std::string text = CalibrationText(calibration, std::nullopt);
  for (const char* expect : {"matmul int8       429.50 GOP/s  1024", "512x512x512     268.44 GOP/s",
                             "int8    500.00 GOP/s"}) {
    EXPECT_THAT(text, HasSubstr(expect));
  }
}

TEST(CalibrationText, NeverPasses99Columns) {
  v1::Calibration calibration = SampleCalibration();
  std::string accents;
  for (int i = 0; i < 300; ++i) accents += "\xC3\xA9";
  for (const std::string& word : {std::string(300, 'w'), accents}) {
    calibration.mutable_device()->set_product_name(word);
    calibration.mutable_device()->set_uuid(word);
    calibration.mutable_device()->add_instruction_sets(word);
    calibration.set_probe_version(word);
    calibration.mutable_matmuls(0)->set_engine(word);
    calibration.mutable_registers(0)->set_instruction(word);
    calibration.add_notes(word);
    for (const std::string& line : Lines(CalibrationText(calibration, 1))) {
      EXPECT_LE(DisplayWidth(line), static_cast<int64_t>(kTextWidth)) << line;
    }
  }
}

}  // namespace
}  // namespace sextant
