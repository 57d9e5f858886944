// How long devices take to exchange bytes, within a node and across nodes.
#ifndef SEXTANT_ENGINE_HARDWARE_LINKS_LINK_TIMES_H_
#define SEXTANT_ENGINE_HARDWARE_LINKS_LINK_TIMES_H_

#include <utility>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "engine/base/units.h"
#include "engine/hardware/kernels/kernel_time.h"
#include "engine/hardware/links/collective.h"
#include "engine/hardware/links/collective_model.h"
#include "engine/hardware/links/network.h"
#include "engine/hardware/links/network_model.h"
#include "engine/hardware/links/node_type.h"

namespace sextant {

class LinkTimes {
 public:
  // `collectives`: measured within a node of this type, the user's own or the published ones; null:
  // the datasheet answers. Both outlive this. `network`: absent for a single node.
  LinkTimes(const NodeType* node, const CollectiveModel* collectives,
            absl::optional<Network> network = absl::nullopt)
      : node_(node), collectives_(collectives), network_(std::move(network)) {}

  // One call of `op` among `group`, nothing else on the links; a send goes to another node where
  // the group has several. 0 for one rank. In one node of as many ranks as were measured or more,
  // the measured times; else the datasheet. Never below what the bytes take at the links' rates.
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
  const CollectiveModel* collectives_;
  absl::optional<Network> network_;
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_LINKS_LINK_TIMES_H_
