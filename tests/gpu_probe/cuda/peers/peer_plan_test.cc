// Which GPUs take part in exchanges.
#include "gpu_probe/cuda/peers/peer_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/reason.h"
#include "gpu_probe/device_lock.h"
#include "gpu_probe/exit_code.h"
#include "tests/gpu_probe/cuda/peers/peer_fixture.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

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
  const auto measured = MeasurePlan(plan);
  EXPECT_EQ(FailureOf(measured.status()).kind(), v1::ProbeFailure::KIND_REFUSED);
  EXPECT_EQ(FailureOf(measured.status()).reason(), "busy");
}

TEST_F(PeerPlanTest, ATenantWhoComesBeforeItIsLeftInPeace) {
  const ProbePlan plan = PeerPlan(Home());
  const int64_t launch_count = host_.cuda.launch_count();  // of the GPU's own session
  host_.gpus[1].process_ids = {71, 72};
  const auto measured = MeasurePlan(plan);
  EXPECT_EQ(measured.status().code(), absl::StatusCode::kUnimplemented) << "nothing else is there";
  EXPECT_EQ(host_.cuda.launch_count(), launch_count) << "and nothing ran";
}

}  // namespace
}  // namespace sextant
