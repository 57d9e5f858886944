#include "engine/hardware/links/link_times.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "engine/hardware/reference/reference_collectives.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kCallMiB = 1 << 20;

using CollectiveModels = std::vector<const CollectiveModel*>;

// Every type with its own collectives and without, on its own network or InfiniBand NDR.
std::vector<LinkTimes> AllTimes() {
  std::vector<LinkTimes> out;
  for (const NodeType& node : NodeTypes()) {
    if (node.device_count == 1) continue;  // no group within one
    const double rate = node.network_rate ? node.network_rate.value : 50e9;
    const Network network = {.bytes_per_second = rate, .citation = "test"};
    out.emplace_back(&node, CollectiveModels{}, network);
    if (!node.collectives.empty()) {
      out.emplace_back(&node, CollectiveModels{ReferenceCollectives(node.collectives)}, network);
    }
  }
  return out;
}

KernelTime TimeOf(const LinkTimes& times, CollectiveOp op, int64_t bytes, RankGroup group) {
  const auto out = times.TimeOf(op, Bytes(bytes), group);
  EXPECT_THAT(out, IsOk());
  return *out;
}

std::vector<RankGroup> Groups(const LinkTimes& times) {
  std::vector<RankGroup> out;
  for (const int64_t nodes : {1, 2, 3, 16, 1000}) {
    for (int64_t ranks = 1; ranks <= times.node().device_count; ranks += ranks < 8 ? 1 : 16) {
      if (nodes * ranks > 1) out.push_back({nodes, ranks});
    }
  }
  return out;
}

// Sizes from a byte to 2^40, three to a doubling.
template <typename Check>
void ForSizes(Check check) {
  for (double bytes = 1; bytes <= std::ldexp(1.0, 40); bytes *= std::cbrt(2.0)) {
    check(static_cast<int64_t>(bytes));
  }
}

TEST(LinkTimes, AreFinitePositiveAndNeverFallAsBytesGrow) {
  for (const LinkTimes& times : AllTimes()) {
    for (const CollectiveOp op : kCollectiveOps) {
      for (const RankGroup& group : Groups(times)) {
        double before = 0;
        ForSizes([&](int64_t bytes) {
          const KernelTime time = TimeOf(times, op, bytes, group);
          const double now = time.expected.value();
          ASSERT_TRUE(std::isfinite(now) && now > 0 && std::isfinite(time.high.value()));
          ASSERT_LE(time.low, time.expected);
          ASSERT_GE(time.high, time.expected);
          ASSERT_GE(now, before * (1 - 1e-12))
              << times.node().name << " " << CollectiveOpName(op) << " " << bytes << " "
              << group.node_count << " x " << group.ranks_per_node;
          before = now;
        });
      }
    }
  }
}

// The bytes that have to leave a device at its link's rate; where the switch adds up, all_reduce
// sends each byte once, which is below the 2 (n - 1) / n of ranks that add up themselves.
TEST(LinkTimes, AreNeverBelowTheWire) {
  for (const LinkTimes& times : AllTimes()) {
    for (const CollectiveOp op : kCollectiveOps) {
      for (const RankGroup& group : Groups(times)) {
        ForSizes([&](int64_t bytes) {
          const double share = group.node_count > 1 ? WireShare(op, group.node_count)
                               : times.node().switch_reduces
                                   ? InSwitchWireShare(op, group.ranks_per_node)
                                   : WireShare(op, group.ranks_per_node);
          // Parts and sends go by the rank's own adapter, the rest by all of a node.
          const bool one = op == CollectiveOp::kSendReceive || op == CollectiveOp::kAllToAll;
          const double rate = group.node_count == 1
                                  ? times.node().link_rate.value
                                  : times.network()->bytes_per_second *
                                        (one ? 1 : static_cast<double>(group.ranks_per_node));
          ASSERT_GE(TimeOf(times, op, bytes, group).low.value() * (1 + 1e-12),
                    static_cast<double>(bytes) * share / rate)
              << times.node().name << " " << CollectiveOpName(op) << " " << bytes;
        });
      }
    }
  }
}

// NCCL may always do it in two halves; measured ones kept to that within their noise.
TEST(LinkTimes, OfAllReduceAreNoLongerThanOfItsHalves) {
  for (const char* name : {"dgx-a100", "dgx-h100", "dgx-h200", "dgx-b200", "gb200-nvl72"}) {
    const NodeType& node = **FindNodeType(name);
    const LinkTimes times(&node, {ReferenceCollectives(node.collectives)});
    for (const int64_t ranks : {2, 4, 8}) {
      ForSizes([&](int64_t bytes) {
        const RankGroup group = {1, ranks};
        const double whole = TimeOf(times, CollectiveOp::kAllReduce, bytes, group).expected.value();
        const double halves =
            TimeOf(times, CollectiveOp::kReduceScatter, bytes, group).expected.value() +
            TimeOf(times, CollectiveOp::kAllGather, bytes, group).expected.value();
        EXPECT_LE(whole, 1.35 * halves) << name << " " << ranks << " " << bytes;
      });
    }
  }
}

// NCCL's own estimate: 6.6 us, and 0.6 of NVLink or 1 of PCIe for each of n - 1 steps of a ring, of
// which all_reduce goes round twice.
TEST(LinkRateSeconds, OfNoBytesAreTheStepsOfTheirRing) {
  const NodeType& nvlink = **FindNodeType("hgx-h100");
  const NodeType& pcie = **FindNodeType("pcie-gen4-l40s");
  const auto micros = [](const NodeType& node, CollectiveOp op, int64_t ranks) {
    return LinkRateSeconds(node, {op, Bytes(0), ranks}).value() * 1e6;
  };
  EXPECT_NEAR(micros(nvlink, CollectiveOp::kAllReduce, 8), 6.6 + 14 * 0.6, 1e-9);
  EXPECT_NEAR(micros(nvlink, CollectiveOp::kAllGather, 8), 6.6 + 7 * 0.6, 1e-9);
  EXPECT_NEAR(micros(nvlink, CollectiveOp::kSendReceive, 2), 6.6 + 0.6, 1e-9);
  EXPECT_NEAR(micros(pcie, CollectiveOp::kAllReduce, 4), 6.6 + 6, 1e-9);
  EXPECT_EQ(micros(pcie, CollectiveOp::kAllReduce, 1), 0);
}

TEST(LinkTimes, OfOneRankAreNone) {
  for (const LinkTimes& times : AllTimes()) {
    for (const CollectiveOp op : kCollectiveOps) {
      EXPECT_EQ(TimeOf(times, op, kCallMiB, {1, 1}).expected.value(), 0);
    }
  }
}

TEST(LinkTimes, AcrossNodesAreLongerThanWithinOne) {
  for (const LinkTimes& times : AllTimes()) {
    if (times.node().link_rate.value < 1e11) continue;  // NVLink, faster than any adapter
    ForSizes([&](int64_t bytes) {
      for (const CollectiveOp op : {CollectiveOp::kAllReduce, CollectiveOp::kAllGather}) {
        EXPECT_GE(TimeOf(times, op, bytes, {2, 4}).expected,
                  TimeOf(times, op, bytes, {1, 4}).expected);
      }
    });
  }
}

// A DGX H100 says 400 Gb/s; 512 MiB to the next stage at 0.94 of 50 GB/s are 11.4 ms.
TEST(LinkTimes, OfASendToTheNextNodeAreItsBytesOverOneAdapter) {
  const NodeType& node = **FindNodeType("dgx-h100");
  const LinkTimes times(&node, {ReferenceCollectives("h100-sxm")}, *ResolveNetwork(node, 2, {}));
  const KernelTime time = TimeOf(times, CollectiveOp::kSendReceive, 512 * kCallMiB, {2, 8});
  EXPECT_NEAR(time.expected.value(), 536870912 / (50e9 * 0.94), 100e-6);
  EXPECT_EQ(time.basis, KernelBasis::kDatasheet);
}

// 15 of 16 ranks' parts leave each of 16 nodes with one rank.
TEST(LinkTimes, OfAllToAllAreThePartsForOtherNodes) {
  const NodeType& node = **FindNodeType("dgx-h100");
  const LinkTimes times(&node, {ReferenceCollectives("h100-sxm")}, *ResolveNetwork(node, 2, {}));
  const KernelTime time = TimeOf(times, CollectiveOp::kAllToAll, 512 * kCallMiB, {16, 1});
  EXPECT_NEAR(time.expected.value(), 536870912 * (15.0 / 16) / (50e9 * 0.94), 200e-6);
}

TEST(LinkTimes, UseMeasuredOnesWhereThereAreAny) {
  const NodeType& node = **FindNodeType("dgx-h100");
  const LinkTimes published(&node, {ReferenceCollectives("h100-sxm")});
  const LinkTimes datasheet(&node, {});
  EXPECT_EQ(TimeOf(published, CollectiveOp::kAllReduce, kCallMiB, {1, 8}).basis,
            KernelBasis::kMeasured);
  EXPECT_EQ(TimeOf(published, CollectiveOp::kAllReduce, 3 * kCallMiB, {1, 6}).basis,
            KernelBasis::kWithinGrid);
  EXPECT_EQ(TimeOf(datasheet, CollectiveOp::kAllReduce, kCallMiB, {1, 8}).basis,
            KernelBasis::kDatasheet);
}

// The user's own answer for what they hold, the published ones for the rest.
TEST(LinkTimes, AskTheFirstModelThatKnows) {
  const MeasuredCollective own[] = {{CollectiveOp::kAllReduce, 4, kCallMiB, 1e-3},
                                    {CollectiveOp::kAllReduce, 4, 4 * kCallMiB, 4e-3}};
  const auto measured = CollectiveModel::Make(own);
  ASSERT_THAT(measured, IsOk());
  const NodeType& node = **FindNodeType("dgx-h100");
  const CollectiveModel* published = ReferenceCollectives("h100-sxm");
  const LinkTimes times(&node, {&*measured, nullptr, published});
  EXPECT_EQ(times.Answering(CollectiveOp::kAllReduce, 4), &*measured);
  EXPECT_EQ(times.Answering(CollectiveOp::kAllReduce, 8), &*measured);  // beyond its ranks
  EXPECT_EQ(times.Answering(CollectiveOp::kAllReduce, 2), published);   // below them
  EXPECT_EQ(times.Answering(CollectiveOp::kAllGather, 4), published);
  EXPECT_EQ(LinkTimes(&node, {nullptr}).Answering(CollectiveOp::kAllReduce, 4), nullptr);
  EXPECT_EQ(TimeOf(times, CollectiveOp::kAllReduce, kCallMiB, {1, 4}).expected.value(), 1e-3);
  EXPECT_EQ(TimeOf(times, CollectiveOp::kAllGather, kCallMiB, {1, 4}).expected,
            published->TimeOf({CollectiveOp::kAllGather, Bytes(kCallMiB), 4})->expected);
}

TEST(LinkTimes, RefuseSeveralNodesWithoutANetwork) {
  const NodeType& node = **FindNodeType("hgx-h100");
  const auto time = LinkTimes(&node, {}).TimeOf(CollectiveOp::kAllReduce, Bytes(1), {2, 8});
  EXPECT_THAT(time, NamesFields(ElementsAre("network")));
  EXPECT_THAT(std::string(time.status().message()), HasSubstr("ib-ndr"));
}

TEST(LinkTimes, RefuseGroupsThatDoNotFit) {
  const NodeType& node = **FindNodeType("dgx-h100");
  const LinkTimes times(&node, {});
  const auto of = [&](int64_t bytes, RankGroup group) {
    return times.TimeOf(CollectiveOp::kAllGather, Bytes(bytes), group);
  };
  EXPECT_THAT(of(1, {1, 9}), NamesFields(ElementsAre("group.ranks_per_node")));
  EXPECT_THAT(of(1, {1, 0}), NamesFields(ElementsAre("group.ranks_per_node")));
  EXPECT_THAT(of(1, {0, 1}), NamesFields(ElementsAre("group.node_count")));
  EXPECT_THAT(of(-1, {1, 8}), NamesFields(ElementsAre("bytes")));
  EXPECT_THAT(of(INT64_MAX, {1, 8}), NamesFields(ElementsAre("bytes")));
  EXPECT_THAT(of(1'000'000'000'000'000'000, {1, 8}), IsOk());
}

}  // namespace
}  // namespace sextant
