#include "gpu_probe/cuda/peers/peer_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/reason.h"
#include "gpu_probe/device_lock.h"
#include "tests/gpu_probe/cuda/peers/peer_fixture.h"
#include "tests/gpu_probe/failure_matchers.h"

namespace sextant::probe {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// Which GPUs take part in exchanges.

using PeerPlanTest = PeerTest;

class OneGpuTest : public PeerTest {
 protected:
  OneGpuTest() : PeerTest(1) {}
};

TEST_F(OneGpuTest, HasNoExchangesAndNoNote) {
  const ProbePlan plan = PeerPlan(Home());
  EXPECT_THAT(plan.points, IsEmpty());
  EXPECT_THAT(plan.notes, IsEmpty());
}

TEST_F(PeerPlanTest, WithoutNcclThereAreCopiesAndANote) {
  const ProbePlan plan = PeerPlan(Home());
  EXPECT_EQ(plan.points.size(), 6u) << "three others, each way";
  for (const Point& point : plan.points) EXPECT_EQ(point.phase, "peer copies");
  EXPECT_THAT(plan.notes, ElementsAre(HasSubstr("libnccl.so.2")));
}

TEST_F(PeerPlanTest, AGpuThatIsInUseKeepsAllFromIt) {
  host_.gpus[2].process_ids = {71};
  const ProbePlan plan = PeerPlan(Home());
  EXPECT_THAT(plan.points, IsEmpty());
  EXPECT_THAT(plan.notes, ElementsAre(AllOf(HasSubstr(Uuid(2)), HasSubstr("processes"))));
}

TEST_F(PeerPlanTest, AGpuThatAnotherProbeMeasuresKeepsAllFromIt) {
  const auto lock = DeviceLock::Take(LockFolder(), Uuid(3));
  ASSERT_THAT(lock, IsOk());
  const ProbePlan plan = PeerPlan(Home());
  EXPECT_THAT(plan.points, IsEmpty());
  EXPECT_THAT(plan.notes, ElementsAre(HasSubstr("another sextant-probe is measuring")));
}

TEST_F(PeerPlanTest, WhileAPlanLastsOthersGpusAreLocked) {
  {
    const ProbePlan plan = PeerPlan(Home());
    EXPECT_EQ(DeviceLock::Take(LockFolder(), Uuid(1)).status().code(), absl::StatusCode::kAborted);
  }
  EXPECT_THAT(DeviceLock::Take(LockFolder(), Uuid(1)), IsOk());
}

TEST_F(PeerPlanTest, ATenantOnAnotherGpuEndsIt) {
  const ProbePlan plan = PeerPlan(Home());
  // Two: in a container or not, one of them is not the probe.
  host_.gpus[1].on_launch = [this](const std::string&) { host_.gpus[1].process_ids = {71, 72}; };
  EXPECT_THAT(MeasurePlan(plan), IsFailure(v1::ProbeFailure::KIND_REFUSED, "busy"));
}

TEST_F(PeerPlanTest, ATenantWhoComesBeforeItIsLeftInPeace) {
  const ProbePlan plan = PeerPlan(Home());
  const int64_t launch_count = host_.cuda.launch_count();  // of the GPU's own session
  host_.gpus[1].process_ids = {71, 72};
  const auto measured = MeasurePlan(plan);
  EXPECT_EQ(measured.status().code(), absl::StatusCode::kUnimplemented) << "nothing else is there";
  EXPECT_EQ(host_.cuda.launch_count(), launch_count) << "and nothing ran";
}

// Copies between GPUs.

using PeerCopiesTest = PeerTest;

TEST_F(PeerCopiesTest, TheSlowestPairIsRecordedAndNamed) {
  host_.gpus[2].slowness = 3;
  const auto before = FreeBytes();
  {
    const auto measured = MeasurePlan(PeerPlan(Home()));
    ASSERT_THAT(measured, IsOk());
    const v1::Calibration& calibration = measured->calibration;
    ASSERT_EQ(calibration.collectives_size(), 1) << "one, and never a series a pair";
    const v1::CollectiveMeasurement& copy = calibration.collectives(0);
    EXPECT_EQ(copy.operation(), v1::COLLECTIVE_OPERATION_SEND_RECEIVE);
    EXPECT_EQ(copy.rank_count(), 2);
    EXPECT_EQ(copy.size_bytes(), int64_t{256} << 20);
    EXPECT_EQ(copy.engine(), "copy engine");
    EXPECT_NEAR(copy.bus_bytes_per_second(), 3.9e11 / 3, 1e9);
    EXPECT_THAT(calibration.notes(),
                Contains(AllOf(HasSubstr("the slowest is recorded"), HasSubstr(Uuid(2)))));
    EXPECT_EQ(calibration.coverage_ratio(), 1);
    EXPECT_GE(calibration.checked_result_count(), 6);
  }
  EXPECT_EQ(FreeBytes(), before) << "memory is freed on the GPU that it is of";
  EXPECT_EQ(host_.cuda.live_object_count(), 0);
}

TEST_F(PeerCopiesTest, WhoCannotReachOthersIsCopiedByWayOfTheHost) {
  host_.gpus[3].peer_bytes_per_second = 0;
  const auto measured = MeasurePlan(PeerPlan(Home()));
  ASSERT_THAT(measured, IsOk());
  EXPECT_THAT(measured->calibration.notes(),
              Contains(AllOf(HasSubstr("by way of the host's memory"), HasSubstr(Uuid(3)))));
  EXPECT_NEAR(measured->calibration.collectives(0).bus_bytes_per_second(), 5.5e10 / 2, 1e9);
}

TEST_F(PeerCopiesTest, AWrongCopyNamesTheGpuAndEndsIt) {
  host_.gpus[1].wrong_kernels = {"check_peer_parts"};
  const auto measured = MeasurePlan(PeerPlan(Home()));
  const v1::ProbeFailure failure = FailureOf(measured.status());
  EXPECT_EQ(failure.kind(), v1::ProbeFailure::KIND_MISMATCH);
  EXPECT_EQ(failure.reason(), "peer");
  EXPECT_THAT(failure.message(), AllOf(HasSubstr(Uuid(1)), HasSubstr("number 7")));
}

TEST_F(PeerCopiesTest, AGpuThatVanishesIsNoRate) {
  host_.gpus[2].on_launch = [this](const std::string& kernel) {
    if (kernel == "check_peer_parts") host_.gpus[2].cuda_code = 719;
  };
  EXPECT_EQ(FailureOf(MeasurePlan(PeerPlan(Home())).status()).reason(), "sticky");
}

TEST_F(PeerCopiesTest, WhatArrivesIsHeldAgainstTheSendersData) {
  std::vector<unsigned> senders;
  host_.cuda.kernels["check_peer_parts"] = [&](FakeGpu&, double, void** arguments) {
    EXPECT_EQ(*static_cast<uint64_t*>(arguments[2]), *static_cast<uint64_t*>(arguments[3]));
    EXPECT_EQ(*static_cast<uint64_t*>(arguments[4]), 0u);
    const unsigned sender = *static_cast<unsigned*>(arguments[5]);
    if (senders.empty() || senders.back() != sender) senders.push_back(sender);
    return 1e-4;
  };
  ProbePlan plan = PeerPlan(Home());
  plan.points = {plan.points[0], plan.points[3]};  // to the first peer, from the second
  ASSERT_THAT(MeasurePlan(plan), IsOk());
  EXPECT_THAT(senders, AllOf(Contains(0u), Contains(2u), Not(Contains(1u))));
}

TEST_F(PeerCopiesTest, CopiesShrinkWithTheMemoryThatMayBeTaken) {
  const auto measured = MeasurePlan(PeerPlan(Home(int64_t{256} << 20)));
  ASSERT_THAT(measured, IsOk());
  const int64_t size_bytes = measured->calibration.collectives(0).size_bytes();
  EXPECT_LT(size_bytes, int64_t{64} << 20);
  EXPECT_GT(size_bytes, int64_t{60} << 20);
}

}  // namespace
}  // namespace sextant::probe
