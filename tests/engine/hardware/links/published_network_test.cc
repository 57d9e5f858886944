// Published runs across nodes, compared with the model. The constants of network_model.h that were
// chosen knowing these are kStart and kPipeBytes (docs/links.md, "Collectives across nodes").
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_format.h"
#include "engine/hardware/links/link_times.h"
#include "engine/hardware/reference/reference_collectives.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

constexpr double kPublishedMiB = 1 << 20;

struct PublishedRun {
  const char* source;
  const char* node;
  double adapter;  // line rate of one device's share of its node's adapters
  CollectiveOp op;
  double bytes;
  RankGroup group;
  double seconds;
};

// Seconds of a bus bandwidth as nccl-tests prints it.
double FromBus(CollectiveOp op, double bytes, double ranks, double bus) {
  const double share = op == CollectiveOp::kAllReduce ? 2 : 1;
  return bytes * share * (ranks - 1) / ranks / bus;
}

constexpr CollectiveOp kReduce = CollectiveOp::kAllReduce;
// H20 has H100's NVLink, H800 its adapters; neither has a node type of its own.
const std::vector<PublishedRun>& Runs() {
  static const auto* const runs = new std::vector<PublishedRun>{
      {"nccl-tests 119: 3 x 8 A100, 4 x HDR",
       "hgx-a100",
       12.5e9,
       kReduce,
       131072008,
       {3, 8},
       2604.6e-6},
      {"nccl-tests 152: 2 x 8 A100, 4 x HDR",
       "hgx-a100",
       12.5e9,
       kReduce,
       32 * kPublishedMiB,
       {2, 8},
       765.9e-6},
      {"nccl-tests 152", "hgx-a100", 12.5e9, kReduce, 64 * kPublishedMiB, {2, 8}, 1367.2e-6},
      {"nccl-tests 152", "hgx-a100", 12.5e9, kReduce, 128 * kPublishedMiB, {2, 8}, 2698.7e-6},
      {"nccl-tests 152", "hgx-a100", 12.5e9, kReduce, 256 * kPublishedMiB, {2, 8}, 5665.7e-6},
      {"nccl-tests 152", "hgx-a100", 12.5e9, kReduce, 1024 * kPublishedMiB, {2, 8}, 22490e-6},
      {"nccl-tests 100: 2 x 8 A100, 4 x HDR",
       "hgx-a100",
       12.5e9,
       kReduce,
       8192 * kPublishedMiB,
       {2, 8},
       FromBus(kReduce, 8192 * kPublishedMiB, 16, 91e9)},
      {"nccl-tests 175: 2 x 8 A100, 4 x HDR",
       "hgx-a100",
       12.5e9,
       kReduce,
       4096 * kPublishedMiB,
       {2, 8},
       FromBus(kReduce, 4096 * kPublishedMiB, 16, 86e9)},
      {"nccl 1244: 2 x 8 H20, NDR, first NCCL",
       "hgx-h100",
       50e9,
       kReduce,
       1 * kPublishedMiB,
       {2, 8},
       121.8e-6},
      {"nccl 1244", "hgx-h100", 50e9, kReduce, 2 * kPublishedMiB, {2, 8}, 129.8e-6},
      {"nccl 1244", "hgx-h100", 50e9, kReduce, 4 * kPublishedMiB, {2, 8}, 127.6e-6},
      {"nccl 1244", "hgx-h100", 50e9, kReduce, 8 * kPublishedMiB, {2, 8}, 146.5e-6},
      {"nccl 1244", "hgx-h100", 50e9, kReduce, 16 * kPublishedMiB, {2, 8}, 203.0e-6},
      {"nccl 1244", "hgx-h100", 50e9, kReduce, 32 * kPublishedMiB, {2, 8}, 298.5e-6},
      {"nccl 1244", "hgx-h100", 50e9, kReduce, 64 * kPublishedMiB, {2, 8}, 467.9e-6},
      {"nccl 1244, second NCCL", "hgx-h100", 50e9, kReduce, 512, {2, 8}, 46.58e-6},
      {"nccl-tests 309: 4 x 8 H100",
       "hgx-h100",
       50e9,
       kReduce,
       16384 * kPublishedMiB,
       {4, 8},
       FromBus(kReduce, 16384 * kPublishedMiB, 32, 365.84e9)},
      {"nccl-tests 309: 2 x 8 H100",
       "hgx-h100",
       50e9,
       kReduce,
       16384 * kPublishedMiB,
       {2, 8},
       FromBus(kReduce, 16384 * kPublishedMiB, 16, 470e9)},
      {"nccl 1469: 16 x 8 H100", "hgx-h100", 50e9, kReduce, 512, {16, 8}, 67.4e-6},
      {"nccl 1469", "hgx-h100", 50e9, kReduce, 4096, {16, 8}, 76.6e-6},
      {"nccl 1469, where it was not slower",
       "hgx-h100",
       50e9,
       kReduce,
       64 * kPublishedMiB,
       {16, 8},
       FromBus(kReduce, 64 * kPublishedMiB, 128, 150e9)},
      {"nccl-tests 283: 248 x 8 H200",
       "hgx-h200",
       50e9,
       kReduce,
       512 * kPublishedMiB,
       {248, 8},
       FromBus(kReduce, 512 * kPublishedMiB, 1984, 350e9)},
      {"nccl 812: DGX A100, number not said",
       "dgx-a100",
       25e9,
       kReduce,
       8192 * kPublishedMiB,
       {4, 8},
       FromBus(kReduce, 8192 * kPublishedMiB, 32, 192e9)},
      {"nccl 1531: 8 x 8 H800",
       "hgx-h100",
       50e9,
       CollectiveOp::kAllToAll,
       8 * kPublishedMiB,
       {8, 8},
       337.8e-6},
      {"nccl-tests 214: 2 x 1 A40",
       "pcie-gen4",
       25e9,
       CollectiveOp::kSendReceive,
       4096,
       {2, 1},
       30.74e-6},
  };
  return *runs;
}

double RatioOf(const PublishedRun& run) {
  const NodeType& node = **FindNodeType(run.node);
  const LinkTimes times(&node, {ReferenceCollectives(node.collectives)},
                        Network{.bytes_per_second = run.adapter, .citation = run.source});
  const auto time = times.TimeOf(run.op, Bytes(std::llround(run.bytes)), run.group);
  EXPECT_THAT(time, IsOk()) << run.source;
  return run.seconds / time->expected.value();
}

TEST(PublishedNetworkRuns, AreWithinTheStatedInterval) {
  std::vector<double> ratios;
  for (const PublishedRun& run : Runs()) {
    const double ratio = RatioOf(run);
    RecordProperty(
        absl::StrFormat("run_%d", ratios.size()),
        absl::StrFormat("%s, %.0f bytes: %.2f of the prediction", run.source, run.bytes, ratio));
    ratios.push_back(ratio);
  }
  const auto inside = std::count_if(ratios.begin(), ratios.end(), [](double ratio) {
    return kNetworkLow <= ratio && ratio <= kNetworkHigh;
  });
  EXPECT_GE(static_cast<double>(inside), 0.8 * static_cast<double>(ratios.size()));
  std::sort(ratios.begin(), ratios.end());
  const double median = ratios[ratios.size() / 2];
  EXPECT_GT(median, 0.95);
  EXPECT_LT(median, 1.1);
  EXPECT_GT(ratios.front(), 0.7);
  EXPECT_LT(ratios.back(), 2.0);
}

// 72 devices of a rack, by coreweave/nccl-tests pull request 43, from tables of 4 in one tray.
TEST(PublishedRackRuns, AreWithinTheIntervalOfFarMoreRanks) {
  const NodeType& node = **FindNodeType("gb200-nvl72");
  const LinkTimes times(&node, {ReferenceCollectives("gb200")});
  const struct {
    double bytes;
    double seconds;
  } runs[] = {{512 * kPublishedMiB, 1806.7e-6},
              {1024 * kPublishedMiB, 3108.8e-6},
              {2048 * kPublishedMiB, 5589.1e-6},
              {4096 * kPublishedMiB, 10094e-6},
              {8192 * kPublishedMiB, 20299e-6}};
  for (const auto& run : runs) {
    const auto time = times.TimeOf(kReduce, Bytes(std::llround(run.bytes)), {1, 72});
    ASSERT_THAT(time, IsOk());
    EXPECT_EQ(time->basis, KernelBasis::kOutsideGrid);
    EXPECT_LE(time->low.value(), run.seconds);
    EXPECT_GE(time->high.value(), run.seconds);
    EXPECT_NEAR(time->expected.value() / run.seconds, 1, 0.35) << run.bytes;
  }
}

}  // namespace
}  // namespace sextant
