// The series of a GPU that was measured.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/text_serializer.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "server/device/calibration_metrics.h"
#include "tests/server/fake_probe.h"
#include "tests/support/matmul_kinds.h"

namespace sextant::server {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

constexpr char kLabels[] =
    "UUID=\"GPU-1\",gpu=\"0\",modelName=\"NVIDIA H100 80GB HBM3\",hostname=\"node1\"";

v1::MatmulMeasurement Matmul(v1::DataType type, int64_t size, double flops_per_second) {
  v1::MatmulMeasurement out = FakeCalibration().matmuls(0);
  out.set_data_type(type);
  out.set_m(size);
  out.set_n(size);
  out.set_k(size);
  out.set_flops_per_second(flops_per_second);
  const auto edge = static_cast<double>(size);
  const double seconds = 2 * edge * edge * edge / flops_per_second;
  out.mutable_time()->set_median_seconds(seconds);
  out.mutable_time()->set_p10_seconds(seconds);
  out.mutable_time()->set_p90_seconds(seconds);
  return out;
}

void AddCopy(v1::HostCopyMeasurement::Direction direction, v1::Calibration* out) {
  v1::HostCopyMeasurement* const copy = out->add_host_copies();
  copy->set_direction(direction);
  copy->set_size_bytes(1 << 28);
  copy->set_bytes_per_second(55e9);
}

// With everything that a probe of a GPU may report.
v1::Calibration GpuCalibration() {
  v1::Calibration out = FakeCalibration();
  out.mutable_device()->set_uuid("GPU-1");
  out.mutable_device()->set_kind(v1::DEVICE_KIND_GPU);
  out.mutable_device()->set_product_name("NVIDIA H100 80GB HBM3");
  out.clear_matmuls();
  for (const v1::DataType type : {v1::DATA_TYPE_FP32, v1::DATA_TYPE_TF32, v1::DATA_TYPE_FP16,
                                  v1::DATA_TYPE_BF16, v1::DATA_TYPE_FP8_E4M3, v1::DATA_TYPE_INT8}) {
    *out.add_matmuls() = Matmul(type, 4096, 700e12);
    AddMatmulAs(Matmul(type, 4096, 600e12), v1::MatmulMeasurement::WINDOW_SUSTAINED,
                v1::MatmulMeasurement::PURPOSE_GRID, &out);
  }
  AddCopy(v1::HostCopyMeasurement::DIRECTION_HOST_TO_DEVICE, &out);
  AddCopy(v1::HostCopyMeasurement::DIRECTION_DEVICE_TO_HOST, &out);
  v1::CollectiveMeasurement* const collective = out.add_collectives();
  collective->set_operation(v1::COLLECTIVE_OPERATION_ALL_GATHER);
  collective->set_bus_bytes_per_second(350e9);
  v1::OperatingConditions* const conditions = out.mutable_conditions();
  conditions->set_reading_count(40);
  conditions->set_sm_clock_hertz(1.75e9);
  conditions->set_power_watts(690);
  conditions->set_maximum_temperature_celsius(66);
  conditions->set_power_throttle_ratio(0.5);
  conditions->set_thermal_throttle_ratio(0);
  conditions->set_hardware_throttle_ratio(0.25);
  for (const auto kind : {v1::LaunchMeasurement::KIND_STREAM, v1::LaunchMeasurement::KIND_GRAPH}) {
    v1::LaunchMeasurement* const launch = out.add_launches();
    launch->set_kind(kind);
    launch->mutable_time()->set_median_seconds(kind == v1::LaunchMeasurement::KIND_STREAM ? 5e-6
                                                                                          : 2e-6);
  }
  return out;
}

// The lines of GPU-1: "name{rest} value", with `kLabels` removed.
std::vector<std::string> SeriesOf(const v1::Calibration& calibration, ProbeMetricsSet set) {
  CalibrationStore store("");
  store.SetDevices({calibration.device()});
  store.Keep(calibration);
  const CalibrationMetrics metrics(store, set);
  const std::string text = prometheus::TextSerializer().Serialize(metrics.Collect());
  std::vector<std::string> out;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const size_t labels = line.find(kLabels);
    if (labels == absl::string_view::npos) continue;
    out.push_back(absl::StrCat(line.substr(0, labels), line.substr(labels + sizeof(kLabels) - 1)));
  }
  return out;
}

std::vector<std::string> Named(absl::string_view name, const std::vector<std::string>& all) {
  std::vector<std::string> out;
  for (const std::string& line : all) {
    if (absl::StartsWith(line, name)) out.push_back(line);
  }
  return out;
}

// Series of 100,000 GPUs fit one Prometheus.
TEST(GpuGauges, OfTheFleetAreSixteenAtMost) {
  const std::vector<std::string> all = SeriesOf(GpuCalibration(), ProbeMetricsSet::kFleet);
  EXPECT_THAT(all, SizeIs(16));
  EXPECT_THAT(Named("sextant_gpu_matmul_flops_per_second", all),
              UnorderedElementsAre(
                  "sextant_gpu_matmul_flops_per_second{,dtype=\"bf16\",window=\"burst\"} "
                  "700000000000000",
                  "sextant_gpu_matmul_flops_per_second{,dtype=\"bf16\",window=\"sustained\"} "
                  "600000000000000",
                  "sextant_gpu_matmul_flops_per_second{,dtype=\"fp8\",window=\"sustained\"} "
                  "600000000000000"));
  EXPECT_THAT(Named("sextant_gpu_peak_flops_per_second", all),
              ElementsAre(HasSubstr("dtype=\"bf16\""), HasSubstr("dtype=\"fp8\"")));
  EXPECT_THAT(all, Contains("sextant_gpu_sm_clock_hertz{} 1750000000"));
  EXPECT_THAT(all, Contains("sextant_gpu_probe_stable{} 1"));
}

TEST(GpuGauges, InFullTellUnderWhichConditions) {
  const std::vector<std::string> all = SeriesOf(GpuCalibration(), ProbeMetricsSet::kFull);
  for (const char* line :
       {"sextant_gpu_temperature_celsius{} 66", "sextant_gpu_throttle_ratio{,reason=\"power\"} 0.5",
        "sextant_gpu_throttle_ratio{,reason=\"thermal\"} 0",
        "sextant_gpu_throttle_ratio{,reason=\"hardware\"} 0.25",
        "sextant_gpu_launch_seconds{,kind=\"stream\"} 5e-06",
        "sextant_gpu_launch_seconds{,kind=\"graph\"} 2e-06"}) {
    EXPECT_THAT(all, Contains(line));
  }
  EXPECT_THAT(Named("sextant_gpu_peak_flops_per_second", all), SizeIs(6));
  EXPECT_THAT(Named("sextant_gpu_matmul_flops_per_second", all), SizeIs(12));
}

TEST(GpuGauges, AreAbsentWhereNothingWasTold) {
  v1::Calibration calibration = GpuCalibration();
  calibration.clear_conditions();
  calibration.clear_launches();
  const std::vector<std::string> none = SeriesOf(calibration, ProbeMetricsSet::kFull);
  calibration.mutable_conditions()->set_reading_count(7);
  for (const auto& all : {none, SeriesOf(calibration, ProbeMetricsSet::kFull)}) {
    for (const char* name : {"sm_clock", "temperature", "throttle", "launch", "prediction_error"}) {
      EXPECT_THAT(Named(absl::StrCat("sextant_gpu_", name), all), SizeIs(0));
      EXPECT_THAT(all, Not(Contains(HasSubstr(name))));
    }
  }
}

// For shapes that the fit has not seen, every prediction is off by its rate's deviation.
TEST(GpuGauges, TellHowFarPredictionsAreOff) {
  v1::Calibration calibration = GpuCalibration();
  calibration.clear_matmuls();
  for (int64_t size = 512; size < 512 + 24 * 256; size += 256) {
    *calibration.add_matmuls() = Matmul(v1::DATA_TYPE_BF16, size, 600e12);
  }
  *calibration.add_matmuls() = Matmul(v1::DATA_TYPE_FP8_E4M3, 1024, 900e12);  // too few for a fit
  const std::vector<std::string> even = Named("sextant_gpu_matmul_prediction_error_ratio",
                                              SeriesOf(calibration, ProbeMetricsSet::kFull));
  ASSERT_THAT(even, SizeIs(2));
  EXPECT_THAT(even, Contains(HasSubstr("{,dtype=\"bf16\",quantile=\"0.5\"} ")));
  EXPECT_THAT(even, Contains(HasSubstr("{,dtype=\"bf16\",quantile=\"0.9\"} ")));
  EXPECT_THAT(SeriesOf(calibration, ProbeMetricsSet::kFleet),
              Not(Contains(HasSubstr("prediction_error"))));
  const std::vector<MatmulError> small = StoredFrom(calibration)->model->MatmulErrors();
  ASSERT_THAT(small, SizeIs(1));
  EXPECT_LT(small[0].p90, 0.05);
  for (int i = 0; i < calibration.matmuls_size(); ++i) {
    const double rate = i % 3 == 0 ? 300e12 : i % 3 == 1 ? 600e12 : 900e12;
    *calibration.mutable_matmuls(i) = Matmul(v1::DATA_TYPE_BF16, calibration.matmuls(i).m(), rate);
  }
  const std::vector<MatmulError> large = StoredFrom(calibration)->model->MatmulErrors();
  ASSERT_THAT(large, SizeIs(1));
  EXPECT_GT(large[0].p90, 0.2);
  EXPECT_LE(large[0].median, large[0].p90);
}

}  // namespace
}  // namespace sextant::server
