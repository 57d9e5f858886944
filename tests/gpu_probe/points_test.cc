#include <gtest/gtest.h>

#include "gpu_probe/points/memory.h"

namespace sextant::probe {
namespace {

TEST(StreamBytes, CountWhatIsReadAndWritten) {
  EXPECT_EQ(StreamBytes(v1::StreamMeasurement::OPERATION_READ, 80), 80);
  EXPECT_EQ(StreamBytes(v1::StreamMeasurement::OPERATION_WRITE, 80), 80);
  EXPECT_EQ(StreamBytes(v1::StreamMeasurement::OPERATION_COPY, 80), 160);
  EXPECT_EQ(StreamBytes(v1::StreamMeasurement::OPERATION_SCALE, 80), 160);
  EXPECT_EQ(StreamBytes(v1::StreamMeasurement::OPERATION_TRIAD, 80), 240);
}

TEST(TimeOfPass, ScalesTimesAlone) {
  v1::TimeStatistics time;
  time.set_median_seconds(2);
  time.set_p10_seconds(1);
  time.set_p90_seconds(3);
  time.set_relative_spread(0.25);
  time.set_sample_count(9);
  time.set_repetition_count(4);
  time.set_stable(true);
  const v1::TimeStatistics pass = TimeOfPass(time, 16);
  EXPECT_EQ(pass.median_seconds(), 32);
  EXPECT_EQ(pass.p10_seconds(), 16);
  EXPECT_EQ(pass.p90_seconds(), 48);
  EXPECT_EQ(pass.relative_spread(), 0.25);
  EXPECT_EQ(pass.sample_count(), 9);
  EXPECT_TRUE(pass.stable());
}

}  // namespace
}  // namespace sextant::probe
