#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/hardware/links/collective_model.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::ElementsAre;
using Points = std::vector<MeasuredCollective>;

constexpr int64_t kMiB = int64_t{1} << 20;

// `latency` and then `rate` bytes a second.
MeasuredCollective Call(int64_t bytes, double latency, double rate, int64_t ranks = 8) {
  return {.op = CollectiveOp::kAllReduce,
          .ranks = ranks,
          .bytes = bytes,
          .seconds = latency + static_cast<double>(bytes) / rate};
}

CollectiveModel ModelOf(const std::vector<Points>& devices) {
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
  const Points late = {Call(kMiB, 1e-3, 4e11), Call(64 * kMiB, 1e-3, 4e11)};
  const Points slow = {Call(kMiB, 1e-5, 1e10), Call(64 * kMiB, 1e-5, 1e10)};
  const CollectiveModel model = ModelOf({late, slow});
  EXPECT_DOUBLE_EQ(SecondsOf(model, kMiB), late[0].seconds);
  EXPECT_DOUBLE_EQ(SecondsOf(model, 64 * kMiB), slow[1].seconds);
}

// The fast one measured 8 MiB, the slow one sizes around it: its line there counts.
TEST(MeasuredCollectives, OfUnlikeSizesLetNoneBeFasterThanTheSlowest) {
  const Points slow = {Call(kMiB, 0, 1e10), Call(64 * kMiB, 0, 1e10)};
  const Points fast = {Call(kMiB, 0, 2e10), Call(8 * kMiB, 0, 2e10)};
  const CollectiveModel model = ModelOf({slow, fast});
  EXPECT_NEAR(SecondsOf(model, 8 * kMiB), static_cast<double>(8 * kMiB) / 1e10, 1e-9);
  EXPECT_NEAR(SecondsOf(model, kMiB), static_cast<double>(kMiB) / 1e10, 1e-9);
}

TEST(MeasuredCollectives, AreKeptApartByRanks) {
  const CollectiveModel model = ModelOf({{Call(kMiB, 0, 1e10, 2), Call(2 * kMiB, 0, 1e10, 2),
                                          Call(kMiB, 0, 5e9, 8), Call(2 * kMiB, 0, 5e9, 8)}});
  EXPECT_NEAR(SecondsOf(model, kMiB, 2) * 2, SecondsOf(model, kMiB, 8), 1e-9);
}

TEST(MeasuredCollectives, OfASingleSizeSayNothing) {
  const auto one = MeasuredCollectives({{Call(kMiB, 0, 1e10)}, {}});
  ASSERT_THAT(one, IsOk());
  EXPECT_FALSE(one->has_value());
  const CollectiveModel rest =
      ModelOf({{Call(kMiB, 0, 1e10, 4), Call(kMiB, 0, 1e10), Call(2 * kMiB, 0, 1e10)}});
  EXPECT_FALSE(rest.TimeOf({CollectiveOp::kAllReduce, Bytes(kMiB), 4}).has_value());
}

TEST(MeasuredCollectives, ThatAreDamagedAreNamed) {
  const Points good = {Call(kMiB, 0, 1e10), Call(2 * kMiB, 0, 1e10)};
  Points bad = good;
  bad[1].seconds = -1;
  EXPECT_THAT(MeasuredCollectives({good, bad}),
              NamesFields(ElementsAre("devices[1].points[1].seconds")));
}

}  // namespace
}  // namespace sextant
