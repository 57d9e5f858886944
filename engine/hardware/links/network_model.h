// Collectives across nodes: a latency and a rate for each way in which NCCL runs them. Nothing here
// was measured on the user's network; docs/links.md derives each line and compares it with
// published runs.
#ifndef SEXTANT_ENGINE_HARDWARE_LINKS_NETWORK_MODEL_H_
#define SEXTANT_ENGINE_HARDWARE_LINKS_NETWORK_MODEL_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "engine/hardware/links/collective.h"

namespace sextant {

// Of the line rate. A maintainer of NCCL expects "46-48 GB/s per NIC" of 400 Gb/s
// (NVIDIA/nccl-tests issue 290): the middle. Others' 24 GB/s of 200 Gb/s (issue 119) and 192 GB/s
// of 8 x 200 Gb/s (NVIDIA/nccl issue 812) are 0.96.
inline constexpr double kNetworkRateShare = 0.94;

// Measured over predicted, the tenth lowest and highest of the published runs that
// tests/engine/hardware/links/published_network_test.cc compares.
inline constexpr double kNetworkLow = 0.88;
inline constexpr double kNetworkHigh = 1.35;

// Ranks of one call, as many in each node. With one in each, others of the node may talk at the
// same time: every device has an adapter of its own.
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
  bool switch_reduces = false;  // NodeType's
};

// Seconds of the same operation among the ranks of one node, by Collective::bytes; 0 for one rank.
using WithinNode = absl::FunctionRef<double(double bytes)>;

// Expected seconds of `call`. Never falls as bytes grow.
double SecondsAcrossNodes(const NetworkCall& call, WithinNode within);

// Below which no network of that line rate gets: the bytes that must cross each adapter.
double LeastSecondsAcrossNodes(const NetworkCall& call);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_LINKS_NETWORK_MODEL_H_
