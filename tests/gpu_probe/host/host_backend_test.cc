#include "gpu_probe/host/host_backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "gpu_probe/host/host_context.h"
#include "gpu_probe/host/matmul_points.h"
#include "tests/gpu_probe/failure_matchers.h"
#include "tests/gpu_probe/host/test_host.h"
#include "tests/support/matmul_kinds.h"

namespace sextant::probe {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

constexpr int64_t kSmallCapBytes = int64_t{48} << 20;

v1::TimeStatistics OneSecond() {
  v1::TimeStatistics time;
  time.set_median_seconds(1);
  time.set_p10_seconds(1);
  time.set_p90_seconds(1);
  time.set_sample_count(1);
  time.set_repetition_count(1);
  return time;
}

// Runs every point once and records it as if it had taken a second.
v1::Calibration RunOnce(const ProbePlan& plan) {
  v1::Calibration calibration;
  for (const Point& point : plan.points) {
    auto workload = point.make();
    if (absl::IsResourceExhausted(workload.status())) continue;
    EXPECT_EQ(RunAndCheck(*workload.value()), absl::OkStatus()) << point.label;
    point.record(OneSecond(), &calibration);
  }
  plan.finish(&calibration);
  return calibration;
}

TEST(HostDevice, TellsWhoItIsTheSameEachTime) {
  const v1::Device device = HostDevice();
  EXPECT_THAT(device.uuid(), MatchesRegex("CPU-[0-9a-f]{16}|CPU-[0-9a-f]+"));
  EXPECT_EQ(device.uuid().size(), 20u);
  EXPECT_EQ(device.uuid(), HostDevice().uuid());
  EXPECT_EQ(device.kind(), v1::DEVICE_KIND_CPU);
  EXPECT_GE(device.compute_unit_count(), 1);
  EXPECT_GT(device.memory_bytes(), 0);
  EXPECT_FALSE(device.has_pci_bus_id());
  EXPECT_FALSE(device.has_accelerator());
}

TEST(HostProbePlan, OfQuickMeasuresAShapeOfEachTypeItsRegistersAndACopy) {
  const auto plan = HostProbePlan({.mode = v1::PROBE_MODE_QUICK,
                                   .onednn_library = "/nowhere",
                                   .memory_cap_bytes = kSmallCapBytes})
                        .value();
  std::vector<std::string> phases;
  for (const Point& point : plan.points) {
    phases.push_back(point.phase);
    EXPECT_TRUE(point.first);
    EXPECT_TRUE(point.work > 0 || point.phase == "memory") << "which the cap leaves no room for";
  }
  EXPECT_EQ(phases, (std::vector<std::string>{"registers", "matmul fp32", "memory"}));
}

TEST(HostProbePlan, WithoutOnednnTakesTheBuiltinKernelAndSaysSo) {
  const auto plan = HostProbePlan({.mode = v1::PROBE_MODE_QUICK,
                                   .onednn_library = "libm.so.6",
                                   .memory_cap_bytes = kSmallCapBytes})
                        .value();
  EXPECT_THAT(plan.notes, Contains(AllOf(HasSubstr("FP32 is multiplied by the probe's own"),
                                         HasSubstr("libm.so.6"))));
  const v1::Calibration calibration = RunOnce(plan);
  ASSERT_EQ(calibration.matmuls_size(), 1);
  EXPECT_EQ(calibration.matmuls(0).engine(), "builtin");
  EXPECT_NE(calibration.matmuls(0).kernel(), "");
  EXPECT_GT(calibration.matmuls(0).register_ratio(), 0);
  EXPECT_EQ(calibration.matmuls(0).window(), v1::MatmulMeasurement::WINDOW_BURST);
  EXPECT_EQ(calibration.matmuls(0).purpose(), v1::MatmulMeasurement::PURPOSE_GRID);
}

TEST(HostProbePlan, OfItsOwnShapesMeasuresThemAndTheirRegistersAlone) {
  const auto plan = HostProbePlan({.matmuls = {ShapeOf(v1::DATA_TYPE_FP32, 100, 30, 7),
                                               ShapeOf(v1::DATA_TYPE_FP32, 1, 1, 1)},
                                   .onednn_library = kOnednnLibrary,
                                   .memory_cap_bytes = kSmallCapBytes})
                        .value();
  const v1::Calibration calibration = RunOnce(plan);
  EXPECT_EQ(calibration.registers_size(), 1);
  EXPECT_EQ(calibration.streams_size(), 0);
  ASSERT_EQ(calibration.matmuls_size(), 2);
  EXPECT_EQ(calibration.matmuls(0).purpose(), v1::MatmulMeasurement::PURPOSE_REQUESTED);
  EXPECT_EQ(calibration.matmuls(0).m(), 100);
  EXPECT_EQ(calibration.matmuls(0).n(), 30);
  EXPECT_EQ(calibration.matmuls(0).k(), 7);
  EXPECT_EQ(calibration.matmuls(0).flops_per_second(), 2.0 * 100 * 30 * 7);
}

TEST(HostProbePlan, AShapeBeyondTheCapIsLeftOutNamingItsBytes) {
  const auto plan =
      HostProbePlan({.matmuls = {ShapeOf(v1::DATA_TYPE_FP32, 10'000, 10'000, 16),
                                 ShapeOf(v1::DATA_TYPE_FP32, 1'000'000, 1'000'000, 1'000'000),
                                 ShapeOf(v1::DATA_TYPE_FP32, 64, 64, 64)},
                     .memory_cap_bytes = kSmallCapBytes})
          .value();
  ASSERT_EQ(plan.points.size(), 4u);
  EXPECT_THAT(plan.points[1].make(), FailsSaying(absl::StatusCode::kResourceExhausted, "50331648"));
  EXPECT_EQ(plan.points[2].make().status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(plan.points[3].make().ok());
}

TEST(HostProbePlan, RefusesShapesThatMakeNoSense) {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  for (const int64_t wrong : {int64_t{0}, int64_t{-1}, int64_t{1'000'001}, kMax}) {
    for (const auto& shape :
         {ShapeOf(v1::DATA_TYPE_FP32, wrong, 1, 1), ShapeOf(v1::DATA_TYPE_FP32, 1, wrong, 1),
          ShapeOf(v1::DATA_TYPE_FP32, 1, 1, wrong)}) {
      EXPECT_EQ(HostProbePlan({.matmuls = {shape}}).status().code(),
                absl::StatusCode::kInvalidArgument);
    }
  }
  EXPECT_EQ(HostProbePlan({.memory_cap_bytes = -1}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(HostProbePlan, RefusesTypesThatThisHostDoesNotMultiplyIn) {
  for (const auto type : {v1::DATA_TYPE_FP64, v1::DATA_TYPE_FP8, v1::DATA_TYPE_UNSPECIFIED}) {
    EXPECT_EQ(HostProbePlan({.matmuls = {ShapeOf(type, 8, 8, 8)}}).status().code(),
              absl::StatusCode::kUnimplemented);
  }
  const auto without_onednn = HostProbePlan(
      {.matmuls = {ShapeOf(v1::DATA_TYPE_BF16, 8, 8, 8)}, .onednn_library = "/nowhere"});
  EXPECT_EQ(without_onednn.status().code(), absl::StatusCode::kUnimplemented);
}

TEST(HostProbePlan, OfStandardHasEveryKindOfFigure) {
  const auto plan =
      HostProbePlan({.onednn_library = "/nowhere", .memory_cap_bytes = kSmallCapBytes}).value();
  std::set<std::string> phases;
  for (const Point& point : plan.points) phases.insert(point.phase);
  EXPECT_EQ(phases, (std::set<std::string>{"registers", "matmul fp32", "memory", "cache",
                                           "elementwise", "fusion"}));
}

TEST(HostProbePlan, WorkloadsOutliveThePlan) {
  std::unique_ptr<Workload> workload;
  {
    const auto plan = HostProbePlan({.matmuls = {ShapeOf(v1::DATA_TYPE_FP32, 8, 8, 8)},
                                     .onednn_library = kOnednnLibrary,
                                     .memory_cap_bytes = kSmallCapBytes})
                          .value();
    workload = *plan.points[1].make();
  }
  EXPECT_EQ(RunAndCheck(*workload), absl::OkStatus());
}

TEST(MatmulGrid, GrowsWithTheMode) {
  EXPECT_EQ(GridShapes(v1::PROBE_MODE_QUICK, v1::DATA_TYPE_FP32).size(), 0u);
  EXPECT_EQ(GridShapes(v1::PROBE_MODE_STANDARD, v1::DATA_TYPE_FP32).size(), 17u);
  EXPECT_EQ(GridShapes(v1::PROBE_MODE_UNSPECIFIED, v1::DATA_TYPE_FP32).size(), 17u);
  EXPECT_EQ(GridShapes(v1::PROBE_MODE_FULL, v1::DATA_TYPE_FP32).size(), 41u);
  EXPECT_FALSE(SustainedShape(v1::PROBE_MODE_STANDARD, v1::DATA_TYPE_FP32).has_value());
  EXPECT_TRUE(SustainedShape(v1::PROBE_MODE_FULL, v1::DATA_TYPE_FP32).has_value());
}

TEST(CheckTypeIsMultiplied, SaysWhatIsMissing) {
  HostContext context;
  EXPECT_TRUE(CheckTypeIsMultiplied(v1::DATA_TYPE_FP32, context).ok());
  EXPECT_THAT(CheckTypeIsMultiplied(v1::DATA_TYPE_BF16, context).message(),
              HasSubstr("no instructions of this processor for BF16"));
  context.features.avx_vnni = true;
  EXPECT_THAT(CheckTypeIsMultiplied(v1::DATA_TYPE_INT8, context).message(),
              HasSubstr("oneDNN alone, which is not there"));
}

void AddRegisters(v1::DataType type, double flops_per_second, v1::Calibration* out) {
  v1::RegisterMeasurement* const registers = out->add_registers();
  registers->set_data_type(type);
  registers->set_flops_per_second(flops_per_second);
}

void AddMatmul(v1::DataType type, double flops_per_second, v1::Calibration* out) {
  v1::MatmulMeasurement* const matmul = out->add_matmuls();
  matmul->set_data_type(type);
  matmul->set_flops_per_second(flops_per_second);
  matmul->set_engine("onednn 2.6.3");
  matmul->set_kernel("gemm:sse3");
}

void AddStep(int64_t count, double flops_per_second, double bytes_per_second,
             v1::Calibration* out) {
  v1::ElementwiseMeasurement* const step = out->add_elementwise();
  step->set_multiply_add_count(count);
  step->set_flops_per_second(flops_per_second);
  step->set_bytes_per_second(bytes_per_second);
}

TEST(SummariseHost, FillsRatiosOfTheSameType) {
  v1::Calibration calibration;
  AddRegisters(v1::DATA_TYPE_FP32, 200e9, &calibration);
  AddMatmul(v1::DATA_TYPE_FP32, 180e9, &calibration);
  AddMatmul(v1::DATA_TYPE_BF16, 300e9, &calibration);
  AddMatmulAs(calibration.matmuls(0), v1::MatmulMeasurement::WINDOW_SUSTAINED,
              v1::MatmulMeasurement::PURPOSE_GRID, &calibration);
  SummariseHost(&calibration);
  EXPECT_DOUBLE_EQ(calibration.matmuls(0).register_ratio(), 0.9);
  EXPECT_FALSE(calibration.matmuls(1).has_register_ratio());
  EXPECT_DOUBLE_EQ(calibration.matmuls(2).register_ratio(), 0.9);
  EXPECT_EQ(calibration.notes_size(), 0);
}

TEST(SummariseHost, TellsOfASilentSlowPath) {
  v1::Calibration calibration;
  AddRegisters(v1::DATA_TYPE_FP32, 200e9, &calibration);
  AddMatmul(v1::DATA_TYPE_FP32, 10e9, &calibration);
  AddMatmul(v1::DATA_TYPE_FP32, 38e9, &calibration);
  SummariseHost(&calibration);
  ASSERT_EQ(calibration.notes_size(), 1);
  EXPECT_THAT(calibration.notes(0), HasSubstr("FP32 (onednn 2.6.3, gemm:sse3) reaches 0.19"));
}

TEST(SummariseHost, SaysNothingOfASmallShapeThatWasAskedFor) {
  v1::Calibration calibration;
  AddRegisters(v1::DATA_TYPE_FP32, 200e9, &calibration);
  AddMatmul(v1::DATA_TYPE_FP32, 1e9, &calibration);
  calibration.mutable_matmuls(0)->set_purpose(v1::MatmulMeasurement::PURPOSE_REQUESTED);
  SummariseHost(&calibration);
  EXPECT_DOUBLE_EQ(calibration.matmuls(0).register_ratio(), 0.005);
  EXPECT_EQ(calibration.notes_size(), 0);
}

TEST(SummariseHost, TellsOfAnImpossibleRate) {
  v1::Calibration calibration;
  for (const auto type : {v1::DATA_TYPE_INT8, v1::DATA_TYPE_BF16}) {
    AddRegisters(type, 100e9, &calibration);
    calibration.mutable_registers()->rbegin()->mutable_time()->set_stable(true);
  }
  AddMatmul(v1::DATA_TYPE_INT8, 106e9, &calibration);
  AddMatmul(v1::DATA_TYPE_BF16, 100e9, &calibration);
  SummariseHost(&calibration);
  EXPECT_FALSE(calibration.registers(0).time().stable()) << "its samples agree, and are wrong";
  EXPECT_TRUE(calibration.registers(1).time().stable());
  ASSERT_EQ(calibration.notes_size(), 1);
  EXPECT_THAT(calibration.notes(0), HasSubstr("1.06 times"));
}

TEST(SummariseHost, TakesTheRidgeFromTheHighestOfEach) {
  v1::Calibration calibration;
  AddStep(1, 5e9, 20e9, &calibration);
  AddStep(2, 11e9, 22e9, &calibration);
  AddStep(128, 198e9, 6e9, &calibration);
  SummariseHost(&calibration);
  EXPECT_DOUBLE_EQ(calibration.ridge_flops_per_byte(), 9);
}

TEST(SummariseHost, LeavesOutWhatACutRunCannotTell) {
  v1::Calibration calibration;
  AddStep(1, 5e9, 20e9, &calibration);
  AddStep(64, 150e9, 6e9, &calibration);
  calibration.mutable_fusion()->mutable_unfused_time()->set_median_seconds(3);
  SummariseHost(&calibration);
  EXPECT_FALSE(calibration.has_ridge_flops_per_byte());
  EXPECT_FALSE(calibration.has_fusion());
  v1::Calibration empty;
  SummariseHost(&empty);
  EXPECT_EQ(empty.ByteSizeLong(), 0u);
}

TEST(SummariseHost, FillsTheSpeedup) {
  v1::Calibration calibration;
  calibration.mutable_fusion()->mutable_unfused_time()->set_median_seconds(3);
  calibration.mutable_fusion()->mutable_fused_time()->set_median_seconds(1.5);
  SummariseHost(&calibration);
  EXPECT_DOUBLE_EQ(calibration.fusion().speedup_ratio(), 2);
}

}  // namespace
}  // namespace sextant::probe
