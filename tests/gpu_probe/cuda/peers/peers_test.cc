// Exchanges between GPUs of a host: who takes part, copies, and collectives.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gpu_probe/cuda/peers/collectives.h"
#include "gpu_probe/cuda/peers/peer_group.h"
#include "gpu_probe/cuda/peers/peer_plan.h"
#include "gpu_probe/device_lock.h"
#include "tests/gpu_probe/cuda/fake_nccl.h"
#include "tests/gpu_probe/cuda/fake_session.h"
#include "tests/gpu_probe/failure_matchers.h"
#include "tests/support/temporary_folder.h"

namespace sextant::probe {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// A host of several GPUs, the first of which is measured.
class PeerTest : public FakeSessionTest {
 protected:
  explicit PeerTest(int gpu_count = 4) : FakeSessionTest(gpu_count) {
    // A lock folder of its own.
    setenv("SEXTANT_LOCK_FOLDER", locks_.path().c_str(), 1);
  }

  std::string Uuid(size_t gpu) const { return FakeHost::UuidOf(host_.gpus[gpu]); }

  std::shared_ptr<PeerHost> Peers(const SharedSession& home) {
    auto admitted = PeerHost::Admit(system_, home, [this](double s) { host_.Sleep(s); });
    EXPECT_TRUE(admitted.ok()) << admitted.status();
    return *std::move(admitted);
  }

  // The plan that AddPeers() makes of an empty one, without NCCL.
  ProbePlan PeerPlan(int64_t cap_bytes = kCapBytes) {
    const SharedSession home = Open(cap_bytes);
    ProbePlan plan;
    plan.device = home->device();
    AddPeers({.system = system_,
              .home = home,
              .search = {.folder = "/nowhere"},
              .sleep = [this](double s) { host_.Sleep(s); }},
             &plan);
    return plan;
  }

  absl::StatusOr<Measurement> MeasurePeers(const ProbePlan& plan) {
    return MeasurePlan(plan, /*budget_seconds=*/30);
  }

  std::vector<unsigned long long> FreeBytes() const {
    std::vector<unsigned long long> out;
    for (const FakeGpu& gpu : host_.gpus) out.push_back(gpu.memory.free);
    return out;
  }

  const TemporaryFolder locks_;
  CudaSystem system_ = host_.System();
  FakeNccl nccl_{host_};
};

// Which GPUs take part in exchanges.

using PeerPlanTest = PeerTest;

class OneGpuTest : public PeerTest {
 protected:
  OneGpuTest() : PeerTest(1) {}
};

TEST_F(OneGpuTest, HasNoExchangesAndNoNote) {
  const ProbePlan plan = PeerPlan();
  EXPECT_THAT(plan.points, IsEmpty());
  EXPECT_THAT(plan.notes, IsEmpty());
}

TEST_F(PeerPlanTest, WithoutNcclThereAreCopiesAndANote) {
  const ProbePlan plan = PeerPlan();
  EXPECT_EQ(plan.points.size(), 6u) << "three others, each way";
  for (const Point& point : plan.points) EXPECT_EQ(point.phase, "peer copies");
  EXPECT_THAT(plan.notes, ElementsAre(HasSubstr("libnccl.so.2")));
}

TEST_F(PeerPlanTest, AGpuThatIsInUseKeepsAllFromIt) {
  host_.gpus[2].process_ids = {71};
  const ProbePlan plan = PeerPlan();
  EXPECT_THAT(plan.points, IsEmpty());
  EXPECT_THAT(plan.notes, ElementsAre(AllOf(HasSubstr(Uuid(2)), HasSubstr("processes"))));
}

TEST_F(PeerPlanTest, AGpuThatAnotherProbeMeasuresKeepsAllFromIt) {
  const auto lock = DeviceLock::Take(LockFolder(), Uuid(3)).value();
  const ProbePlan plan = PeerPlan();
  EXPECT_THAT(plan.points, IsEmpty());
  EXPECT_THAT(plan.notes, ElementsAre(HasSubstr("another sextant-probe is measuring")));
}

TEST_F(PeerPlanTest, WhileAPlanLastsOthersGpusAreLocked) {
  {
    const ProbePlan plan = PeerPlan();
    EXPECT_EQ(DeviceLock::Take(LockFolder(), Uuid(1)).status().code(), absl::StatusCode::kAborted);
  }
  EXPECT_THAT(DeviceLock::Take(LockFolder(), Uuid(1)), IsOk());
}

TEST_F(PeerPlanTest, ATenantOnAnotherGpuEndsIt) {
  const ProbePlan plan = PeerPlan();
  // Two: in a container or not, one of them is not the probe.
  host_.gpus[1].on_launch = [this](const std::string&) { host_.gpus[1].process_ids = {71, 72}; };
  EXPECT_THAT(MeasurePeers(plan), IsFailure(v1::ProbeFailure::KIND_REFUSED, "busy"));
}

TEST_F(PeerPlanTest, ATenantWhoComesBeforeItIsLeftInPeace) {
  const ProbePlan plan = PeerPlan();
  const int64_t launch_count = host_.cuda.launch_count();  // of the GPU's own session
  host_.gpus[1].process_ids = {71, 72};
  const auto measured = MeasurePeers(plan);
  EXPECT_EQ(measured.status().code(), absl::StatusCode::kUnimplemented) << "nothing else is there";
  EXPECT_EQ(host_.cuda.launch_count(), launch_count) << "and nothing ran";
}

// Copies between GPUs.

using PeerCopiesTest = PeerTest;

TEST_F(PeerCopiesTest, TheSlowestPairIsRecordedAndNamed) {
  host_.gpus[2].slowness = 3;
  const auto before = FreeBytes();
  {
    const v1::Calibration calibration = MeasurePeers(PeerPlan()).value().calibration;
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
  const auto measured = MeasurePeers(PeerPlan()).value();
  EXPECT_THAT(measured.calibration.notes(),
              Contains(AllOf(HasSubstr("by way of the host's memory"), HasSubstr(Uuid(3)))));
  EXPECT_NEAR(measured.calibration.collectives(0).bus_bytes_per_second(), 5.5e10 / 2, 1e9);
}

TEST_F(PeerCopiesTest, AWrongCopyNamesTheGpuAndEndsIt) {
  host_.gpus[1].wrong_kernels = {"check_peer_parts"};
  EXPECT_THAT(MeasurePeers(PeerPlan()),
              AllOf(IsFailure(v1::ProbeFailure::KIND_MISMATCH, "peer", Uuid(1)), Says("number 7")));
}

TEST_F(PeerCopiesTest, AGpuThatVanishesIsNoRate) {
  host_.gpus[2].on_launch = [this](const std::string& kernel) {
    if (kernel == "check_peer_parts") host_.gpus[2].cuda_code = 719;
  };
  EXPECT_EQ(FailureOf(MeasurePeers(PeerPlan()).status()).reason(), "sticky");
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
  ProbePlan plan = PeerPlan();
  plan.points = {plan.points[0], plan.points[3]};  // to the first peer, from the second
  ASSERT_THAT(MeasurePeers(plan), IsOk());
  EXPECT_THAT(senders, AllOf(Contains(0u), Contains(2u), Not(Contains(1u))));
}

TEST_F(PeerCopiesTest, CopiesShrinkWithTheMemoryThatMayBeTaken) {
  const auto measured = MeasurePeers(PeerPlan(int64_t{256} << 20)).value();
  const int64_t size_bytes = measured.calibration.collectives(0).size_bytes();
  EXPECT_LT(size_bytes, int64_t{64} << 20);
  EXPECT_GT(size_bytes, int64_t{60} << 20);
}

// Collectives through a fake NCCL.
class CollectivesTest : public PeerTest {
 protected:
  explicit CollectivesTest(int gpu_count = 4) : PeerTest(gpu_count) {}

  ProbePlan CollectivePlan(int64_t cap_bytes = kCapBytes) {
    const SharedSession home = Open(cap_bytes);
    ProbePlan plan;
    plan.device = home->device();
    plan.points = CollectivePoints(nccl_.Table(), Peers(home));
    return plan;
  }
};

TEST_F(CollectivesTest, FourKindsOfFourSizesAreMeasuredAsNcclTestsCounts) {
  const auto before = FreeBytes();
  {
    const v1::Calibration calibration = MeasurePeers(CollectivePlan()).value().calibration;
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
  const auto measured = MeasurePeers(CollectivePlan()).value();
  for (const v1::CollectiveMeasurement& it : measured.calibration.collectives()) {
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
  ASSERT_THAT(MeasurePeers(plan), IsOk());
  const std::map<unsigned, uint64_t> own = {{1, 0}, {2, part}, {3, 2 * part}, {4, 3 * part}};
  EXPECT_EQ(sum_firsts, own);
  EXPECT_EQ(part_firsts, own);
  plan.points = {all_gather};
  ASSERT_THAT(MeasurePeers(plan), IsOk());
  EXPECT_EQ(part_firsts, (std::map<unsigned, uint64_t>{{1, 0}, {2, 0}, {3, 0}, {4, 0}}));
}

TEST_F(CollectivesTest, AWrongResultNamesTheGpu) {
  host_.gpus[2].wrong_kernels = {"check_peer_sum"};
  EXPECT_THAT(MeasurePeers(CollectivePlan()),
              IsFailure(v1::ProbeFailure::KIND_MISMATCH, "collective", Uuid(2)));
}

TEST_F(CollectivesTest, NcclThatCannotStartIsTriedOnceAndLeftOut) {
  nccl_.init_code = 2;
  EXPECT_THAT(
      MeasurePeers(CollectivePlan()),
      AllOf(FailsSaying(absl::StatusCode::kUnimplemented, "NCCL's error 2"), Says("--shm-size")));
}

TEST_F(CollectivesTest, AnExchangeThatFailsEndsIt) {
  nccl_.call_code = 1;
  EXPECT_THAT(MeasurePeers(CollectivePlan()), IsFailure(v1::ProbeFailure::KIND_INTERNAL, "nccl"));
}

TEST_F(CollectivesTest, SizesThatMemoryHasNoRoomForAreLeftOut) {
  const ProbePlan plan = CollectivePlan(int64_t{256} << 20);
  EXPECT_EQ(plan.points.size(), 12u);
  const auto measured = MeasurePeers(plan).value();
  for (const v1::CollectiveMeasurement& it : measured.calibration.collectives()) {
    EXPECT_LE(it.size_bytes(), 32 << 20);
  }
}

class ThreeGpusTest : public CollectivesTest {
 protected:
  ThreeGpusTest() : CollectivesTest(3) {}
};

TEST_F(ThreeGpusTest, SizesAreCutToWhatTheRanksShareEvenly) {
  const auto measured = MeasurePeers(CollectivePlan()).value();
  EXPECT_EQ(measured.calibration.collectives_size(), 16);
  for (const v1::CollectiveMeasurement& it : measured.calibration.collectives()) {
    EXPECT_EQ(it.size_bytes() % 48, 0);
  }
  EXPECT_EQ(measured.calibration.collectives(0).size_bytes(), 8160);
}

}  // namespace
}  // namespace sextant::probe
