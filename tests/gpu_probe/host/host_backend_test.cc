#include "gpu_probe/host/host_backend.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gpu_probe/host/host_context.h"
#include "gpu_probe/host/matmul_points.h"
#include "tests/gpu_probe/failure_matchers.h"
#include "tests/gpu_probe/host/test_host.h"

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

// `text`, a calibration in Protocol Buffers' text format, once it is summarised.
v1::Calibration Summarised(const std::string& text) {
  v1::Calibration calibration;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &calibration)) << text;
  SummariseHost(&calibration);
  return calibration;
}

constexpr char kFp32Registers[] =
    "registers { data_type: DATA_TYPE_FP32 flops_per_second: 200e9 } ";

TEST(SummariseHost, FillsRatiosOfTheSameType) {
  const v1::Calibration calibration = Summarised(
      absl::StrCat(kFp32Registers, "matmuls { data_type: DATA_TYPE_FP32 flops_per_second: 180e9 }",
                   "matmuls { data_type: DATA_TYPE_BF16 flops_per_second: 300e9 }",
                   "matmuls { data_type: DATA_TYPE_FP32 flops_per_second: 180e9",
                   "  window: WINDOW_SUSTAINED purpose: PURPOSE_GRID }"));
  EXPECT_DOUBLE_EQ(calibration.matmuls(0).register_ratio(), 0.9);
  EXPECT_FALSE(calibration.matmuls(1).has_register_ratio());
  EXPECT_DOUBLE_EQ(calibration.matmuls(2).register_ratio(), 0.9);
  EXPECT_EQ(calibration.notes_size(), 0);
}

TEST(SummariseHost, TellsOfASilentSlowPath) {
  const v1::Calibration calibration = Summarised(
      absl::StrCat(kFp32Registers, "matmuls { data_type: DATA_TYPE_FP32 flops_per_second: 10e9 }",
                   "matmuls { data_type: DATA_TYPE_FP32 flops_per_second: 38e9",
                   "  engine: 'onednn 2.6.3' kernel: 'gemm:sse3' }"));
  ASSERT_EQ(calibration.notes_size(), 1);
  EXPECT_THAT(calibration.notes(0), HasSubstr("FP32 (onednn 2.6.3, gemm:sse3) reaches 0.19"));
}

TEST(SummariseHost, SaysNothingOfASmallShapeThatWasAskedFor) {
  const v1::Calibration calibration = Summarised(
      absl::StrCat(kFp32Registers, "matmuls { data_type: DATA_TYPE_FP32 flops_per_second: 1e9",
                   "  purpose: PURPOSE_REQUESTED }"));
  EXPECT_DOUBLE_EQ(calibration.matmuls(0).register_ratio(), 0.005);
  EXPECT_EQ(calibration.notes_size(), 0);
}

TEST(SummariseHost, TellsOfAnImpossibleRate) {
  const v1::Calibration calibration = Summarised(
      "registers { data_type: DATA_TYPE_INT8 flops_per_second: 100e9 time { stable: true } }"
      "registers { data_type: DATA_TYPE_BF16 flops_per_second: 100e9 time { stable: true } }"
      "matmuls { data_type: DATA_TYPE_INT8 flops_per_second: 106e9 }"
      "matmuls { data_type: DATA_TYPE_BF16 flops_per_second: 100e9 }");
  EXPECT_FALSE(calibration.registers(0).time().stable()) << "its samples agree, and are wrong";
  EXPECT_TRUE(calibration.registers(1).time().stable());
  ASSERT_EQ(calibration.notes_size(), 1);
  EXPECT_THAT(calibration.notes(0), HasSubstr("1.06 times"));
}

TEST(SummariseHost, TakesTheRidgeFromTheHighestOfEach) {
  EXPECT_DOUBLE_EQ(
      Summarised(
          "elementwise { multiply_add_count: 1 flops_per_second: 5e9 bytes_per_second: 20e9 }"
          "elementwise { multiply_add_count: 2 flops_per_second: 11e9 bytes_per_second: 22e9 }"
          "elementwise { multiply_add_count: 128 flops_per_second: 198e9"
          "  bytes_per_second: 6e9 }")
          .ridge_flops_per_byte(),
      9);
}

TEST(SummariseHost, LeavesOutWhatACutRunCannotTell) {
  const v1::Calibration calibration = Summarised(
      "elementwise { multiply_add_count: 1 flops_per_second: 5e9 bytes_per_second: 20e9 }"
      "elementwise { multiply_add_count: 64 flops_per_second: 150e9 bytes_per_second: 6e9 }"
      "fusion { unfused_time { median_seconds: 3 } }");
  EXPECT_FALSE(calibration.has_ridge_flops_per_byte());
  EXPECT_FALSE(calibration.has_fusion());
  EXPECT_EQ(Summarised("").ByteSizeLong(), 0u);
}

TEST(SummariseHost, FillsTheSpeedup) {
  EXPECT_DOUBLE_EQ(Summarised("fusion { unfused_time { median_seconds: 3 }"
                              "  fused_time { median_seconds: 1.5 } }")
                       .fusion()
                       .speedup_ratio(),
                   2);
}

}  // namespace
}  // namespace sextant::probe
