// Devices in nodes, as named in a request.
#ifndef SEXTANT_ENGINE_HARDWARE_LINKS_NODE_GROUP_H_
#define SEXTANT_ENGINE_HARDWARE_LINKS_NODE_GROUP_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "engine/hardware/accelerator.h"
#include "engine/hardware/links/network.h"
#include "engine/hardware/links/node_type.h"

namespace sextant {

inline constexpr int64_t kMaxNodes = 1'000'000;

struct NodeGroupRequest {
  std::string node_type = {};    // empty: the accelerator's only type
  std::string accelerator = {};  // may be empty if node_type is given
  // The field that names it, for violations.
  std::string accelerator_field = "device.accelerator";
  int64_t node_count = 0;      // 0: one
  int64_t ranks_per_node = 0;  // 0: all devices of a node
  NetworkRequest network = {};
};

struct NodeGroup {
  const NodeType* node = nullptr;
  const Accelerator* accelerator = nullptr;  // null: not given, and the type comes with several
  RankGroup group = {};
  absl::optional<Network> network = {};  // absent for one node
};

// Errors: kInvalidArgument, all at once: `node_type` where neither it nor an accelerator is named,
// or the accelerator comes in several types; an accelerator that comes in no type, or not in this
// one; `node_count`, `ranks_per_node` out of range; those of ResolveNetwork(). Else kNotFound:
// NODE_TYPE_UNKNOWN, GPU_UNKNOWN, NETWORK_UNKNOWN.
absl::StatusOr<NodeGroup> ResolveNodes(const NodeGroupRequest& request);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_LINKS_NODE_GROUP_H_
