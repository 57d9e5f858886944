#include "client/gpu_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "client/calibration_text.h"
#include "client/environment_text.h"
#include "client/format.h"
#include "client/matmul_tables.h"
#include "client/table.h"
#include "tests/client/sample_calibration.h"

namespace sextant {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

v1::Calibration OfAGpu() {
  v1::Calibration out = SampleCalibration();
  v1::MatmulMeasurement* const batch = out.add_other_matmuls();
  *batch = out.matmuls(0);
  batch->set_data_type(v1::DATA_TYPE_FP8_E4M3);
  batch->set_batch_count(128);
  batch->set_layout(v1::MatmulMeasurement::LAYOUT_COLUMN_BY_ROW);
  batch->set_fast_accumulation(true);
  *out.add_other_matmuls() = out.matmuls(0);
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

TEST(GpuTables, ShowWhatWasMeasuredBesideTheGrid) {
  EXPECT_THAT(OtherMatmulSection(OfAGpu()), HasSubstr("column-by-row  fast"));
  EXPECT_THAT(OtherMatmulSection(OfAGpu()), HasSubstr("128"));
  EXPECT_THAT(OtherMatmulSection(OfAGpu()), HasSubstr("row-by-column  -"));
  EXPECT_THAT(LaunchSection(OfAGpu()), HasSubstr("\n  graph "));
}

TEST(GpuTables, ShowTheEnvironmentThatWasTold) {
  v1::Calibration c = OfAGpu();
  EXPECT_EQ(EnvironmentSection(c), "");
  v1::MeasurementEnvironment* const e = c.mutable_environment();
  e->set_operating_system("Debian GNU/Linux 12 (bookworm)");
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
  EXPECT_EQ(EnvironmentSection(c), R"(
Environment (the host, its software and the device's settings)
  system     Debian GNU/Linux 12 (bookworm), glibc 2.36
  libraries  cublaslt 13.1.0, nccl 2.28.3
  PCIe       4.0 x16 (at most 5.0 x16)
  NVLink     17 of 18 NVLinks up
  settings   persistence off, application clock 1980 MHz, devices visible: 1
  guard      12 readings took 30.00 ms, the longest 5.00 ms
  cleared    NCCL_ALGO=Ring
)");
  EXPECT_THAT(CalibrationText(c, std::nullopt), HasSubstr("17 of 18 NVLinks up"));
}

TEST(GpuTables, ShowTheConditionsThatWereTold) {
  EXPECT_EQ(ConditionsSection(OfAGpu()), R"(
Conditions (what the device told of itself meanwhile)
  clock        1755 of 1980 MHz, the median while it multiplied without a pause
  power        690.4 W while it multiplied without a pause
  temperature  66 C at most
  power limit  50.00 % of the readings
  heat         0.00 % of the readings
  memory       2.00 GiB held by the probe
  readings     1,234
  power limit, heat, hardware: what held its clock down
)");
}

TEST(GpuTables, AreAbsentWithoutFigures) {
  EXPECT_EQ(OtherMatmulSection(SampleCalibration()), "");
  EXPECT_EQ(LaunchSection(SampleCalibration()), "");
  EXPECT_EQ(ConditionsSection(SampleCalibration()), "");
}

TEST(GpuTables, StandInACalibrationsText) {
  const std::string text = CalibrationText(OfAGpu(), std::nullopt);
  for (const char* title :
       {"\nOther matrix multiplications", "\nKernels that do nothing", "\nConditions ("}) {
    EXPECT_THAT(text, HasSubstr(title));
  }
  v1::Calibration odd = OfAGpu();
  odd.mutable_conditions()->set_sm_clock_hertz(std::numeric_limits<double>::quiet_NaN());
  odd.mutable_conditions()->set_power_watts(1e300);
  odd.mutable_other_matmuls(0)->set_batch_count(std::numeric_limits<int64_t>::max());
  const std::string odd_text = CalibrationText(odd, std::nullopt);
  for (const absl::string_view line : absl::StrSplit(odd_text, '\n')) {
    EXPECT_LE(line.size(), kTextWidth) << line;
  }
}

// The best of several kernels has a column where any was tried.
TEST(GpuTables, ShowTheBestOfAllKernelsThatWereTried) {
  v1::Calibration searched = SampleCalibration();
  EXPECT_THAT(CalibrationText(searched, std::nullopt), Not(HasSubstr("best  ")));
  searched.mutable_matmuls(0)->set_best_flops_per_second(300e9);
  const std::string text = CalibrationText(searched, std::nullopt);
  EXPECT_THAT(text, HasSubstr("268.44 GFLOP/s  300.00 GFLOP/s"));
  EXPECT_THAT(text, HasSubstr("429.50 GFLOP/s               -"));
  EXPECT_THAT(text, HasSubstr("rate: of the library's own choice; best: of all kernels that were"));
}

TEST(MatmulSection, ShowsALargeGridInPartAndSaysSo) {
  v1::Calibration calibration;
  for (int i = 0; i < 41; ++i) {
    v1::MatmulMeasurement* const matmul = calibration.add_matmuls();
    matmul->set_data_type(v1::DATA_TYPE_BF16);
    matmul->set_m(7000 + i);
    matmul->set_n(i < 5 ? 512 : 1024);
    matmul->set_k(512);
  }
  EXPECT_THAT(MatmulSection(calibration),
              AllOf(HasSubstr("7004x512x512"), Not(HasSubstr("7005x1024x512")),
                    HasSubstr("bf16: 36 more shapes; --output=json has them")));
  calibration.mutable_matmuls()->RemoveLast();
  EXPECT_THAT(MatmulSection(calibration),
              AllOf(HasSubstr("7005x1024x512"), Not(HasSubstr("more shapes"))));
}

}  // namespace
}  // namespace sextant
