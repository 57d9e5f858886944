// What joins nodes.
#ifndef SEXTANT_ENGINE_HARDWARE_LINKS_NETWORK_H_
#define SEXTANT_ENGINE_HARDWARE_LINKS_NETWORK_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "engine/hardware/links/node_type.h"

namespace sextant {

// A network by name, one adapter port of it: line rate in one direction.
struct NamedNetwork {
  absl::string_view name;          // "ib-ndr"
  absl::string_view product_name;  // "InfiniBand NDR, 400 Gb/s"
  double bytes_per_second = 0;
  absl::string_view source;  // where its line rate was read
};

// RDMA networks, slower first. Sockets over Ethernet reach far less and are none of them.
absl::Span<const NamedNetwork> NamedNetworks();

// Errors: kNotFound with reason NETWORK_UNKNOWN; the message lists near names.
absl::StatusOr<const NamedNetwork*> FindNetwork(absl::string_view name);

// As a request says it: at most one of the two.
struct NetworkRequest {
  // Of NamedNetworks(), one adapter port for each device.
  absl::string_view name = "";
  // Line rate of one device in one direction, 1e6 to 1e13; 0: not said.
  double bytes_per_second = 0;
};

struct Network {
  double bytes_per_second = 0;  // line rate of one device in one direction
  std::string citation;         // "ib-ndr: InfiniBand NDR, 400 Gb/s; one port a device"
};

// The network among `node_count` nodes (2 or more) of type `node`: what `request` says, else what
// the type comes with.
//
// Errors: kInvalidArgument naming `network` where neither says it, or `request` says it twice or
// out of range; those of FindNetwork().
absl::StatusOr<Network> ResolveNetwork(const NodeType& node, int64_t node_count,
                                       const NetworkRequest& request);

// That `node_count` nodes of type `node` need one: kInvalidArgument naming `network`, and what to
// write.
absl::Status NetworkMissing(const NodeType& node, int64_t node_count);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_LINKS_NETWORK_H_
