#include "engine/hardware/placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "engine/hardware/catalogue.h"
#include "tests/engine/hardware/device_models.h"
#include "tests/support/note_matchers.h"

namespace sextant {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kMeasuredSeconds = 1'769'860'800;

// Measured H200s, whose datasheet says 700 W.
class MeasuredFleet {
 public:
  MeasuredFleet& Add(absl::optional<double> watts, const char* product = "h200-sxm") {
    DeviceCalibration calibration;
    calibration.uuid = absl::StrCat("GPU-", models_.size() + 1);
    calibration.accelerator = *FindAccelerator(product);
    calibration.power_limit_watts = watts;
    calibration.measured_unix_seconds = kMeasuredSeconds;
    models_.push_back(ModelOf(std::move(calibration)));
    return *this;
  }

  // Measured `maximum_age_seconds` ago or later, 10 seconds after all were.
  Placement Peers(const char* product = "h200-sxm",
                  absl::optional<int64_t> maximum_age_seconds = absl::nullopt) const {
    std::vector<const DeviceModel*> peers;
    for (const auto& model : models_) peers.push_back(model.get());
    absl::optional<int64_t> oldest;
    if (maximum_age_seconds.has_value()) oldest = kMeasuredSeconds + 10 - *maximum_age_seconds;
    return PlacementOfProduct(**FindAccelerator(product), peers, oldest);
  }

 private:
  std::vector<std::shared_ptr<const DeviceModel>> models_;
};

// UUIDs of the measured devices.
std::vector<std::string> Uuids(const Placement& placement) {
  std::vector<std::string> out;
  for (const PlacedDevice& device : placement.devices) {
    if (!device.model->is_measured()) continue;
    EXPECT_EQ(device.source, RateSource::kMeasuredModel);
    out.push_back(device.model->calibration().uuid);
  }
  return out;
}

TEST(ProductPeers, AreOfTheProduct) {
  const MeasuredFleet fleet = MeasuredFleet().Add(700).Add(700, "a100-sxm-80");
  EXPECT_THAT(Uuids(fleet.Peers()), ElementsAre("GPU-1"));
  EXPECT_EQ(fleet.Peers().join, DeviceJoin::kMedian);
  EXPECT_THAT(fleet.Peers().notes, IsEmpty());
  const Placement unmeasured = fleet.Peers("b200-sxm");
  EXPECT_THAT(Uuids(unmeasured), IsEmpty());
  EXPECT_THAT(unmeasured.notes, IsEmpty());
  ASSERT_EQ(unmeasured.devices.size(), 1u);
  EXPECT_EQ(unmeasured.devices[0].model, &DeviceModel::OfProduct(**FindAccelerator("b200-sxm")));
}

// 693 and 707 W are 1 % from 700 W, 692 and 708 W are more.
TEST(ProductPeers, HaveTheDatasheetsPowerLimit) {
  const MeasuredFleet fleet = MeasuredFleet().Add(693).Add(692).Add(707).Add(708).Add(500);
  const Placement peers = fleet.Peers();
  EXPECT_THAT(Uuids(peers), ElementsAre("GPU-1", "GPU-3"));
  EXPECT_THAT(peers.notes,
              ElementsAre(IsNote(NoteKind::kOtherPowerLimits,
                                 "Left out of the median, since their power limit is 500 W to 708 "
                                 "W and the datasheet's is 700 W: 3 of 5 measured h200-sxm.")));
  EXPECT_THAT(peers.notes[0].values,
              ElementsAre(NoteValue{"device_count", 3}, NoteValue{"power_limit_watts", 700}));
}

TEST(ProductPeers, TakePartOnTrustWhereTheySayNoLimit) {
  const MeasuredFleet fleet = MeasuredFleet().Add(700).Add({}).Add(600);
  const Placement peers = fleet.Peers();
  EXPECT_THAT(Uuids(peers), ElementsAre("GPU-1", "GPU-2"));
  EXPECT_THAT(peers.notes,
              ElementsAre(IsNote(NoteKind::kOtherPowerLimits,
                                 AllOf(HasSubstr("is 600 W and"), HasSubstr("1 of 3 measured"))),
                          IsNote(NoteKind::kPowerLimitAssumed,
                                 HasSubstr("since they say none: 1 of 3 measured h200-sxm."))));
  EXPECT_THAT(peers.notes[1].values,
              ElementsAre(NoteValue{"device_count", 1}, NoteValue{"power_limit_watts", 700}));
}

TEST(ProductPeers, AreNoneWhereAllAreLimitedFurther) {
  const MeasuredFleet fleet = MeasuredFleet().Add(500).Add(500);
  EXPECT_THAT(Uuids(fleet.Peers()), IsEmpty());
  EXPECT_THAT(
      fleet.Peers().notes,
      ElementsAre(IsNote(NoteKind::kOtherPowerLimits, HasSubstr("2 of 2 measured h200-sxm")),
                  IsNote(NoteKind::kNoMeasurementLeft, HasSubstr("No measured h200-sxm is left"))));
}

TEST(ProductPeers, AreAsYoungAsTheyHaveToBe) {
  const MeasuredFleet fleet = MeasuredFleet().Add(700);
  EXPECT_THAT(Uuids(fleet.Peers("h200-sxm", 10)), ElementsAre("GPU-1"));
  const Placement none = fleet.Peers("h200-sxm", 9);
  EXPECT_THAT(Uuids(none), IsEmpty());
  EXPECT_THAT(none.notes, ElementsAre(IsNote(NoteKind::kMeasurementsTooOld,
                                             HasSubstr("Older than the request allows")),
                                      IsNote(NoteKind::kNoMeasurementLeft, HasSubstr("is left"))));
  EXPECT_THAT(none.notes[0].values, ElementsAre(NoteValue{"device_count", 1}));
}

// Among four of one source the lower median is the second fastest; for a placement the slowest
// decides.
TEST(DecidingDevice, IsTheLowerMedianOrTheSlowest) {
  EXPECT_EQ(DecidingDevice({3, 1, 2, 4}, DeviceJoin::kMedian), 2u);
  EXPECT_EQ(DecidingDevice({3, 1, 2}, DeviceJoin::kMedian), 2u);
  EXPECT_EQ(DecidingDevice({3, 1, 2, 4}, DeviceJoin::kSlowest), 3u);
  // Measurements outweigh published figures of a product, however many of those there are.
  const RateSource sources[] = {RateSource::kReference, RateSource::kMeasuredModel,
                                RateSource::kReference, RateSource::kReference};
  EXPECT_EQ(DecidingDevice({3, 1, 2, 4}, DeviceJoin::kMedian, sources), 1u);
}

DeviceCalibration WithMatmul(const char* uuid, double rate, int64_t memory_bytes) {
  DeviceCalibration out;
  out.uuid = uuid;
  out.memory = Bytes(memory_bytes);
  if (rate > 0) out.KeepIfBetter({.data_type = DataType::kBf16, .rate = FlopsPerSecond(rate)});
  return out;
}

// A device without a rate in the type has memory all the same.
TEST(MeasuredGang, WaitsForItsSlowestAndHoldsWhatItsSmallestDoes) {
  const auto fast = ModelOf(WithMatmul("GPU-1", 7e14, 80));
  const auto slow = ModelOf(WithMatmul("GPU-2", 6e14, 90));
  const auto small = ModelOf(WithMatmul("GPU-3", 0, 70));
  MeasuredGang gang;
  EXPECT_EQ(gang.slowest, nullptr);
  for (const auto& model : {fast, slow, small}) gang.Join(*model, DataType::kBf16);
  EXPECT_EQ(gang.slowest->uuid, "GPU-2");
  EXPECT_EQ(gang.matmul->rate, FlopsPerSecond(6e14));
  EXPECT_EQ(gang.smallest->uuid, "GPU-3");
}

// The first of two equal devices decides.
TEST(MeasuredGang, NamesTheFirstOfEquals) {
  const auto first = ModelOf(WithMatmul("GPU-1", 7e14, 80));
  const auto second = ModelOf(WithMatmul("GPU-2", 7e14, 80));
  MeasuredGang gang;
  gang.Join(*first, DataType::kBf16);
  gang.Join(*second, DataType::kBf16);
  EXPECT_EQ(gang.slowest->uuid, "GPU-1");
  EXPECT_EQ(gang.smallest->uuid, "GPU-1");
}

}  // namespace
}  // namespace sextant
