// The fewest devices: the textbook's question asked backwards, and layouts against the plans of
// each number of devices.
#include "engine/search/size_cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include "engine/run/plan.h"
#include "engine/run/whole_run.h"
#include "tests/engine/run/h100_runs.h"

namespace sextant {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kMax = kDefaultMaxDevices;

// 70e9 parameters on 15e12 tokens: 6 x 70e9 x 15e12 = 6.3e24 FLOP, at 989.5e12 FLOP/s and an MFU of
// 0.5 3.5371e6 hours of one device; 16 bytes a parameter are 1.12e12 bytes.
RunSpec Textbook() {
  RunSpec run = OnH100s(0, 15'000'000'000'000);
  run.model.parameter_count = 70'000'000'000;
  run.cluster.peak_flops_per_second = 989.5e12;
  run.cluster.device_memory_bytes = 80'000'000'000;
  run.options.assumed_mfu = 0.5;
  return run;
}

RunSpec WithLayout() {
  RunSpec run = RunOnH100s("llama-3.1-8b", 0, 256, 8192);
  run.layout->framework = {.kind = Framework::kMegatronLm, .named = true};
  return run;
}

// Steps of that many sequences on data parallel ranks alone.
RunSpec DataParallel(int64_t sequences) {
  RunSpec run = WithLayout();
  run.model.preset = "pythia-1b";
  run.training.sequence_length = 2048;
  run.layout->global_batch_size = sequences;
  run.layout->parallel = {.tensor_parallel_size = 1, .pipeline_parallel_size = 1};
  run.layout->context_parallel_size = 1;
  return run;
}

ClusterSize ClusterSizeOf(const RunSpec& run, int64_t most = kMax,
                          SizeObjective objective = SizeObjective::kDevices) {
  CallWork work;
  auto size = FindClusterSize(run, {.max_devices = most, .objective = objective}, {}, work);
  EXPECT_TRUE(size.ok()) << size.status();
  return size.ok() ? *std::move(size) : ClusterSize();
}

absl::Status ErrorOf(const RunSpec& run, int64_t most = kMax) {
  CallWork work;
  return FindClusterSize(run, {.max_devices = most}, {}, work).status();
}

TEST(SizeCluster, AnswersTheTextbookBackwards) {
  RunSpec run = Textbook();
  // 1,024 devices take 143.92659 days (the textbook's answer); 8 fewer 145.06.
  run.economics.seconds_to_deadline = 143.93 * kSecondsPerDay;
  ClusterSize size = ClusterSizeOf(run);
  EXPECT_EQ(size.basis, SizeBasis::kStateAlone);
  EXPECT_TRUE(size.met);
  EXPECT_EQ(size.device_count, 1024);
  EXPECT_EQ(size.server_devices, 8);
  EXPECT_EQ(size.limit, SizeLimit::kDeadline);
  EXPECT_NEAR(size.sized().elapsed->value() / kSecondsPerDay, 143.92659381842682, 1e-9);
  // At the full peak it takes half as many: 511.99.
  EXPECT_EQ(size.least, 512);
  // 0.01 days less take one more server: 143.92659 x 1,024 / 143.92 = 1,024.05.
  run.economics.seconds_to_deadline = 143.92 * kSecondsPerDay;
  EXPECT_EQ(ClusterSizeOf(run).device_count, 1032);
}

TEST(SizeCluster, HoldsTheState) {
  RunSpec run = Textbook();
  ClusterSize size = ClusterSizeOf(run);
  EXPECT_EQ(size.least, 14);  // 1.12e12 / 80e9
  EXPECT_EQ(size.device_count, 16);
  EXPECT_EQ(size.limit, SizeLimit::kMemory);
  run.model.parameter_count = 8'000'000'000;  // 1.28e11 / 80e9 = 1.6
  EXPECT_EQ(ClusterSizeOf(run).device_count, 2);
  run.model.parameter_count = 5'000'000'000;  // 80e9 bytes, exactly one device
  size = ClusterSizeOf(run);
  EXPECT_EQ(size.device_count, 1);
  EXPECT_EQ(size.limit, SizeLimit::kNone);
  run.model.parameter_count = 5'000'000'001;
  EXPECT_EQ(ClusterSizeOf(run).device_count, 2);
}

TEST(SizeCluster, KeepsABudget) {
  RunSpec run = Textbook();
  run.economics.device_hour_price_usd = 2;  // 7.0743e6 dollars on any number of devices
  run.economics.budget_usd = 7.08e6;
  EXPECT_EQ(ClusterSizeOf(run).device_count, 16);
  run.economics.budget_usd = 7.07e6;
  const ClusterSize size = ClusterSizeOf(run);
  EXPECT_FALSE(size.met);
  EXPECT_EQ(size.limit, SizeLimit::kBudget);
  EXPECT_NEAR(size.sized().cost->value(), 7.0743e6, 100);
}

TEST(SizeCluster, NamesTheNearestMiss) {
  RunSpec run = Textbook();
  run.economics.seconds_to_deadline = kSecondsPerDay;
  const ClusterSize size = ClusterSizeOf(run, 1000);
  EXPECT_FALSE(size.met);
  EXPECT_EQ(size.device_count, 1000);
  EXPECT_EQ(size.limit, SizeLimit::kDeadline);
  // Nothing is tried below what the peak allows, and the most is planned all the same.
  EXPECT_EQ(size.tried.size(), 1u);
  EXPECT_GT(size.least, 1000);
  EXPECT_EQ(ClusterSizeOf(run, 3).limit, SizeLimit::kMemory);
}

TEST(SizeCluster, AsManyAsItsDefinitionSays) {
  RunSpec run = WithLayout();
  for (const double days : {1e4, 400.0, 40.0, 12.0}) {
    run.economics.seconds_to_deadline = days * kSecondsPerDay;
    const ClusterSize size = ClusterSizeOf(run);
    SCOPED_TRACE(days);
    ASSERT_TRUE(size.met);
    EXPECT_EQ(size.basis, SizeBasis::kLayouts);
    EXPECT_LE(size.sized().elapsed->value(), days * kSecondsPerDay);
    EXPECT_LE(size.tried.size(), 80u);
    for (const auto& [devices, sized] : size.tried) {
      EXPECT_GE(devices, size.least);
      EXPECT_EQ(sized.misses == SizeLimit::kNone && devices < size.device_count, false) << devices;
    }
    if (size.device_count <= 8) continue;
    EXPECT_EQ(size.device_count % 8, 0);
    EXPECT_TRUE(size.tried.count(size.device_count - 8) > 0 || size.device_count - 8 < size.least);
  }
}

// 24 sequences divide among 1, 2, 4, 8 and 24 data parallel ranks, and no other ranks are allowed:
// of the servers 3, which lie between two powers of two.
TEST(SizeCluster, FindsWhatLiesBetweenPowersOfTwo) {
  RunSpec run = DataParallel(24);
  ClusterSize size = ClusterSizeOf(run, 8);
  ASSERT_EQ(size.tried.count(8), 1u);
  // Faster than eight devices, slower than twice as many.
  run.economics.seconds_to_deadline = 0.6 * size.tried.at(8).elapsed->value();
  size = ClusterSizeOf(run, 1000);
  EXPECT_TRUE(size.met);
  EXPECT_EQ(size.device_count, 24);
  EXPECT_EQ(size.limit, SizeLimit::kDeadline);
  EXPECT_EQ(size.tried.at(16).misses, SizeLimit::kLayout);
}

TEST(SizeCluster, StaysWithinWhatIsLinked) {
  RunSpec run = WithLayout();
  // Its servers come with any network, and none is given.
  run.cluster.node_type = "";
  run.cluster.device.accelerator = "l4";
  ClusterSize size = ClusterSizeOf(run);
  EXPECT_FALSE(size.network_known);
  EXPECT_LE(size.tried.rbegin()->first, size.server_devices);
  run.cluster.network.bytes_per_second = 25e9;
  EXPECT_TRUE(ClusterSizeOf(run).network_known);
  // No server of it is known, and so no link either.
  run.cluster.network = {};
  run.cluster.device.accelerator = "rtx-5090";
  size = ClusterSizeOf(run);
  EXPECT_FALSE(size.network_known);
  EXPECT_EQ(size.device_count, 1);
  EXPECT_EQ(size.limit, SizeLimit::kMemory);
  EXPECT_EQ(size.tried.size(), 1u);
}

// 1,000 = 2^3 x 5^3 sequences on data parallel ranks alone divide among 1, 5, 25 and 125 servers of
// eight; 25 take 1 / 25 = 0.04 of the time of one, or more.
TEST(SizeCluster, TriesNumbersThatDivideTheBatch) {
  RunSpec run = DataParallel(1000);
  const double one = ClusterSizeOf(run, 8).tried.at(8).elapsed->value();
  run.economics.seconds_to_deadline = 0.03 * one;
  const ClusterSize size = ClusterSizeOf(run);
  EXPECT_TRUE(size.met);
  EXPECT_EQ(size.device_count, 1000);
  EXPECT_EQ(size.limit, SizeLimit::kDeadline);
}

// 320 sequences divide among the ranks of 4, 5 and 8 servers of eight, not of 6 and 7, so that
// halving from 8 down to 4 finds none of them. Five take about 4 / 5 of the time of four.
TEST(SizeCluster, LooksBelowWhatHalvingFinds) {
  RunSpec run = DataParallel(320);
  const ClusterSize four = ClusterSizeOf(run, 32, SizeObjective::kTime);
  ASSERT_EQ(four.device_count, 32);
  run.economics.seconds_to_deadline = 0.9 * four.sized().elapsed->value();
  const ClusterSize size = ClusterSizeOf(run);
  EXPECT_TRUE(size.met);
  EXPECT_EQ(size.device_count, 40);
  EXPECT_EQ(size.tried.at(48).misses, SizeLimit::kLayout);
  EXPECT_EQ(size.tried.at(64).misses, SizeLimit::kNone);
}

// The same batch divides among 40 servers and no more: those next to the fastest are tried.
TEST(SizeCluster, TriesTheNumbersNextToTheBest) {
  const ClusterSize size = ClusterSizeOf(DataParallel(320), 1000, SizeObjective::kTime);
  ASSERT_EQ(size.device_count, 320);
  for (const int64_t servers : {37, 38, 39, 41, 42, 43}) {
    EXPECT_EQ(size.tried.count(8 * servers), 1u) << servers;
  }
  EXPECT_EQ(size.tried.count(8 * 44), 0u);
}

// A run on a number of devices, planned by itself; nullptr where it does not fit.
std::unique_ptr<const SearchedPlan> PlanOn(RunSpec run, int64_t devices) {
  run.cluster.device_count = devices;
  run.cluster.node_type = "dgx-h100";
  run.options.search = SearchExtent::kBounded;
  CallWork work;
  auto found = SearchAsPlanned(run, {}, work);
  EXPECT_TRUE(found.ok()) << found.status();
  if (!found.ok() || found->best.empty()) return nullptr;
  auto best = PlanBest(run, *std::move(found), work);
  EXPECT_TRUE(best.ok()) << best.status();
  if (!best.ok() || best->plan.verdict() != Verdict::kFits) return nullptr;
  return std::make_unique<const SearchedPlan>(*std::move(best));
}

// The state of 8.03e9 parameters, at 16 bytes each 128e9, is too large for an H100; its host holds
// what the optimizer needs.
TEST(SizeCluster, OffloadsWhereNothingElseFits) {
  RunSpec run = WithLayout();
  run.layout->framework = {.kind = Framework::kDeepSpeed, .named = true};
  const ClusterSize size = ClusterSizeOf(run);
  ASSERT_TRUE(size.met);
  EXPECT_EQ(size.device_count, 1);
  EXPECT_TRUE(size.sized().plan->run->layout->sharding.offload_optimizer);
}

// 80 layers on 32, 40 and 48 devices: the fewest that are in time cost the most but for 40, so that
// a budget below leaves 48.
TEST(SizeCluster, LooksAboveWhatCostsTooMuch) {
  RunSpec run = WithLayout();
  run.model.preset = "llama-3.1-70b";
  run.economics.device_hour_price_usd = 2;
  const auto few = PlanOn(run, 32);
  const auto more = PlanOn(run, 48);
  ASSERT_TRUE(few != nullptr && more != nullptr);
  const double cost = BasisOf(more->plan)->cost->value();
  ASSERT_GT(BasisOf(few->plan)->cost->value(), 1.05 * cost);
  run.economics.seconds_to_deadline = 1.01 * BasisOf(few->plan)->elapsed.value();
  run.economics.budget_usd = 1.01 * cost;
  const ClusterSize size = ClusterSizeOf(run);
  EXPECT_TRUE(size.met);
  EXPECT_EQ(size.device_count, 48);
  EXPECT_EQ(size.tried.at(32).misses, SizeLimit::kBudget);
  EXPECT_EQ(size.tried.at(40).misses, SizeLimit::kBudget);
}

// On few devices every number can be planned by itself. Device-hours are proportional to money and
// energy; more devices take less time and more of these, but for the few that have to recompute.
TEST(SizeCluster, IsTheBestOfThePlansOfEachNumber) {
  RunSpec run = WithLayout();
  run.economics.device_hour_price_usd = 2;
  run.economics.device_power_watts = 700;
  run.economics.seconds_to_deadline = 150 * kSecondsPerDay;
  struct Least {
    double figure = 0;
    int64_t devices = 0;

    void Add(double of, int64_t at) {
      if (devices == 0 || of < figure) *this = {of, at};
    }
  } fewest, time, cost, energy;
  for (const int64_t devices : {1, 2, 4, 8, 16, 24, 32, 40, 48, 56, 64}) {
    const auto planned = PlanOn(run, devices);
    if (planned == nullptr) continue;
    const double elapsed = BasisOf(planned->plan)->elapsed.value();
    if (elapsed > *run.economics.seconds_to_deadline) continue;
    const auto count = static_cast<double>(devices);
    fewest.Add(count, devices);
    time.Add(elapsed, devices);
    cost.Add(count * elapsed / 3600 * 2, devices);
    energy.Add(count * elapsed * 700, devices);
  }
  ASSERT_GT(fewest.devices, 1);
  EXPECT_GT(time.devices, fewest.devices);
  EXPECT_EQ(ClusterSizeOf(run, 64).device_count, fewest.devices);
  const ClusterSize fastest = ClusterSizeOf(run, 64, SizeObjective::kTime);
  EXPECT_EQ(fastest.device_count, time.devices);
  EXPECT_EQ(fastest.sized().elapsed->value(), time.figure);
  const ClusterSize cheapest = ClusterSizeOf(run, 64, SizeObjective::kCost);
  EXPECT_EQ(cheapest.device_count, cost.devices);
  EXPECT_DOUBLE_EQ(cheapest.sized().cost->value(), cost.figure);
  const ClusterSize thriftiest = ClusterSizeOf(run, 64, SizeObjective::kEnergy);
  EXPECT_EQ(thriftiest.device_count, energy.devices);
  EXPECT_DOUBLE_EQ(thriftiest.sized().energy->value(), energy.figure);
}

// The numbers of the definition are tried, and the answer is the best of them.
TEST(SizeCluster, ComparesTheNumbersOfItsDefinition) {
  RunSpec run = WithLayout();
  run.economics.device_hour_price_usd = 2;
  run.layout->global_batch_size = 320;
  for (const SizeObjective objective : {SizeObjective::kTime, SizeObjective::kCost}) {
    const ClusterSize size = ClusterSizeOf(run, 1000, objective);
    ASSERT_TRUE(size.met);
    const auto figure = [objective](const SizedRun& sized) {
      return objective == SizeObjective::kTime ? sized.elapsed->value() : sized.cost->value();
    };
    for (const int64_t servers :
         {1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48, 64, 80, 96, 125}) {
      EXPECT_EQ(size.tried.count(8 * servers), 1u) << servers;
    }
    for (const auto& [devices, sized] : size.tried) {
      EXPECT_EQ(sized.plan != nullptr, devices == size.device_count) << devices;
      if (sized.misses != SizeLimit::kNone) continue;
      EXPECT_GE(figure(sized), figure(size.sized())) << devices;
    }
    const int64_t best = size.device_count / 8;
    for (int64_t servers = std::max<int64_t>(1, best - 3);
         servers <= std::min<int64_t>(125, best + 3); ++servers) {
      EXPECT_EQ(size.tried.count(8 * servers), 1u) << servers;
    }
    EXPECT_LE(size.tried.size(), 130u);
  }
}

TEST(SizeCluster, SaysWhatItsObjectiveLacks) {
  CallWork work;
  const auto error = [&work](const RunSpec& run, SizeObjective objective) {
    return std::string(FindClusterSize(run, {.objective = objective}, {}, work).status().message());
  };
  EXPECT_THAT(error(WithLayout(), SizeObjective::kCost),
              HasSubstr("economics.device_hour_price_usd: is required for the least cost"));
  RunSpec run = Textbook();
  run.cluster.device.accelerator = "tpu-v5p";
  EXPECT_THAT(error(run, SizeObjective::kEnergy), HasSubstr("economics.device_power_watts"));
  run.economics.device_power_watts = 300;
  EXPECT_EQ(error(run, SizeObjective::kEnergy), "");
}

TEST(SizeCluster, ReportsWhatIsWrong) {
  RunSpec run = Textbook();
  run.cluster.device.accelerator = "h100-smx";
  EXPECT_EQ(ErrorOf(run).code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(ErrorOf(run).message()), HasSubstr("h100-sxm"));
  for (const double seconds : {0.0, -1.0, std::nan("")}) {
    run = Textbook();
    run.economics.seconds_to_deadline = seconds;
    EXPECT_THAT(std::string(ErrorOf(run).message()), HasSubstr("economics.deadline"));
  }
  run = WithLayout();
  run.layout->global_batch_size.reset();
  run.economics.budget_usd = 1;
  EXPECT_THAT(std::string(ErrorOf(run).message()),
              AllOf(HasSubstr("layout.global_batch_size"), HasSubstr("economics.budget_usd")));
}

TEST(SizeCluster, EndsWithItsCall) {
  const auto stop = [] { return absl::CancelledError("left"); };
  CallWork work(stop);
  EXPECT_EQ(FindClusterSize(WithLayout(), {}, {}, work).status().code(),
            absl::StatusCode::kCancelled);
}

// Numbers of devices are tried with the model of the first. A preset is counted before any run.
TEST(SizeCluster, CountsTheModelOnce) {
  RunSpec run = WithLayout();
  run.model = {};
  run.model.transformer = TransformerSpec{.layer_count = 16,
                                          .hidden_size = 2048,
                                          .feed_forward_size = 8192,
                                          .attention_head_count = 16,
                                          .vocabulary_size = 50'304,
                                          .feed_forward_kind = FeedForwardKind::kGated,
                                          .norm_kind = NormKind::kRmsNorm};
  CallWork work;
  const auto size = FindClusterSize(run, {.max_devices = 64}, {}, work);
  ASSERT_TRUE(size.ok()) << size.status();
  EXPECT_GT(size->tried.size(), 2u);
  EXPECT_EQ(work.models(), 1);
}

}  // namespace
}  // namespace sextant
