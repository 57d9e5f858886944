// Exchanges on a real GPU, with itself as its only peer: the kernels of peers.cu, copies by way of
// the driver's call for peers, and NCCL of one rank.
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "gpu_probe/cuda/peers/collectives.h"
#include "gpu_probe/cuda/peers/peer_plan.h"
#include "tests/gpu/on_gpu.h"

namespace sextant::probe {
namespace {

constexpr int64_t kBufferBytes = int64_t{3} << 20;

class PeersGpuTest : public OnGpuTest {
 protected:
  SharedPeerGroup Group() {
    auto group = PeerGroup::Open({session_}, kBufferBytes);
    EXPECT_TRUE(group.ok()) << group.status();
    return *std::move(group);
  }
};

double NumberOfBf16(uint16_t bits) {
  const uint32_t wide = uint32_t{bits} << 16;
  float out = 0;
  std::memcpy(&out, &wide, sizeof(out));
  return out;
}

// SplitMix64, of which each byte's lowest three bits are a number.
uint64_t BitsOf(uint64_t place) {
  uint64_t z = (place + 1) * 0x9E3779B97F4A7C15ULL;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

TEST_F(PeersGpuTest, DataAreTheIntegersOfTheirPlaces) {
  const SharedPeerGroup group = Group();
  const auto data = Read<uint16_t>(group->rank(0).from, kBufferBytes / 2);
  for (size_t i = 0; i < data.size(); ++i) {
    const uint64_t bits = BitsOf(i / 8) >> (8 * (i % 8));
    ASSERT_EQ(NumberOfBf16(data[i]), static_cast<double>(bits & 7) - 3) << i;
  }
}

TEST_F(PeersGpuTest, AWrongElementIsFound) {
  const SharedPeerGroup group = Group();
  PeerGroup::Rank& rank = group->rank(0);
  constexpr uint64_t kVectorCount = kBufferBytes / kPeerVectorBytes;
  const auto check = [&] {
    return *rank.check.Run("check_peer_sum", PeerGrid(kVectorCount), rank.from.address(),
                           kVectorCount, uint64_t{0}, 1U);
  };
  EXPECT_EQ(check().wrong_count, 0u);
  constexpr uint64_t kWrong = kVectorCount - 3;
  ASSERT_TRUE(session_->Fill(rank.from.address() + kWrong * kPeerVectorBytes + 5, 0x11, 1).ok());
  const GpuCheckReport report = check();
  EXPECT_EQ(report.wrong_count, 1u);
  EXPECT_EQ(report.first_wrong, kWrong);
  const auto parts = rank.check.Run("check_peer_parts", PeerGrid(kVectorCount), rank.from.address(),
                                    kVectorCount, kVectorCount, uint64_t{0}, 0U);
  EXPECT_EQ(parts->wrong_count, 1u);
}

TEST_F(PeersGpuTest, ACopyArrives) {
  const auto copy = PeerCopyWorkload({.from = 0, .to = 0, .size_bytes = kBufferBytes}, Group());
  copy->Poison();
  ASSERT_TRUE(copy->Run(3).ok());
  EXPECT_GT(*copy->DeviceSeconds(), 0);
  EXPECT_TRUE(copy->Check().ok()) << copy->Check();
  copy->Poison();
  EXPECT_EQ(copy->Check().code(), absl::StatusCode::kDataLoss) << "nothing was copied since";
}

TEST_F(PeersGpuTest, EachCollectiveOfOneRankArrives) {
  const auto nccl = LoadNccl(libraries_);
  if (!nccl.ok()) GTEST_SKIP() << nccl.status().message();
  const auto communicators = StartNccl(*nccl, Group());
  ASSERT_TRUE(communicators.ok()) << communicators.status();
  for (const auto operation :
       {v1::COLLECTIVE_OPERATION_ALL_REDUCE, v1::COLLECTIVE_OPERATION_ALL_GATHER,
        v1::COLLECTIVE_OPERATION_REDUCE_SCATTER, v1::COLLECTIVE_OPERATION_ALL_TO_ALL}) {
    const auto work =
        CollectiveWorkload({.operation = operation, .size_bytes = kBufferBytes}, *communicators);
    work->Poison();
    const absl::Status run = work->Run(20);
    ASSERT_TRUE(run.ok()) << run;
    EXPECT_GT(*work->DeviceSeconds(), 0);
    const absl::Status checked = work->Check();
    EXPECT_TRUE(checked.ok()) << checked << operation;
  }
}

}  // namespace
}  // namespace sextant::probe
