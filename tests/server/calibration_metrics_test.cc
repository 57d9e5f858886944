#include "server/calibration_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/text_serializer.h>

#include <limits>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "engine/hardware/catalogue.h"
#include "server/calibration_figures.h"
#include "tests/server/fake_probe.h"

namespace sextant {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::chrono::system_clock::time_point kCollectedAt{std::chrono::seconds(1'700'000'060)};
constexpr char kProcessorUuid[] = "CPU-0123456789abcdef";

// The series alone, "{D" standing for the sample device's labels.
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

// The metric and a plan on the same calibration show the same rate.
TEST(BestMatmul, IsTheOneThatPlansStandOn) {
  v1::Calibration calibration;
  const auto add = [&](double flops_per_second, bool stable) {
    v1::MatmulMeasurement* const matmul = calibration.add_matmuls();
    matmul->set_data_type(v1::DATA_TYPE_BF16);
    matmul->set_flops_per_second(flops_per_second);
    matmul->mutable_time()->set_stable(stable);
  };
  add(100e9, false);
  add(91e9, true);
  add(99e9, false);
  EXPECT_EQ(BestMatmul(calibration.matmuls(), v1::DATA_TYPE_BF16)->flops_per_second(), 91e9);
  add(200e9, false);
  EXPECT_EQ(BestMatmul(calibration.matmuls(), v1::DATA_TYPE_BF16)->flops_per_second(), 200e9);
  EXPECT_EQ(BestMatmul(calibration.matmuls(), v1::DATA_TYPE_FP32), nullptr);
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
  // 100,000 devices have to fit one Prometheus.
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

// The largest copy's rate, not the best; the link's by what it carries, not by what a switch adds
// up.
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

// PCIe joins an L40S; of a product that no catalogue has, nobody can say what does.
TEST(MeasuredLinkOf, IsNamedByTheProduct) {
  v1::Calibration calibration;
  EXPECT_FALSE(MeasuredLinkOf(calibration, AcceleratorNamed("l40s")).has_value());
  AddCollective(v1::COLLECTIVE_OPERATION_ALL_REDUCE, 20e9, &calibration);
  const auto link = MeasuredLinkOf(calibration, AcceleratorNamed("l40s"));
  ASSERT_TRUE(link.has_value());
  EXPECT_STREQ(link->name, "pcie");
  EXPECT_EQ(link->bytes_per_second, 20e9);
  EXPECT_FALSE(MeasuredLinkOf(calibration, nullptr).has_value());
}

TEST(CalibrationMetrics, AreAbsentRatherThanZero) {
  CalibrationStore store("");
  EXPECT_EQ(Scrape(store), "");
  v1::Device device = FakeDevice();
  device.clear_memory_bytes();
  store.SetDevices({device});
  EXPECT_EQ(Scrape(store), "");
  // A device that is gone is not this host's any more.
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

// Figures are of the calibration in use; when a device was last measured is of any.
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
  for (const int64_t last_measured : {1'700'000'050, 1'700'000'055}) {
    const std::string text = Scrape(store);
    EXPECT_THAT(text, HasSubstr("{D,dtype=\"bf16\",window=\"burst\"} 500000000000\n"));
    EXPECT_THAT(text, HasSubstr("source=\"MEASURED_DEVICE\"} 60\n"));
    EXPECT_THAT(text, HasSubstr("sextant_gpu_probe_last_success_timestamp_seconds{D} " +
                                std::to_string(last_measured) + "\n"));
    // The next one is worse than the former quick one, and is not kept.
    quick.set_coverage_ratio(0.5);
    quick.mutable_measured_time()->set_seconds(1'700'000'055);
    EXPECT_NE(store.Keep(quick, now).better, nullptr);
  }
}

// A folder that hosts share: before the probe has listed this one's devices.
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
}  // namespace sextant
