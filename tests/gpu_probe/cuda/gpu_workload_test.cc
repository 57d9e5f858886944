#include "gpu_probe/cuda/gpu_workload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "gpu_probe/exit_code.h"
#include "gpu_probe/measure.h"
#include "tests/gpu_probe/cuda/fake_session.h"

namespace sextant {
namespace {

using ::testing::HasSubstr;

// Launches one kernel a run.
class OneKernel : public GpuWorkload {
 public:
  OneKernel(SharedSession session, bool recorded) : GpuWorkload(std::move(session), recorded) {}
  void Poison() override {}
  absl::Status Check() override { return absl::OkStatus(); }
  int64_t enqueued_count = 0;

 private:
  absl::Status Enqueue() override {
    ++enqueued_count;
    return session().Launch("busy", {});
  }
};

class GpuWorkloadTest : public FakeSessionTest {
 protected:
  // A run takes that long.
  void Takes(double seconds) {
    host_.cuda.kernels["busy"] = [seconds](FakeGpu&, double, void**) { return seconds; };
  }
  // A plan of one point.
  ProbePlan Plan(const SharedSession& session) {
    Point point;
    point.phase = "matmul bf16";
    point.label = "bf16 1x1x1";
    point.work = 1e9;
    point.unit = "FLOP/s";
    point.minimum_sample_seconds = kGpuSampleSeconds;
    point.make = [session] { return std::make_unique<OneKernel>(session, true); };
    point.record = [](const v1::TimeStatistics& time, v1::Calibration* out) {
      *out->add_matmuls()->mutable_time() = time;
    };
    return {.device = {}, .points = {std::move(point)}, .finish = {}, .notes = {}};
  }
  absl::StatusOr<Measurement> MeasurePlan(const ProbePlan& plan) {
    return Measure(plan, {.start_seconds = clock_.NowSeconds(), .budget_seconds = 5}, clock_,
                   [](const v1::ProbeProgress&) { return true; });
  }
};

TEST_F(GpuWorkloadTest, TimeIsThatBetweenTheGpusEvents) {
  Takes(1e-3);
  OneKernel kernel(Open(), /*recorded=*/true);
  ASSERT_EQ(kernel.Run(10), absl::OkStatus());
  EXPECT_NEAR(*kernel.DeviceSeconds(), 10e-3, 1e-8);
  EXPECT_EQ(kernel.enqueued_count, 10);
}

TEST_F(GpuWorkloadTest, ManyShortRunsAreRecordedOnceAndThenStartedTogether) {
  Takes(2e-6);
  OneKernel kernel(Open(), /*recorded=*/true);
  ASSERT_EQ(kernel.Run(1), absl::OkStatus());  // tells how long a run takes
  ASSERT_EQ(kernel.Run(1000), absl::OkStatus());
  EXPECT_EQ(kernel.enqueued_count, 1 + kRecordedRunCount);
  EXPECT_NEAR(*kernel.DeviceSeconds(), 1000 * 2e-6, 1e-6);
  ASSERT_EQ(kernel.Run(1007), absl::OkStatus());
  EXPECT_EQ(kernel.enqueued_count, 1 + kRecordedRunCount + 7);  // 7 are left over
}

// Goes over 50 operands in turn.
class Rotating : public OneKernel {
 public:
  explicit Rotating(SharedSession session) : OneKernel(std::move(session), /*recorded=*/true) {}
  static constexpr int64_t kOperandCount = 50;
  int64_t turn() const override { return turn_; }

 private:
  absl::Status Enqueue() override {
    ++enqueued_count;
    turn_ = (turn_ + 1) % kOperandCount;
    return session().Launch("busy", {});
  }
  void set_turn(int64_t turn) override { turn_ = turn; }
  int64_t recording_count() const override { return 3; }
  int64_t turn_ = 0;
};

TEST_F(GpuWorkloadTest, RecordingsGoOverAllOperandsAndTellTheLast) {
  Takes(2e-6);
  Rotating kernel(Open());
  ASSERT_EQ(kernel.Run(1), absl::OkStatus());
  EXPECT_EQ(kernel.turn(), 1);
  // Recordings of the runs up to 21, 41 and 61, which is 11 again: of two a call the second tells.
  for (const int64_t last : {41, 21, 11, 41}) {
    ASSERT_EQ(kernel.Run(2 * kRecordedRunCount), absl::OkStatus());
    EXPECT_EQ(kernel.turn(), last);
  }
  EXPECT_EQ(kernel.enqueued_count, 1 + 3 * kRecordedRunCount);
}

TEST_F(GpuWorkloadTest, WhatBlocksTheHostIsNotRecorded) {
  Takes(2e-6);
  OneKernel kernel(Open(), /*recorded=*/false);
  ASSERT_EQ(kernel.Run(1), absl::OkStatus());
  ASSERT_EQ(kernel.Run(100), absl::OkStatus());
  EXPECT_EQ(kernel.enqueued_count, 101);
}

TEST_F(GpuWorkloadTest, NeverQueuesMoreThanFiftyMilliseconds) {
  constexpr double kRunSeconds = 4e-3;
  Takes(kRunSeconds);
  GpuSession::Parts parts = Parts();
  double queued_seconds = 0;  // all that was ever queued
  double done_seconds = 0;    // what the host knows to be done
  double most_seconds = 0;    // between the two
  std::map<cuda::Event, double> queued_before;
  parts.driver.launch = [&, launch = parts.driver.launch](auto... arguments) {
    queued_seconds += kRunSeconds;
    most_seconds = std::max(most_seconds, queued_seconds - done_seconds);
    return launch(arguments...);
  };
  parts.driver.record_event = [&, record = parts.driver.record_event](cuda::Event event,
                                                                      cuda::Stream stream) {
    queued_before[event] = queued_seconds;
    return record(event, stream);
  };
  parts.driver.wait_event = [&, wait = parts.driver.wait_event](cuda::Event event) {
    done_seconds = queued_before[event];
    return wait(event);
  };
  OneKernel kernel(*GpuSession::Open(std::move(parts)), /*recorded=*/true);
  ASSERT_EQ(kernel.Run(1), absl::OkStatus());
  ASSERT_EQ(kernel.Run(100), absl::OkStatus());
  EXPECT_LE(most_seconds, kMostQueuedSeconds);
  EXPECT_GT(most_seconds, kMostQueuedSeconds / 2);  // two chunks: the GPU does not wait
  EXPECT_NEAR(done_seconds, 101 * kRunSeconds, 1e-9);
}

TEST_F(GpuWorkloadTest, SamplesAreShorterThanAProcessorsAndByTheGpusClock) {
  Takes(1e-4);
  const ProbePlan plan = Plan(Open());
  const auto measured = MeasurePlan(plan);
  ASSERT_TRUE(measured.ok()) << measured.status();
  const v1::TimeStatistics& time = measured->calibration.matmuls(0).time();
  EXPECT_NEAR(time.median_seconds(), 1e-4, 1e-9);
  EXPECT_GE(time.repetition_count(), 2);
  EXPECT_LE(time.repetition_count(), 4);  // 200 us with some margin, where 1 ms would take 12
}

TEST_F(GpuWorkloadTest, AGpuThatVanishesHalfWayEndsTheMeasurementByItsWord) {
  Takes(1e-4);
  const ProbePlan plan = Plan(Open());
  int64_t launches = 0;
  gpu_.on_launch = [&](const std::string&) {
    if (++launches == 20) gpu_.cuda_code = 719;
  };
  const v1::ProbeFailure failure = FailureOf(MeasurePlan(plan).status());
  EXPECT_EQ(failure.kind(), v1::ProbeFailure::KIND_INTERNAL);
  EXPECT_EQ(failure.reason(), "sticky");
  EXPECT_THAT(failure.message(), HasSubstr("bf16 1x1x1"));
  gpu_.cuda_code = 0;
}

TEST_F(GpuWorkloadTest, ATenantThatComesEndsItAsARefusal) {
  Takes(1e-4);
  ProbePlan plan = Plan(Open());
  plan.points.front().sustained_seconds = 0;
  plan.may_go_on = [] { return absl::AbortedError("somebody came"); };
  EXPECT_EQ(FailureOf(MeasurePlan(plan).status()).kind(), v1::ProbeFailure::KIND_REFUSED);
}

TEST_F(GpuWorkloadTest, NothingIsLeftBehind) {
  Takes(2e-6);
  {
    OneKernel kernel(Open(), /*recorded=*/true);
    ASSERT_EQ(kernel.Run(1), absl::OkStatus());
    ASSERT_EQ(kernel.Run(100), absl::OkStatus());
  }
  EXPECT_EQ(host_.cuda.live_object_count(), 0);
}

}  // namespace
}  // namespace sextant
