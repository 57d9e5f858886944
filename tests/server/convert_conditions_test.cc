// Fields that only GPUs add to a calibration: conditions, launches, multiplications outside the
// grid.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "server/convert/annotate_calibration.h"
#include "server/convert/calibration.h"
#include "tests/server/calibration_faults.h"
#include "tests/server/sample_calibration.h"

namespace sextant::server {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

struct GpuFault {
  const char* field;
  CalibrationChange change;
};

TEST(CheckCalibrationOfAGpu, NamesTheFieldAtFault) {
  using Layout = v1::MatmulMeasurement;
  const GpuFault faults[] = {
      {"c.other_matmuls[0].data_type",
       [](auto& c) { c.mutable_other_matmuls(0)->clear_data_type(); }},
      {"c.other_matmuls[0].batch_count",
       [](auto& c) {
         c.mutable_other_matmuls(0)->set_batch_count(-4);
         c.mutable_other_matmuls(0)->set_flops_per_second(2.5e11);
       }},
      {"c.other_matmuls[0].layout",
       [](auto& c) { c.mutable_other_matmuls(0)->set_layout(Layout::Layout(9)); }},
      {"c.other_matmuls[0].time", [](auto& c) { c.mutable_other_matmuls(0)->clear_time(); }},
      {"c.other_matmuls[0].best_kernel",
       [](auto& c) { c.mutable_other_matmuls(0)->set_best_kernel(std::string(257, 'k')); }},
      {"c.matmuls[0].best_kernel", [](auto& c) { c.mutable_matmuls(0)->set_best_kernel("\n"); }},
      {"c.matmuls[0].layout",
       [](auto& c) { c.mutable_matmuls(0)->set_layout(Layout::LAYOUT_COLUMN_BY_ROW); }},
      {"c.sustained_matmuls[0].layout",
       [](auto& c) { c.mutable_sustained_matmuls(0)->set_layout(Layout::LAYOUT_ROW_BY_ROW); }},
      {"c.matmuls[0].batch_count",
       [](auto& c) {
         c.mutable_matmuls(0)->set_batch_count(2);
         c.mutable_matmuls(0)->set_flops_per_second(4e12);
       }},
      {"c.launches[0].kind", [](auto& c) { c.mutable_launches(0)->clear_kind(); }},
      {"c.launches[0].kind",
       [](auto& c) { c.mutable_launches(0)->set_kind(v1::LaunchMeasurement::Kind(3)); }},
      {"c.launches[1].kind", [](auto& c) { *c.add_launches() = c.launches(0); }},
      {"c.launches[0].time", [](auto& c) { c.mutable_launches(0)->clear_time(); }},
      {"c.conditions.reading_count",
       [](auto& c) { c.mutable_conditions()->clear_reading_count(); }},
      {"c.conditions.sm_clock_hertz",
       [](auto& c) { c.mutable_conditions()->set_sm_clock_hertz(0); }},
      {"c.other_matmuls[0].sm_clock_hertz",
       [](auto& c) { c.mutable_other_matmuls(0)->set_sm_clock_hertz(-1); }},
      {"c.other_matmuls[0].counted_sm_clock_hertz",
       [](auto& c) { c.mutable_other_matmuls(0)->set_counted_sm_clock_hertz(1e13); }},
      {"c.other_matmuls[0].power_watts",
       [](auto& c) { c.mutable_other_matmuls(0)->set_power_watts(0); }},
      {"c.other_matmuls[0].clock_limit_ratio",
       [](auto& c) { c.mutable_other_matmuls(0)->set_clock_limit_ratio(0); }},
      {"c.missing[0].phase", [](auto& c) { c.mutable_missing(0)->clear_phase(); }},
      {"c.missing[0].missing_count", [](auto& c) { c.mutable_missing(0)->set_missing_count(0); }},
      {"c.missing[0].planned_count", [](auto& c) { c.mutable_missing(0)->set_planned_count(2); }},
      {"c.conditions.power_watts", [](auto& c) { c.mutable_conditions()->set_power_watts(0); }},
      {"c.conditions.maximum_temperature_celsius",
       [](auto& c) { c.mutable_conditions()->set_maximum_temperature_celsius(4e9); }},
      {"c.conditions.hardware_throttle_ratio",
       [](auto& c) { c.mutable_conditions()->set_hardware_throttle_ratio(1.01); }},
      {"c.conditions.peak_allocated_bytes",
       [](auto& c) { c.mutable_conditions()->set_peak_allocated_bytes(0); }},
      {"c.environment.pcie_generation",
       [](auto& c) { c.mutable_environment()->set_pcie_generation(17); }},
      {"c.environment.pcie_lane_count",
       [](auto& c) { c.mutable_environment()->set_pcie_lane_count(0); }},
      {"c.environment.maximum_pcie_generation",
       [](auto& c) { c.mutable_environment()->set_maximum_pcie_generation(-1); }},
      {"c.environment.maximum_pcie_lane_count",
       [](auto& c) { c.mutable_environment()->set_maximum_pcie_lane_count(65); }},
      {"c.environment.nvlink_count", [](auto& c) { c.mutable_environment()->set_nvlink_count(0); }},
      {"c.environment.active_nvlink_count",
       [](auto& c) {
         c.mutable_environment()->set_nvlink_count(18);
         c.mutable_environment()->set_active_nvlink_count(19);
       }},
      {"c.environment.visible_device_count",
       [](auto& c) { c.mutable_environment()->set_visible_device_count(0); }},
      {"c.environment.operating_system",
       [](auto& c) { c.mutable_environment()->set_operating_system(std::string(257, 'x')); }},
      {"c.environment.kernel_release",
       [](auto& c) { c.mutable_environment()->set_kernel_release("\x1b[2J"); }},
      {"c.environment.c_library",
       [](auto& c) { c.mutable_environment()->set_c_library(std::string(257, 'x')); }},
      {"c.environment.libraries[1]",
       [](auto& c) {
         c.mutable_environment()->add_libraries("nccl 2.28.3");
         c.mutable_environment()->add_libraries(std::string(257, 'x'));
       }},
      {"c.environment.cleared_variables",
       [](auto& c) {
         for (int i = 0; i < 33; ++i) c.mutable_environment()->add_cleared_variables("NCCL_A=1");
       }},
      {"c.environment.guard_cost.reading_count",
       [](auto& c) { c.mutable_environment()->mutable_guard_cost(); }},
      {"c.environment.guard_cost.longest_seconds",
       [](auto& c) {
         c.mutable_environment()->mutable_guard_cost()->set_reading_count(1);
         c.mutable_environment()->mutable_guard_cost()->set_longest_seconds(-1);
       }},
  };
  for (const GpuFault& fault : faults) {
    EXPECT_THAT(FaultyFields(ChangedSample(fault.change)), ElementsAre(fault.field)) << fault.field;
  }
}

TEST(CheckCalibrationOfAGpu, NoRealNumberMayBeInfiniteOrNoNumber) {
  using Set = std::function<void(v1::Calibration&, double)>;
  const std::pair<const char*, Set> fields[] = {
      {"c.matmuls[0].best_flops_per_second",
       [](auto& c, double v) { c.mutable_matmuls(0)->set_best_flops_per_second(v); }},
      {"c.other_matmuls[0].flops_per_second",
       [](auto& c, double v) { c.mutable_other_matmuls(0)->set_flops_per_second(v); }},
      {"c.other_matmuls[0].best_flops_per_second",
       [](auto& c, double v) { c.mutable_other_matmuls(0)->set_best_flops_per_second(v); }},
      {"c.launches[0].time.median_seconds",
       [](auto& c, double v) { c.mutable_launches(0)->mutable_time()->set_median_seconds(v); }},
      {"c.conditions.sm_clock_hertz",
       [](auto& c, double v) { c.mutable_conditions()->set_sm_clock_hertz(v); }},
      {"c.conditions.maximum_sm_clock_hertz",
       [](auto& c, double v) { c.mutable_conditions()->set_maximum_sm_clock_hertz(v); }},
      {"c.conditions.power_watts",
       [](auto& c, double v) { c.mutable_conditions()->set_power_watts(v); }},
      {"c.conditions.maximum_temperature_celsius",
       [](auto& c, double v) { c.mutable_conditions()->set_maximum_temperature_celsius(v); }},
      {"c.conditions.power_throttle_ratio",
       [](auto& c, double v) { c.mutable_conditions()->set_power_throttle_ratio(v); }},
      {"c.conditions.thermal_throttle_ratio",
       [](auto& c, double v) { c.mutable_conditions()->set_thermal_throttle_ratio(v); }},
      {"c.conditions.hardware_throttle_ratio",
       [](auto& c, double v) { c.mutable_conditions()->set_hardware_throttle_ratio(v); }},
      {"c.environment.application_sm_clock_hertz",
       [](auto& c, double v) { c.mutable_environment()->set_application_sm_clock_hertz(v); }},
      {"c.environment.application_memory_clock_hertz",
       [](auto& c, double v) { c.mutable_environment()->set_application_memory_clock_hertz(v); }},
      {"c.environment.default_power_limit_watts",
       [](auto& c, double v) { c.mutable_environment()->set_default_power_limit_watts(v); }},
      {"c.environment.guard_cost.total_seconds",
       [](auto& c, double v) {
         c.mutable_environment()->mutable_guard_cost()->set_total_seconds(v);
       }},
  };
  for (const auto& [field, set] : fields) {
    for (const double bad : {-1e3, std::nan(""), HUGE_VAL, -HUGE_VAL, 1e300}) {
      v1::Calibration c = SampleCalibration();
      set(c, bad);
      EXPECT_THAT(FaultyFields(c), Contains(field)) << bad;
    }
  }
}

TEST(CheckCalibrationOfAGpu, MayTellOfItsEnvironment) {
  v1::Calibration c = SampleCalibration();
  v1::MeasurementEnvironment* const environment = c.mutable_environment();
  EXPECT_THAT(FaultyFields(c), IsEmpty()) << "or nothing";
  environment->set_pcie_generation(5);
  environment->set_nvlink_count(18);
  environment->set_active_nvlink_count(0);
  environment->set_operating_system("Debian GNU/Linux 12 (bookworm)");
  for (int i = 0; i < 32; ++i) environment->add_cleared_variables(std::string(256, 'x'));
  environment->mutable_guard_cost()->set_reading_count(1);
  EXPECT_THAT(FaultyFields(c), IsEmpty());
}

TEST(CheckCalibrationOfAGpu, MayTellNothingOfItself) {
  v1::Calibration c = SampleCalibration();
  c.mutable_conditions()->Clear();
  c.mutable_conditions()->set_reading_count(1);
  c.clear_launches();
  c.clear_other_matmuls();
  EXPECT_THAT(FaultyFields(c), IsEmpty());
}

// A batch, or another layout, is not the rate of a single multiplication.
TEST(DeviceModelFrom, PassesOverMultiplicationsThatAreNoGrids) {
  v1::Calibration wire = SampleCalibration();
  wire.mutable_other_matmuls(0)->set_data_type(v1::DATA_TYPE_FP32);
  wire.mutable_other_matmuls(0)->set_flops_per_second(9e12);
  const auto model = DeviceModelFrom(wire, "");
  const DeviceCalibration& of_device = model->calibration();
  EXPECT_EQ(of_device.MatmulIn(DataType::kFp32)->rate, FlopsPerSecond(1e12));
  size_t shape_count = 0;
  for (const MeasuredGemms& of_type : model->kernels().gemms) shape_count += of_type.gemms.size();
  EXPECT_EQ(shape_count, 3u);
}

TEST(AnnotateCalibration, ReachesAllMultiplications) {
  v1::Calibration wire = SampleCalibration("GPU-1");
  wire.mutable_device()->set_product_name("NVIDIA H100 80GB HBM3");
  EXPECT_FALSE(IsAnnotated(wire));
  v1::Calibration annotated = wire;
  AnnotateCalibration(&annotated);
  EXPECT_EQ(annotated.other_matmuls(0).datasheet_mfu(), 1e12 / 1978.9e12);
  annotated.mutable_device()->clear_accelerator();
  for (auto* all : {annotated.mutable_matmuls(), annotated.mutable_sustained_matmuls()}) {
    for (auto& matmul : *all) matmul.clear_datasheet_mfu();
  }
  EXPECT_TRUE(IsAnnotated(annotated));
  ClearAnnotations(&annotated);
  EXPECT_EQ(annotated.SerializeAsString(), wire.SerializeAsString());
}

}  // namespace
}  // namespace sextant::server
