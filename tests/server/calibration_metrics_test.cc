#include "server/device/calibration_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/text_serializer.h>

#include <limits>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "tests/server/fake_probe.h"

namespace sextant::server {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::chrono::system_clock::time_point kCollectedAt{std::chrono::seconds(1'700'000'060)};
constexpr char kProcessorUuid[] = "CPU-0123456789abcdef";

// Only the series; "{D" stands for the sample device's labels.
std::string Scrape(const CalibrationStore& store, ProbeMetricsSet set = ProbeMetricsSet::kFleet) {
  const CalibrationMetrics metrics(store, set, [] { return kCollectedAt; });
  const std::string text = prometheus::TextSerializer().Serialize(metrics.Collect());
  std::string out;
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    if (!absl::StartsWith(line, "#")) out += std::string(line) + "\n";
  }
  return absl::StrReplaceAll(
      out, {{"{UUID=\"CPU-0123456789abcdef\",gpu=\"cpu\",modelName=\"Example 9000 8-Core "
             "Processor\",hostname=\"node1\"",
             "{D"}});
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
  CalibrationStore store("");
  store.SetDevices({FakeDevice()});
  const auto stored = store.Keep(calibration).stored;
  const DeviceCalibration& best = stored->model->calibration();
  const std::string text = Scrape(store);
  EXPECT_THAT(text, HasSubstr("{D,dtype=\"bf16\",window=\"burst\"} 910000000000\n"));
  EXPECT_EQ(best.BurstIn(DataType::kBf16)->rate.value(), 910e9);
  EXPECT_THAT(text, HasSubstr("{D,op=\"copy\"} 20000000000\n"));
  EXPECT_EQ(best.memory_copy()->per_second, 20e9);
}

TEST(CalibrationMetrics, OfTheFleetAreExactlyThese) {
  CalibrationStore store("");
  store.SetDevices({FakeDevice()});
  store.Keep(FakeCalibration());
  EXPECT_EQ(Scrape(store),
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
  CalibrationStore store("");
  store.SetDevices({FakeDevice()});
  store.Keep(FakeCalibration());
  const std::string text = Scrape(store, ProbeMetricsSet::kFull);
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
  v1::Device gpu = FakeDevice();
  gpu.set_uuid("GPU-1");
  gpu.set_kind(v1::DEVICE_KIND_GPU);
  gpu.set_product_name("NVIDIA H100 80GB HBM3");
  gpu.set_pci_bus_id("0000:1b:00.0");
  v1::Calibration calibration = FakeCalibration();
  *calibration.mutable_device() = gpu;
  calibration.mutable_matmuls(2)->set_flops_per_second(494.7e12);
  CalibrationStore store("");
  store.SetDevices({gpu});
  store.Keep(calibration);
  const std::string labels =
      "{UUID=\"GPU-1\",gpu=\"0\",pci_bus_id=\"0000:1b:00.0\",modelName=\"NVIDIA H100 80GB HBM3\","
      "hostname=\"node1\"";
  const std::string text = Scrape(store);
  for (const std::string& line :
       {"sextant_gpu_peak_flops_per_second" + labels + ",dtype=\"bf16\"} 989400000000000\n",
        "sextant_gpu_matmul_efficiency_ratio" + labels + ",dtype=\"bf16\"} 0.5\n",
        "sextant_gpu_peak_memory_bandwidth_bytes_per_second" + labels + "} 3350000000000\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  // Series of 100,000 devices have to fit one Prometheus.
  int count = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    count += absl::StrContains(line, "GPU-1") ? 1 : 0;
  }
  EXPECT_LE(count, 16);
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
  v1::Device gpu = FakeDevice();
  gpu.set_uuid("GPU-1");
  gpu.set_kind(v1::DEVICE_KIND_GPU);
  gpu.set_product_name("NVIDIA H100 80GB HBM3");
  v1::Calibration calibration = FakeCalibration();
  *calibration.mutable_device() = gpu;
  using Copy = v1::HostCopyMeasurement;
  AddHostCopy(Copy::DIRECTION_HOST_TO_DEVICE, false, 1 << 20, 60e9, &calibration);
  AddHostCopy(Copy::DIRECTION_HOST_TO_DEVICE, false, 1 << 28, 55e9, &calibration);
  AddHostCopy(Copy::DIRECTION_DEVICE_TO_HOST, false, 1 << 28, 52e9, &calibration);
  AddHostCopy(Copy::DIRECTION_DEVICE_TO_HOST, true, 1 << 28, 9e9, &calibration);
  AddCollective(v1::COLLECTIVE_OPERATION_ALL_REDUCE, 470e9, &calibration);
  AddCollective(v1::COLLECTIVE_OPERATION_ALL_GATHER, 350e9, &calibration);
  AddCollective(v1::COLLECTIVE_OPERATION_ALL_TO_ALL, 340e9, &calibration);
  CalibrationStore store("");
  store.SetDevices({gpu});
  store.Keep(calibration);
  const std::string labels =
      "{UUID=\"GPU-1\",gpu=\"0\",modelName=\"NVIDIA H100 80GB HBM3\",hostname=\"node1\",";
  const std::string fleet = Scrape(store);
  const std::string copies = "sextant_gpu_host_copy_bytes_per_second" + labels;
  EXPECT_THAT(fleet, HasSubstr(copies + "direction=\"h2d\",memory=\"pinned\"} 55000000000\n"));
  EXPECT_THAT(fleet, HasSubstr(copies + "direction=\"d2h\",memory=\"pinned\"} 52000000000\n"));
  EXPECT_THAT(fleet, HasSubstr("sextant_gpu_link_bandwidth_bytes_per_second" + labels +
                               "link=\"nvlink\"} 350000000000\n"));
  EXPECT_THAT(fleet, Not(HasSubstr("pageable")));
  EXPECT_THAT(Scrape(store, ProbeMetricsSet::kFull),
              HasSubstr(copies + "direction=\"d2h\",memory=\"pageable\"} 9000000000\n"));
  int count = 0;
  for (const absl::string_view line : absl::StrSplit(fleet, '\n')) {
    count += absl::StrContains(line, "GPU-1") ? 1 : 0;
  }
  EXPECT_LE(count, 16);
}

// PCIe joins an L40S; for a product that is not in the catalogue the link is not known.
TEST(CalibrationMetrics, NameALinkByTheProduct) {
  const auto scraped = [](const char* product, bool exchanged) {
    v1::Calibration calibration = FakeCalibration();
    calibration.mutable_device()->set_kind(v1::DEVICE_KIND_GPU);
    calibration.mutable_device()->set_product_name(product);
    if (exchanged) AddCollective(v1::COLLECTIVE_OPERATION_ALL_REDUCE, 20e9, &calibration);
    CalibrationStore store("");
    store.SetDevices({calibration.device()});
    store.Keep(calibration);
    return Scrape(store);
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
    EXPECT_THAT(
        text,
        HasSubstr(stable ? "sextant_gpu_probe_last_success_timestamp_seconds{D} 1700000050\n"
                         : "sextant_gpu_probe_last_success_timestamp_seconds{D} 1700000055\n"));
    EXPECT_THAT(text, HasSubstr(stable ? "sextant_gpu_probe_stable{D} 1\n"
                                       : "sextant_gpu_probe_stable{D} 0\n"));
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

TEST(CalibrationMetrics, SayWhatTheyAre) {
  CalibrationStore store("");
  store.SetDevices({FakeDevice()});
  store.Keep(FakeCalibration());
  const CalibrationMetrics metrics(store, ProbeMetricsSet::kFull, [] { return kCollectedAt; });
  for (const prometheus::MetricFamily& family : metrics.Collect()) {
    EXPECT_EQ(family.type, prometheus::MetricType::Gauge) << family.name;
    EXPECT_FALSE(family.help.empty()) << family.name;
    EXPECT_THAT(family.name, Not(::testing::EndsWith("_total"))) << family.name;
  }
}

}  // namespace
}  // namespace sextant::server
