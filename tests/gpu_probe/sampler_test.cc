#include "gpu_probe/sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/gpu_probe/failure_matchers.h"
#include "tests/gpu_probe/scripted.h"

namespace sextant::probe {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::Pointwise;
using ::testing::SizeIs;

class SamplerTest : public ::testing::Test {
 protected:
  PointSampler NewSampler() {
    point_ = ScriptedPoint("matmul", "fp32 8x8x8", &script_, &clock_);
    point_.sustained_seconds = sustained_seconds_;
    return PointSampler(point_, clock_);
  }

  ScriptedClock clock_;
  Script script_ = ConstantScript(1e-5);
  Point point_;
  double sustained_seconds_ = 0;
};

TEST_F(SamplerTest, ASampleLastsAMillisecondOrMore) {
  for (const double run_seconds : {1e-9, 1e-7, 3e-6, 1e-4, 9e-4, 1e-3, 5e-3, 0.5, 40.0}) {
    script_ = ConstantScript(run_seconds);
    PointSampler sampler = NewSampler();
    ASSERT_THAT(sampler.Prepare(), IsOk()) << run_seconds;
    ASSERT_THAT(sampler.TakeSample(0), IsOk());
    EXPECT_GE(sampler.sample_seconds(), kMinSampleSeconds * (1 - 1e-9)) << run_seconds;
    // Nor much longer: twice that, or the one run that it takes.
    EXPECT_LE(sampler.sample_seconds(), std::max(2 * kMinSampleSeconds, run_seconds) * (1 + 1e-9))
        << run_seconds;
    EXPECT_THAT(sampler.samples()[0], DoubleNear(run_seconds, run_seconds * 1e-6));
  }
}

// The first run is cold: pages are not there, code is not generated. It chooses nothing alone.
TEST_F(SamplerTest, AColdFirstRunDoesNotShortenSamples) {
  script_.run_seconds = [](int64_t call, double) { return call == 0 ? 5e-3 : 1e-5; };
  PointSampler sampler = NewSampler();
  ASSERT_THAT(sampler.Prepare(), IsOk());
  EXPECT_GE(sampler.repetition_count(), 100);
}

TEST_F(SamplerTest, TheWarmUpIsCheckedAndIsNoSample) {
  PointSampler sampler = NewSampler();
  ASSERT_THAT(sampler.Prepare(), IsOk());
  EXPECT_EQ(script_.check_count, 1);
  EXPECT_EQ(sampler.checked_count(), 1);
  EXPECT_EQ(script_.poison_count, 1);
  EXPECT_THAT(sampler.samples(), SizeIs(0));
}

TEST_F(SamplerTest, AWrongResultNamesThePoint) {
  script_.wrong_from_check = 0;
  PointSampler sampler = NewSampler();
  const absl::Status status = sampler.Prepare();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(status.message(), "fp32 8x8x8: element 7 is 1, not 2");
  EXPECT_EQ(FailureOf(status).reason(), "matmul");
}

TEST_F(SamplerTest, AClockThatStandsIsAnErrorAndNoEndlessLoop) {
  script_ = ConstantScript(0);
  PointSampler sampler = NewSampler();
  EXPECT_THAT(sampler.Prepare(), FailsSaying(absl::StatusCode::kInternal, "clock"));
}

TEST_F(SamplerTest, AClockThatGoesBackIsAnError) {
  script_ = ConstantScript(-1);
  EXPECT_EQ(NewSampler().Prepare().code(), absl::StatusCode::kInternal);
}

TEST_F(SamplerTest, SamplesBelongToPasses) {
  script_.run_seconds = [](int64_t call, double) { return 1.0 + static_cast<double>(call); };
  PointSampler sampler = NewSampler();
  ASSERT_THAT(sampler.Prepare(), IsOk());  // call 0
  for (const int pass : {0, 0, 2}) ASSERT_THAT(sampler.TakeSample(pass), IsOk());
  EXPECT_THAT(sampler.samples(), ElementsAre(2, 3, 4));
  EXPECT_THAT(sampler.samples_of(0), ElementsAre(2, 3));
  EXPECT_THAT(sampler.samples_of(1), SizeIs(0));
  EXPECT_THAT(sampler.samples_of(2), ElementsAre(4));
}

// 1 s at 1.3 ms a run, and from 0.6 s on at 2.6 ms: only the second half is recorded, and all of it
// is slow except for runs that started before.
TEST_F(SamplerTest, SustainedCountsTheSecondHalf) {
  sustained_seconds_ = 1;
  double start_seconds = clock_.NowSeconds();
  script_.run_seconds = [&start_seconds](int64_t, double now_seconds) {
    return now_seconds - start_seconds < 0.6 ? 1.3e-3 : 2.6e-3;
  };
  PointSampler sampler = NewSampler();
  ASSERT_THAT(sampler.Prepare(), IsOk());
  start_seconds = clock_.NowSeconds();
  int slice_count = 0;
  ASSERT_THAT(sampler.TakeSustained([&slice_count] { ++slice_count; }), IsOk());
  // 13 slices of 38 runs, 49.4 ms, to 0.6422 s, of which the last 2 count; then 4 of 98.8 ms.
  EXPECT_EQ(slice_count, 17);
  EXPECT_THAT(sampler.samples(),
              Pointwise(DoubleNear(1e-9), {1.3e-3, 1.3e-3, 2.6e-3, 2.6e-3, 2.6e-3, 2.6e-3}));
  EXPECT_EQ(sampler.repetition_count(), 38);
}

TEST_F(SamplerTest, SustainedHasASampleHoweverSlowTheRun) {
  sustained_seconds_ = 1;
  script_ = ConstantScript(7);
  PointSampler sampler = NewSampler();
  ASSERT_THAT(sampler.Prepare(), IsOk());
  ASSERT_THAT(sampler.TakeSustained([] {}), IsOk());
  EXPECT_THAT(sampler.samples(), ElementsAre(DoubleNear(7, 1e-9)));
}

TEST_F(SamplerTest, ReleaseFreesTheWorkloadAndKeepsTheSamples) {
  PointSampler sampler = NewSampler();
  ASSERT_THAT(sampler.Prepare(), IsOk());
  ASSERT_THAT(sampler.TakeSample(0), IsOk());
  EXPECT_TRUE(script_.alive);
  sampler.Release();
  EXPECT_FALSE(script_.alive);
  EXPECT_THAT(sampler.samples(), SizeIs(1));
}

}  // namespace
}  // namespace sextant::probe
