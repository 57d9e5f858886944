// The network between nodes.
#ifndef SEXTANT_ENGINE_HARDWARE_LINKS_NETWORK_H_
#define SEXTANT_ENGINE_HARDWARE_LINKS_NETWORK_H_

#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "engine/hardware/links/collective.h"
#include "engine/hardware/links/node_type.h"

namespace sextant {

// A named network, as one adapter port: line rate in one direction.
struct NamedNetwork {
  absl::string_view name;          // "ib-ndr"
  absl::string_view product_name;  // "InfiniBand NDR, 400 Gb/s"
  double bytes_per_second = 0;
  absl::string_view source;  // the source of its line rate
};

// RDMA networks, slowest first. Sockets over Ethernet reach far less and are not included.
absl::Span<const NamedNetwork> NamedNetworks();

// Errors: kNotFound with reason NETWORK_UNKNOWN; the message lists near names.
absl::StatusOr<const NamedNetwork*> FindNetwork(absl::string_view name);

// A request's network: at most one of the two.
struct NetworkRequest {
  // One of NamedNetworks(), with one adapter port per device.
  absl::string_view name = "";
  // Line rate of one device in one direction, 1e6 to 1e13; 0: not given.
  double bytes_per_second = 0;
};

struct Network {
  double bytes_per_second = 0;  // line rate of one device in one direction
  std::string citation;         // "ib-ndr: InfiniBand NDR, 400 Gb/s; one port a device"
};

// The network among `node_count` nodes (2 or more) of type `node`: the one in `request`, else the
// type's default.
//
// Errors: kInvalidArgument naming `network` where neither gives one, or `request` gives both or
// one out of range; those of FindNetwork().
absl::StatusOr<Network> ResolveNetwork(const NodeType& node, int64_t node_count,
                                       const NetworkRequest& request);

// The error where `node_count` nodes of type `node` have no network: kInvalidArgument naming
// `network`, and how to give one.
absl::Status NetworkMissing(const NodeType& node, int64_t node_count);

// Share of the line rate. A maintainer of NCCL expects "46-48 GB/s per NIC" of 400 Gb/s
// (NVIDIA/nccl-tests issue 290): the middle. Others' 24 GB/s of 200 Gb/s (issue 119) and 192 GB/s
// of 8 x 200 Gb/s (NVIDIA/nccl issue 812) are 0.96.
inline constexpr double kNetworkRateShare = 0.94;

// Measured over predicted time, the 10th and 90th percentile of the published runs that
// tests/engine/hardware/links/network_test.cc compares.
inline constexpr double kNetworkLow = 0.88;
inline constexpr double kNetworkHigh = 1.35;

// Ranks of one call, the same number in each node. With one per node, other devices of the node
// may communicate at the same time: every device has its own adapter.
struct RankGroup {
  int64_t node_count = 1;
  int64_t ranks_per_node = 1;

  constexpr int64_t ranks() const { return node_count * ranks_per_node; }
};

struct NetworkCall {
  CollectiveOp op = CollectiveOp::kAllReduce;
  double bytes = 0;             // Collective::bytes
  RankGroup group;              // two nodes or more
  double bytes_per_second = 0;  // line rate of one device's adapter, one direction
  bool switch_reduces = false;  // NodeType::switch_reduces
};

// Seconds of the same operation among the ranks of one node, by Collective::bytes; 0 for one rank.
using WithinNode = absl::FunctionRef<double(double bytes)>;

// Expected seconds of `call`. Never falls as bytes grow.
double SecondsAcrossNodes(const NetworkCall& call, WithinNode within);

// A lower bound at that line rate: the bytes that must cross each adapter.
double LeastSecondsAcrossNodes(const NetworkCall& call);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_LINKS_NETWORK_H_
