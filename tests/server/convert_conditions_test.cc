// Fields that only GPUs add to a calibration: conditions, launches, multiplications outside the
// grid.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "proto/matmul_kind.h"
#include "server/convert/annotate_calibration.h"
#include "server/convert/calibration.h"
#include "tests/server/calibration_faults.h"
#include "tests/server/sample_calibration.h"
#include "tests/support/matmul_kinds.h"

namespace sextant::server {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

struct GpuFault {
  const char* field;
  CalibrationChange change;
};

TEST(CheckCalibrationOfAGpu, NamesTheFieldAtFault) {
  using Layout = v1::MatmulMeasurement;
  const GpuFault faults[] = {
      {"c.matmuls[4].data_type", [](auto& c) { c.mutable_matmuls(4)->clear_data_type(); }},
      {"c.matmuls[4].batch_count",
       [](auto& c) {
         c.mutable_matmuls(4)->set_batch_count(-4);
         c.mutable_matmuls(4)->set_flops_per_second(2.5e11);
       }},
      {"c.matmuls[4].layout", [](auto& c) { c.mutable_matmuls(4)->set_layout(Layout::Layout(9)); }},
      {"c.matmuls[4].time", [](auto& c) { c.mutable_matmuls(4)->clear_time(); }},
      {"c.matmuls[4].best_kernel",
       [](auto& c) { c.mutable_matmuls(4)->set_best_kernel(std::string(257, 'k')); }},
      {"c.matmuls[0].best_kernel", [](auto& c) { c.mutable_matmuls(0)->set_best_kernel("\n"); }},
      {"c.matmuls[0].layout",
       [](auto& c) { c.mutable_matmuls(0)->set_layout(Layout::LAYOUT_COLUMN_BY_ROW); }},
      {"c.matmuls[3].layout",
       [](auto& c) { c.mutable_matmuls(3)->set_layout(Layout::LAYOUT_ROW_BY_ROW); }},
      {"c.matmuls[0].batch_count",
       [](auto& c) {
         c.mutable_matmuls(0)->set_batch_count(2);
         c.mutable_matmuls(0)->set_flops_per_second(4e12);
       }},
      {"c.matmuls[0].window",
       [](auto& c) { c.mutable_matmuls(0)->set_window(v1::MatmulMeasurement::Window(3)); }},
      {"c.matmuls[0].purpose",
       [](auto& c) { c.mutable_matmuls(0)->set_purpose(v1::MatmulMeasurement::Purpose(-1)); }},
      {"c.matmuls[3].purpose",
       [](auto& c) {
         c.mutable_matmuls(3)->set_purpose(v1::MatmulMeasurement::PURPOSE_REQUESTED);
       }},
      {"c.matmuls[3].purpose",
       [](auto& c) { c.mutable_matmuls(3)->set_purpose(v1::MatmulMeasurement::PURPOSE_OTHER); }},
      {"c.matmuls[4].purpose",
       [](auto& c) { c.mutable_matmuls(4)->set_window(v1::MatmulMeasurement::WINDOW_SUSTAINED); }},
      {"c.launches[0].kind", [](auto& c) { c.mutable_launches(0)->clear_kind(); }},
      {"c.launches[0].kind",
       [](auto& c) { c.mutable_launches(0)->set_kind(v1::LaunchMeasurement::Kind(3)); }},
      {"c.launches[1].kind", [](auto& c) { *c.add_launches() = c.launches(0); }},
      {"c.launches[0].time", [](auto& c) { c.mutable_launches(0)->clear_time(); }},
      {"c.conditions.reading_count",
       [](auto& c) { c.mutable_conditions()->clear_reading_count(); }},
      {"c.conditions.sm_clock_hertz",
       [](auto& c) { c.mutable_conditions()->set_sm_clock_hertz(0); }},
      {"c.matmuls[4].sm_clock_hertz",
       [](auto& c) { c.mutable_matmuls(4)->set_sm_clock_hertz(-1); }},
      {"c.matmuls[4].counted_sm_clock_hertz",
       [](auto& c) { c.mutable_matmuls(4)->set_counted_sm_clock_hertz(1e13); }},
      {"c.matmuls[4].power_watts", [](auto& c) { c.mutable_matmuls(4)->set_power_watts(0); }},
      {"c.matmuls[4].clock_limit_ratio",
       [](auto& c) { c.mutable_matmuls(4)->set_clock_limit_ratio(0); }},
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

// A batch in another layout is neither a point of the grid nor a shape that somebody asked for.
TEST(CheckCalibrationOfAGpu, ABatchInAnotherLayoutHasItsOwnPurpose) {
  for (const auto purpose :
       {v1::MatmulMeasurement::PURPOSE_UNSPECIFIED, v1::MatmulMeasurement::PURPOSE_GRID,
        v1::MatmulMeasurement::PURPOSE_REQUESTED}) {
    v1::Calibration c = SampleCalibration();
    c.mutable_matmuls(4)->set_purpose(purpose);
    EXPECT_THAT(FaultyFields(c), ElementsAre("c.matmuls[4].batch_count", "c.matmuls[4].layout"));
    EXPECT_THAT(CalibrationFaults(c)[0].description, HasSubstr("except with PURPOSE_OTHER"));
  }
  v1::Calibration sustained = SampleCalibration();
  sustained.mutable_matmuls(3)->set_purpose(v1::MatmulMeasurement::PURPOSE_REQUESTED);
  EXPECT_EQ(CalibrationFaults(sustained)[0].description,
            "must be PURPOSE_GRID with WINDOW_SUSTAINED, not PURPOSE_REQUESTED");
}

TEST(CheckCalibrationOfAGpu, NoRealNumberMayBeInfiniteOrNoNumber) {
  using Set = std::function<void(v1::Calibration&, double)>;
  const std::pair<const char*, Set> fields[] = {
      {"c.matmuls[0].best_flops_per_second",
       [](auto& c, double v) { c.mutable_matmuls(0)->set_best_flops_per_second(v); }},
      {"c.matmuls[4].flops_per_second",
       [](auto& c, double v) { c.mutable_matmuls(4)->set_flops_per_second(v); }},
      {"c.matmuls[4].best_flops_per_second",
       [](auto& c, double v) { c.mutable_matmuls(4)->set_best_flops_per_second(v); }},
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
  RemoveMatmuls(IsOther, &c);
  EXPECT_THAT(FaultyFields(c), IsEmpty());
}

// A batch, or another layout, is not the rate of a single multiplication.
TEST(DeviceModelFrom, PassesOverMultiplicationsThatAreNoGrids) {
  v1::Calibration wire = SampleCalibration();
  wire.mutable_matmuls(4)->set_data_type(v1::DATA_TYPE_FP32);
  wire.mutable_matmuls(4)->set_flops_per_second(9e12);
  const auto model = DeviceModelFrom(wire, "");
  const DeviceCalibration& of_device = model->calibration();
  EXPECT_EQ(of_device.MatmulIn(DataType::kFp32)->rate, FlopsPerSecond(1e12));
  size_t shape_count = 0;
  for (const MeasuredMatmulPoints& of_type : model->kernels().matmuls)
    shape_count += of_type.matmuls.size();
  EXPECT_EQ(shape_count, 3u);
}

// Unset fields mean a burst of the grid.
TEST(DeviceModelFrom, TakesAMultiplicationOfNoKindForABurstOfTheGrid) {
  v1::Calibration wire = SampleCalibration();
  v1::MatmulMeasurement* const requested = wire.mutable_matmuls(2);
  requested->clear_window();
  requested->clear_purpose();
  EXPECT_THAT(FaultyFields(wire), IsEmpty());
  const auto model = DeviceModelFrom(wire, "");
  EXPECT_EQ(model->calibration().BurstIn(DataType::kFp32)->rate, FlopsPerSecond(3e12));
  EXPECT_EQ(model->calibration().requested_matmul_count, 0);
}

TEST(AnnotateCalibration, ReachesAllMultiplications) {
  v1::Calibration wire = SampleCalibration("GPU-1");
  wire.mutable_device()->set_product_name("NVIDIA H100 80GB HBM3");
  EXPECT_FALSE(IsAnnotated(wire));
  v1::Calibration annotated = wire;
  AnnotateCalibration(&annotated);
  EXPECT_EQ(annotated.matmuls(4).datasheet_mfu(), 1e12 / 1978.9e12);
  annotated.mutable_device()->clear_accelerator();
  for (int i = 0; i < 4; ++i) annotated.mutable_matmuls(i)->clear_datasheet_mfu();
  EXPECT_TRUE(IsAnnotated(annotated));
  ClearAnnotations(&annotated);
  EXPECT_EQ(annotated.SerializeAsString(), wire.SerializeAsString());
}

}  // namespace
}  // namespace sextant::server
