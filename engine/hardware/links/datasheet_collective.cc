#include "engine/hardware/links/datasheet_collective.h"

#include "absl/strings/match.h"

namespace sextant {
namespace {

// baseLat and hwLat of a ring by the LL protocol, NVIDIA/nccl src/graph/tuning.cc @b6475625fbca.
constexpr double kBase = 6.6e-6;
constexpr double kNvlinkStep = 0.6e-6;
constexpr double kPcieStep = 1e-6;

bool OnPcie(const NodeType& node) { return absl::StartsWith(node.link, "PCIe"); }

double LatencyOf(const NodeType& node, const Collective& call) {
  const double rounds = call.op == CollectiveOp::kSendReceive ? 1
                        : call.op == CollectiveOp::kAllReduce
                            ? 2 * static_cast<double>(call.ranks - 1)
                            : static_cast<double>(call.ranks - 1);
  return kBase + rounds * (OnPcie(node) ? kPcieStep : kNvlinkStep);
}

const ReachedShare& ShareOf(const NodeType& node, CollectiveOp op) {
  if (OnPcie(node)) return kPcieShare;
  return node.switch_reduces && op == CollectiveOp::kAllReduce ? kInSwitchShare : kNvlinkShare;
}

}  // namespace

Seconds WireSeconds(const NodeType& node, const Collective& call) {
  const double share =
      node.switch_reduces ? InSwitchWireShare(call.op, call.ranks) : WireShare(call.op, call.ranks);
  return Seconds(static_cast<double>(call.bytes.value()) * share / node.link_rate.value);
}

Seconds LinkRateSeconds(const NodeType& node, const Collective& call) {
  if (call.ranks < 2) return {};
  return Seconds(LatencyOf(node, call)) + WireSeconds(node, call);
}

KernelTime DatasheetCollectiveTime(const NodeType& node, const Collective& call) {
  if (call.ranks < 2) return NoTime();
  const Seconds latency(LatencyOf(node, call));
  const Seconds wire = WireSeconds(node, call);
  const ReachedShare& share = ShareOf(node, call.op);
  // Latencies of published tables were 0.6 to 2.2 times NCCL's own reckoning.
  return {.expected = latency + wire * (1 / share.expected),
          .low = latency * 0.6 + wire * (1 / share.high),
          .high = latency * 2.2 + wire * (1 / share.low),
          .basis = KernelBasis::kDatasheet};
}

}  // namespace sextant
