#include <gtest/gtest.h>

#include "engine/hardware/links/network.h"

namespace sextant {
namespace {

constexpr double kGiB = 1 << 30;
constexpr double kMicro = 1e-6;
// 400 Gb/s, of which 47 GB/s are reached.
constexpr double kAdapter = 50e9;
constexpr double kReached = 47e9;

double Nothing(double) { return 0; }

NetworkCall CallOf(CollectiveOp op, double bytes, RankGroup group) {
  return {.op = op, .bytes = bytes, .group = group, .bytes_per_second = kAdapter};
}

// One of two ranks' halves, one step of 14 us, 20 us to start.
TEST(SecondsAcrossNodes, OfAllGatherAreARing) {
  EXPECT_NEAR(SecondsAcrossNodes(CallOf(CollectiveOp::kAllGather, kGiB, {2, 1}), Nothing),
              kGiB / 2 / kReached + 34 * kMicro, 1e-9);
  EXPECT_NEAR(SecondsAcrossNodes(CallOf(CollectiveOp::kReduceScatter, kGiB, {4, 8}), Nothing),
              kGiB * 31 / 32 / (8 * kReached) + (20 + 3 * 14) * kMicro, 1e-9);
}

// A quarter of the rate, 2.7 us: faster for a kilobyte.
TEST(SecondsAcrossNodes, OfFewBytesAreTheQuickProtocols) {
  EXPECT_NEAR(SecondsAcrossNodes(CallOf(CollectiveOp::kAllGather, 1024, {2, 1}), Nothing),
              512 / (kReached / 4) + 22.7 * kMicro, 1e-9);
}

// 32 ranks' ring beats a tree of twice the bytes: 2 x 31/32 of them, six steps.
TEST(SecondsAcrossNodes, OfAllReduceAreTheRingWhereNoSwitchAddsUp) {
  EXPECT_NEAR(SecondsAcrossNodes(CallOf(CollectiveOp::kAllReduce, kGiB, {4, 8}), Nothing),
              kGiB * 2 * 31 / 32 / (8 * kReached) + (20 + 6 * 14) * kMicro, 1e-9);
}

// On 1024 nodes 2046 steps take 29 ms; twenty hops are quicker.
TEST(SecondsAcrossNodes, OfAllReduceAreATreeAcrossMany) {
  EXPECT_NEAR(SecondsAcrossNodes(CallOf(CollectiveOp::kAllReduce, kGiB, {1024, 8}), Nothing),
              kGiB * 2 / (8 * kReached) + (20 + 20 * 14) * kMicro, 1e-9);
}

// Two nodes whose switches add up send the buffer once each way; more of them twice.
TEST(SecondsAcrossNodes, OfAllReduceAreATreeOfSwitches) {
  NetworkCall call = CallOf(CollectiveOp::kAllReduce, kGiB, {2, 8});
  call.switch_reduces = true;
  EXPECT_NEAR(SecondsAcrossNodes(call, Nothing), kGiB / (8 * kReached) + (20 + 28) * kMicro, 1e-9);
  call.group.node_count = 4;
  EXPECT_NEAR(SecondsAcrossNodes(call, Nothing), kGiB * 2 / (8 * kReached) + (20 + 56) * kMicro,
              1e-9);
}

// 10 ms within each node hide the network but for what fills the pipe: 1 GiB x 64 MiB / 1088 MiB.
TEST(SecondsAcrossNodes, ArePipelinedWithTheNodes) {
  NetworkCall call = CallOf(CollectiveOp::kAllReduce, kGiB, {2, 8});
  call.switch_reduces = true;
  const double filled = kGiB * 64 / 1088;
  EXPECT_NEAR(SecondsAcrossNodes(call, [](double) { return 10e-3; }),
              10e-3 + filled / (8 * kReached) + (20 + 28) * kMicro, 1e-9);
}

// Half of each rank's buffer is for the eight of the other node.
TEST(SecondsAcrossNodes, OfAllToAllLeaveByEachRanksAdapter) {
  EXPECT_NEAR(SecondsAcrossNodes(CallOf(CollectiveOp::kAllToAll, kGiB, {2, 8}), Nothing),
              kGiB / 2 / kReached + (20 + 8 * 2.7) * kMicro, 1e-9);
}

TEST(SecondsAcrossNodes, OfASendUseOneAdapterOfABroadcastAll) {
  EXPECT_NEAR(SecondsAcrossNodes(CallOf(CollectiveOp::kSendReceive, kGiB, {2, 8}), Nothing),
              kGiB / kReached + 34 * kMicro, 1e-9);
  EXPECT_NEAR(SecondsAcrossNodes(CallOf(CollectiveOp::kBroadcast, kGiB, {2, 8}), Nothing),
              kGiB / (8 * kReached) + 34 * kMicro, 1e-9);
}

// At the whole line rate: 2 x 1/2 of the buffer by eight adapters; half of it by one.
TEST(LeastSecondsAcrossNodes, AreTheBytesThatMustCross) {
  EXPECT_DOUBLE_EQ(LeastSecondsAcrossNodes(CallOf(CollectiveOp::kAllReduce, kGiB, {2, 8})),
                   kGiB / (8 * kAdapter));
  EXPECT_DOUBLE_EQ(LeastSecondsAcrossNodes(CallOf(CollectiveOp::kAllToAll, kGiB, {2, 8})),
                   kGiB / 2 / kAdapter);
  EXPECT_DOUBLE_EQ(LeastSecondsAcrossNodes(CallOf(CollectiveOp::kSendReceive, kGiB, {2, 8})),
                   kGiB / kAdapter);
}

}  // namespace
}  // namespace sextant
