#include "server/convert/calibration_clock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "sextant/v1/hardware_service.pb.h"
#include "tests/server/sample_calibration.h"

namespace sextant {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int64_t kSampleSeconds = 1'769'860'800;  // 2026-01-31T12:00:00Z, and 5 ns

std::vector<FieldViolation> FaultsAt(const v1::Calibration& calibration, absl::Time now) {
  FieldViolations violations;
  CheckNotAhead(calibration, "c", now, violations);
  return violations.all();
}

TEST(CalibrationClock, MayBeFiveMinutesAhead) {
  const v1::Calibration sample = SampleCalibration();
  const absl::Time measured = absl::FromUnixSeconds(kSampleSeconds) + absl::Nanoseconds(5);
  EXPECT_THAT(FaultsAt(sample, measured + absl::Hours(1)), IsEmpty());
  EXPECT_THAT(FaultsAt(sample, measured - absl::Minutes(5)), IsEmpty());
  EXPECT_THAT(FaultsAt(sample, measured - absl::Minutes(5) - absl::Nanoseconds(1)),
              ElementsAre(FieldViolation{
                  "c.measured_time",
                  "is 2026-01-31T12:00:00Z, and this server's clock says 2026-01-31T11:55:00Z: "
                  "compare the clocks, or measure the device again"}));
}

// What is no instant is a fault already, of another check.
TEST(CalibrationClock, LeavesAloneWhatIsNoInstant) {
  v1::Calibration calibration = SampleCalibration();
  const absl::Time now = absl::FromUnixSeconds(kSampleSeconds);
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
  v1::GetKernelRatesRequest request;
  for (int i = 0; i < 3; ++i) *request.add_calibrations() = SampleCalibration();
  request.mutable_calibrations(1)->mutable_measured_time()->set_seconds(0);
  const auto faults = [&request] {
    FieldViolations violations;
    CheckNoneAhead(request.calibrations(), "list", absl::FromUnixSeconds(kSampleSeconds - 3600),
                   violations);
    std::vector<std::string> out;
    for (const FieldViolation& v : violations.all()) out.push_back(v.field);
    return out;
  };
  EXPECT_THAT(faults(), ElementsAre("list[0].measured_time", "list[2].measured_time"));
  for (int i = 0; i < 14; ++i) *request.add_calibrations() = SampleCalibration();
  EXPECT_THAT(faults(), IsEmpty());  // 17 are too many, which others say
}

}  // namespace
}  // namespace sextant
