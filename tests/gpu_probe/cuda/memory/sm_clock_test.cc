#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "gpu_probe/cuda/memory/multiprocessors.h"
#include "tests/gpu_probe/cuda/fake_session.h"
#include "tests/gpu_probe/failure_matchers.h"
#include "tests/support/status_matchers.h"

namespace sextant::probe {
namespace {

using SmClockTest = FakeSessionTest;

TEST_F(SmClockTest, IsCyclesOverTheGpusTime) {
  const SharedSession session = Open();
  for (const unsigned megahertz : {345U, 1095U, 1980U}) {
    gpu_.sm_megahertz = megahertz;
    EXPECT_NEAR(WakeUp(session).value().sm_clock_hertz, megahertz * 1e6, 1e4);
  }
  EXPECT_EQ(session->allocated_bytes(), 0);
}

TEST_F(SmClockTest, OneThatStandsIsAnError) {
  host_.cuda.kernels["measure_clock"] = [](FakeGpu&, double, void**) { return 1e-3; };
  const absl::Status stands = WakeUp(Open()).status();
  EXPECT_THAT(stands,
              FailsSaying(absl::StatusCode::kInternal, "a clock of the GPU stands: 0 cycles"));
}

TEST_F(SmClockTest, AGpuThatIsAwakeIsKeptBusyForTheLeastTime) {
  const auto awake = WakeUp(Open()).value();
  EXPECT_TRUE(awake.steady);
  EXPECT_NEAR(awake.sm_clock_hertz, 1.98e9, 1e5);
  EXPECT_GE(awake.seconds, kMinWakeSeconds);
  EXPECT_LT(awake.seconds, kMinWakeSeconds + 0.01);
}

TEST_F(SmClockTest, AnIdleClockIsWaitedFor) {
  gpu_.sm_megahertz = 345;
  for (unsigned step = 1; step <= 25; ++step) {
    host_.At(0.01 + 0.002 * step, [this, step] { gpu_.sm_megahertz = 345 + step * 60; });
  }
  const auto awake = WakeUp(Open()).value();
  EXPECT_TRUE(awake.steady);
  EXPECT_NEAR(awake.sm_clock_hertz, 1.845e9, 1e6);
  EXPECT_GT(awake.seconds, 0.055);
  EXPECT_LT(awake.seconds, 0.08);
}

TEST_F(SmClockTest, OneThatNeverSettlesIsNotWaitedForLong) {
  gpu_.on_launch = [this](const std::string& kernel) {
    if (kernel == "measure_clock") gpu_.sm_megahertz = gpu_.sm_megahertz == 1980 ? 1500 : 1980;
  };
  const auto awake = WakeUp(Open()).value();
  EXPECT_FALSE(awake.steady);
  EXPECT_GE(awake.seconds, kMaxWakeSeconds);
  EXPECT_LT(awake.seconds, kMaxWakeSeconds + 0.02);
}

TEST_F(SmClockTest, AGpuThatIsGoneDoesNotWakeUp) {
  const SharedSession session = Open();
  gpu_.cuda_code = 999;
  EXPECT_EQ(WakeUp(session).status().code(), absl::StatusCode::kInternal);
}

}  // namespace
}  // namespace sextant::probe
