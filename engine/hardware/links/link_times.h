// Communication times of devices, within a node and across nodes.
#ifndef SEXTANT_ENGINE_HARDWARE_LINKS_LINK_TIMES_H_
#define SEXTANT_ENGINE_HARDWARE_LINKS_LINK_TIMES_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "engine/base/units.h"
#include "engine/hardware/kernels/kernel_time.h"
#include "engine/hardware/links/collective.h"
#include "engine/hardware/links/collective_model.h"
#include "engine/hardware/links/network.h"
#include "engine/hardware/links/node_type.h"

namespace sextant {

class LinkTimes {
 public:
  // `measured`: models of a node of this type, best first, e.g. the user's own, then the published
  // ones. The first one that knows an operation at a rank count is used, else the datasheet. Nulls
  // are skipped; all others outlive this. `network`: absent for a single node.
  LinkTimes(const NodeType* node, std::vector<const CollectiveModel*> measured,
            absl::optional<Network> network = absl::nullopt)
      : node_(node), measured_(std::move(measured)), network_(std::move(network)) {}

  // The model of `measured` that is used for `op` among `ranks` of a node; null: the datasheet.
  const CollectiveModel* Answering(CollectiveOp op, int64_t ranks) const;

  // The time of one call of `op` among `group`, with nothing else on the links. A send crosses
  // nodes where the group has several. 0 for one rank. Within one node with at least the measured
  // number of ranks, measured times; else the datasheet. Never below the time of the bytes at the
  // links' rates.
  //
  // Errors: kInvalidArgument naming `group` without ranks or with more in a node than it has
  // devices, `bytes` below 0 or above 1e18, `network` for several nodes without one.
  absl::StatusOr<KernelTime> TimeOf(CollectiveOp op, Bytes bytes, const RankGroup& group) const;

  const NodeType& node() const { return *node_; }
  const absl::optional<Network>& network() const { return network_; }

 private:
  absl::Status Check(Bytes bytes, const RankGroup& group) const;
  KernelTime WithinNode(const Collective& call) const;
  KernelTime AcrossNodes(CollectiveOp op, Bytes bytes, const RankGroup& group) const;

  const NodeType* node_;
  std::vector<const CollectiveModel*> measured_;
  absl::optional<Network> network_;
};

// Shares of a link's datasheet rate that large collectives reach: `expected` is the median of the
// published tables in engine/hardware/reference, the others are their range, slightly widened.
struct ReachedShare {
  double low;
  double expected;
  double high;
};
// NVLink, except all_reduce in the switch.
inline constexpr ReachedShare kNvlinkShare = {0.36, 0.64, 0.78};
// all_reduce in the switch, relative to InSwitchWireShare().
inline constexpr ReachedShare kInSwitchShare = {0.43, 0.57, 0.73};
// PCIe, which depends on the topology between the cards.
inline constexpr ReachedShare kPcieShare = {0.04, 0.4, 0.7};

// The base latency and the ring's steps, as NCCL computes them, plus the bytes at the reached
// share of the datasheet's rate. 0 for one rank.
KernelTime DatasheetCollectiveTime(const NodeType& node, const Collective& call);

// The same at the full rate: the estimate of planners without measurements. It never overstates
// the time of the bytes. The accuracy report compares with it.
Seconds LinkRateSeconds(const NodeType& node, const Collective& call);

// The time of the bytes alone at the full rate: no call is faster.
Seconds WireSeconds(const NodeType& node, const Collective& call);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_LINKS_LINK_TIMES_H_
