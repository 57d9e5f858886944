// Calibrations that a store keeps of each mode, and the one in use.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "server/store/calibration_file.h"
#include "server/store/calibration_store.h"
#include "tests/server/fake_probe.h"
#include "tests/server/wire_values.h"
#include "tests/support/status_matchers.h"

namespace sextant::server {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

constexpr char kGpuUuid[] = "GPU-7";
constexpr v1::ProbeMode kQuickMode = v1::PROBE_MODE_QUICK;
constexpr v1::ProbeMode kStandardMode = v1::PROBE_MODE_STANDARD;
constexpr v1::ProbeMode kFullMode = v1::PROBE_MODE_FULL;
const absl::Time kMeasuringTime = absl::FromUnixSeconds(1'750'000'000);

// A GPU's calibration, measured `hours` after a common epoch: stable and complete.
v1::Calibration MeasuredIn(v1::ProbeMode mode, int hours) {
  v1::Calibration out = FakeCalibration();
  out.set_mode(mode);
  out.mutable_device()->set_uuid(kGpuUuid);
  out.mutable_device()->set_kind(v1::DEVICE_KIND_GPU);
  out.mutable_device()->set_driver_version("580.65.06");
  out.mutable_device()->set_power_limit_watts(700);
  out.mutable_measured_time()->set_seconds(
      absl::ToUnixSeconds(kMeasuringTime + absl::Hours(hours)));
  return out;
}

v1::Calibration Unstable(v1::Calibration calibration) {
  for (v1::MatmulMeasurement& matmul : *calibration.mutable_matmuls()) {
    matmul.mutable_time()->set_stable(false);
  }
  return calibration;
}

v1::Calibration Covering(double ratio, v1::Calibration calibration) {
  calibration.set_coverage_ratio(ratio);
  return calibration;
}

v1::Calibration ByDriver(const char* version, v1::Calibration calibration) {
  calibration.mutable_device()->set_driver_version(version);
  return calibration;
}

v1::Calibration Earlier(absl::Duration by, v1::Calibration calibration) {
  auto& measured = *calibration.mutable_measured_time();
  measured.set_seconds(measured.seconds() - absl::ToInt64Seconds(by));
  return calibration;
}

// A store on a folder; times are in hours.
class ModeStore {
 public:
  explicit ModeStore(const std::string& folder, int hours = 0)
      : store_(folder, "node1", kMeasuringTime + absl::Hours(hours)) {
    if (store_.snapshot()->devices.empty()) store_.SetDevices({MeasuredIn(kFullMode, 0).device()});
  }

  CalibrationStore::Kept Keep(const v1::Calibration& calibration) {
    return store_.Keep(calibration, absl::FromUnixSeconds(calibration.measured_time().seconds()));
  }

  // The mode in use and the hour of its measurement; (UNSPECIFIED, 0) where there is none.
  std::pair<v1::ProbeMode, int64_t> InUse(int hours,
                                          absl::optional<absl::Duration> maximum_age = {}) const {
    const auto snapshot = store_.snapshot();
    const StoredCalibration* const found = snapshot->Find(
        kGpuUuid, {.now = kMeasuringTime + absl::Hours(hours), .maximum_age = maximum_age});
    if (found == nullptr) return {v1::PROBE_MODE_UNSPECIFIED, 0};
    return {found->calibration.mode(), absl::ToInt64Hours(found->facts.measured - kMeasuringTime)};
  }

  CalibrationStore& store() { return store_; }

 private:
  CalibrationStore store_;
};

using ModeAt = std::pair<v1::ProbeMode, int64_t>;

std::vector<std::string> FilesIn(const std::string& folder) {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    out.push_back(entry.path().filename());
  }
  return out;
}

TEST(CalibrationModes, AreKeptBesideEachOther) {
  const TemporaryFolder folder;
  {
    ModeStore store(folder.path());
    EXPECT_EQ(store.Keep(MeasuredIn(kFullMode, 0)).warning, "");
    const auto quick = store.Keep(MeasuredIn(kQuickMode, 1));
    EXPECT_EQ(quick.warning, "");
    EXPECT_EQ(quick.better, nullptr);
    EXPECT_EQ(quick.in_use->calibration.mode(), kFullMode);
    EXPECT_EQ(quick.merit, CalibrationMerit::kFuller);
    store.Keep(MeasuredIn(kStandardMode, 2));
    EXPECT_EQ(store.InUse(2), ModeAt(kFullMode, 0));
  }
  EXPECT_THAT(FilesIn(folder.path()),
              UnorderedElementsAre("GPU-7.full.json", "GPU-7.quick.json", "GPU-7.standard.json"));
  const ModeStore again(folder.path(), 3);
  EXPECT_EQ(again.InUse(3), ModeAt(kFullMode, 0));
  // The others are used once it is too old, and the newest one when all are.
  EXPECT_EQ(again.InUse(721), ModeAt(kStandardMode, 2));
  EXPECT_EQ(again.InUse(723), ModeAt(kStandardMode, 2));
  // A request that accepts nothing older than 90 minutes.
  EXPECT_EQ(again.InUse(2, absl::Minutes(90)), ModeAt(kStandardMode, 2));
  EXPECT_EQ(again.InUse(9, absl::Minutes(90)), ModeAt(kStandardMode, 2));
}

TEST(CalibrationModes, OfADriverThatIsGoneGiveWay) {
  const TemporaryFolder folder;
  {
    ModeStore store(folder.path());
    store.Keep(MeasuredIn(kFullMode, 0));
    const auto quick = store.Keep(ByDriver("590.1", MeasuredIn(kQuickMode, 1)));
    EXPECT_EQ(quick.in_use, quick.stored);
    EXPECT_EQ(store.InUse(1), ModeAt(kQuickMode, 1));
    // The device list shows the values of the last measurement.
    EXPECT_EQ(store.store().snapshot()->devices[0].driver_version(), "590.1");
  }
  // Devices are as in the latest measurement until the probe has listed them, and then as listed.
  ModeStore again(folder.path(), 2);
  EXPECT_EQ(again.InUse(2), ModeAt(kQuickMode, 1));
  again.store().SetDevices({MeasuredIn(kFullMode, 0).device()});
  EXPECT_EQ(again.InUse(2), ModeAt(kFullMode, 0));
  again.store().SetDevices({ByDriver("600", MeasuredIn(kFullMode, 0)).device()});
  EXPECT_EQ(again.InUse(2), ModeAt(kQuickMode, 1)) << "the newest, where none fits";
}

TEST(CalibrationModes, NeverDisplaceABetterOneOfTheirOwn) {
  const struct {
    const char* name;
    v1::Calibration former;
    v1::Calibration measured;
    CalibrationMerit merit;
  } cases[] = {
      {"starved", MeasuredIn(kStandardMode, 0), Covering(0.3, MeasuredIn(kStandardMode, 1)),
       CalibrationMerit::kFuller},
      {"unstable", Covering(0.9, MeasuredIn(kStandardMode, 0)),
       Unstable(MeasuredIn(kStandardMode, 1)), CalibrationMerit::kStable},
      {"clock set back a little", MeasuredIn(kStandardMode, 0),
       Earlier(absl::Minutes(5), MeasuredIn(kStandardMode, 0)), CalibrationMerit::kNewer},
  };
  for (const auto& c : cases) {
    const TemporaryFolder folder;
    ModeStore store(folder.path());
    const auto former = store.Keep(c.former).stored;
    const auto refused = store.Keep(c.measured);
    EXPECT_EQ(refused.better, former) << c.name;
    EXPECT_EQ(refused.in_use, former) << c.name;
    EXPECT_EQ(refused.merit, c.merit) << c.name;
    EXPECT_EQ(refused.warning, "") << c.name;
    const auto file = ReadCalibrationFile(CalibrationPath(folder.path(), kGpuUuid, kStandardMode));
    ASSERT_THAT(file, IsOk()) << c.name;
    EXPECT_EQ(file->measured_time().seconds(), c.former.measured_time().seconds()) << c.name;
    // It was measured in any case.
    EXPECT_EQ(absl::ToUnixSeconds(store.store().snapshot()->calibrations[0].last_measured),
              c.measured.measured_time().seconds())
        << c.name;
  }
}

TEST(CalibrationModes, DisplaceTheirOwnThatDoesNotFitAnyMore) {
  const struct {
    const char* name;
    v1::Calibration measured;
  } cases[] = {
      {"old", Covering(0.3, Unstable(MeasuredIn(kStandardMode, 721)))},
      {"another driver", Covering(0.3, ByDriver("590.1", MeasuredIn(kStandardMode, 1)))},
      {"as good", MeasuredIn(kStandardMode, 1)},
      {"clock set back", Earlier(absl::Minutes(6), MeasuredIn(kStandardMode, 0))},
  };
  for (const auto& c : cases) {
    const TemporaryFolder folder;
    ModeStore store(folder.path());
    store.Keep(MeasuredIn(kStandardMode, 0));
    const auto kept = store.Keep(c.measured);
    EXPECT_EQ(kept.better, nullptr) << c.name;
    EXPECT_EQ(kept.in_use, kept.stored) << c.name;
    EXPECT_THAT(store.store().snapshot()->calibrations[0].by_mode, SizeIs(1)) << c.name;
    const auto file = ReadCalibrationFile(CalibrationPath(folder.path(), kGpuUuid, kStandardMode));
    ASSERT_THAT(file, IsOk()) << c.name;
    EXPECT_EQ(file->measured_time().seconds(), c.measured.measured_time().seconds()) << c.name;
  }
}

// Earlier versions wrote one file a device.
TEST(CalibrationModes, AreReadUnderTheFormerName) {
  const TemporaryFolder folder;
  WriteFile(FormerCalibrationPath(folder.path(), kGpuUuid), JsonOf(MeasuredIn(kStandardMode, 0)));
  ModeStore store(folder.path());
  EXPECT_EQ(store.InUse(0), ModeAt(kStandardMode, 0));
  store.Keep(MeasuredIn(kQuickMode, 1));
  EXPECT_THAT(FilesIn(folder.path()), UnorderedElementsAre("GPU-7.json", "GPU-7.quick.json"));
  store.Keep(Covering(0.3, MeasuredIn(kStandardMode, 2)));  // is worse
  EXPECT_THAT(FilesIn(folder.path()), UnorderedElementsAre("GPU-7.json", "GPU-7.quick.json"));
  store.Keep(MeasuredIn(kStandardMode, 3));
  EXPECT_THAT(FilesIn(folder.path()),
              UnorderedElementsAre("GPU-7.standard.json", "GPU-7.quick.json"));
  EXPECT_EQ(ModeStore(folder.path(), 4).InUse(4), ModeAt(kStandardMode, 3));
}

// A former version used the folder again, or a crash prevented the removal of the former file.
TEST(CalibrationModes, OfTwoFilesTheBetterServes) {
  const TemporaryFolder folder;
  const std::string former_path = FormerCalibrationPath(folder.path(), kGpuUuid);
  const std::string path = CalibrationPath(folder.path(), kGpuUuid, kFullMode);
  for (const auto& [former_hour, hour] : {std::pair<int, int>(1, 0), {0, 1}}) {
    WriteFile(former_path, JsonOf(MeasuredIn(kFullMode, former_hour)));
    WriteFile(path, JsonOf(MeasuredIn(kFullMode, hour)));
    EXPECT_EQ(ModeStore(folder.path(), 2).InUse(2), ModeAt(kFullMode, 1));
  }
  WriteFile(former_path, JsonOf(Covering(0.5, MeasuredIn(kFullMode, 3))));
  EXPECT_EQ(ModeStore(folder.path(), 4).InUse(4), ModeAt(kFullMode, 1));
  WriteFile(former_path, JsonOf(Covering(0.5, ByDriver("590.1", MeasuredIn(kFullMode, 3)))));
  EXPECT_EQ(ModeStore(folder.path(), 4).InUse(4), ModeAt(kFullMode, 3));
  WriteFile(former_path, JsonOf(MeasuredIn(kFullMode, 1)));
  WriteFile(path, JsonOf(Covering(0.5, ByDriver("590.1", MeasuredIn(kFullMode, 3)))));
  EXPECT_EQ(ModeStore(folder.path(), 4).InUse(4), ModeAt(kFullMode, 3));
}

TEST(CalibrationModes, AreWithdrawnTogether) {
  const TemporaryFolder folder;
  WriteFile(FormerCalibrationPath(folder.path(), kGpuUuid), JsonOf(MeasuredIn(kStandardMode, 0)));
  ModeStore store(folder.path());
  store.Keep(MeasuredIn(kFullMode, 0));
  store.Keep(MeasuredIn(kQuickMode, 1));
  ::testing::internal::CaptureStderr();
  store.store().Distrust(kGpuUuid);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("GPU-7.full.json.mismatch-1"));
  EXPECT_EQ(store.InUse(1).first, v1::PROBE_MODE_UNSPECIFIED);
  EXPECT_THAT(FilesIn(folder.path()),
              UnorderedElementsAre("GPU-7.distrusted", "GPU-7.json.mismatch-1",
                                   "GPU-7.full.json.mismatch-1", "GPU-7.quick.json.mismatch-1"));
  // A good quick probe ends the distrust; no earlier measurement comes back.
  store.Keep(MeasuredIn(kQuickMode, 2));
  EXPECT_EQ(store.InUse(2), ModeAt(kQuickMode, 2));
  EXPECT_EQ(ModeStore(folder.path(), 2).InUse(2), ModeAt(kQuickMode, 2));
}

// Two servers share a folder: each reads the other's files before it writes.
TEST(CalibrationModes, HeedWhatAnotherServerKept) {
  const TemporaryFolder folder;
  ModeStore first(folder.path());
  ModeStore second(folder.path());
  first.Keep(MeasuredIn(kFullMode, 0));
  first.Keep(MeasuredIn(kStandardMode, 1));
  EXPECT_EQ(second.InUse(1).first, v1::PROBE_MODE_UNSPECIFIED) << "reads files when it keeps one";
  const auto starved = second.Keep(Covering(0.3, MeasuredIn(kStandardMode, 2)));
  ASSERT_NE(starved.better, nullptr);
  EXPECT_EQ(starved.in_use->calibration.mode(), kFullMode);
  EXPECT_EQ(second.InUse(2), ModeAt(kFullMode, 0));
  EXPECT_EQ(ModeStore(folder.path(), 3).InUse(3), ModeAt(kFullMode, 0));
  // A calibration that the other server distrusts is no longer used either.
  ::testing::internal::CaptureStderr();
  first.store().Distrust(kGpuUuid);
  second.Keep(MeasuredIn(kQuickMode, 3));
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("device_distrusted"));
  EXPECT_EQ(second.InUse(3), ModeAt(kQuickMode, 3));
  EXPECT_THAT(second.store().snapshot()->distrusted, IsEmpty());
}

TEST(CalibrationModes, OfADeviceThatIsNotListedAreJudgedByItsLastMeasurement) {
  CalibrationStore store("");
  store.Keep(MeasuredIn(kFullMode, 0), kMeasuringTime);
  store.Keep(ByDriver("590.1", MeasuredIn(kQuickMode, 1)), kMeasuringTime);
  const auto snapshot = store.snapshot();
  ASSERT_THAT(snapshot->calibrations, SizeIs(1));
  EXPECT_THAT(snapshot->calibrations[0].by_mode, SizeIs(2));
  EXPECT_EQ(snapshot->InUse(snapshot->calibrations[0], {.now = kMeasuringTime})->calibration.mode(),
            kQuickMode);
}

TEST(CalibrationName, StatesDeviceAndMode) {
  const struct {
    const char* file_name;
    const char* uuid;  // null: names no calibration
    v1::ProbeMode mode;
  } cases[] = {
      {"GPU-1.json", "GPU-1", v1::PROBE_MODE_UNSPECIFIED},
      {"GPU-1.quick.json", "GPU-1", kQuickMode},
      {"GPU-1.standard.json", "GPU-1", kStandardMode},
      {"CPU-0.full.json", "CPU-0", kFullMode},
      {"GPU-1.slow.json", nullptr, v1::PROBE_MODE_UNSPECIFIED},
      {"GPU-1.quick.full.json", nullptr, v1::PROBE_MODE_UNSPECIFIED},
      {"GPU-1.quick.json.damaged-1", nullptr, v1::PROBE_MODE_UNSPECIFIED},
      {".quick.json", nullptr, v1::PROBE_MODE_UNSPECIFIED},
      {"../GPU-1.quick.json", nullptr, v1::PROBE_MODE_UNSPECIFIED},
  };
  for (const auto& c : cases) {
    const auto name = CalibrationNameFrom(c.file_name);
    ASSERT_EQ(name.has_value(), c.uuid != nullptr) << c.file_name;
    if (!name.has_value()) continue;
    EXPECT_EQ(name->uuid, c.uuid);
    EXPECT_EQ(name->mode, c.mode) << c.file_name;
  }
  const std::string longest(80, 'x');
  EXPECT_TRUE(CalibrationNameFrom(longest + ".standard.json").has_value());
  EXPECT_FALSE(CalibrationNameFrom(longest + "x.standard.json").has_value());
}

// The longest allowed UUID, with the longest mode.
TEST(CalibrationModes, OfTheLongestUuidAreKept) {
  const TemporaryFolder folder;
  const std::string uuid = "GPU-" + std::string(76, 'f');
  v1::Calibration calibration = MeasuredIn(kStandardMode, 0);
  calibration.mutable_device()->set_uuid(uuid);
  EXPECT_EQ(CalibrationStore(folder.path()).Keep(calibration).warning, "");
  EXPECT_THAT(FilesIn(folder.path()), UnorderedElementsAre(uuid + ".standard.json"));
  EXPECT_THAT(CalibrationStore(folder.path()).snapshot()->calibrations, SizeIs(1));
}

}  // namespace
}  // namespace sextant::server
