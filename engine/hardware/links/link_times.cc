#include "engine/hardware/links/link_times.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "engine/base/field_violation.h"
#include "engine/hardware/links/datasheet_collective.h"

namespace sextant {
namespace {

// An exabyte: whole numbers of it still fit a double's range of int64.
constexpr int64_t kMostCallBytes = 1'000'000'000'000'000'000;

KernelTime AtLeast(KernelTime time, Seconds least) {
  time.expected = std::max(time.expected, least);
  time.low = std::max(time.low, least);
  time.high = std::max(time.high, time.expected);
  return time;
}

}  // namespace

absl::Status LinkTimes::Check(Bytes bytes, const RankGroup& group) const {
  FieldViolations violations;
  violations.RequireRange("", "bytes", bytes.value(), 0, kMostCallBytes);
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

KernelTime LinkTimes::WithinNode(const Collective& call) const {
  if (call.ranks < 2) return NoTime();
  absl::optional<KernelTime> measured;
  if (collectives_ != nullptr) measured = collectives_->TimeOf(call);
  return AtLeast(measured ? *measured : DatasheetCollectiveTime(*node_, call),
                 WireSeconds(*node_, call));
}

KernelTime LinkTimes::AcrossNodes(CollectiveOp op, Bytes bytes, const RankGroup& group) const {
  const auto within = [&](double size) {
    const Bytes part(static_cast<int64_t>(std::llround(size)));
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

}  // namespace sextant
