#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <latch>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "engine/hardware/catalogue.h"
#include "server/convert/rates.h"
#include "server/fleet/fleet_reader.h"
#include "tests/server/planning_server.h"
#include "tests/server/sample_calibration.h"
#include "tests/server/wire_values.h"

namespace sextant::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;

struct Translated {
  DeviceSelection selection;
  std::vector<std::string> faults;  // "field: description"
};

Translated TranslatedFrom(const v1::DeviceSelector& wire,
                          const CalibrationSnapshot& host = NoHost(),
                          absl::optional<double> maximum_age_seconds = {}) {
  SuppliedCalibrations supplied;
  FieldViolations violations;
  Translated out;
  out.selection =
      FinderOf(supplied, host).Resolve(wire, "a.device", maximum_age_seconds, violations);
  for (const FieldViolation& v : violations.all()) {
    out.faults.push_back(absl::StrCat(v.field, ": ", v.description));
  }
  return out;
}

TEST(DeviceSelector, IsAnAcceleratorsName) {
  const v1::DeviceSelector wire = MessageOf<v1::DeviceSelector>(R"({"accelerator": "h100-sxm"})");
  const Translated out = TranslatedFrom(wire);
  EXPECT_THAT(out.faults, IsEmpty());
  EXPECT_EQ(out.selection.accelerator, "h100-sxm");
  EXPECT_EQ(out.selection.named_count(), 0u);
}

// Whatever a request calls a product, the catalogue's name is all that goes on from here.
TEST(DeviceSelector, ResolvesEveryAliasOnce) {
  std::vector<std::pair<std::string, std::string>> aliases = {
      {"h100", "h100-sxm"},
      {"h800", "h800-sxm"},
      {"a800", "a800-sxm-80"},
      {"b200", "b200-sxm"},
      {"gpu:h200:8", "h200-sxm"},
      {"gres/gpu:h100=8", "h100-sxm"},
      {"NVIDIA H100 80GB HBM3", "h100-sxm"},
      {"NVIDIA A100-SXM4-80GB", "a100-sxm-80"}};
  for (const Accelerator& each : Accelerators()) {
    const std::string name(each.name);
    aliases.emplace_back(name, name);
    aliases.emplace_back(absl::AsciiStrToUpper(name), name);
    aliases.emplace_back(std::string(each.product_name), name);
  }
  for (const auto& [alias, name] : aliases) {
    v1::DeviceSelector wire;
    wire.set_accelerator(alias);
    const Translated out = TranslatedFrom(wire);
    EXPECT_EQ(out.selection.accelerator, name) << alias;
    EXPECT_EQ(out.selection.given_name, alias);
  }
}

// SampleCalibration() was measured an hour before.
TEST(DeviceSelector, FindsTheHostsDevices) {
  const CalibrationSnapshot host = SnapshotOf({SampleCalibration()});
  const Translated out = TranslatedFrom(
      MessageOf<v1::DeviceSelector>(R"({"host_devices": {"devices": ["host", "GPU-9"]}})"), host);
  EXPECT_THAT(out.faults, IsEmpty());
  ASSERT_EQ(out.selection.devices.size(), 2u);
  EXPECT_EQ(out.selection.devices[0].uuid, "CPU-0123456789abcdef");
  EXPECT_EQ(out.selection.devices[0].age_seconds, 3600);
  EXPECT_TRUE(absl::IsNotFound(out.selection.devices[1].found));
  EXPECT_EQ(out.selection.models().size(), 1u);
  EXPECT_EQ(out.selection.source(), RateSource::kMeasuredDevice);
}

TEST(DeviceSelector, TakesTheCallersCalibrations) {
  v1::DeviceSelector wire;
  *wire.mutable_calibrations()->add_calibrations() = SampleCalibration("CPU-1");
  const Translated out = TranslatedFrom(wire);
  EXPECT_THAT(out.faults, IsEmpty());
  ASSERT_EQ(out.selection.calibrations.size(), 1u);
  EXPECT_EQ(out.selection.calibrations[0]->calibration().uuid, "CPU-1");
  EXPECT_EQ(out.selection.source(), RateSource::kMeasuredSupplied);
}

// Every field of the messages has a test above.
TEST(DeviceSelector, HasNoOtherFields) {
  EXPECT_EQ(v1::DeviceSelector::descriptor()->field_count(), 4);
  EXPECT_EQ(v1::HostDevices::descriptor()->field_count(), 1);
  EXPECT_EQ(v1::SuppliedCalibrations::descriptor()->field_count(), 1);
  EXPECT_EQ(v1::FleetDevices::descriptor()->field_count(), 3);
}

// A fleet whose Prometheus has one host of 8 H100s, node1.
class FleetSelector : public ::testing::Test {
 protected:
  Translated From(const std::string& text) {
    const v1::DeviceSelector& wire = wires_.emplace_back(MessageOf<v1::DeviceSelector>(text));
    std::latch read(1);
    AfterFleet(&reader_, {&wire}, std::chrono::system_clock::time_point::max(),
               [&] { read.count_down(); });
    read.wait();
    FieldViolations violations;
    Translated out;
    const DeviceFinder finder(
        {.supplied = supplied_, .host = NoHost(), .now = SourcesTime(), .fleet = &reader_});
    out.selection = finder.Resolve(wire, "a.device", {}, violations);
    for (const FieldViolation& v : violations.all()) {
      out.faults.push_back(absl::StrCat(v.field, ": ", v.description));
    }
    return out;
  }

  absl::StatusOr<std::vector<PrometheusSample>> Answer(const std::string& promql) {
    ++asked_;
    std::vector<PrometheusSample> out;
    if (absl::StrContains(promql, "UUID=~")) return out;
    const auto add = [&out](const char* name, double value, const char* figure) {
      out.push_back({.labels = {{"__name__", name},
                                {"modelName", kProduct},
                                {"hostname", "node1"},
                                {"figure", figure}},
                     .value = value});
    };
    add("hostname_modelName:sextant_gpu_rate:min", 6e14, "bf16_burst");
    add("hostname_modelName:sextant_gpu_measured:count", 8, "");
    return out;
  }

  static constexpr char kProduct[] = "NVIDIA H100 80GB HBM3";
  std::deque<v1::DeviceSelector> wires_;  // selections point into them
  std::atomic<int> asked_ = 0;
  prometheus::Registry registry_;
  SuppliedCalibrations supplied_;
  FleetReader reader_{{.query = [this](const std::string& promql,
                                       std::chrono::milliseconds) { return Answer(promql); },
                       .curves = [] { return std::vector<std::shared_ptr<const DeviceModel>>(); }},
                      registry_};
};

TEST_F(FleetSelector, IsReadFirst) {
  const Translated out = From(R"({"fleet": {"accelerator": "h100-sxm", "hostnames": ["node1"]}})");
  EXPECT_THAT(out.faults, IsEmpty());
  EXPECT_EQ(out.selection.accelerator, "h100-sxm");
  ASSERT_TRUE(out.selection.fleet.has_value());
  EXPECT_EQ(out.selection.fleet->device_count, 8);
  EXPECT_EQ(out.selection.models().size(), 1u);
  EXPECT_EQ(out.selection.source(), RateSource::kMeasuredDevice);
}

TEST_F(FleetSelector, OfAnotherProductIsRefused) {
  EXPECT_THAT(From(R"({"fleet": {"accelerator": "h200-sxm", "hostnames": ["node1"]}})").faults,
              ElementsAre("a.device.fleet.accelerator: is h200-sxm, but by the fleet's metrics "
                          "these are NVIDIA H100 80GB HBM3: name the product that they are"));
}

// Nothing is asked for what is wrong.
TEST_F(FleetSelector, IsCheckedBeforeItIsRead) {
  EXPECT_THAT(From(R"({"fleet": {}})").faults,
              ElementsAre(StartsWith("a.device.fleet.accelerator: is required")));
  EXPECT_THAT(From(R"({"fleet": {"accelerator": "h100-sxm", "hostnames": ["a", "", "a"],
                                 "gpu_uuids": ["GPU-1"]}})")
                  .faults,
              ElementsAre(StartsWith("a.device.fleet.gpu_uuids: can't be given with hostnames"),
                          StartsWith("a.device.fleet.hostnames[1]: must have 1 to 253 bytes"),
                          "a.device.fleet.hostnames[2]: is a again: name it once"));
  v1::DeviceSelector many;
  many.mutable_fleet()->set_accelerator("h100-sxm");
  for (int i = 0; i <= 4096; ++i) many.mutable_fleet()->add_hostnames(absl::StrCat("n", i));
  EXPECT_THAT(From(JsonOf(many)).faults,
              ElementsAre("a.device.fleet.hostnames: are 4097: give at most 4096 hosts"));
  EXPECT_EQ(asked_, 0);
}

// A caller's mistake is not a failed read, which operators would see.
TEST_F(FleetSelector, OfAnUnknownProductIsNotRead) {
  const Translated out = From(R"({"fleet": {"accelerator": "h999", "hostnames": ["node1"]}})");
  EXPECT_THAT(out.faults, IsEmpty());
  EXPECT_EQ(out.selection.accelerator, "h999");
  EXPECT_EQ(asked_, 0);
  std::vector<UnknownName> unknown;
  EXPECT_EQ(FindSelected(out.selection, "a.device", unknown), nullptr);
  ASSERT_EQ(unknown.size(), 1u);
  EXPECT_EQ(unknown[0].field, "a.device.fleet.accelerator");
  for (const auto& family : registry_.Collect()) {
    for (const auto& metric : family.metric) EXPECT_EQ(metric.counter.value, 0) << family.name;
  }
}

TEST_F(FleetSelector, SaysWhatItRead) {
  FleetRates rates =
      *From(R"({"fleet": {"accelerator": "h100-sxm", "hostnames": ["node1"]}})").selection.fleet;
  rates.host_count = 2;
  rates.oldest_unix_seconds = 3;
  rates.unhealthy = {"GPU-x"};
  rates.missing = "gone";
  rates.unread_seconds = 4;
  rates.failure = "down";
  v1::FleetCoverage wire;
  FleetTo(rates, &wire);
  EXPECT_EQ(wire.device_count(), 8);
  EXPECT_EQ(wire.host_count(), 2);
  EXPECT_EQ(wire.oldest_measured_time().seconds(), 3);
  EXPECT_EQ(wire.source(), v1::RATE_SOURCE_MEASURED_DEVICE);
  EXPECT_THAT(wire.unhealthy_devices(), ElementsAre("GPU-x"));
  EXPECT_EQ(wire.missing(), "gone");
  EXPECT_EQ(wire.unread_seconds(), 4);
  EXPECT_EQ(wire.failure(), "down");
  EXPECT_EQ(v1::FleetCoverage::descriptor()->field_count(), 8);
  v1::FleetCoverage none;
  FleetTo({.device_count = 8, .host_count = 2}, &none);  // none of which has a rate
  EXPECT_EQ(none.device_count(), 0);
  EXPECT_EQ(none.source(), v1::RATE_SOURCE_UNSPECIFIED);
}

}  // namespace
}  // namespace sextant::server
