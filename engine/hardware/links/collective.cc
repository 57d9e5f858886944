#include "engine/hardware/links/collective.h"

#include <algorithm>

namespace sextant {

absl::string_view CollectiveOpName(CollectiveOp op) {
  switch (op) {
    case CollectiveOp::kAllReduce:
      return "all_reduce";
    case CollectiveOp::kAllGather:
      return "all_gather";
    case CollectiveOp::kReduceScatter:
      return "reduce_scatter";
    case CollectiveOp::kAllToAll:
      return "all_to_all";
    case CollectiveOp::kBroadcast:
      return "broadcast";
    case CollectiveOp::kSendReceive:
      return "send_receive";
  }
  return "unknown";
}

double WireShare(CollectiveOp op, int64_t ranks) {
  if (ranks < 2) return 0;
  const auto n = static_cast<double>(ranks);
  switch (op) {
    case CollectiveOp::kAllReduce:
      return 2 * (n - 1) / n;
    case CollectiveOp::kAllGather:
    case CollectiveOp::kReduceScatter:
    case CollectiveOp::kAllToAll:
      return (n - 1) / n;
    case CollectiveOp::kBroadcast:
    case CollectiveOp::kSendReceive:
      return 1;
  }
  return 1;
}

double InSwitchWireShare(CollectiveOp op, int64_t ranks) {
  return op == CollectiveOp::kAllReduce ? std::min(1.0, WireShare(op, ranks))
                                        : WireShare(op, ranks);
}

}  // namespace sextant
