#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "server/convert/calibration.h"
#include "server/store/calibration_file.h"
#include "server/store/calibration_store.h"
#include "sextant/v1/hardware_service.pb.h"
#include "tests/server/device_finder.h"
#include "tests/server/fake_probe.h"
#include "tests/server/sample_calibration.h"

namespace sextant::server {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kSampleInstant = 1'769'860'800;  // 2026-01-31T12:00:00Z, and 5 ns

std::vector<FieldViolation> FaultsAt(const v1::Calibration& calibration, absl::Time now) {
  FieldViolations violations;
  CheckNotAhead(calibration, "c", now, violations);
  return violations.all();
}

TEST(CalibrationClock, MayBeFiveMinutesAhead) {
  const v1::Calibration sample = SampleCalibration();
  const absl::Time measured = absl::FromUnixSeconds(kSampleInstant) + absl::Nanoseconds(5);
  EXPECT_THAT(FaultsAt(sample, measured + absl::Hours(1)), IsEmpty());
  EXPECT_THAT(FaultsAt(sample, measured - absl::Minutes(5)), IsEmpty());
  EXPECT_THAT(FaultsAt(sample, measured - absl::Minutes(5) - absl::Nanoseconds(1)),
              ElementsAre(FieldViolation{
                  "c.measured_time",
                  "is 2026-01-31T12:00:00Z, and this server's clock says 2026-01-31T11:55:00Z: "
                  "compare the clocks, or measure the device again"}));
}

// A time that is not valid is already reported by another check.
TEST(CalibrationClock, LeavesAloneWhatIsNoInstant) {
  v1::Calibration calibration = SampleCalibration();
  const absl::Time now = absl::FromUnixSeconds(kSampleInstant);
  calibration.mutable_measured_time()->set_seconds(std::numeric_limits<int64_t>::max());
  EXPECT_THAT(FaultsAt(calibration, now), IsEmpty());
  calibration.clear_measured_time();
  EXPECT_THAT(FaultsAt(calibration, now), IsEmpty());
  FieldViolations violations;
  violations.Add("c.measured_time.nanos", "is wrong");
  CheckNotAhead(SampleCalibration(), "c", now - absl::Hours(1), violations);
  EXPECT_EQ(violations.all().size(), 1);
}

TEST(CalibrationClock, NamesEachOfAList) {
  v1::DeviceSelector selector;
  auto* calibrations = selector.mutable_calibrations();
  for (int i = 0; i < 3; ++i) *calibrations->add_calibrations() = SampleCalibration();
  calibrations->mutable_calibrations(1)->mutable_measured_time()->set_seconds(kSampleInstant -
                                                                              7200);
  const auto faults = [&selector] {
    FieldViolations violations;
    SuppliedCalibrations supplied;
    const absl::Time now = absl::FromUnixSeconds(kSampleInstant - 3600);
    FinderOf(supplied, NoHost(), now).Resolve(selector, "d", absl::nullopt, violations);
    std::vector<std::string> out;
    for (const FieldViolation& v : violations.all()) out.push_back(v.field);
    return out;
  };
  EXPECT_THAT(faults(), ElementsAre("d.calibrations.calibrations[0].measured_time",
                                    "d.calibrations.calibrations[2].measured_time"));
  for (int i = 0; i < 14; ++i) *calibrations->add_calibrations() = SampleCalibration();
  EXPECT_THAT(faults(), ElementsAre("d.calibrations.calibrations"));  // 17 are too many
}

v1::Calibration MeasuredAt(const std::string& uuid, int64_t unix_seconds) {
  v1::Calibration out = FakeCalibration();
  out.mutable_device()->set_uuid(uuid);
  out.mutable_measured_time()->set_seconds(unix_seconds);
  return out;
}

std::vector<std::string> UuidsIn(const CalibrationStore& store) {
  std::vector<std::string> out;
  const auto snapshot = store.snapshot();
  for (const DeviceCalibrations& kept : snapshot->calibrations) out.push_back(kept.device.uuid());
  return out;
}

// One of two clocks is wrong, perhaps this one: the file may be valid at the next start.
TEST(CalibrationClock, OfAFileThatIsAheadKeepsItOutOfUse) {
  const TemporaryFolder folder;
  constexpr int64_t kStart = 1'800'000'000;
  const absl::Time now = absl::FromUnixSeconds(kStart);
  {
    CalibrationStore store(folder.path());
    store.Keep(MeasuredAt("CPU-1", kStart + 301));
    store.Keep(MeasuredAt("GPU-1", kStart + 300));
  }
  ::testing::internal::CaptureStderr();
  CalibrationStore store(folder.path(), "node1", now);
  const auto line = nlohmann::json::parse(::testing::internal::GetCapturedStderr());
  EXPECT_EQ(line["event"], "calibration_from_future");
  EXPECT_EQ(line["file"], CalibrationPath(folder.path(), "CPU-1", v1::PROBE_MODE_STANDARD));
  EXPECT_THAT(line["reason"].get<std::string>(),
              AllOf(HasSubstr("2027-01-15T08:05:01Z"), HasSubstr("2027-01-15T08:00:00Z")));
  EXPECT_THAT(UuidsIn(store), ElementsAre("GPU-1"));
  EXPECT_EQ(store.snapshot()->FindAll("CPU-1"), nullptr);
  EXPECT_THAT(UuidsIn(CalibrationStore(folder.path(), "node1", now + absl::Seconds(1))),
              ElementsAre("CPU-1", "GPU-1"));
  // A measurement by the present clock replaces it.
  EXPECT_EQ(store.Keep(MeasuredAt("CPU-1", kStart), now).warning, "");
  EXPECT_THAT(UuidsIn(CalibrationStore(folder.path(), "node1", now)),
              ElementsAre("CPU-1", "GPU-1"));
}

}  // namespace
}  // namespace sextant::server
