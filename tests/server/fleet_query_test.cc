#include "server/fleet/fleet_query.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "engine/hardware/catalogue.h"

namespace sextant::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr char kProduct[] = "NVIDIA H100 80GB HBM3";

const Accelerator& H100() { return *AcceleratorNamed("h100-sxm"); }

v1::FleetDevices Hosts(const std::vector<std::string>& names) {
  v1::FleetDevices out;
  out.set_accelerator("h100-sxm");
  for (const std::string& name : names) out.add_hostnames(name);
  return out;
}

using Labels = std::map<std::string, std::string, std::less<>>;

// A series of a device.
PrometheusSample Sample(const char* name, const std::string& uuid, double value, Labels more = {}) {
  more.insert({{"__name__", name}, {"UUID", uuid}, {"hostname", "node7"}});
  more.insert({"modelName", kProduct});  // unless `more` has one
  return {.labels = std::move(more), .value = value};
}

PrometheusSample MatmulSample(const std::string& uuid, double value, const char* window = "burst",
                              const char* type = "bf16") {
  return Sample("sextant_gpu_matmul_flops_per_second", uuid, value,
                {{"dtype", type}, {"window", window}});
}

PrometheusSample Figure(const char* figure, double value, const char* product = kProduct) {
  return {.labels = {{"figure", figure}, {"modelName", product}}, .value = value};
}

TEST(SlowestQuery, MatchesHostsWhole) {
  const std::string query = SlowestQuery(Hosts({"node1", "node2"}));
  EXPECT_THAT(query,
              HasSubstr("bottomk by (modelName,dtype) (2,sextant_gpu_matmul_flops_per_second{"
                        "window=\"sustained\",dtype=~\"bf16|fp8\",gpu!=\"cpu\","
                        "hostname=~\"node1|node2\"}) or "));
  EXPECT_THAT(query, Not(HasSubstr("UUID=~")));
}

TEST(SlowestQuery, AsksForTheMostMemoryThatProcessesHold) {
  EXPECT_THAT(SlowestQuery(Hosts({"node1"})),
              HasSubstr("max by (modelName) (sextant_gpu_memory_taken_bytes{gpu!=\"cpu\","
                        "hostname=~\"node1\"}),\"figure\",\"taken\""));
}

TEST(SlowestQuery, MatchesDevicesWhole) {
  v1::FleetDevices named;
  named.add_gpu_uuids("GPU-1");
  EXPECT_THAT(SlowestQuery(named), HasSubstr("UUID=~\"GPU-1\""));
}

// The characters of RE2 after a backslash, which a string of PromQL doubles; a quote and a
// backslash end no string.
TEST(SlowestQuery, EscapesWhateverNamesHave) {
  EXPECT_THAT(SlowestQuery(Hosts({"a.b"})), HasSubstr(R"(hostname=~"a\\.b")"));
  EXPECT_THAT(SlowestQuery(Hosts({".+*?()|[]{}^$"})),
              HasSubstr(R"(hostname=~"\\.\\+\\*\\?\\(\\)\\|\\[\\]\\{\\}\\^\\$")"));
  EXPECT_THAT(SlowestQuery(Hosts({R"(x"} or up{a=")"})),
              HasSubstr(R"(hostname=~"x\"\\} or up\\{a=\"")"));
  EXPECT_THAT(SlowestQuery(Hosts({R"(a\b)"})), HasSubstr(R"(hostname=~"a\\\\b")"));
  EXPECT_THAT(SlowestQuery(Hosts({"a\nb"})), HasSubstr(R"(hostname=~"a\nb")"));
}

TEST(SlowestFrom, FindsDevicesOfTheProductAlone) {
  const std::vector<PrometheusSample> samples = {
      MatmulSample("GPU-2", 5e14),
      MatmulSample("GPU-1", 6e14),
      Sample("sextant_gpu_memory_bandwidth_bytes_per_second", "GPU-2", 3e12, {{"op", "copy"}}),
      Sample("sextant_gpu_matmul_flops_per_second", "GPU-9", 4e14, {{"modelName", "NVIDIA H200"}}),
      Sample("sextant_gpu_healthy", "GPU-bad", 0),
      Figure("devices", 16),
      Figure("hosts", 2),
      Figure("oldest", 1'769'860'800),
      Figure("taken", 4096),
      Figure("taken", 8192, "NVIDIA H200"),
      Figure("devices", 8, "NVIDIA H200"),
      Figure("oldest", 5, "NVIDIA H200")};
  const SlowestDevices found = SlowestFrom(samples, H100());
  EXPECT_THAT(found.uuids, ElementsAre("GPU-1", "GPU-2"));
  EXPECT_EQ(found.device_count, 16);
  EXPECT_EQ(found.host_count, 2);
  EXPECT_EQ(found.oldest_unix_seconds, 1'769'860'800);
  EXPECT_EQ(found.taken_bytes, 4096);
  EXPECT_THAT(found.unhealthy, ElementsAre("GPU-bad"));
  EXPECT_THAT(found.other_products, ElementsAre("NVIDIA H200"));
}

// A driver and a label of Kubernetes spell one product in two ways.
TEST(SlowestFrom, AddsUpTheNamesOfOneProduct) {
  const SlowestDevices found =
      SlowestFrom({{Figure("devices", 8), Figure("devices", 4, "NVIDIA-H100-80GB-HBM3"),
                    Figure("oldest", 200), Figure("oldest", 100, "NVIDIA-H100-80GB-HBM3")}},
                  H100());
  EXPECT_EQ(found.device_count, 12);
  EXPECT_EQ(found.oldest_unix_seconds, 100);
  EXPECT_THAT(found.other_products, IsEmpty());
}

TEST(SlowestFrom, NoSenseIsNoCount) {
  const SlowestDevices found = SlowestFrom(
      {{Figure("devices", std::nan("")), Figure("hosts", -5), Figure("oldest", 1e300)}}, H100());
  EXPECT_EQ(found.device_count, 0);
  EXPECT_EQ(found.host_count, 0);
  EXPECT_EQ(found.oldest_unix_seconds, 0);
  EXPECT_THAT(SlowestFrom({}, H100()).uuids, IsEmpty());
}

TEST(DevicesFrom, ReadsEachFigure) {
  const std::vector<KnownRates> devices = DevicesFrom(
      {{MatmulSample("GPU-1", 6e14), MatmulSample("GPU-1", 5e14, "sustained"),
        MatmulSample("GPU-1", 9e14, "sustained", "fp8"), MatmulSample("GPU-1", 1, "burst", "fp16"),
        Sample("sextant_gpu_memory_bandwidth_bytes_per_second", "GPU-1", 3e12, {{"op", "copy"}}),
        Sample("sextant_gpu_memory_bandwidth_bytes_per_second", "GPU-1", 1, {{"op", "triad"}}),
        Sample("sextant_gpu_host_copy_bytes_per_second", "GPU-1", 5e10, {{"direction", "h2d"}}),
        Sample("sextant_gpu_host_copy_bytes_per_second", "GPU-1", 4e10, {{"direction", "d2h"}}),
        Sample("sextant_gpu_memory_total_bytes", "GPU-1", 8.5e10),
        Sample("sextant_gpu_probe_stable", "GPU-1", 0),
        Sample("sextant_gpu_probe_last_success_timestamp_seconds", "GPU-1", 1'769'860'800.5),
        Sample("sextant_gpu_power_watts", "GPU-1", 700)}},
      H100());
  ASSERT_THAT(devices, SizeIs(1));
  const KnownRates& device = devices.front();
  EXPECT_EQ(device.uuid, "GPU-1");
  EXPECT_EQ(device.hostname, "node7");
  EXPECT_EQ(device.accelerator, &H100());
  EXPECT_EQ(device.bf16_burst->value(), 6e14);
  EXPECT_EQ(device.bf16_sustained->value(), 5e14);
  EXPECT_EQ(device.fp8_sustained->value(), 9e14);
  EXPECT_EQ(device.memory_copy->value(), 3e12);
  EXPECT_EQ(device.copy_to_device->value(), 5e10);
  EXPECT_EQ(device.copy_from_device->value(), 4e10);
  EXPECT_EQ(device.memory->value(), 85'000'000'000);
  EXPECT_FALSE(device.stable);
  EXPECT_EQ(device.measured_unix_seconds, 1'769'860'800);
}

// As after a change of its host's address.
TEST(DevicesFrom, OfTwoSeriesTheLowestCounts) {
  const std::vector<KnownRates> devices = DevicesFrom(
      {{MatmulSample("GPU-1", 6e14), MatmulSample("GPU-1", 5e14), MatmulSample("GPU-1", 7e14)}},
      H100());
  ASSERT_THAT(devices, SizeIs(1));
  EXPECT_EQ(devices.front().bf16_burst->value(), 5e14);
}

TEST(DevicesFrom, LeavesOutWhatHasNoRate) {
  EXPECT_THAT(DevicesFrom({{Sample("sextant_gpu_memory_total_bytes", "GPU-1", 8.5e10)}}, H100()),
              IsEmpty());
  for (const double wrong : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    EXPECT_THAT(DevicesFrom({{MatmulSample("GPU-1", wrong)}}, H100()), IsEmpty()) << wrong;
  }
  EXPECT_THAT(DevicesFrom({{MatmulSample("", 5e14)}}, H100()), IsEmpty());
}

KnownRates Device(const char* uuid, double burst, double copy) {
  return {.uuid = uuid, .bf16_burst = FlopsPerSecond(burst), .memory_copy = BytesPerSecond(copy)};
}

std::vector<std::string> Kept(const std::vector<KnownRates>& devices) {
  std::vector<std::string> out;
  for (const KnownRates& device : MayBeSlowest(devices)) out.push_back(device.uuid);
  return out;
}

TEST(MayBeSlowest, TwoOthersRuleADeviceOut) {
  const KnownRates slow = Device("slow", 1, 1);
  const KnownRates next = Device("next", 2, 1);
  const KnownRates third = Device("third", 2, 2);
  EXPECT_THAT(Kept({third, slow, next}), ElementsAre("slow", "next"));
  // Faster at one thing than the next slowest: a plan of many copies waits for it.
  EXPECT_THAT(Kept({slow, next, Device("copies", 9, 0.5)}), ElementsAre("slow", "next", "copies"));
  EXPECT_THAT(Kept({slow, next}), ElementsAre("slow", "next"));
  EXPECT_THAT(Kept({}), IsEmpty());
}

TEST(MayBeSlowest, OfEqualsTwoStay) {
  EXPECT_THAT(Kept({Device("a", 1, 1), Device("b", 1, 1), Device("c", 1, 1), Device("d", 1, 1)}),
              ElementsAre("a", "b"));
}

// A device without a rate may be the slowest.
TEST(MayBeSlowest, WhatIsNotKnownRulesNothingOut) {
  KnownRates unknown = Device("unknown", 9, 9);
  unknown.memory_copy.reset();
  EXPECT_THAT(Kept({Device("a", 1, 1), Device("b", 1, 1), unknown}),
              ElementsAre("a", "b", "unknown"));
}

PrometheusSample Recorded(const char* name, double value, Labels more = {}) {
  more.insert({{"__name__", name}, {"modelName", kProduct}});
  return {.labels = std::move(more), .value = value};
}

TEST(UsualFrom, ReadsTheMedianDevice) {
  const std::vector<PrometheusSample> samples = {
      Recorded("modelName_dtype:sextant_gpu_matmul_flops_per_second:p50", 6e14,
               {{"dtype", "bf16"}, {"window", "burst"}}),
      Recorded("modelName_dtype:sextant_gpu_matmul_flops_per_second:min", 1e14,
               {{"dtype", "bf16"}, {"window", "burst"}}),
      Recorded("modelName_dtype:sextant_gpu_matmul_flops_per_second:count", 7,
               {{"dtype", "bf16"}, {"window", "burst"}}),
      Recorded("modelName_op:sextant_gpu_memory_bandwidth_bytes_per_second:p50", 3e12,
               {{"op", "copy"}}),
      Recorded("modelName:sextant_gpu_memory_total_bytes:min", 8.5e10),
      Recorded("modelName:sextant_gpu_measured:count", 12480),
      Recorded("modelName:sextant_gpu_probe_last_success_timestamp_seconds:min", 1'769'860'800),
      Recorded("modelName:sextant_gpu_measured:count", 99, {{"modelName", "NVIDIA H200"}})};
  const UsualDevice usual = UsualFrom(samples, H100());
  EXPECT_EQ(usual.device_count, 12480);
  EXPECT_EQ(usual.rates.bf16_burst->value(), 6e14);
  EXPECT_EQ(usual.rates.memory_copy->value(), 3e12);
  EXPECT_EQ(usual.rates.memory->value(), 85'000'000'000);
  EXPECT_EQ(usual.rates.measured_unix_seconds, 1'769'860'800);
  EXPECT_EQ(usual.rates.uuid, "");
  EXPECT_EQ(usual.rates.origin, "the fleet's hosts, the median of 12480 devices");
  EXPECT_FALSE(UsualFrom(samples, *AcceleratorNamed("h200-sxm")).rates.bf16_burst.has_value());
}

}  // namespace
}  // namespace sextant::server
