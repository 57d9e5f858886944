#include "gpu_probe/cuda/gpu_workload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tests/gpu_probe/cuda/fake_session.h"
#include "tests/gpu_probe/failure_matchers.h"

namespace sextant::probe {
namespace {

// Launches one kernel a run.
class OneKernel : public GpuWorkload {
 public:
  OneKernel(SharedSession session, HostPart part) : GpuWorkload(std::move(session), part) {}
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
    point.make = [session] { return std::make_unique<OneKernel>(session, HostPart::kRecords); };
    point.record = [](const v1::TimeStatistics& time, v1::Calibration* out) {
      *out->add_matmuls()->mutable_time() = time;
    };
    return {.device = {}, .points = {std::move(point)}, .finish = {}, .notes = {}};
  }
};

TEST_F(GpuWorkloadTest, TimeIsThatBetweenTheGpusEvents) {
  Takes(1e-3);
  OneKernel kernel(Open(), HostPart::kRecords);
  ASSERT_EQ(kernel.Run(10), absl::OkStatus());
  EXPECT_NEAR(*kernel.DeviceSeconds(), 10e-3, 1e-8);
  EXPECT_EQ(kernel.enqueued_count, 10);
}

TEST_F(GpuWorkloadTest, ManyShortRunsAreRecordedOnceAndThenStartedTogether) {
  Takes(2e-6);
  OneKernel kernel(Open(), HostPart::kRecords);
  ASSERT_EQ(kernel.Run(1), absl::OkStatus());  // tells how long a run takes
  ASSERT_EQ(kernel.Run(1000), absl::OkStatus());
  EXPECT_EQ(kernel.enqueued_count, 1 + kMaxRecordedRuns);
  EXPECT_NEAR(*kernel.DeviceSeconds(), 1000 * 2e-6, 1e-6);
  ASSERT_EQ(kernel.Run(1007), absl::OkStatus());
  EXPECT_EQ(kernel.enqueued_count, 1 + kMaxRecordedRuns + 7);  // 7 are left over
}

// Goes over 50 operands in turn.
class Rotating : public OneKernel {
 public:
  explicit Rotating(SharedSession session) : OneKernel(std::move(session), HostPart::kRecords) {}
  static constexpr int64_t kOperandCount = 50;
  int64_t turn() const override { return turn_; }

 private:
  absl::Status Enqueue() override {
    ++enqueued_count;
    turn_ = (turn_ + 1) % kOperandCount;
    return session().Launch("busy", {});
  }
  void set_turn(int64_t turn) override { turn_ = turn; }
  int64_t operand_count() const override { return kOperandCount; }
  int64_t turn_ = 0;
};

TEST_F(GpuWorkloadTest, RecordingsGoOverAllOperandsAndTellTheLast) {
  Takes(2e-6);
  Rotating kernel(Open());
  ASSERT_EQ(kernel.Run(1), absl::OkStatus());
  EXPECT_EQ(kernel.turn(), 1);
  // Recordings of the runs up to 21, 41 and 61, which is 11 again: of two a call the second tells.
  for (const int64_t last : {41, 21, 11, 41}) {
    ASSERT_EQ(kernel.Run(2 * kMaxRecordedRuns), absl::OkStatus());
    EXPECT_EQ(kernel.turn(), last);
  }
  EXPECT_EQ(kernel.enqueued_count, 1 + 3 * kMaxRecordedRuns);
}

TEST_F(GpuWorkloadTest, RunsBelowFiftyMicrosecondsAreRecordedAsManyAsASampleHas) {
  for (const double run_seconds : {30e-6, 49e-6, 51e-6}) {
    Takes(run_seconds);
    OneKernel kernel(Open(), HostPart::kRecords);
    ASSERT_EQ(kernel.Run(1), absl::OkStatus());
    ASSERT_EQ(kernel.Run(8), absl::OkStatus());
    const int64_t recorded = kernel.enqueued_count;
    ASSERT_EQ(kernel.Run(8), absl::OkStatus());
    EXPECT_EQ(kernel.enqueued_count - recorded, run_seconds < 50e-6 ? 0 : 8) << run_seconds;
    EXPECT_NEAR(*kernel.DeviceSeconds(), 8 * run_seconds, 1e-8);
  }
}

// The order in which the host queues a hold, the first event and the work, and releases the hold.
class HeldWorkloadTest : public GpuWorkloadTest {
 protected:
  GpuSession::Parts Watched() {
    GpuSession::Parts parts = Parts();
    parts.driver.record_event = [this, record = parts.driver.record_event](cuda::Event event,
                                                                           cuda::Stream stream) {
      order_ += 'e';
      return record(event, stream);
    };
    parts.driver.pin_host = [this, pin = parts.driver.pin_host](void** memory, size_t size_bytes,
                                                                unsigned flags) {
      const int code = pin(memory, size_bytes, flags);
      flag_ = static_cast<const uint32_t*>(*memory);
      return code;
    };
    gpu_.on_launch = [this](const std::string& kernel) {
      if (kernel == "hold_stream") {
        order_ += 'h';
        held_from_ = *flag_;
      }
      if (kernel == "busy") order_ += 'w';
    };
    return parts;
  }
  std::string OrderOf(OneKernel& kernel, int64_t repetition_count) {
    order_.clear();
    EXPECT_EQ(kernel.Run(repetition_count), absl::OkStatus());
    return order_;
  }

  std::string order_;
  const uint32_t* flag_ = nullptr;
  uint32_t held_from_ = 0;
};

TEST_F(HeldWorkloadTest, AShortSampleIsHeldBeforeItsFirstEventUntilAllIsQueued) {
  Takes(100e-6);
  OneKernel kernel(OpenParts(Watched()), HostPart::kQueues);
  EXPECT_EQ(OrderOf(kernel, 1), "ewe") << "the first run loads the kernel";
  EXPECT_EQ(OrderOf(kernel, 3), "hewwwe");
  EXPECT_EQ(OrderOf(kernel, 3), "hewwwe");
  EXPECT_EQ(held_from_, 1u) << "the hold before was released, and this one not yet";
  EXPECT_EQ(*flag_, 2u) << "released at the end";
  EXPECT_EQ(OrderOf(kernel, 19), "he" + std::string(19, 'w') + "e");
  EXPECT_EQ(OrderOf(kernel, 21), "e" + std::string(21, 'w') + "e") << "over 2 ms";
}

TEST_F(HeldWorkloadTest, NothingIsHeldThatBlocksOrThatTheOptionForbids) {
  Takes(100e-6);
  OneKernel blocking(OpenParts(Watched()), HostPart::kBlocks);
  ASSERT_EQ(OrderOf(blocking, 1), "ewe");
  EXPECT_EQ(OrderOf(blocking, 3), "ewwwe");
  GpuSession::Parts parts = Watched();
  parts.holds = false;
  OneKernel never(OpenParts(std::move(parts)), HostPart::kQueues);
  ASSERT_EQ(OrderOf(never, 1), "ewe");
  EXPECT_EQ(OrderOf(never, 3), "ewwwe");
}

TEST_F(HeldWorkloadTest, NoMoreIsQueuedInAHeldStreamThanItsQueueTakes) {
  Takes(2e-6);
  OneKernel kernel(OpenParts(Watched()), HostPart::kQueues);
  ASSERT_EQ(OrderOf(kernel, 1), "ewe");
  EXPECT_EQ(OrderOf(kernel, kMaxHeldCalls).front(), 'h');
  EXPECT_EQ(OrderOf(kernel, kMaxHeldCalls + 1).front(), 'e');
}

TEST_F(HeldWorkloadTest, AFaultLetsGoOfTheStream) {
  Takes(100e-6);
  OneKernel kernel(OpenParts(Watched()), HostPart::kQueues);
  ASSERT_EQ(kernel.Run(1), absl::OkStatus());
  int launches = 0;
  gpu_.on_launch = [&](const std::string&) {
    if (++launches == 4) gpu_.cuda_code = 719;
  };
  EXPECT_FALSE(kernel.Run(5).ok());
  EXPECT_EQ(*flag_, 1u);
  gpu_.cuda_code = 0;
}

TEST_F(GpuWorkloadTest, WhatBlocksTheHostIsNotRecorded) {
  Takes(2e-6);
  OneKernel kernel(Open(), HostPart::kBlocks);
  ASSERT_EQ(kernel.Run(1), absl::OkStatus());
  ASSERT_EQ(kernel.Run(100), absl::OkStatus());
  EXPECT_EQ(kernel.enqueued_count, 101);
}

TEST_F(GpuWorkloadTest, NeverQueuesMoreThanFiftyMilliseconds) {
  constexpr double kRunSeconds = 4e-3;
  Takes(kRunSeconds);
  GpuSession::Parts parts = Parts();
  parts.holds = false;
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
  OneKernel kernel(OpenParts(std::move(parts)), HostPart::kRecords);
  ASSERT_EQ(kernel.Run(1), absl::OkStatus());
  ASSERT_EQ(kernel.Run(100), absl::OkStatus());
  EXPECT_LE(most_seconds, kMaxQueuedSeconds);
  EXPECT_GT(most_seconds, kMaxQueuedSeconds / 2);  // two chunks: the GPU does not wait
  EXPECT_NEAR(done_seconds, 101 * kRunSeconds, 1e-9);
}

TEST_F(GpuWorkloadTest, SamplesAreShorterThanAProcessorsAndByTheGpusClock) {
  Takes(1e-4);
  const ProbePlan plan = Plan(Open());
  const auto measured = MeasurePlan(plan).value();
  const v1::TimeStatistics& time = measured.calibration.matmuls(0).time();
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
  EXPECT_THAT(MeasurePlan(plan),
              IsFailure(v1::ProbeFailure::KIND_INTERNAL, "sticky", "bf16 1x1x1"));
  gpu_.cuda_code = 0;
}

TEST_F(GpuWorkloadTest, ATenantThatComesEndsItAsARefusal) {
  Takes(1e-4);
  ProbePlan plan = Plan(Open());
  plan.points.front().sustained_seconds = 0;
  plan.may_go_on = [] { return absl::AbortedError("somebody came"); };
  EXPECT_EQ(FailureOf(MeasurePlan(plan).status()).kind(), v1::ProbeFailure::KIND_REFUSED);
}

TEST_F(GpuWorkloadTest, AFaultWhileRecordingLeavesNothingBehind) {
  Takes(2e-6);
  {
    OneKernel kernel(Open(), HostPart::kRecords);
    ASSERT_EQ(kernel.Run(1), absl::OkStatus());
    int launches = 0;
    gpu_.on_launch = [&](const std::string&) {
      if (++launches == 3) gpu_.cuda_code = 719;
    };
    EXPECT_FALSE(kernel.Run(20).ok());
    gpu_.cuda_code = 0;
  }
  EXPECT_EQ(host_.cuda.live_object_count(), 0);
}

TEST_F(GpuWorkloadTest, NothingIsLeftBehind) {
  Takes(2e-6);
  {
    OneKernel kernel(Open(), HostPart::kRecords);
    ASSERT_EQ(kernel.Run(1), absl::OkStatus());
    ASSERT_EQ(kernel.Run(100), absl::OkStatus());
  }
  EXPECT_EQ(host_.cuda.live_object_count(), 0);
}

}  // namespace
}  // namespace sextant::probe
