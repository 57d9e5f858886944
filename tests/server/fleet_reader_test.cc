#include "server/fleet/fleet_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <latch>
#include <mutex>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace sextant::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Samples = absl::StatusOr<std::vector<PrometheusSample>>;
using Labels = std::map<std::string, std::string, std::less<>>;

PrometheusSample Sample(const std::string& name, double value, Labels more = {}) {
  more.insert({{"__name__", name}, {"modelName", "NVIDIA H100 80GB HBM3"}});
  return {.labels = std::move(more), .value = value};
}

constexpr char kMatmul[] = "sextant_gpu_matmul_flops_per_second";

// A Prometheus with one device, "GPU-1" on "node1", and a clock that tests turn.
class Fake {
 public:
  FleetReaderOptions Options(absl::Duration interval = absl::Seconds(15)) {
    return {.query =
                [this](const std::string& promql, std::chrono::milliseconds limit) {
                  patience = limit;
                  return Answer(promql);
                },
            .curves = [] { return std::vector<std::shared_ptr<const DeviceModel>>(); },
            .interval = interval,
            .now = [this] { return absl::FromUnixSeconds(seconds.load()); }};
  }

  Samples Answer(const std::string& promql) {
    ++asked;
    if (before_answer) before_answer();
    {
      const std::lock_guard<std::mutex> lock(mutex);
      if (!failure.ok()) return failure;
    }
    if (!absl::StrContains(promql, "UUID=~")) return Recorded();
    devices_asked += static_cast<int>(std::count(promql.begin(), promql.end(), '|'));
    if (!absl::StrContains(promql, "GPU-1\"")) return std::vector<PrometheusSample>();
    const Labels device = {{"UUID", "GPU-1"}, {"hostname", "node1"}, {"modelName", product}};
    Labels burst = device;
    burst.insert({{"dtype", "bf16"}, {"window", "burst"}});
    return std::vector<PrometheusSample>{
        Sample(kMatmul, rate.load(), burst),
        Sample("sextant_gpu_probe_last_success_timestamp_seconds", 500, device)};
  }

  Samples Recorded() const {
    std::vector<PrometheusSample> out;
    const auto add = [&](const char* name, double value, Labels more = {}) {
      more.insert({{"hostname", "node1"}, {"modelName", product}});
      out.push_back(Sample(absl::StrCat("hostname_modelName:", name), value, std::move(more)));
    };
    add("sextant_gpu_rate:min", rate.load(), {{"figure", "bf16_burst"}, {"UUID", "GPU-1"}});
    add("sextant_gpu_measured:count", 8);
    add("sextant_gpu_probe_last_success_timestamp_seconds:min", 500);
    add("sextant_gpu_memory_taken_bytes:max", 4096);
    if (!recorded) return out;
    out.push_back(Sample("modelName_dtype:sextant_gpu_matmul_flops_per_second:p50", 5e14,
                         {{"dtype", "bf16"}, {"window", "burst"}}));
    out.push_back(Sample("modelName:sextant_gpu_measured:count", 99));
    return out;
  }

  void Fail(absl::Status status) {
    const std::lock_guard<std::mutex> lock(mutex);
    failure = std::move(status);
  }

  const char* product = "NVIDIA H100 80GB HBM3";
  std::atomic<int> asked = 0;          // queries
  std::atomic<int> devices_asked = 0;  // bars between the names in them
  std::atomic<double> rate = 6e14;
  std::atomic<int64_t> seconds = 1000;
  std::atomic<std::chrono::milliseconds> patience = {};  // with the last query
  bool recorded = true;
  std::function<void()> before_answer;
  std::mutex mutex;
  absl::Status failure;
};

v1::FleetDevices On(const std::string& host) {
  v1::FleetDevices out;
  out.set_accelerator("h100-sxm");
  if (!host.empty()) out.add_hostnames(host);
  return out;
}

v1::FleetDevices Gpus(const std::vector<std::string>& uuids) {
  v1::FleetDevices out;
  out.set_accelerator("h100-sxm");
  for (const std::string& uuid : uuids) out.add_gpu_uuids(uuid);
  return out;
}

// Waits until `target` was read, or need not be.
FleetRates Read(FleetReader& reader, const v1::FleetDevices& target) {
  std::latch done(1);
  reader.WhenRead(target, absl::InfiniteFuture(), [&] { done.count_down(); });
  done.wait();
  return reader.Latest(target);
}

double BurstOf(const FleetRates& rates) {
  return rates.models.empty()
             ? 0
             : rates.models.front()->calibration().BurstIn(DataType::kBf16)->rate.value();
}

double Counted(prometheus::Registry& registry, const std::string& name) {
  double out = 0;
  for (const auto& family : registry.Collect()) {
    if (family.name != name) continue;
    for (const auto& metric : family.metric) out += metric.counter.value;
  }
  return out;
}

class FleetReaderTest : public ::testing::Test {
 protected:
  Fake fake_;
  prometheus::Registry registry_;
  FleetReader reader_{fake_.Options(), registry_};
};

TEST_F(FleetReaderTest, ReadsTheNamedHosts) {
  const FleetRates rates = Read(reader_, On("node1"));
  EXPECT_EQ(BurstOf(rates), 6e14);
  EXPECT_EQ(rates.source, RateSource::kMeasuredDevice);
  EXPECT_EQ(rates.device_count, 8);
  EXPECT_EQ(rates.host_count, 1);
  EXPECT_EQ(rates.oldest_unix_seconds, 500);
  EXPECT_EQ(rates.taken, Bytes(4096));
  EXPECT_EQ(rates.oldest_age_seconds, 500);
  EXPECT_EQ(rates.missing, "");
  EXPECT_FALSE(rates.unread_seconds.has_value());
  EXPECT_EQ(fake_.asked, 1);
  EXPECT_EQ(fake_.patience.load(), std::chrono::seconds(10));
}

TEST_F(FleetReaderTest, ReadsOnceAnInterval) {
  for (int i = 0; i < 100; ++i) Read(reader_, On("node1"));
  EXPECT_EQ(fake_.asked, 1);
  fake_.seconds += 14;
  fake_.rate = 5e14;
  EXPECT_EQ(BurstOf(Read(reader_, On("node1"))), 6e14);
  fake_.seconds += 1;
  EXPECT_EQ(BurstOf(Read(reader_, On("node1"))), 5e14);
  EXPECT_EQ(fake_.asked, 2);
  EXPECT_EQ(Counted(registry_, "sextant_fleet_fetches_total"), 2);
}

// A set of hosts, or a product, that was never named before is known already.
TEST_F(FleetReaderTest, OneReadIsOfAllPlacements) {
  Read(reader_, On("node1"));
  for (int i = 0; i < 300; ++i) {
    v1::FleetDevices target = On("node1");
    target.add_hostnames(absl::StrCat("other", i));
    EXPECT_EQ(BurstOf(Read(reader_, target)), 6e14);
  }
  EXPECT_EQ(BurstOf(Read(reader_, On(""))), 5e14);
  EXPECT_EQ(fake_.asked, 1);
}

TEST_F(FleetReaderTest, ReadsNamedDevicesOnceAnIntervalEach) {
  const FleetRates rates = Read(reader_, Gpus({"GPU-2", "GPU-1"}));
  EXPECT_EQ(BurstOf(rates), 6e14);
  EXPECT_EQ(rates.device_count, 1);
  EXPECT_EQ(rates.host_count, 1);
  EXPECT_EQ(rates.oldest_unix_seconds, 500);
  EXPECT_EQ(fake_.asked, 1);
  Read(reader_, Gpus({"GPU-1"}));
  Read(reader_, Gpus({"GPU-1", "GPU-2"}));
  EXPECT_EQ(fake_.asked, 1);
  const int before = fake_.devices_asked;
  Read(reader_, Gpus({"GPU-1", "GPU-2", "GPU-3"}));
  EXPECT_EQ(fake_.asked, 2);
  EXPECT_EQ(fake_.devices_asked - before, before - 1);  // of GPU-3 alone
  fake_.rate = 5e14;
  fake_.seconds += 15;
  EXPECT_EQ(BurstOf(Read(reader_, Gpus({"GPU-2", "GPU-1"}))), 5e14);
}

TEST_F(FleetReaderTest, DevicesWithoutSeriesGetTheProductsMedian) {
  const FleetRates rates = Read(reader_, Gpus({"GPU-7"}));
  EXPECT_EQ(BurstOf(rates), 5e14);
  EXPECT_EQ(rates.source, RateSource::kMeasuredModel);
  EXPECT_EQ(rates.missing, "they have no series there");
}

// More devices than one query names: each is in one of them.
TEST_F(FleetReaderTest, AsksForManyDevicesInParts) {
  std::vector<std::string> uuids;
  for (int i = 0; i < 3000; ++i) uuids.push_back(absl::StrCat("GPU-x", i));
  uuids.emplace_back("GPU-1");  // the last of the last query
  EXPECT_EQ(BurstOf(Read(reader_, Gpus(uuids))), 6e14);
  EXPECT_EQ(fake_.asked, 3);
}

// 50 calls that come while the first is being answered wait for that answer.
TEST_F(FleetReaderTest, OneReadServesAllWhoWait) {
  std::latch reading(1);
  std::latch answer(1);
  fake_.before_answer = [&] {
    if (fake_.asked > 1) return;
    reading.count_down();
    answer.wait();
  };
  std::latch served(51);
  const auto count = [&] { served.count_down(); };
  const auto read = [&] { reader_.WhenRead(On("node1"), absl::InfiniteFuture(), count); };
  read();
  reading.wait();
  for (int i = 0; i < 50; ++i) read();
  answer.count_down();
  served.wait();
  EXPECT_EQ(fake_.asked, 1);
}

// Calls of a reader whose Prometheus does not answer go on when their time has come.
TEST_F(FleetReaderTest, NoCallWaitsForLongerThanItsPatience) {
  std::latch answer(1);
  fake_.before_answer = [&] { answer.wait(); };
  prometheus::Registry registry;
  std::latch gone_on(1);
  FleetReader reader(fake_.Options(), registry);  // ends before what it waits for
  reader.WhenRead(On("node1"), absl::FromUnixSeconds(1003), [&] { gone_on.count_down(); });
  fake_.seconds += 3;
  gone_on.wait();
  const FleetRates rates = reader.Latest(On("node1"));
  EXPECT_THAT(rates.models, IsEmpty());
  EXPECT_EQ(rates.missing, "Prometheus has not answered in time");
  answer.count_down();
}

// With rates of an earlier read a call waits for newer ones for a second, however long it could.
TEST_F(FleetReaderTest, ACallWithOldRatesWaitsForASecond) {
  std::latch answer(1);
  prometheus::Registry registry;
  std::latch gone_on(1);
  FleetReader reader(fake_.Options(), registry);  // ends before what it waits for
  Read(reader, On("node1"));
  fake_.before_answer = [&] { answer.wait(); };
  fake_.seconds += 100;
  reader.WhenRead(On("node1"), absl::InfiniteFuture(), [&] { gone_on.count_down(); });
  fake_.seconds += 1;
  gone_on.wait();
  EXPECT_EQ(reader.Latest(On("node1")).unread_seconds, 101);
  answer.count_down();
}

TEST(FleetWaitEnd, LeavesAFifthToThePlan) {
  const absl::Time now = absl::FromUnixSeconds(1000);
  const auto wait = [now](absl::Duration left) {
    return FleetWaitEnd(absl::ToChronoTime(now + left), now) - now;
  };
  EXPECT_EQ(wait(absl::Seconds(5)), absl::Seconds(4));
  EXPECT_EQ(wait(absl::Milliseconds(100)), absl::Milliseconds(80));
  EXPECT_EQ(wait(absl::Seconds(3600)), absl::Seconds(10));
  EXPECT_LE(wait(-absl::Seconds(1)), absl::ZeroDuration());
  EXPECT_EQ(FleetWaitEnd(std::chrono::system_clock::time_point::max(), now) - now,
            absl::Seconds(10));
}

// A call that found rates new enough may take the second of its patience to get to them.
TEST_F(FleetReaderTest, RatesAreStaleASecondAfterTheInterval) {
  Read(reader_, On("node1"));
  fake_.seconds += 16;
  EXPECT_FALSE(reader_.Latest(On("node1")).unread_seconds.has_value());
  fake_.seconds += 1;
  EXPECT_EQ(reader_.Latest(On("node1")).unread_seconds, 17);
}

TEST_F(FleetReaderTest, StaleRatesAreServedWithTheirAge) {
  Read(reader_, On("node1"));
  fake_.Fail(absl::UnavailableError("Prometheus can't be reached (Connection)"));
  fake_.seconds += 300;
  const FleetRates rates = Read(reader_, On("node1"));
  EXPECT_EQ(BurstOf(rates), 6e14);
  EXPECT_EQ(rates.unread_seconds, 300);
  EXPECT_EQ(rates.failure, "Prometheus can't be reached (Connection)");
  EXPECT_EQ(rates.oldest_age_seconds, 800);
  EXPECT_EQ(Counted(registry_, "sextant_fleet_fetch_failures_total"), 1);
  // It comes back.
  fake_.Fail(absl::OkStatus());
  fake_.seconds += 15;
  EXPECT_FALSE(Read(reader_, On("node1")).unread_seconds.has_value());
}

// One failure keeps all targets from being tried for an interval.
TEST_F(FleetReaderTest, AnUnreachablePrometheusIsTriedOnceAnInterval) {
  fake_.Fail(absl::UnavailableError("down"));
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(Read(reader_, On(absl::StrCat("host", i))).missing, "down");
  }
  EXPECT_EQ(fake_.asked, 1);
  fake_.seconds += 15;
  Read(reader_, On("host3"));
  EXPECT_EQ(fake_.asked, 2);
}

// A query of devices that is refused says nothing of hosts.
TEST_F(FleetReaderTest, ARefusedQueryIsItsTargetsOwn) {
  fake_.Fail(absl::FailedPreconditionError("Prometheus answers 422: too many samples"));
  EXPECT_THAT(Read(reader_, Gpus({"GPU-1"})).missing, HasSubstr("too many samples"));
  fake_.Fail(absl::OkStatus());
  EXPECT_EQ(BurstOf(Read(reader_, On("node1"))), 6e14);
}

TEST_F(FleetReaderTest, HostsWithoutSeriesGetTheProductsMedian) {
  const FleetRates rates = Read(reader_, On("elsewhere"));
  EXPECT_EQ(BurstOf(rates), 5e14);
  EXPECT_EQ(rates.source, RateSource::kMeasuredModel);
  EXPECT_EQ(rates.device_count, 99);
  EXPECT_EQ(rates.missing, "they have no series there");
}

TEST_F(FleetReaderTest, WithoutNamesTheProductsMedianIsMeant) {
  const FleetRates rates = Read(reader_, On(""));
  EXPECT_EQ(BurstOf(rates), 5e14);
  EXPECT_EQ(rates.missing, "");
  EXPECT_EQ(fake_.asked, 1);
}

TEST_F(FleetReaderTest, WithoutRulesNothingIsKnownOfAProduct) {
  fake_.recorded = false;
  const FleetRates rates = Read(reader_, On(""));
  EXPECT_THAT(rates.models, IsEmpty());
  EXPECT_EQ(rates.device_count, 0);
  EXPECT_THAT(rates.missing, HasSubstr("deploy/monitoring/recording_rules.yml"));
}

TEST_F(FleetReaderTest, HostsOfAnotherProductAreSaid) {
  v1::FleetDevices target = On("node1");
  target.set_accelerator("h200-sxm");
  const FleetRates rates = Read(reader_, target);
  EXPECT_THAT(rates.models, IsEmpty());
  EXPECT_THAT(rates.other_products, ElementsAre("NVIDIA H100 80GB HBM3"));
}

TEST_F(FleetReaderTest, RatesThatMakeNoSenseAreLeftOut) {
  fake_.rate = 5e15;  // five times the datasheet's
  fake_.recorded = false;
  const FleetRates rates = Read(reader_, On("node1"));
  EXPECT_THAT(rates.models, IsEmpty());
  EXPECT_THAT(rates.missing, HasSubstr("of GPU-1 the burst rate in bf16 is 5e+15"));
}

// More devices than are kept: those of the last read are, and others are read again.
TEST_F(FleetReaderTest, ForgetsDevicesWhenItHasManyOfThem) {
  Read(reader_, Gpus({"GPU-1"}));
  for (size_t i = 0; i < kMaxFleetDevicesKept; i += 8192) {
    std::vector<std::string> uuids;
    for (size_t j = 0; j < 8192; ++j) uuids.push_back(absl::StrCat("GPU-x", i + j));
    Read(reader_, Gpus(uuids));
  }
  const int before = fake_.asked;
  EXPECT_EQ(BurstOf(Read(reader_, Gpus({"GPU-1"}))), 6e14);
  EXPECT_EQ(fake_.asked, before + 1);
}

TEST(FleetReader, ManyThreadsMayAsk) {
  Fake fake;
  prometheus::Registry registry;
  FleetReader reader(fake.Options(absl::Seconds(1)), registry);
  std::vector<std::thread> threads;
  threads.reserve(8);
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        if (t == 0) fake.seconds += 1;
        const std::string host = i % 3 == 0 ? "node1" : absl::StrCat("host", (t + i) % 7);
        if (BurstOf(Read(reader, i % 5 == 0 ? Gpus({host}) : On(host))) == 0) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace sextant::server
