// Calibrations that plans don't use, and how a probe's result reports that.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "tests/server/fake_probe.h"
#include "tests/server/scripted_probe_host.h"
#include "tests/support/status_matchers.h"

namespace sextant::server {
namespace {

using ::testing::Eq;
using ::testing::StrEq;

// Measured some minutes ago by the host's clock, which decides what is too old.
v1::Calibration MeasuredMinutesAgo(int minutes, v1::ProbeMode mode) {
  v1::Calibration out = FakeCalibration();
  out.set_mode(mode);
  out.mutable_measured_time()->set_seconds(absl::ToUnixSeconds(absl::Now()) - 60 * minutes);
  return out;
}

v1::Calibration WithCoverage(double ratio, v1::Calibration calibration) {
  calibration.set_coverage_ratio(ratio);
  return calibration;
}

v1::Calibration WithUnstableCopy(v1::Calibration calibration) {
  calibration.mutable_streams(1)->mutable_time()->set_stable(false);
  return calibration;
}

std::string TimeOf(const v1::Calibration& calibration) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ",
                          absl::FromUnixSeconds(calibration.measured_time().seconds()),
                          absl::UTCTimeZone());
}

v1::RunProbeResponse::Result ResultOf(const v1::Calibration& former, const v1::Calibration& next) {
  ScriptedProbeHost host(WriteCalibration(next));
  host.store().Keep(former);
  const auto outcome = host.Run();
  EXPECT_THAT(outcome.status, IsOk());
  return outcome.responses.back().result();
}

TEST(UnusedCalibration, IsExplained) {
  using ProbeResponse = v1::RunProbeResponse;
  const v1::Calibration full = MeasuredMinutesAgo(9, v1::PROBE_MODE_FULL);
  const v1::Calibration standard = MeasuredMinutesAgo(9, v1::PROBE_MODE_STANDARD);
  const v1::Calibration quick = MeasuredMinutesAgo(1, v1::PROBE_MODE_QUICK);
  const v1::Calibration starved = WithCoverage(0.3, MeasuredMinutesAgo(1, v1::PROBE_MODE_STANDARD));
  const v1::Calibration unstable = WithUnstableCopy(MeasuredMinutesAgo(1, v1::PROBE_MODE_STANDARD));
  const v1::Calibration earlier = MeasuredMinutesAgo(10, v1::PROBE_MODE_STANDARD);
  const struct {
    v1::Calibration former;
    v1::Calibration next;
    ProbeResponse::UnusedReason reason;
    bool kept;
    std::string text;
  } cases[] = {
      {full, quick, ProbeResponse::UNUSED_REASON_LESS_FULL, true,
       "The full calibration of " + TimeOf(full) +
           " stays in use: a quick one is less thorough. This one is kept too."},
      {standard, starved, ProbeResponse::UNUSED_REASON_LESS_FULL, false,
       "The standard calibration of " + TimeOf(standard) +
           " stays in use: it covers 100 % of its mode's points, this one 30 %. This one is not "
           "kept."},
      {standard, unstable, ProbeResponse::UNUSED_REASON_UNSTABLE, false,
       "The standard calibration of " + TimeOf(standard) +
           " stays in use: its rates are stable, and those of this one are not. This one is not "
           "kept."},
      {standard, earlier, ProbeResponse::UNUSED_REASON_OLDER, false,
       "The standard calibration of " + TimeOf(standard) +
           " stays in use: by its time stamp it was measured later, so the clock was set back "
           "since. This one is not kept."},
  };
  for (const auto& c : cases) {
    const ProbeResponse::Result result = ResultOf(c.former, c.next);
    EXPECT_FALSE(result.in_use()) << c.text;
    EXPECT_THAT(result.kept(), Eq(c.kept)) << c.text;
    EXPECT_THAT(result.unused_reason(), Eq(c.reason)) << c.text;
    EXPECT_THAT(result.unused_text(), StrEq(c.text));
    EXPECT_EQ(result.in_use_mode(), c.former.mode());
    EXPECT_EQ(result.in_use_measured_time().seconds(), c.former.measured_time().seconds());
    EXPECT_EQ(result.storage_warning(), "");
  }
}

// The stored one of its mode is better, and one of another mode is in use.
TEST(UnusedCalibration, NamesBothThatAreBetter) {
  const v1::Calibration full = MeasuredMinutesAgo(9, v1::PROBE_MODE_FULL);
  const v1::Calibration standard = MeasuredMinutesAgo(8, v1::PROBE_MODE_STANDARD);
  ScriptedProbeHost host(
      WriteCalibration(WithCoverage(0.3, MeasuredMinutesAgo(1, v1::PROBE_MODE_STANDARD))));
  host.store().Keep(full);
  host.store().Keep(standard);
  const auto outcome = host.Run();
  ASSERT_THAT(outcome.status, IsOk());
  const v1::RunProbeResponse::Result& result = outcome.responses.back().result();
  EXPECT_THAT(result.unused_text(),
              StrEq("The full calibration of " + TimeOf(full) +
                    " stays in use: a standard one is less thorough. This one is not kept: the "
                    "standard calibration of " +
                    TimeOf(standard) + " is better."));
  EXPECT_FALSE(result.kept());
  EXPECT_TRUE(host.Counts("sextant_gpu_probe_runs_total{outcome=\"partial\"} 1"));
}

// A driver changes while the server runs; a processor reports no driver.
TEST(UnusedCalibration, IsPutToUseWhereTheFormerOneDoesNotFit) {
  v1::Calibration next = MeasuredMinutesAgo(1, v1::PROBE_MODE_QUICK);
  next.mutable_device()->set_driver_version("590.1");
  const v1::RunProbeResponse::Result result =
      ResultOf(MeasuredMinutesAgo(9, v1::PROBE_MODE_FULL), next);
  EXPECT_TRUE(result.in_use());
  EXPECT_TRUE(result.kept());
  EXPECT_EQ(result.in_use_mode(), v1::PROBE_MODE_QUICK);
  EXPECT_EQ(result.unused_text(), "");
}

}  // namespace
}  // namespace sextant::server
