#include "engine/hardware/links/link_times.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "engine/base/checked_math.h"
#include "engine/base/field_violation.h"

namespace sextant {
namespace {

// An exabyte: whole numbers of it still fit a double's range of int64.
constexpr int64_t kMaxCallBytes = 1'000'000'000'000'000'000;

KernelTime AtLeast(KernelTime time, Seconds least) {
  time.expected = std::max(time.expected, least);
  time.low = std::max(time.low, least);
  time.high = std::max(time.high, time.expected);
  return time;
}

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

absl::Status LinkTimes::Check(Bytes bytes, const RankGroup& group) const {
  FieldViolations violations;
  violations.RequireRange("", "bytes", bytes.value(), 0, kMaxCallBytes);
  violations.RequireRange("group", "node_count", group.node_count, 1, 1'000'000);
  if (group.ranks_per_node < 1 || group.ranks_per_node > node_->device_count) {
    violations.Add("group.ranks_per_node",
                   absl::StrCat("must be 1 to ", node_->device_count, ", the devices of a ",
                                node_->name, ", not ", group.ranks_per_node));
  }
  if (!violations.empty()) return violations.ToStatus();
  if (group.node_count > 1 && !network_) return NetworkMissing(*node_, group.node_count);
  return absl::OkStatus();
}

const CollectiveModel* LinkTimes::Answering(CollectiveOp op, int64_t ranks) const {
  for (const CollectiveModel* model : measured_) {
    if (model != nullptr && model->Knows(op, ranks)) return model;
  }
  return nullptr;
}

KernelTime LinkTimes::WithinNode(const Collective& call) const {
  if (call.ranks < 2) return NoTime();
  const CollectiveModel* const model = Answering(call.op, call.ranks);
  return AtLeast(model != nullptr ? *model->TimeOf(call) : DatasheetCollectiveTime(*node_, call),
                 WireSeconds(*node_, call));
}

KernelTime LinkTimes::AcrossNodes(CollectiveOp op, Bytes bytes, const RankGroup& group) const {
  const auto within = [&](double size) {
    const Bytes part(RoundedInt(size));
    return WithinNode({op, part, group.ranks_per_node}).expected.value();
  };
  const NetworkCall call = {.op = op,
                            .bytes = static_cast<double>(bytes.value()),
                            .group = group,
                            .bytes_per_second = network_->bytes_per_second,
                            .switch_reduces = node_->switch_reduces && group.ranks_per_node > 1};
  const Seconds expected(SecondsAcrossNodes(call, within));
  const KernelTime time = {.expected = expected,
                           .low = expected * kNetworkLow,
                           .high = expected * kNetworkHigh,
                           .basis = KernelBasis::kDatasheet};
  return AtLeast(time, Seconds(LeastSecondsAcrossNodes(call)));
}

absl::StatusOr<KernelTime> LinkTimes::TimeOf(CollectiveOp op, Bytes bytes,
                                             const RankGroup& group) const {
  if (absl::Status status = Check(bytes, group); !status.ok()) return status;
  if (group.node_count > 1) return AcrossNodes(op, bytes, group);
  return WithinNode({op, bytes, group.ranks_per_node});
}

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
  // Latencies of published tables are 0.6 to 2.2 times NCCL's own estimate.
  return {.expected = latency + wire * (1 / share.expected),
          .low = latency * 0.6 + wire * (1 / share.high),
          .high = latency * 2.2 + wire * (1 / share.low),
          .basis = KernelBasis::kDatasheet};
}

}  // namespace sextant
