// Collectives within a node that nobody measured.
#ifndef SEXTANT_ENGINE_HARDWARE_LINKS_DATASHEET_COLLECTIVE_H_
#define SEXTANT_ENGINE_HARDWARE_LINKS_DATASHEET_COLLECTIVE_H_

#include "engine/hardware/kernels/kernel_time.h"
#include "engine/hardware/links/collective.h"
#include "engine/hardware/links/node_type.h"

namespace sextant {

// Shares of a link's datasheet rate that large collectives reached: `expected` the median of the
// published tables that are engine/hardware/reference, the others their range, a little outwards.
struct ReachedShare {
  double low;
  double expected;
  double high;
};
// NVLink, all but all_reduce in the switch.
inline constexpr ReachedShare kNvlinkShare = {0.36, 0.64, 0.78};
// all_reduce in the switch, of InSwitchWireShare().
inline constexpr ReachedShare kInSwitchShare = {0.43, 0.57, 0.73};
// PCIe, which depends on what stands between the cards.
inline constexpr ReachedShare kPcieShare = {0.04, 0.4, 0.7};

// Latency by steps of a ring and the base, as NCCL reckons them, plus the bytes at the reached
// share of the datasheet's rate. 0 for one rank.
KernelTime DatasheetCollectiveTime(const NodeType& node, const Collective& call);

// The same at the whole rate: what planners without measurements say, and never too long for a
// link's bytes. The accuracy report compares with it.
Seconds LinkRateSeconds(const NodeType& node, const Collective& call);

// The time that the bytes alone take at the whole rate: no call is faster.
Seconds WireSeconds(const NodeType& node, const Collective& call);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_LINKS_DATASHEET_COLLECTIVE_H_
