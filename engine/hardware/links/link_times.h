// How long devices take to exchange bytes, within a node and across nodes.
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
#include "engine/hardware/links/network_model.h"
#include "engine/hardware/links/node_type.h"

namespace sextant {

class LinkTimes {
 public:
  // `measured`: within a node of this type, best first, e.g. the user's own, then the published
  // ones. The first that knows an operation among so many ranks answers for it; where none does,
  // the datasheet. Nulls are passed over; all others outlive this. `network`: absent for a single
  // node.
  LinkTimes(const NodeType* node, std::vector<const CollectiveModel*> measured,
            absl::optional<Network> network = absl::nullopt)
      : node_(node), measured_(std::move(measured)), network_(std::move(network)) {}

  // The one of `measured` that answers for `op` among `ranks` of a node; null: the datasheet.
  const CollectiveModel* Answering(CollectiveOp op, int64_t ranks) const;

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
  std::vector<const CollectiveModel*> measured_;
  absl::optional<Network> network_;
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_LINKS_LINK_TIMES_H_
