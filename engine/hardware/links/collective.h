// A collective operation, its bytes and its ranks.
#ifndef SEXTANT_ENGINE_HARDWARE_LINKS_COLLECTIVE_H_
#define SEXTANT_ENGINE_HARDWARE_LINKS_COLLECTIVE_H_

#include <array>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "engine/base/units.h"
#include "engine/hardware/kernels/kernel_time.h"

namespace sextant {

enum class CollectiveOp {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kAllToAll,
  kBroadcast,
  kSendReceive,  // from one rank to one other, as between pipeline stages
};

inline constexpr std::array kCollectiveOps = {
    CollectiveOp::kAllReduce, CollectiveOp::kAllGather, CollectiveOp::kReduceScatter,
    CollectiveOp::kAllToAll,  CollectiveOp::kBroadcast, CollectiveOp::kSendReceive};

// "all_reduce".
absl::string_view CollectiveOpName(CollectiveOp op);

// One call. `bytes` are those of nccl-tests' size column: the buffer of each rank (all_reduce,
// broadcast, send_receive), the gathered whole (all_gather), each rank's whole input
// (reduce_scatter) or whole send buffer, its own part included (all_to_all).
struct Collective {
  CollectiveOp op = CollectiveOp::kAllReduce;
  Bytes bytes;
  int64_t ranks = 1;
};

// The time of a single rank: exactly 0.
constexpr KernelTime NoTime() {
  return {.expected = {}, .low = {}, .high = {}, .basis = KernelBasis::kMeasured};
}

// The share of Collective::bytes that must leave, or reach, a rank: 2 (n - 1) / n for all_reduce,
// (n - 1) / n for all_gather, reduce_scatter and all_to_all, 1 for the others; 0 for one rank.
// nccl-tests' doc/PERFORMANCE.md calls it the factor of the bus bandwidth; Chan et al. 2007,
// section 3, proves that the first three are lower bounds where ranks reduce. A switch that
// reduces (NVLink SHARP) makes all_reduce cheaper: see InSwitchWireShare().
double WireShare(CollectiveOp op, int64_t ranks);

// WireShare() where the switch reduces: each rank of an all_reduce sends its buffer once and
// receives the sum once, in opposite directions of the link.
double InSwitchWireShare(CollectiveOp op, int64_t ranks);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_LINKS_COLLECTIVE_H_
