#include "engine/hardware/links/collective.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace sextant {
namespace {

// nccl-tests' doc/PERFORMANCE.md prints the factors for n ranks; here worked for n = 8 and 2.
TEST(WireShare, IsTheFactorOfTheBusBandwidth) {
  EXPECT_DOUBLE_EQ(WireShare(CollectiveOp::kAllReduce, 8), 1.75);
  EXPECT_DOUBLE_EQ(WireShare(CollectiveOp::kAllGather, 8), 0.875);
  EXPECT_DOUBLE_EQ(WireShare(CollectiveOp::kReduceScatter, 8), 0.875);
  EXPECT_DOUBLE_EQ(WireShare(CollectiveOp::kAllToAll, 8), 0.875);
  EXPECT_DOUBLE_EQ(WireShare(CollectiveOp::kBroadcast, 8), 1);
  EXPECT_DOUBLE_EQ(WireShare(CollectiveOp::kAllReduce, 2), 1);
  EXPECT_DOUBLE_EQ(WireShare(CollectiveOp::kSendReceive, 2), 1);
}

// An all_reduce is a reduce_scatter and an all_gather of its result, byte for byte.
TEST(WireShare, OfAllReduceIsThatOfItsHalves) {
  for (int64_t n = 1; n <= 100; ++n) {
    EXPECT_DOUBLE_EQ(
        WireShare(CollectiveOp::kAllReduce, n),
        WireShare(CollectiveOp::kReduceScatter, n) + WireShare(CollectiveOp::kAllGather, n));
  }
}

TEST(WireShare, IsNoneOfOneRank) {
  for (const CollectiveOp op : kCollectiveOps) EXPECT_EQ(WireShare(op, 1), 0);
}

// A switch that adds up spares only all_reduce, and no pair of ranks.
TEST(InSwitchWireShare, SparesAllReduceAlone) {
  EXPECT_EQ(InSwitchWireShare(CollectiveOp::kAllReduce, 8), 1);
  EXPECT_EQ(InSwitchWireShare(CollectiveOp::kAllReduce, 2), 1);
  EXPECT_EQ(InSwitchWireShare(CollectiveOp::kAllReduce, 1), 0);
  EXPECT_EQ(InSwitchWireShare(CollectiveOp::kAllGather, 8), 0.875);
}

TEST(CollectiveOps, HaveNamesOfTheirOwn) {
  std::set<std::string> names;
  for (const CollectiveOp op : kCollectiveOps) names.emplace(CollectiveOpName(op));
  EXPECT_EQ(names.size(), kCollectiveOps.size());
  EXPECT_EQ(names.count("all_to_all"), 1u);
}

}  // namespace
}  // namespace sextant
