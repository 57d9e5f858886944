#include "engine/hardware/links/collective_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "engine/hardware/links/collective.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::ElementsAre;

constexpr int64_t kMiB = 1 << 20;

// A link of 10 us and 100 GB/s among 2, of 20 us and 50 GB/s among 8.
double Two(int64_t bytes) { return 10e-6 + static_cast<double>(bytes) / 100e9; }
double Eight(int64_t bytes) { return 20e-6 + static_cast<double>(bytes) / 50e9; }

std::vector<MeasuredCollective> Points(CollectiveOp op) {
  std::vector<MeasuredCollective> out;
  for (const int64_t bytes : {int64_t{512}, kMiB, 16 * kMiB, 512 * kMiB}) {
    out.push_back({op, 2, bytes, Two(bytes)});
    out.push_back({op, 8, bytes, Eight(bytes)});
  }
  return out;
}

CollectiveModel ModelOf(const std::vector<MeasuredCollective>& points) {
  const absl::StatusOr<CollectiveModel> out = CollectiveModel::Make(points);
  EXPECT_THAT(out, IsOk());
  return *out;
}

KernelTime TimeOf(const CollectiveModel& model, CollectiveOp op, int64_t bytes, int64_t ranks) {
  const auto out = model.TimeOf({op, Bytes(bytes), ranks});
  EXPECT_TRUE(out.has_value());
  return out.value_or(KernelTime{});
}

constexpr CollectiveOp kGather = CollectiveOp::kAllGather;

TEST(CollectiveModel, GivesMeasuredPointsBack) {
  const CollectiveModel model = ModelOf(Points(kGather));
  for (const MeasuredCollective& p : Points(kGather)) {
    const KernelTime time = TimeOf(model, kGather, p.bytes, p.ranks);
    EXPECT_DOUBLE_EQ(time.expected.value(), p.seconds);
    EXPECT_EQ(time.basis, KernelBasis::kMeasured);
  }
}

// A latency and a rate are found again at every size, the ends included.
TEST(CollectiveModel, IsExactWhereTimeIsALatencyAndARate) {
  const CollectiveModel model = ModelOf(Points(kGather));
  for (const int64_t bytes : {int64_t{4096}, 3 * kMiB, 100 * kMiB, 2048 * kMiB}) {
    EXPECT_NEAR(TimeOf(model, kGather, bytes, 8).expected.value(), Eight(bytes),
                1e-9 * Eight(bytes));
  }
  EXPECT_EQ(TimeOf(model, kGather, 3 * kMiB, 8).basis, KernelBasis::kWithinGrid);
  EXPECT_EQ(TimeOf(model, kGather, 2048 * kMiB, 8).basis, KernelBasis::kOutsideGrid);
  EXPECT_DOUBLE_EQ(TimeOf(model, kGather, 1, 8).expected.value(), Eight(512));
}

// 4 is in the middle of 2 and 8 on a logarithmic scale.
TEST(CollectiveModel, PutsRanksBetweenOnALogarithmicScale) {
  const CollectiveModel model = ModelOf(Points(kGather));
  const KernelTime time = TimeOf(model, kGather, 16 * kMiB, 4);
  EXPECT_NEAR(time.expected.value(), std::sqrt(Two(16 * kMiB) * Eight(16 * kMiB)), 1e-12);
  EXPECT_EQ(time.basis, KernelBasis::kWithinGrid);
  EXPECT_LE(time.high.value(), time.expected.value() * 1.3 * kBetweenRanksWidening);
  EXPECT_GE(time.high.value(), time.expected.value() * kBetweenRanksWidening);
}

// Twice the ranks: latency 3 to 4 (log2 of 8 and 16), bytes 7/8 to 15/16.
TEST(CollectiveModel, ExtendsBeyondTheMostRanks) {
  const CollectiveModel model = ModelOf(Points(kGather));
  const double wire = Eight(16 * kMiB) - Eight(512);
  const KernelTime time = TimeOf(model, kGather, 16 * kMiB, 16);
  EXPECT_NEAR(time.expected.value(), Eight(512) * 4 / 3 + wire * (15.0 / 16) / (7.0 / 8), 1e-12);
  EXPECT_EQ(time.basis, KernelBasis::kOutsideGrid);
  EXPECT_GT(time.high.value() / time.expected.value(), kBeyondRanksWidening);
}

TEST(CollectiveModel, KnowsNothingOfFewerRanksThanWereMeasured) {
  std::vector<MeasuredCollective> points;
  for (const MeasuredCollective& p : Points(kGather)) {
    if (p.ranks == 8) points.push_back(p);
  }
  EXPECT_FALSE(ModelOf(points).TimeOf({kGather, Bytes(kMiB), 4}).has_value());
  EXPECT_FALSE(ModelOf(points).TimeOf({CollectiveOp::kAllReduce, Bytes(kMiB), 8}).has_value());
}

// (n - 1) / n of an all_gather's bytes reach a rank, all of a broadcast's; of an all_to_all between
// two half leaves.
TEST(CollectiveModel, TakesOperationsFromOthersOfTheSameWire) {
  std::vector<MeasuredCollective> points = Points(kGather);
  for (const MeasuredCollective& p : Points(CollectiveOp::kAllToAll)) points.push_back(p);
  const CollectiveModel model = ModelOf(points);
  const KernelTime broadcast = TimeOf(model, CollectiveOp::kBroadcast, 7 * kMiB, 8);
  EXPECT_NEAR(broadcast.expected.value(), Eight(8 * kMiB), 1e-12);
  EXPECT_EQ(broadcast.basis, KernelBasis::kOtherPass);
  const KernelTime send = TimeOf(model, CollectiveOp::kSendReceive, 8 * kMiB, 8);
  EXPECT_NEAR(send.expected.value(), Two(16 * kMiB), 1e-12);
  EXPECT_LT(send.low, send.expected);
  EXPECT_GT(send.high, send.expected);
}

TEST(CollectiveModel, OfOneRankTakesNoTime) {
  const KernelTime time = TimeOf(ModelOf(Points(kGather)), kGather, kMiB, 1);
  EXPECT_EQ(time.expected.value(), 0);
  EXPECT_EQ(time.high.value(), 0);
}

// 40 us at 1 MiB is a hiccup where 16 MiB take 30: it never takes longer to send less.
TEST(CollectiveModel, NeverFallsAsBytesGrow) {
  const CollectiveModel model = ModelOf({{kGather, 2, 512, 10e-6},
                                         {kGather, 2, kMiB, 40e-6},
                                         {kGather, 2, 16 * kMiB, 30e-6},
                                         {kGather, 2, 64 * kMiB, 90e-6}});
  double before = 0;
  for (double bytes = 1; bytes < 1e12; bytes *= 1.1) {
    const double now = TimeOf(model, kGather, static_cast<int64_t>(bytes), 2).expected.value();
    EXPECT_GE(now, before) << bytes;
    before = now;
  }
  EXPECT_DOUBLE_EQ(TimeOf(model, kGather, kMiB, 2).expected.value(), 30e-6);
}

// The one size inside is twice its neighbours' line: the interval has to say so.
TEST(CollectiveModel, CarriesTheErrorOfSizesLeftOut) {
  const CollectiveModel model = ModelOf({{kGather, 2, kMiB, 10e-6},
                                         {kGather, 2, 2 * kMiB, 40e-6},
                                         {kGather, 2, 3 * kMiB, 60e-6},
                                         {kGather, 2, 4 * kMiB, 80e-6},
                                         {kGather, 2, 5 * kMiB, 100e-6}});
  // For errors of 1, 1 and 40 / 35: 0.8 of the way from the second to the third.
  const double p90 = 1 + 0.8 * (40.0 / 35 - 1);
  const KernelTime time = TimeOf(model, kGather, 1'500'000, 2);
  EXPECT_NEAR(time.high.value() / time.expected.value(), p90, 1e-9);
  EXPECT_LT(time.low, time.expected);
  // No size below 1 MiB was left out: 1.3 is assumed. Both of these are beyond the measured sizes.
  const KernelTime small = TimeOf(model, kGather, kMiB / 2, 2);
  const KernelTime large = TimeOf(model, kGather, 9 * kMiB, 2);
  EXPECT_NEAR(
      (small.high.value() / small.expected.value()) / (large.high.value() / large.expected.value()),
      1.3 / p90, 1e-9);
}

absl::Status StatusOfModel(const std::vector<MeasuredCollective>& points) {
  return CollectiveModel::Make(points).status();
}

TEST(CollectiveModel, RefusesWhatNobodyCanHaveMeasured) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(StatusOfModel({}), NamesFields(ElementsAre("points")));
  for (const double seconds : {nan, 0.0, -1.0, 1e-9, 1e9, HUGE_VAL}) {
    EXPECT_THAT(StatusOfModel({{kGather, 2, 512, 1e-5}, {kGather, 2, kMiB, seconds}}),
                NamesFields(ElementsAre("points[1].seconds")));
  }
  EXPECT_THAT(StatusOfModel({{kGather, 1, 512, 1e-5}, {kGather, 1, kMiB, 1e-5}}),
              NamesFields(ElementsAre("points[0].ranks", "points[1].ranks")));
  EXPECT_THAT(StatusOfModel({{kGather, 2, 0, 1e-5}, {kGather, 2, kMiB, 1e-5}}),
              NamesFields(ElementsAre("points[0].bytes")));
  EXPECT_THAT(StatusOfModel({{kGather, 2, 512, 1e-5}}), NamesFields(ElementsAre("points")));
  EXPECT_THAT(
      StatusOfModel({{kGather, 2, 512, 1e-5}, {kGather, 2, 512, 2e-5}, {kGather, 2, 1024, 3e-5}}),
      NamesFields(ElementsAre("points[1]")));
}

using DevicePoints = std::vector<MeasuredCollective>;

// `latency` and then `rate` bytes a second.
MeasuredCollective Call(int64_t bytes, double latency, double rate, int64_t ranks = 8) {
  return {.op = CollectiveOp::kAllReduce,
          .ranks = ranks,
          .bytes = bytes,
          .seconds = latency + static_cast<double>(bytes) / rate};
}

CollectiveModel SlowestOf(const std::vector<DevicePoints>& devices) {
  auto out = MeasuredCollectives(devices);
  EXPECT_THAT(out, IsOk());
  EXPECT_TRUE(out->has_value());
  return **out;
}

double SecondsOf(const CollectiveModel& model, int64_t bytes, int64_t ranks = 8) {
  return model.TimeOf({CollectiveOp::kAllReduce, Bytes(bytes), ranks})->expected.value();
}

// One waits longer for small ones, the other is slower with large ones: all wait for both.
TEST(MeasuredCollectives, TakeTheSlowestOfEachSize) {
  const DevicePoints late = {Call(kMiB, 1e-3, 4e11), Call(64 * kMiB, 1e-3, 4e11)};
  const DevicePoints slow = {Call(kMiB, 1e-5, 1e10), Call(64 * kMiB, 1e-5, 1e10)};
  const CollectiveModel model = SlowestOf({late, slow});
  EXPECT_DOUBLE_EQ(SecondsOf(model, kMiB), late[0].seconds);
  EXPECT_DOUBLE_EQ(SecondsOf(model, 64 * kMiB), slow[1].seconds);
}

// The fast one measured 8 MiB, the slow one sizes around it: its line there counts.
TEST(MeasuredCollectives, OfUnlikeSizesLetNoneBeFasterThanTheSlowest) {
  const DevicePoints slow = {Call(kMiB, 0, 1e10), Call(64 * kMiB, 0, 1e10)};
  const DevicePoints fast = {Call(kMiB, 0, 2e10), Call(8 * kMiB, 0, 2e10)};
  const CollectiveModel model = SlowestOf({slow, fast});
  EXPECT_NEAR(SecondsOf(model, 8 * kMiB), static_cast<double>(8 * kMiB) / 1e10, 1e-9);
  EXPECT_NEAR(SecondsOf(model, kMiB), static_cast<double>(kMiB) / 1e10, 1e-9);
}

TEST(MeasuredCollectives, AreKeptApartByRanks) {
  const CollectiveModel model = SlowestOf({{Call(kMiB, 0, 1e10, 2), Call(2 * kMiB, 0, 1e10, 2),
                                            Call(kMiB, 0, 5e9, 8), Call(2 * kMiB, 0, 5e9, 8)}});
  EXPECT_NEAR(SecondsOf(model, kMiB, 2) * 2, SecondsOf(model, kMiB, 8), 1e-9);
}

TEST(MeasuredCollectives, OfASingleSizeSayNothing) {
  const auto one = MeasuredCollectives({{Call(kMiB, 0, 1e10)}, {}});
  ASSERT_THAT(one, IsOk());
  EXPECT_FALSE(one->has_value());
  const CollectiveModel rest =
      SlowestOf({{Call(kMiB, 0, 1e10, 4), Call(kMiB, 0, 1e10), Call(2 * kMiB, 0, 1e10)}});
  EXPECT_FALSE(rest.TimeOf({CollectiveOp::kAllReduce, Bytes(kMiB), 4}).has_value());
}

TEST(MeasuredCollectives, ThatAreDamagedAreNamed) {
  const DevicePoints good = {Call(kMiB, 0, 1e10), Call(2 * kMiB, 0, 1e10)};
  DevicePoints bad = good;
  bad[1].seconds = -1;
  EXPECT_THAT(MeasuredCollectives({good, bad}),
              NamesFields(ElementsAre("devices[1].points[1].seconds")));
}

// nccl-tests' doc/PERFORMANCE.md prints the factors for n ranks; here worked for n = 8 and 2.
TEST(WireShare, IsTheFactorOfTheBusBandwidth) {
  EXPECT_DOUBLE_EQ(WireShare(CollectiveOp::kAllReduce, 8), 1.75);
  EXPECT_DOUBLE_EQ(WireShare(CollectiveOp::kAllGather, 8), 0.875);
  EXPECT_DOUBLE_EQ(WireShare(CollectiveOp::kReduceScatter, 8), 0.875);
  EXPECT_DOUBLE_EQ(WireShare(CollectiveOp::kAllToAll, 8), 0.875);
  EXPECT_DOUBLE_EQ(WireShare(CollectiveOp::kBroadcast, 8), 1);
  EXPECT_DOUBLE_EQ(WireShare(CollectiveOp::kAllReduce, 2), 1);
  EXPECT_DOUBLE_EQ(WireShare(CollectiveOp::kSendReceive, 2), 1);
}

// An all_reduce is a reduce_scatter and an all_gather of its result, byte for byte.
TEST(WireShare, OfAllReduceIsThatOfItsHalves) {
  for (int64_t n = 1; n <= 100; ++n) {
    EXPECT_DOUBLE_EQ(
        WireShare(CollectiveOp::kAllReduce, n),
        WireShare(CollectiveOp::kReduceScatter, n) + WireShare(CollectiveOp::kAllGather, n));
  }
}

TEST(WireShare, IsNoneOfOneRank) {
  for (const CollectiveOp op : kCollectiveOps) EXPECT_EQ(WireShare(op, 1), 0);
}

// A switch that adds up spares only all_reduce, and no pair of ranks.
TEST(InSwitchWireShare, SparesAllReduceAlone) {
  EXPECT_EQ(InSwitchWireShare(CollectiveOp::kAllReduce, 8), 1);
  EXPECT_EQ(InSwitchWireShare(CollectiveOp::kAllReduce, 2), 1);
  EXPECT_EQ(InSwitchWireShare(CollectiveOp::kAllReduce, 1), 0);
  EXPECT_EQ(InSwitchWireShare(CollectiveOp::kAllGather, 8), 0.875);
}

TEST(CollectiveOps, HaveNamesOfTheirOwn) {
  std::set<std::string> names;
  for (const CollectiveOp op : kCollectiveOps) names.emplace(CollectiveOpName(op));
  EXPECT_EQ(names.size(), kCollectiveOps.size());
  EXPECT_EQ(names.count("all_to_all"), 1u);
}

}  // namespace
}  // namespace sextant
