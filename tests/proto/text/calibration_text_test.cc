#include "proto/text/calibration_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "proto/matmul_kind.h"
#include "proto/text/format.h"
#include "proto/text/table.h"
#include "tests/proto/text/sample_calibration.h"
#include "tests/support/matmul_kinds.h"

namespace sextant::text {
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
  stable        12 of 13 measured times
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
)";

v1::Calibration OfAGpu() {
  v1::Calibration out = SampleCalibration();
  v1::MatmulMeasurement* const batch = out.add_matmuls();
  *batch = out.matmuls(0);
  batch->set_purpose(v1::MatmulMeasurement::PURPOSE_OTHER);
  batch->set_data_type(v1::DATA_TYPE_FP8_E4M3);
  batch->set_batch_count(128);
  batch->set_layout(v1::MatmulMeasurement::LAYOUT_COLUMN_BY_ROW);
  batch->set_fast_accumulation(true);
  AddMatmulAs(out.matmuls(0), v1::MatmulMeasurement::WINDOW_BURST,
              v1::MatmulMeasurement::PURPOSE_OTHER, &out);
  v1::LaunchMeasurement* const launch = out.add_launches();
  launch->set_kind(v1::LaunchMeasurement::KIND_GRAPH);
  *launch->mutable_time() = out.matmuls(0).time();
  v1::OperatingConditions* const conditions = out.mutable_conditions();
  conditions->set_reading_count(1234);
  conditions->set_sm_clock_hertz(1.755e9);
  conditions->set_maximum_sm_clock_hertz(1.98e9);
  conditions->set_power_watts(690.4);
  conditions->set_maximum_temperature_celsius(66);
  conditions->set_power_throttle_ratio(0.5);
  conditions->set_thermal_throttle_ratio(0);
  conditions->set_peak_allocated_bytes(int64_t{2} << 30);
  return out;
}

std::vector<std::string> Lines(const std::string& text) { return absl::StrSplit(text, '\n'); }

TEST(CalibrationText, IsAsWorkedByHand) {
  EXPECT_EQ(CalibrationText(SampleCalibration(), 3 * 3600), kGoldenCalibration);
}

TEST(CalibrationText, ShowsTheShapesAskedForApart) {
  v1::Calibration calibration = SampleCalibration();
  calibration.mutable_matmuls()->DeleteSubrange(1, 2);
  calibration.mutable_matmuls(0)->set_purpose(v1::MatmulMeasurement::PURPOSE_REQUESTED);
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

// As plans choose: the fastest of the sample, 429.50 GFLOP/s, is not the best where it was asked
// for.
TEST(CalibrationText, CallsNoShapeAskedForTheBest) {
  v1::Calibration calibration = SampleCalibration();
  calibration.mutable_matmuls(2)->set_purpose(v1::MatmulMeasurement::PURPOSE_REQUESTED);
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
    v1::Calibration sample = SampleCalibration();
    v1::Calibration* calibration = &sample;
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
    for (const std::string& line : Lines(CalibrationText(sample, value))) {
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

TEST(CalibrationText, ShowsTheEnvironmentThatWasTold) {
  v1::Calibration c = OfAGpu();
  EXPECT_THAT(CalibrationText(c, std::nullopt), Not(HasSubstr("\nEnvironment")));
  v1::MeasurementEnvironment* const e = c.mutable_environment();
  e->set_operating_system("Debian GNU/Linux 12 (bookworm)");
  e->set_kernel_release("6.1.0-28-amd64");
  e->set_c_library("glibc 2.36");
  e->add_libraries("cublaslt 13.1.0");
  e->add_libraries("nccl 2.28.3");
  e->set_pcie_generation(4);
  e->set_pcie_lane_count(16);
  e->set_maximum_pcie_generation(5);
  e->set_maximum_pcie_lane_count(16);
  e->set_nvlink_count(18);
  e->set_active_nvlink_count(17);
  e->set_persistence_mode(false);
  e->set_application_sm_clock_hertz(1.98e9);
  e->set_visible_device_count(1);
  e->add_cleared_variables("NCCL_ALGO=Ring");
  e->mutable_guard_cost()->set_reading_count(12);
  e->mutable_guard_cost()->set_total_seconds(0.03);
  e->mutable_guard_cost()->set_longest_seconds(0.005);
  EXPECT_THAT(CalibrationText(c, std::nullopt), HasSubstr(R"(
Environment (the host, its software and the device's settings)
  system     Debian GNU/Linux 12 (bookworm), kernel 6.1.0-28-amd64, glibc 2.36
  libraries  cublaslt 13.1.0, nccl 2.28.3
  PCIe       4.0 x16 (at most 5.0 x16)
  NVLink     17 of 18 NVLinks up
  settings   persistence off, application clock 1980 MHz, devices visible: 1
  guard      12 readings took 30.00 ms, the longest 5.00 ms
  cleared    NCCL_ALGO=Ring
)"));
}

TEST(CalibrationText, ShowsTheConditionsThatWereTold) {
  EXPECT_THAT(CalibrationText(OfAGpu(), std::nullopt), HasSubstr(R"(
Conditions (as the device reported them)
  clock        1755 of 1980 MHz, the median while it multiplied without a pause
  power        690.4 W while it multiplied without a pause
  temperature  66 C at most
  power limit  50.00 % of the readings
  heat         0.00 % of the readings
  memory       2.00 GiB held by the probe
  readings     1,234
  power limit, heat, hardware: what held its clock down
)"));
}

TEST(CalibrationText, ShowsTheFiguresOfGpusWhereTheyAre) {
  const std::string text = CalibrationText(OfAGpu(), std::nullopt);
  for (const char* title :
       {"\nOther matrix multiplications", "\nKernels that do nothing", "\nConditions ("}) {
    EXPECT_THAT(text, HasSubstr(title));
    EXPECT_THAT(CalibrationText(SampleCalibration(), std::nullopt), Not(HasSubstr(title)));
  }
  v1::Calibration odd = OfAGpu();
  odd.mutable_conditions()->set_sm_clock_hertz(std::numeric_limits<double>::quiet_NaN());
  odd.mutable_conditions()->set_power_watts(1e300);
  FirstMatmul(IsOther, &odd)->set_batch_count(std::numeric_limits<int64_t>::max());
  const std::string odd_text = CalibrationText(odd, std::nullopt);
  for (const absl::string_view line : absl::StrSplit(odd_text, '\n')) {
    EXPECT_LE(line.size(), kTextWidth) << line;
  }
}

}  // namespace
}  // namespace sextant::text
