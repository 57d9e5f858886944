#include "engine/hardware/reference/reference_collectives.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "engine/hardware/catalogue.h"
#include "engine/hardware/links/link_times.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::IsEmpty;

TEST(ReferenceCollectives, AreOfTheCatalogueAndGood) {
  EXPECT_NE(ReferenceCollectives("h100-sxm"), nullptr);
  for (const ReferenceCollectiveTable& table : ReferenceCollectiveTables()) {
    const absl::string_view name = table.accelerator;
    EXPECT_NE(AcceleratorNamed(name), nullptr) << name;
    EXPECT_THAT(CollectiveModel::Make(ReferenceCollectivePoints(name)), IsOk()) << name;
    EXPECT_NE(ReferenceCollectives(name), nullptr) << name;
  }
  EXPECT_EQ(ReferenceCollectives("mi300x"), nullptr);
  EXPECT_THAT(ReferenceCollectivePoints("h100"), IsEmpty());
}

// At most 60 points of an operation, and the four operations that were published of each.
TEST(ReferenceCollectives, KeepFewPoints) {
  for (const ReferenceCollectiveTable& table : ReferenceCollectiveTables()) {
    const absl::string_view name = table.accelerator;
    std::map<CollectiveOp, int> counts;
    for (const MeasuredCollective& p : ReferenceCollectivePoints(name)) ++counts[p.op];
    EXPECT_EQ(counts.size(), 4u) << name;
    for (const auto& [op, count] : counts) EXPECT_LE(count, 60) << name;
  }
}

// One cell of the published table, by hand: H100, all_reduce, 8 ranks, 1 MiB, table 2.29.2.
TEST(ReferenceCollectives, CarryPublishedFigures) {
  const auto points = ReferenceCollectivePoints("h100-sxm");
  const auto found = std::find_if(points.begin(), points.end(), [](const MeasuredCollective& p) {
    return p.op == CollectiveOp::kAllReduce && p.ranks == 8 && p.bytes == 1 << 20;
  });
  ASSERT_NE(found, points.end());
  EXPECT_NEAR(found->seconds, 25.4e-6, 0.05e-6);
}

// The data from which the datasheet's shares were taken: the largest size, all ranks of NVLink.
TEST(DatasheetCollectiveTime, HoldsThePublishedTablesInItsInterval) {
  int inside = 0;
  int count = 0;
  for (const NodeType& node : NodeTypes()) {
    if (node.collectives.empty() || !node.switch_reduces) continue;
    for (const MeasuredCollective& p : ReferenceCollectivePoints(node.collectives)) {
      const KernelTime time = DatasheetCollectiveTime(node, {p.op, Bytes(p.bytes), p.ranks});
      inside += time.low.value() <= p.seconds && p.seconds <= time.high.value();
      ++count;
    }
  }
  EXPECT_GT(count, 500);
  EXPECT_GE(inside, 0.8 * count);
}

TEST(DatasheetCollectiveTime, ReachesTheMedianShareAtTheLargestSize) {
  std::vector<double> shares;
  std::vector<double> in_switch;
  for (const NodeType& node : NodeTypes()) {
    if (node.collectives.empty() || node.link_rate.value < 1e11) continue;
    for (const MeasuredCollective& p : ReferenceCollectivePoints(node.collectives)) {
      if (p.bytes != kReferenceCollectiveSizes.back()) continue;
      const double share = WireSeconds(node, {p.op, Bytes(p.bytes), p.ranks}).value() / p.seconds;
      (node.switch_reduces && p.op == CollectiveOp::kAllReduce ? in_switch : shares)
          .push_back(share);
    }
  }
  for (auto* list : {&shares, &in_switch}) std::sort(list->begin(), list->end());
  EXPECT_NEAR(shares[shares.size() / 2], kNvlinkShare.expected, 0.02);
  EXPECT_GE(shares.front(), kNvlinkShare.low);
  EXPECT_LE(shares.back(), kNvlinkShare.high);
  EXPECT_NEAR(in_switch[in_switch.size() / 2], kInSwitchShare.expected, 0.02);
  EXPECT_GE(in_switch.front(), kInSwitchShare.low);
  EXPECT_LE(in_switch.back(), kInSwitchShare.high);
}

}  // namespace
}  // namespace sextant
