// Collectives through a fake NCCL.
#include "gpu_probe/cuda/peers/collectives.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <tuple>

#include "tests/gpu_probe/cuda/peers/peer_fixture.h"
#include "tests/gpu_probe/failure_matchers.h"

namespace sextant::probe {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

class CollectivesTest : public PeerTest {
 protected:
  explicit CollectivesTest(int gpu_count = 4) : PeerTest(gpu_count) {}

  ProbePlan CollectivePlan(int64_t cap_bytes = int64_t{2} << 30) {
    const SharedSession home = Home(cap_bytes);
    ProbePlan plan;
    plan.device = home->device();
    plan.points = CollectivePoints(nccl_.Table(), Peers(home));
    return plan;
  }
};

TEST_F(CollectivesTest, FourKindsOfFourSizesAreMeasuredAsNcclTestsCounts) {
  const auto before = FreeBytes();
  {
    const auto measured = MeasurePlan(CollectivePlan());
    ASSERT_THAT(measured, IsOk());
    const v1::Calibration& calibration = measured->calibration;
    ASSERT_EQ(calibration.collectives_size(), 16);
    std::map<v1::CollectiveOperation, int> counts;
    for (const v1::CollectiveMeasurement& it : calibration.collectives()) {
      ++counts[it.operation()];
      EXPECT_EQ(it.rank_count(), 4);
      EXPECT_EQ(it.engine(), "nccl 2.28.3");
      EXPECT_GE(it.time().sample_count(), 6);
      const double share = it.operation() == v1::COLLECTIVE_OPERATION_ALL_REDUCE ? 2 * 0.75 : 0.75;
      EXPECT_NEAR(it.bus_bytes_per_second(),
                  share * static_cast<double>(it.size_bytes()) / it.time().median_seconds(), 1);
      // The fake's links give this much to whatever kind.
      if (it.size_bytes() == int64_t{512} << 20) {
        EXPECT_NEAR(it.bus_bytes_per_second(), 3.9e11, 0.1e11);
      }
      if (it.size_bytes() == 8 << 10) {
        EXPECT_NEAR(it.time().median_seconds(), 15e-6, 5e-6);
      }
    }
    EXPECT_EQ(counts.size(), 4u);
    EXPECT_EQ(calibration.coverage_ratio(), 1);
  }
  EXPECT_EQ(FreeBytes(), before);
  EXPECT_EQ(nccl_.live_communicator_count, 0);
  EXPECT_EQ(host_.cuda.live_object_count(), 0);
}

TEST_F(CollectivesTest, OneSlowGpuSlowsAll) {
  host_.gpus[3].slowness = 2;
  const auto measured = MeasurePlan(CollectivePlan());
  ASSERT_THAT(measured, IsOk());
  for (const v1::CollectiveMeasurement& it : measured->calibration.collectives()) {
    if (it.size_bytes() == int64_t{512} << 20) {
      EXPECT_NEAR(it.bus_bytes_per_second(), 3.9e11 / 2, 0.1e11);
    }
  }
}

TEST_F(CollectivesTest, ResultsAreHeldAgainstEachRanksOwn) {
  // By operation, GPU: vectors, part, first.
  std::map<unsigned, uint64_t> sum_firsts;
  std::map<unsigned, uint64_t> part_firsts;
  host_.cuda.kernels["check_peer_sum"] = [&](FakeGpu& gpu, double, void** arguments) {
    EXPECT_EQ(*static_cast<unsigned*>(arguments[4]), 4u);
    EXPECT_EQ(*static_cast<uint64_t*>(arguments[2]), (1u << 20) / 4 / 16);
    sum_firsts[gpu.identity] = *static_cast<uint64_t*>(arguments[3]);
    return 1e-5;
  };
  host_.cuda.kernels["check_peer_parts"] = [&](FakeGpu& gpu, double, void** arguments) {
    EXPECT_EQ(*static_cast<uint64_t*>(arguments[2]), (1u << 20) / 16);
    EXPECT_EQ(*static_cast<uint64_t*>(arguments[3]), (1u << 20) / 16 / 4);
    part_firsts[gpu.identity] = *static_cast<uint64_t*>(arguments[4]);
    EXPECT_EQ(*static_cast<unsigned*>(arguments[5]), 0u);
    return 1e-5;
  };
  ProbePlan plan = CollectivePlan();
  ASSERT_EQ(plan.points.size(), 16u);
  const uint64_t part = (1 << 20) / 16 / 4;
  const auto all_gather = plan.points[5];
  const auto reduce_scatter = plan.points[9];
  const auto all_to_all = plan.points[13];
  plan.points = {reduce_scatter, all_to_all};
  ASSERT_THAT(MeasurePlan(plan), IsOk());
  const std::map<unsigned, uint64_t> own = {{1, 0}, {2, part}, {3, 2 * part}, {4, 3 * part}};
  EXPECT_EQ(sum_firsts, own);
  EXPECT_EQ(part_firsts, own);
  plan.points = {all_gather};
  ASSERT_THAT(MeasurePlan(plan), IsOk());
  EXPECT_EQ(part_firsts, (std::map<unsigned, uint64_t>{{1, 0}, {2, 0}, {3, 0}, {4, 0}}));
}

TEST_F(CollectivesTest, AWrongResultNamesTheGpu) {
  host_.gpus[2].wrong_kernels = {"check_peer_sum"};
  EXPECT_THAT(MeasurePlan(CollectivePlan()),
              IsFailure(v1::ProbeFailure::KIND_MISMATCH, "collective", Uuid(2)));
}

TEST_F(CollectivesTest, NcclThatCannotStartIsTriedOnceAndLeftOut) {
  nccl_.init_code = 2;
  const auto measured = MeasurePlan(CollectivePlan());
  EXPECT_EQ(measured.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(measured.status().message()),
              AllOf(HasSubstr("NCCL's error 2"), HasSubstr("--shm-size")));
}

TEST_F(CollectivesTest, AnExchangeThatFailsEndsIt) {
  nccl_.call_code = 1;
  const absl::Status failed = MeasurePlan(CollectivePlan()).status();
  EXPECT_EQ(failed.code(), absl::StatusCode::kInternal);
  EXPECT_EQ(FailureOf(failed).reason(), "nccl");
}

TEST_F(CollectivesTest, SizesThatMemoryHasNoRoomForAreLeftOut) {
  const ProbePlan plan = CollectivePlan(int64_t{256} << 20);
  EXPECT_EQ(plan.points.size(), 12u);
  const auto measured = MeasurePlan(plan);
  ASSERT_THAT(measured, IsOk());
  for (const v1::CollectiveMeasurement& it : measured->calibration.collectives()) {
    EXPECT_LE(it.size_bytes(), 32 << 20);
  }
}

class ThreeGpusTest : public CollectivesTest {
 protected:
  ThreeGpusTest() : CollectivesTest(3) {}
};

TEST_F(ThreeGpusTest, SizesAreCutToWhatTheRanksShareEvenly) {
  const auto measured = MeasurePlan(CollectivePlan());
  ASSERT_THAT(measured, IsOk());
  EXPECT_EQ(measured->calibration.collectives_size(), 16);
  for (const v1::CollectiveMeasurement& it : measured->calibration.collectives()) {
    EXPECT_EQ(it.size_bytes() % 48, 0);
  }
  EXPECT_EQ(measured->calibration.collectives(0).size_bytes(), 8160);
}

}  // namespace
}  // namespace sextant::probe
