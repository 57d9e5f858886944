// The series of devices that were measured.
#include "server/device/calibration_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/text_serializer.h>

#include <limits>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "tests/server/fake_probe.h"
#include "tests/support/matmul_kinds.h"

namespace sextant::server {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

const std::chrono::system_clock::time_point kCollectedAt{std::chrono::seconds(1'700'000'060)};
constexpr char kProcessorUuid[] = "CPU-0123456789abcdef";

constexpr char kProcessor[] =
    "{UUID=\"CPU-0123456789abcdef\",gpu=\"cpu\",modelName=\"Example 9000 8-Core Processor\","
    "hostname=\"node1\"";
constexpr char kGpu[] =
    "{UUID=\"GPU-1\",gpu=\"0\",modelName=\"NVIDIA H100 80GB HBM3\",hostname=\"node1\"";

// Only the series; "{D" stands for the labels of FakeDevice() or OnH100()'s.
std::string Scrape(const CalibrationStore& store, ProbeMetricsSet set = ProbeMetricsSet::kFleet) {
  const CalibrationMetrics metrics(store, set, [] { return kCollectedAt; });
  const std::vector<prometheus::MetricFamily> families = metrics.Collect();
  for (const prometheus::MetricFamily& family : families) {
    EXPECT_EQ(family.type, prometheus::MetricType::Gauge) << family.name;
    EXPECT_FALSE(family.help.empty() || absl::EndsWith(family.name, "_total")) << family.name;
  }
  const std::string text = prometheus::TextSerializer().Serialize(families);
  std::string out;
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    if (!absl::StartsWith(line, "#")) out += std::string(line) + "\n";
  }
  return absl::StrReplaceAll(out, {{kProcessor, "{D"}, {kGpu, "{D"}});
}

v1::Calibration OnH100(v1::Calibration out) {
  out.mutable_device()->set_uuid("GPU-1");
  out.mutable_device()->set_kind(v1::DEVICE_KIND_GPU);
  out.mutable_device()->set_product_name("NVIDIA H100 80GB HBM3");
  return out;
}

std::string ScrapeOf(const v1::Calibration& calibration,
                     ProbeMetricsSet set = ProbeMetricsSet::kFleet) {
  CalibrationStore store("");
  store.SetDevices({calibration.device()});
  store.Keep(calibration);
  return Scrape(store, set);
}

// The metrics and a plan on the same calibration show the same figures: those of the best shapes of
// the grid, not of requested ones, and of the best copy, not that of the largest arrays.
TEST(CalibrationMetrics, AreTheFiguresThatPlansStandOn) {
  v1::Calibration calibration = FakeCalibration();
  const v1::MatmulMeasurement bf16 = calibration.matmuls(2);
  ASSERT_EQ(bf16.data_type(), v1::DATA_TYPE_BF16);
  const auto add = [&](double flops_per_second, bool stable, bool requested) {
    v1::MatmulMeasurement* const matmul = calibration.add_matmuls();
    *matmul = bf16;
    matmul->set_flops_per_second(flops_per_second);
    matmul->mutable_time()->set_stable(stable);
    matmul->set_purpose(requested ? v1::MatmulMeasurement::PURPOSE_REQUESTED
                                  : v1::MatmulMeasurement::PURPOSE_GRID);
  };
  add(1000e9, false, false);
  add(910e9, true, false);
  add(990e9, false, false);
  add(2000e9, true, true);
  v1::StreamMeasurement large;
  for (const v1::StreamMeasurement& stream : calibration.streams()) {
    const bool copies = stream.operation() == v1::StreamMeasurement::OPERATION_COPY;
    if (copies && stream.main_memory()) large = stream;
  }
  large.set_array_bytes(4 * large.array_bytes());
  large.set_bytes_per_second(0.9 * large.bytes_per_second());
  *calibration.add_streams() = large;
  const auto stored = StoredFrom(calibration);
  const DeviceCalibration& best = stored->model->calibration();
  const std::string text = ScrapeOf(calibration);
  EXPECT_THAT(text, HasSubstr("{D,dtype=\"bf16\",window=\"burst\"} 910000000000\n"));
  EXPECT_EQ(best.BurstIn(DataType::kBf16)->rate.value(), 910e9);
  EXPECT_THAT(text, HasSubstr("{D,op=\"copy\"} 20000000000\n"));
  EXPECT_EQ(best.memory_copy()->per_second, 20e9);
}

TEST(CalibrationMetrics, OfTheFleetAreExactlyThese) {
  EXPECT_EQ(ScrapeOf(FakeCalibration()),
            "sextant_gpu_memory_total_bytes{D} 68719476736\n"
            "sextant_gpu_matmul_flops_per_second{D,dtype=\"fp32\",window=\"burst\"} 250000000000\n"
            "sextant_gpu_matmul_flops_per_second{D,dtype=\"bf16\",window=\"burst\"} 500000000000\n"
            "sextant_gpu_matmul_flops_per_second{D,dtype=\"bf16\",window=\"sustained\"} "
            "400000000000\n"
            "sextant_gpu_memory_bandwidth_bytes_per_second{D,op=\"copy\"} 20000000000\n"
            "sextant_gpu_probe_last_success_timestamp_seconds{D} 1700000000\n"
            "sextant_gpu_probe_stable{D} 1\n"
            "sextant_gpu_healthy{D} 1\n"
            "sextant_calibration_age_seconds{modelName=\"Example 9000 8-Core Processor\","
            "source=\"MEASURED_DEVICE\"} 60\n");
}

TEST(CalibrationMetrics, InFullShowTheRestAsWell) {
  const std::string text = ScrapeOf(FakeCalibration(), ProbeMetricsSet::kFull);
  for (const char* line :
       {"sextant_gpu_matmul_flops_per_second{D,dtype=\"int8\",window=\"burst\"} 800000000000\n",
        "sextant_gpu_memory_bandwidth_bytes_per_second{D,op=\"triad\"} 18000000000\n",
        "sextant_gpu_relative_spread_ratio{D,test=\"matmul_fp32\"} 0.01\n",
        "sextant_gpu_relative_spread_ratio{D,test=\"copy\"} 0.01\n",
        "sextant_gpu_ridge_flops_per_byte{D,dtype=\"fp32\"} 8\n",
        "sextant_gpu_vector_flops_per_second{D,dtype=\"fp32\"} 160000000000\n",
        "sextant_gpu_drift_ratio{D} 0.02\n", "sextant_gpu_probe_duration_seconds{D} 5\n",
        "sextant_gpu_probe_coverage_ratio{D} 1\n",
        "sextant_gpu_info{D,probe_version=\"sextant-probe 0.1.0\",engine=\"builtin\"} 1\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

TEST(CalibrationMetrics, CompareKnownProductsWithTheirDatasheet) {
  v1::Calibration calibration = OnH100(FakeCalibration());
  calibration.mutable_matmuls(2)->set_flops_per_second(494.7e12);
  const std::string text = ScrapeOf(calibration);
  for (const char* line :
       {"sextant_gpu_peak_flops_per_second{D,dtype=\"bf16\"} 989400000000000\n",
        "sextant_gpu_matmul_efficiency_ratio{D,dtype=\"bf16\"} 0.5\n",
        "sextant_gpu_peak_memory_bandwidth_bytes_per_second{D} 3350000000000\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

void AddHostCopy(v1::HostCopyMeasurement::Direction direction, bool pageable, int64_t bytes,
                 double rate, v1::Calibration* out) {
  v1::HostCopyMeasurement* copy = out->add_host_copies();
  copy->set_direction(direction);
  copy->set_pageable(pageable);
  copy->set_size_bytes(bytes);
  copy->set_bytes_per_second(rate);
}

void AddCollective(v1::CollectiveOperation operation, double bus_rate, v1::Calibration* out) {
  v1::CollectiveMeasurement* collective = out->add_collectives();
  collective->set_operation(operation);
  collective->set_rank_count(8);
  collective->set_bus_bytes_per_second(bus_rate);
}

// The largest copy's rate, not the best one; for the link, the rate of bytes that it carries, not
// of a switch's sums.
TEST(CalibrationMetrics, ShowCopiesAndLinksWhereTheyWereMeasured) {
  v1::Calibration calibration = OnH100(FakeCalibration());
  using Copy = v1::HostCopyMeasurement;
  AddHostCopy(Copy::DIRECTION_HOST_TO_DEVICE, false, 1 << 20, 60e9, &calibration);
  AddHostCopy(Copy::DIRECTION_HOST_TO_DEVICE, false, 1 << 28, 55e9, &calibration);
  AddHostCopy(Copy::DIRECTION_DEVICE_TO_HOST, false, 1 << 28, 52e9, &calibration);
  AddHostCopy(Copy::DIRECTION_DEVICE_TO_HOST, true, 1 << 28, 9e9, &calibration);
  AddCollective(v1::COLLECTIVE_OPERATION_ALL_REDUCE, 470e9, &calibration);
  AddCollective(v1::COLLECTIVE_OPERATION_ALL_GATHER, 350e9, &calibration);
  AddCollective(v1::COLLECTIVE_OPERATION_ALL_TO_ALL, 340e9, &calibration);
  const std::string fleet = ScrapeOf(calibration);
  const std::string copies = "sextant_gpu_host_copy_bytes_per_second{D,";
  EXPECT_THAT(fleet, HasSubstr(copies + "direction=\"h2d\",memory=\"pinned\"} 55000000000\n"));
  EXPECT_THAT(fleet, HasSubstr(copies + "direction=\"d2h\",memory=\"pinned\"} 52000000000\n"));
  EXPECT_THAT(fleet, HasSubstr("sextant_gpu_link_bandwidth_bytes_per_second{D,link=\"nvlink\"} "
                               "350000000000\n"));
  EXPECT_THAT(fleet, Not(HasSubstr("pageable")));
  EXPECT_THAT(ScrapeOf(calibration, ProbeMetricsSet::kFull),
              HasSubstr(copies + "direction=\"d2h\",memory=\"pageable\"} 9000000000\n"));
}

// PCIe joins an L40S; for a product that is not in the catalogue the link is not known.
TEST(CalibrationMetrics, NameALinkByTheProduct) {
  const auto scraped = [](const char* product, bool exchanged) {
    v1::Calibration calibration = FakeCalibration();
    calibration.mutable_device()->set_kind(v1::DEVICE_KIND_GPU);
    calibration.mutable_device()->set_product_name(product);
    if (exchanged) AddCollective(v1::COLLECTIVE_OPERATION_ALL_REDUCE, 20e9, &calibration);
    return ScrapeOf(calibration);
  };
  EXPECT_THAT(scraped("NVIDIA L40S", true), HasSubstr(",link=\"pcie\"} 20000000000\n"));
  EXPECT_THAT(scraped("NVIDIA L40S", false), Not(HasSubstr("link=")));
  EXPECT_THAT(scraped("Nobody's GPU", true), Not(HasSubstr("link=")));
}

TEST(CalibrationMetrics, AreAbsentRatherThanZero) {
  CalibrationStore store("");
  EXPECT_EQ(Scrape(store), "");
  v1::Device device = FakeDevice();
  device.clear_memory_bytes();
  store.SetDevices({device});
  EXPECT_EQ(Scrape(store), "");
  // A device that is gone no longer belongs to this host.
  v1::Calibration gone = FakeCalibration();
  gone.mutable_device()->set_uuid("GPU-gone");
  store.Keep(gone);
  EXPECT_EQ(Scrape(store), "");
  v1::Calibration odd = FakeCalibration();
  odd.clear_ridge_flops_per_byte();
  odd.clear_drift_ratio();
  odd.clear_elementwise();
  odd.mutable_matmuls(0)->mutable_time()->set_relative_spread(
      std::numeric_limits<double>::quiet_NaN());
  odd.mutable_matmuls(1)->mutable_time()->set_relative_spread(
      std::numeric_limits<double>::infinity());
  store.Keep(odd);
  const std::string text = Scrape(store, ProbeMetricsSet::kFull);
  for (const char* name : {"ridge", "drift", "vector", "matmul_fp32", "Nan", "Inf"}) {
    EXPECT_THAT(text, Not(HasSubstr(name)));
  }
}

// Figures are those of the calibration in use; the time of the last measurement, and whether it was
// stable, are those of any mode.
TEST(CalibrationMetrics, AreOfTheCalibrationInUse) {
  CalibrationStore store("");
  store.SetDevices({FakeDevice()});
  const absl::Time now = absl::FromChrono(kCollectedAt);
  v1::Calibration full = FakeCalibration();
  full.set_mode(v1::PROBE_MODE_FULL);
  store.Keep(full, now);
  v1::Calibration quick = FakeCalibration();
  quick.set_mode(v1::PROBE_MODE_QUICK);
  quick.mutable_matmuls(2)->set_flops_per_second(7e9);
  quick.mutable_measured_time()->set_seconds(1'700'000'050);
  store.Keep(quick, now);
  for (const bool stable : {true, false}) {
    const std::string text = Scrape(store);
    EXPECT_THAT(text, HasSubstr("{D,dtype=\"bf16\",window=\"burst\"} 500000000000\n"));
    EXPECT_THAT(text, HasSubstr("source=\"MEASURED_DEVICE\"} 60\n"));
    EXPECT_THAT(text, HasSubstr(absl::StrCat("last_success_timestamp_seconds{D} ",
                                             stable ? 1700000050 : 1700000055, "\n")));
    EXPECT_THAT(text,
                HasSubstr(absl::StrCat("sextant_gpu_probe_stable{D} ", stable ? 1 : 0, "\n")));
    // The next one is worse than the former quick one, and is not kept.
    quick.mutable_matmuls(2)->mutable_time()->set_stable(false);
    quick.mutable_measured_time()->set_seconds(1'700'000'055);
    EXPECT_NE(store.Keep(quick, now).better, nullptr);
  }
}

// Hosts share a folder, and the probe has not listed this host's devices yet.
TEST(CalibrationMetrics, ShowNoOtherHostsDevice) {
  const TemporaryFolder folder;
  CalibrationStore(folder.path()).Keep(FakeCalibration());
  EXPECT_THAT(Scrape(CalibrationStore(folder.path(), "node1")),
              HasSubstr("sextant_gpu_healthy{D} 1\n"));
  EXPECT_EQ(Scrape(CalibrationStore(folder.path(), "node2")), "");
}

TEST(CalibrationMetrics, CallADeviceWithAWrongResultUnhealthy) {
  CalibrationStore store("");
  store.SetDevices({FakeDevice()});
  store.Keep(FakeCalibration());
  store.Distrust(kProcessorUuid);
  EXPECT_EQ(Scrape(store),
            "sextant_gpu_memory_total_bytes{D} 68719476736\nsextant_gpu_healthy{D} 0\n");
}

v1::MatmulMeasurement MatmulOf(v1::DataType type, int64_t size, double flops_per_second) {
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

// With everything that a probe of a GPU may report.
v1::Calibration GpuCalibration() {
  v1::Calibration out = OnH100(FakeCalibration());
  out.clear_matmuls();
  for (const v1::DataType type : {v1::DATA_TYPE_FP32, v1::DATA_TYPE_TF32, v1::DATA_TYPE_FP16,
                                  v1::DATA_TYPE_BF16, v1::DATA_TYPE_FP8_E4M3, v1::DATA_TYPE_INT8}) {
    *out.add_matmuls() = MatmulOf(type, 4096, 700e12);
    AddMatmulAs(MatmulOf(type, 4096, 600e12), v1::MatmulMeasurement::WINDOW_SUSTAINED,
                v1::MatmulMeasurement::PURPOSE_GRID, &out);
  }
  using Copy = v1::HostCopyMeasurement;
  AddHostCopy(Copy::DIRECTION_HOST_TO_DEVICE, false, 1 << 28, 55e9, &out);
  AddHostCopy(Copy::DIRECTION_DEVICE_TO_HOST, false, 1 << 28, 55e9, &out);
  AddCollective(v1::COLLECTIVE_OPERATION_ALL_GATHER, 350e9, &out);
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

std::vector<std::string> SeriesOf(const v1::Calibration& calibration, ProbeMetricsSet set) {
  std::vector<std::string> out;
  for (const absl::string_view line : absl::StrSplit(ScrapeOf(calibration, set), '\n')) {
    if (absl::StrContains(line, "{D")) out.emplace_back(line);
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
                  "sextant_gpu_matmul_flops_per_second{D,dtype=\"bf16\",window=\"burst\"} "
                  "700000000000000",
                  "sextant_gpu_matmul_flops_per_second{D,dtype=\"bf16\",window=\"sustained\"} "
                  "600000000000000",
                  "sextant_gpu_matmul_flops_per_second{D,dtype=\"fp8\",window=\"sustained\"} "
                  "600000000000000"));
  EXPECT_THAT(Named("sextant_gpu_peak_flops_per_second", all),
              ElementsAre(HasSubstr("dtype=\"bf16\""), HasSubstr("dtype=\"fp8\"")));
  EXPECT_THAT(all, Contains("sextant_gpu_sm_clock_hertz{D} 1750000000"));
  EXPECT_THAT(all, Contains("sextant_gpu_probe_stable{D} 1"));
}

TEST(GpuGauges, InFullTellUnderWhichConditions) {
  const std::vector<std::string> all = SeriesOf(GpuCalibration(), ProbeMetricsSet::kFull);
  for (const char* line : {"sextant_gpu_temperature_celsius{D} 66",
                           "sextant_gpu_throttle_ratio{D,reason=\"power\"} 0.5",
                           "sextant_gpu_throttle_ratio{D,reason=\"thermal\"} 0",
                           "sextant_gpu_throttle_ratio{D,reason=\"hardware\"} 0.25",
                           "sextant_gpu_launch_seconds{D,kind=\"stream\"} 5e-06",
                           "sextant_gpu_launch_seconds{D,kind=\"graph\"} 2e-06"}) {
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
    *calibration.add_matmuls() = MatmulOf(v1::DATA_TYPE_BF16, size, 600e12);
  }
  *calibration.add_matmuls() = MatmulOf(v1::DATA_TYPE_FP8_E4M3, 1024, 900e12);  // too few for a fit
  const std::vector<std::string> even = Named("sextant_gpu_matmul_prediction_error_ratio",
                                              SeriesOf(calibration, ProbeMetricsSet::kFull));
  ASSERT_THAT(even, SizeIs(2));
  EXPECT_THAT(even, Contains(HasSubstr("{D,dtype=\"bf16\",quantile=\"0.5\"} ")));
  EXPECT_THAT(even, Contains(HasSubstr("{D,dtype=\"bf16\",quantile=\"0.9\"} ")));
  EXPECT_THAT(SeriesOf(calibration, ProbeMetricsSet::kFleet),
              Not(Contains(HasSubstr("prediction_error"))));
}

}  // namespace
}  // namespace sextant::server
