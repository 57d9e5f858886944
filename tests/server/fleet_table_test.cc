#include "server/fleet/fleet_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "absl/strings/str_cat.h"
#include "engine/hardware/catalogue.h"

namespace sextant::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kProduct[] = "NVIDIA H100 80GB HBM3";

const Accelerator& H100() { return *AcceleratorNamed("h100-sxm"); }

using Labels = std::map<std::string, std::string, std::less<>>;

PrometheusSample Sample(const char* name, double value, Labels more = {}) {
  more.insert({{"__name__", name}, {"modelName", kProduct}});  // unless `more` has them
  return {.labels = std::move(more), .value = value};
}

// A series of a GPU.
PrometheusSample OfGpu(const char* name, const std::string& uuid, double value, Labels more = {}) {
  more.insert({{"UUID", uuid}, {"hostname", "node7"}});
  return Sample(name, value, std::move(more));
}

PrometheusSample Matmul(const std::string& uuid, double value, const char* window = "burst",
                        const char* type = "bf16") {
  return OfGpu("sextant_gpu_matmul_flops_per_second", uuid, value,
               {{"dtype", type}, {"window", window}});
}

// A recorded series of a host.
PrometheusSample OfHost(const char* series, double value, Labels more = {},
                        const char* host = "node7") {
  more.insert({"hostname", host});
  return Sample(absl::StrCat("hostname_modelName:", series).c_str(), value, std::move(more));
}

PrometheusSample RateOfHost(const char* figure, double value, const char* uuid,
                            const char* host = "node7") {
  return OfHost("sextant_gpu_rate:min", value, {{"figure", figure}, {"UUID", uuid}}, host);
}

double RateOf(const FleetMember& member, RateFigure figure) {
  return member.rates[static_cast<size_t>(figure)].value;
}

TEST(DevicesQuery, MatchesDevicesWhole) {
  const std::string query = DevicesQuery({"GPU-1", "GPU-2"});
  EXPECT_THAT(query, HasSubstr(",gpu!=\"cpu\",UUID=~\"GPU-1|GPU-2\"}"));
  EXPECT_THAT(query, HasSubstr("{__name__=~\"sextant_gpu_(matmul_flops_per_second|"));
}

// The characters of RE2 after a backslash, which a string of PromQL doubles; a quote and a
// backslash end no string.
TEST(DevicesQuery, EscapesWhateverNamesHave) {
  const std::pair<const char*, const char*> cases[] = {
      {"a.b", R"(UUID=~"a\\.b")"},
      {".+*?()|[]{}^$", R"(UUID=~"\\.\\+\\*\\?\\(\\)\\|\\[\\]\\{\\}\\^\\$")"},
      {R"(x"} or up{a=")", R"(UUID=~"x\"\\} or up\\{a=\"")"},
      {R"(a\b)", R"(UUID=~"a\\\\b")"},
      {"a\nb", R"(UUID=~"a\nb")"}};
  for (const auto& [name, expected] : cases) {
    EXPECT_THAT(DevicesQuery({name}), HasSubstr(expected));
  }
}

TEST(TableFrom, ReadsEachFigureOfAHost) {
  const FleetTable table = TableFrom(
      {{RateOfHost("bf16_burst", 6e14, "GPU-1"), RateOfHost("bf16_sustained", 5e14, "GPU-2"),
        RateOfHost("fp8_sustained", 9e14, "GPU-3"), RateOfHost("memory_copy", 3e12, "GPU-4"),
        RateOfHost("copy_to_device", 5e10, "GPU-5"), RateOfHost("copy_from_device", 4e10, "GPU-6"),
        RateOfHost("of a later version", 1, "GPU-7"),
        OfHost("sextant_gpu_memory_total_bytes:min", 8.5e10),
        OfHost("sextant_gpu_memory_taken_bytes:max", 4096), OfHost("sextant_gpu_measured:count", 8),
        OfHost("sextant_gpu_probe_last_success_timestamp_seconds:min", 1'769'860'800.5),
        OfHost("sextant_gpu_probe_stable:min", 0),
        OfHost("sextant_gpu_healthy:min", 0, {{"UUID", "GPU-bad"}}),
        OfHost("sextant_gpu_measured:count", 4, {}, "node8")}});
  ASSERT_THAT(table.hosts, SizeIs(2));
  ASSERT_THAT(table.hosts.at("node7"), SizeIs(1));
  const FleetMember& host = table.hosts.at("node7").front();
  EXPECT_EQ(host.accelerator, &H100());
  EXPECT_EQ(host.hostname, "node7");
  EXPECT_EQ(RateOf(host, RateFigure::kBf16Burst), 6e14);
  EXPECT_EQ(RateOf(host, RateFigure::kBf16Sustained), 5e14);
  EXPECT_EQ(RateOf(host, RateFigure::kFp8Sustained), 9e14);
  EXPECT_EQ(RateOf(host, RateFigure::kMemoryCopy), 3e12);
  EXPECT_EQ(RateOf(host, RateFigure::kCopyToDevice), 5e10);
  EXPECT_EQ(RateOf(host, RateFigure::kCopyFromDevice), 4e10);
  EXPECT_EQ(host.rates[1].uuid, "GPU-2");
  EXPECT_EQ(host.memory, Bytes(85'000'000'000));
  EXPECT_EQ(host.taken, Bytes(4096));
  EXPECT_EQ(host.device_count, 8);
  EXPECT_EQ(host.oldest_unix_seconds, 1'769'860'800);
  EXPECT_FALSE(host.stable);
  EXPECT_THAT(host.unhealthy, ElementsAre("GPU-bad"));
  EXPECT_EQ(table.hosts.at("node8").front().device_count, 4);
  EXPECT_EQ(RateOf(table.hosts.at("node8").front(), RateFigure::kBf16Burst), 0);
}

TEST(TableFrom, KeepsAHostsProductsApart) {
  const FleetTable table =
      TableFrom({{OfHost("sextant_gpu_measured:count", 8),
                  OfHost("sextant_gpu_measured:count", 2, {{"modelName", "NVIDIA H200"}}),
                  OfHost("sextant_gpu_measured:count", 1, {{"modelName", "of no catalogue"}})}});
  const std::vector<FleetMember>& members = table.hosts.at("node7");
  ASSERT_THAT(members, SizeIs(3));
  EXPECT_EQ(members[1].accelerator, AcceleratorNamed("h200-sxm"));
  EXPECT_EQ(members[1].device_count, 2);
  EXPECT_EQ(members[2].accelerator, nullptr);
}

TEST(TableFrom, LeavesOutWhatMakesNoSense) {
  for (const double wrong : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    const FleetTable table = TableFrom({{RateOfHost("bf16_burst", wrong, "GPU-1")}});
    EXPECT_EQ(RateOf(table.hosts.at("node7").front(), RateFigure::kBf16Burst), 0) << wrong;
  }
  const FleetTable table =
      TableFrom({{OfHost("sextant_gpu_measured:count", std::nan("")),
                  OfHost("sextant_gpu_probe_last_success_timestamp_seconds:min", 1e300)}});
  EXPECT_EQ(table.hosts.at("node7").front().device_count, 0);
  EXPECT_EQ(table.hosts.at("node7").front().oldest_unix_seconds, 0);
  EXPECT_THAT(TableFrom({{Sample("up", 1)}}).hosts, IsEmpty());
}

TEST(TableFrom, ReadsTheMedianDevice) {
  const Labels burst = {{"dtype", "bf16"}, {"window", "burst"}};
  const FleetTable table = TableFrom(
      {{Sample("modelName_dtype:sextant_gpu_matmul_flops_per_second:p50", 6e14, burst),
        Sample("modelName_dtype:sextant_gpu_matmul_flops_per_second:min", 1e14, burst),
        Sample("modelName_dtype:sextant_gpu_matmul_flops_per_second:count", 7, burst),
        Sample("modelName_op:sextant_gpu_memory_bandwidth_bytes_per_second:p50", 3e12,
               {{"op", "copy"}}),
        Sample("modelName_op:sextant_gpu_memory_bandwidth_bytes_per_second:p50", 1,
               {{"op", "triad"}}),
        Sample("modelName:sextant_gpu_memory_total_bytes:min", 8.5e10),
        Sample("modelName:sextant_gpu_measured:count", 12480),
        Sample("modelName:sextant_gpu_probe_last_success_timestamp_seconds:min", 1'769'860'800),
        Sample("modelName:sextant_gpu_measured:count", 99, {{"modelName", "NVIDIA H200"}})}});
  const UsualDevice* const usual = table.Usual(H100());
  ASSERT_NE(usual, nullptr);
  EXPECT_EQ(usual->device_count, 12480);
  EXPECT_EQ(usual->rates.bf16_burst->value(), 6e14);
  EXPECT_EQ(usual->rates.memory_copy->value(), 3e12);
  EXPECT_EQ(usual->rates.memory->value(), 85'000'000'000);
  EXPECT_EQ(usual->rates.measured_unix_seconds, 1'769'860'800);
  EXPECT_EQ(usual->rates.uuid, "");
  EXPECT_EQ(usual->rates.origin, "the fleet's hosts, the median of 12480 devices");
  EXPECT_EQ(table.Usual(*AcceleratorNamed("h200-sxm")), nullptr);  // no rate
  EXPECT_THAT(table.hosts, IsEmpty());
}

TEST(TableFrom, OfTwoNamesOfAProductTheOneOfMostDevicesCounts) {
  const auto rate = [](const char* name, double value) {
    return Sample("modelName_dtype:sextant_gpu_matmul_flops_per_second:p50", value,
                  {{"dtype", "bf16"}, {"window", "burst"}, {"modelName", name}});
  };
  const auto count = [](const char* name, double value) {
    return Sample("modelName:sextant_gpu_measured:count", value, {{"modelName", name}});
  };
  const FleetTable table = TableFrom({{rate(kProduct, 6e14), rate("NVIDIA-H100-80GB-HBM3", 5e14),
                                       count(kProduct, 8), count("NVIDIA-H100-80GB-HBM3", 16)}});
  EXPECT_EQ(table.Usual(H100())->rates.bf16_burst->value(), 5e14);
}

TEST(DevicesFrom, ReadsEachFigure) {
  const FleetMembers devices = DevicesFrom(
      {{Matmul("GPU-1", 6e14), Matmul("GPU-1", 5e14, "sustained"),
        Matmul("GPU-1", 9e14, "sustained", "fp8"), Matmul("GPU-1", 1, "burst", "fp16"),
        OfGpu("sextant_gpu_memory_bandwidth_bytes_per_second", "GPU-1", 3e12, {{"op", "copy"}}),
        OfGpu("sextant_gpu_memory_bandwidth_bytes_per_second", "GPU-1", 1, {{"op", "triad"}}),
        OfGpu("sextant_gpu_host_copy_bytes_per_second", "GPU-1", 5e10, {{"direction", "h2d"}}),
        OfGpu("sextant_gpu_host_copy_bytes_per_second", "GPU-1", 4e10, {{"direction", "d2h"}}),
        OfGpu("sextant_gpu_memory_total_bytes", "GPU-1", 8.5e10),
        OfGpu("sextant_gpu_memory_taken_bytes", "GPU-1", 4096),
        OfGpu("sextant_gpu_healthy", "GPU-1", 1), OfGpu("sextant_gpu_healthy", "GPU-bad", 0),
        OfGpu("sextant_gpu_probe_stable", "GPU-1", 0),
        OfGpu("sextant_gpu_probe_last_success_timestamp_seconds", "GPU-1", 1'769'860'800.5),
        Matmul("", 5e14)}});
  ASSERT_THAT(devices, SizeIs(2));
  const FleetMember& device = devices.at("GPU-1").front();
  EXPECT_EQ(device.hostname, "node7");
  EXPECT_EQ(RateOf(device, RateFigure::kBf16Burst), 6e14);
  EXPECT_EQ(RateOf(device, RateFigure::kBf16Sustained), 5e14);
  EXPECT_EQ(RateOf(device, RateFigure::kFp8Sustained), 9e14);
  EXPECT_EQ(RateOf(device, RateFigure::kMemoryCopy), 3e12);
  EXPECT_EQ(RateOf(device, RateFigure::kCopyToDevice), 5e10);
  EXPECT_EQ(RateOf(device, RateFigure::kCopyFromDevice), 4e10);
  EXPECT_EQ(device.rates[0].uuid, "GPU-1");
  EXPECT_EQ(device.memory, Bytes(85'000'000'000));
  EXPECT_EQ(device.taken, Bytes(4096));
  EXPECT_EQ(device.device_count, 1);
  EXPECT_EQ(device.oldest_unix_seconds, 1'769'860'800);
  EXPECT_FALSE(device.stable);
  EXPECT_THAT(device.unhealthy, IsEmpty());
  EXPECT_THAT(devices.at("GPU-bad").front().unhealthy, ElementsAre("GPU-bad"));
}

// As after a change of its host's address.
TEST(DevicesFrom, OfTwoSeriesTheLowestCounts) {
  const FleetMembers devices =
      DevicesFrom({{Matmul("GPU-1", 6e14), Matmul("GPU-1", 5e14), Matmul("GPU-1", 7e14)}});
  EXPECT_EQ(RateOf(devices.at("GPU-1").front(), RateFigure::kBf16Burst), 5e14);
}

FleetMember Member(const std::string& name, double burst, double sustained, double copy) {
  FleetMember out = {.accelerator = &H100(), .product_name = kProduct, .hostname = "on " + name};
  out.rates[static_cast<size_t>(RateFigure::kBf16Burst)] = {burst, name + "-burst"};
  out.rates[static_cast<size_t>(RateFigure::kBf16Sustained)] = {sustained, name};
  out.rates[static_cast<size_t>(RateFigure::kMemoryCopy)] = {copy, name + "-copy"};
  return out;
}

SlowestDevices SlowestIn(const std::vector<FleetMember>& members) {
  std::vector<const FleetMember*> pointers;
  for (const FleetMember& member : members) pointers.push_back(&member);
  return SlowestOf(pointers);
}

TEST(SlowestOf, EachRateIsTheSlowestOnes) {
  const SlowestDevices found =
      SlowestIn({Member("a", 7, 6, 3), Member("b", 8, 5, 4), Member("c", 9, 9, 1)});
  EXPECT_EQ(found.slowest.bf16_burst->value(), 7);
  EXPECT_EQ(found.slowest.bf16_sustained->value(), 5);
  EXPECT_EQ(found.slowest.memory_copy->value(), 1);
  EXPECT_FALSE(found.slowest.fp8_sustained.has_value());
  EXPECT_EQ(found.slowest.uuid, "b");
  EXPECT_EQ(found.slowest.hostname, "on b");
  ASSERT_TRUE(found.next.has_value());  // without b
  EXPECT_EQ(found.next->bf16_burst->value(), 7);
  EXPECT_EQ(found.next->bf16_sustained->value(), 6);
  EXPECT_EQ(found.next->memory_copy->value(), 1);
  EXPECT_EQ(found.next->uuid, "a");
}

TEST(SlowestOf, WithoutASustainedRateTheBurstDecides) {
  const SlowestDevices found = SlowestIn({Member("a", 7, 0, 3), Member("b", 6, 0, 4)});
  EXPECT_EQ(found.slowest.uuid, "b-burst");
  EXPECT_FALSE(found.slowest.bf16_sustained.has_value());
}

TEST(SlowestOf, OneMemberHasNoNext) {
  EXPECT_FALSE(SlowestIn({Member("a", 7, 6, 3)}).next.has_value());
  // The other has no rate in bf16.
  const SlowestDevices found = SlowestIn({Member("a", 7, 6, 3), Member("b", 0, 0, 2)});
  EXPECT_EQ(found.slowest.memory_copy->value(), 2);
  EXPECT_FALSE(found.next.has_value());
}

TEST(SlowestOf, WithoutARateInBf16ThereIsNone) {
  EXPECT_EQ(SlowestIn({Member("a", 0, 0, 3)}).slowest.accelerator, nullptr);
  EXPECT_EQ(SlowestIn({}).slowest.accelerator, nullptr);
}

TEST(SlowestOf, MemoryTimeAndAgreementAreTheWorst) {
  std::vector<FleetMember> members = {Member("a", 7, 6, 3), Member("b", 8, 7, 3),
                                      Member("c", 9, 8, 3)};
  members[0].memory = Bytes(80);
  members[1].memory = Bytes(70);
  members[0].oldest_unix_seconds = 500;
  members[2].oldest_unix_seconds = 400;
  members[2].stable = false;
  const KnownRates slowest = SlowestIn(members).slowest;
  EXPECT_EQ(slowest.memory, Bytes(70));  // 0 of c is not known
  EXPECT_EQ(slowest.measured_unix_seconds, 400);
  EXPECT_FALSE(slowest.stable);
}

// Against the least of each rate by itself, and with one member left out.
TEST(SlowestOf, OfManyIsTheLeastOfEach) {
  std::mt19937 random(60);
  std::uniform_real_distribution<double> rate(1, 2);
  for (int round = 0; round < 100; ++round) {
    std::vector<FleetMember> members;
    for (int i = 0; i < 2 + round % 7; ++i) {
      members.push_back(Member(absl::StrCat(i), rate(random), rate(random), rate(random)));
    }
    const SlowestDevices found = SlowestIn(members);
    const auto least = [&](RateFigure figure, absl::string_view but_for) {
      double out = 1e9;
      for (const FleetMember& member : members) {
        if (member.rates[1].uuid != but_for) out = std::min(out, RateOf(member, figure));
      }
      return out;
    };
    EXPECT_EQ(found.slowest.bf16_burst->value(), least(RateFigure::kBf16Burst, ""));
    EXPECT_EQ(found.slowest.bf16_sustained->value(), least(RateFigure::kBf16Sustained, ""));
    EXPECT_EQ(found.slowest.memory_copy->value(), least(RateFigure::kMemoryCopy, ""));
    const std::string& uuid = found.slowest.uuid;
    EXPECT_EQ(found.next->bf16_burst->value(), least(RateFigure::kBf16Burst, uuid));
    EXPECT_EQ(found.next->bf16_sustained->value(), least(RateFigure::kBf16Sustained, uuid));
    EXPECT_EQ(found.next->memory_copy->value(), least(RateFigure::kMemoryCopy, uuid));
  }
}

}  // namespace
}  // namespace sextant::server
