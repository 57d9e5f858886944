#include "server/store/calibration_snapshot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/sample_calibration.h"

namespace sextant::server {
namespace {

using ::testing::ElementsAre;
using ::testing::Eq;

constexpr int64_t kSampleSeconds = 1'769'860'800;  // SampleCalibration()'s

// Each device contributes the model of its calibration in use; distrusted devices none.
TEST(TrustedModels, AreThoseInUse) {
  v1::Calibration full = SampleCalibration("GPU-1");
  full.set_mode(v1::PROBE_MODE_FULL);
  v1::Calibration quick = full;
  quick.set_mode(v1::PROBE_MODE_QUICK);
  quick.mutable_measured_time()->set_seconds(kSampleSeconds + 7200);
  const v1::Calibration wrong = SampleCalibration("GPU-2");
  const auto stored_full = StoredFrom(full);
  const auto stored_quick = StoredFrom(quick);
  CalibrationSnapshot snapshot;
  snapshot.calibrations.push_back(
      {.device = full.device(), .by_mode = {stored_full, stored_quick}});
  snapshot.calibrations.push_back({.device = wrong.device(), .by_mode = {StoredFrom(wrong)}});
  snapshot.distrusted.insert("GPU-2");
  const absl::Time now = absl::FromUnixSeconds(kSampleSeconds + 9000);
  EXPECT_THAT(snapshot.TrustedModels({.now = now}), ElementsAre(stored_full->model.get()));
  // A request that accepts nothing older than an hour can use it.
  EXPECT_THAT(snapshot.TrustedModels({.now = now, .maximum_age = absl::Hours(1)}),
              ElementsAre(stored_quick->model.get()));
}

// A second counts where it starts no earlier than the limit.
TEST(CalibrationQuery, KnowsTheOldestSecond) {
  CalibrationQuery query = {.now = absl::FromUnixSeconds(1000)};
  EXPECT_EQ(query.OldestUnixSeconds(), absl::nullopt);
  query.maximum_age = absl::Seconds(10);
  EXPECT_THAT(query.OldestUnixSeconds(), Eq(990));
  query.maximum_age = absl::Milliseconds(9500);
  EXPECT_THAT(query.OldestUnixSeconds(), Eq(991));
}

}  // namespace
}  // namespace sextant::server
