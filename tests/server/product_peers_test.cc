#include "server/convert/product_peers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "engine/hardware/catalogue.h"
#include "tests/server/sample_calibration.h"

namespace sextant {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kSampleSeconds = 1'769'860'800;  // SampleCalibration()'s

// Fills a snapshot with measured H200s, whose datasheet says 700 W.
class MeasuredFleet {
 public:
  MeasuredFleet& Add(absl::optional<double> watts, const char* product = "NVIDIA H200") {
    v1::Calibration calibration = SampleCalibration(absl::StrCat("GPU-", ++count_));
    calibration.mutable_device()->set_kind(v1::DEVICE_KIND_GPU);
    calibration.mutable_device()->set_product_name(product);
    if (watts.has_value()) calibration.mutable_device()->set_power_limit_watts(*watts);
    snapshot_.calibrations.push_back(
        {.device = calibration.device(), .by_mode = {StoredFrom(calibration)}});
    return *this;
  }
  MeasuredFleet& Distrust(const char* uuid) {
    snapshot_.distrusted.insert(uuid);
    return *this;
  }

  // The snapshot outlives it.
  ProductPeers Peers(const char* product = "h200-sxm",
                     absl::optional<absl::Duration> maximum_age = absl::nullopt) const {
    return PeersOf(**FindAccelerator(product), snapshot_,
                   {.now = absl::FromUnixSeconds(kSampleSeconds) + absl::Seconds(10),
                    .maximum_age = maximum_age});
  }

  std::vector<std::string> Uuids(const ProductPeers& peers) const {
    std::vector<std::string> out;
    for (const v1::Calibration* c : peers.calibrations) out.push_back(c->device().uuid());
    return out;
  }

 private:
  int count_ = 0;
  CalibrationSnapshot snapshot_;
};

// Each takes part by the calibration that is in use of it.
TEST(ProductPeers, AreTheCalibrationsInUse) {
  v1::Calibration full = SampleCalibration("GPU-1");
  full.mutable_device()->set_product_name("NVIDIA H200");
  full.set_mode(v1::PROBE_MODE_FULL);
  v1::Calibration quick = full;
  quick.set_mode(v1::PROBE_MODE_QUICK);
  quick.mutable_measured_time()->set_seconds(kSampleSeconds + 7200);
  CalibrationSnapshot snapshot;
  snapshot.calibrations.push_back(
      {.device = full.device(), .by_mode = {StoredFrom(full), StoredFrom(quick)}});
  const auto mode_of = [&](const CalibrationQuery& query) {
    const ProductPeers peers = PeersOf(**FindAccelerator("h200-sxm"), snapshot, query);
    EXPECT_EQ(peers.calibrations.size(), 1u);
    return peers.calibrations[0]->mode();
  };
  const absl::Time now = absl::FromUnixSeconds(kSampleSeconds + 9000);
  EXPECT_EQ(mode_of({.now = now}), v1::PROBE_MODE_FULL);
  // A request that takes nothing older than an hour need not do without it.
  EXPECT_EQ(mode_of({.now = now, .maximum_age = absl::Hours(1)}), v1::PROBE_MODE_QUICK);
}

TEST(ProductPeers, AreOfTheProductAndTrusted) {
  const MeasuredFleet fleet =
      MeasuredFleet().Add(700).Add(700, "NVIDIA A100-SXM4-80GB").Add(700).Distrust("GPU-3");
  EXPECT_THAT(fleet.Uuids(fleet.Peers()), ElementsAre("GPU-1"));
  EXPECT_THAT(fleet.Peers().assumptions, IsEmpty());
  EXPECT_THAT(fleet.Peers("b200-sxm").calibrations, IsEmpty());
  EXPECT_THAT(fleet.Peers("b200-sxm").assumptions, IsEmpty());
}

// 693 and 707 W are 1 % from 700 W, 692 and 708 W are more.
TEST(ProductPeers, HaveTheDatasheetsPowerLimit) {
  const MeasuredFleet fleet = MeasuredFleet().Add(693).Add(692).Add(707).Add(708).Add(500);
  const ProductPeers peers = fleet.Peers();
  EXPECT_THAT(fleet.Uuids(peers), ElementsAre("GPU-1", "GPU-3"));
  EXPECT_THAT(peers.assumptions,
              ElementsAre("Left out of the median, since their power limit is 500 W to 708 W and "
                          "the datasheet's is 700 W: 3 of 5 measured h200-sxm."));
}

TEST(ProductPeers, TakePartOnTrustWhereTheySayNoLimit) {
  const MeasuredFleet fleet = MeasuredFleet().Add(700).Add({}).Add(600);
  const ProductPeers peers = fleet.Peers();
  EXPECT_THAT(fleet.Uuids(peers), ElementsAre("GPU-1", "GPU-2"));
  EXPECT_THAT(peers.assumptions,
              ElementsAre(AllOf(HasSubstr("is 600 W and"), HasSubstr("1 of 3 measured")),
                          HasSubstr("since they say none: 1 of 3 measured h200-sxm.")));
}

TEST(ProductPeers, AreNoneWhereAllAreLimitedFurther) {
  const MeasuredFleet fleet = MeasuredFleet().Add(500).Add(500);
  EXPECT_THAT(fleet.Peers().calibrations, IsEmpty());
  EXPECT_THAT(fleet.Peers().assumptions, ElementsAre(HasSubstr("2 of 2 measured h200-sxm"),
                                                     HasSubstr("No measured h200-sxm is left")));
}

TEST(ProductPeers, AreAsYoungAsTheyHaveToBe) {
  const MeasuredFleet fleet = MeasuredFleet().Add(700);
  EXPECT_THAT(fleet.Peers("h200-sxm", absl::Seconds(10)).calibrations.size(), 1);
  const ProductPeers none = fleet.Peers("h200-sxm", absl::Seconds(9));
  EXPECT_THAT(none.calibrations, IsEmpty());
  EXPECT_THAT(none.assumptions,
              ElementsAre(HasSubstr("Older than the request allows"), HasSubstr("is left")));
}

}  // namespace
}  // namespace sextant
