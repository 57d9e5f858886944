#include "engine/hardware/links/network_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>

namespace sextant {
namespace {

// What any call across nodes takes before its first byte moves: two nodes of H20 answer in 46 us
// (NVIDIA/nccl issue 1244), of which the node itself takes 16 and two hops 10.
constexpr double kStart = 20e-6;

// A protocol of NCCL: its latency a step, and the share of the rate that it can use.
struct Protocol {
  double step;
  double rate_share;
};

// hwLat and busBw of NVIDIA/nccl src/graph/tuning.cc @b6475625fbca, network rows: LL, then Simple.
// The row of NVLS tree stands for trees, whatever reduces within the node.
constexpr std::array<Protocol, 2> kRing = {{{2.7e-6, 0.25}, {14e-6, 1}}};
constexpr std::array<Protocol, 2> kTree = {{{5e-6, 0.25}, {14e-6, 1}}};
// Each peer of another node in an all_to_all, by the first row of kRing.
constexpr double kPeer = 2.7e-6;

// What NCCL has under way before the first byte is through: its default buffer of 4 MiB for each
// of 16 channels.
constexpr double kPipeBytes = 16.0 * 4 * 1024 * 1024;

// Bytes that cross the adapters of one node, a byte of the message, in the ring of all ranks that
// NCCL builds: WireShare() of all ranks, as each node's part of the ring enters it once.
double RingShare(const NetworkCall& call) { return WireShare(call.op, call.group.ranks()); }

// NCCL's trees send the buffer up and the sum down: twice through an inner node, but once each way
// between two nodes, where the tree is a pair ("Ring: (S / N) x 2 (N - 1), Tree: S": NVIDIA/nccl
// issue 812). Published runs show the latter only where the switch reduces within the node.
double TreeShare(const NetworkCall& call) {
  return call.switch_reduces && call.group.node_count == 2 ? 1 : 2;
}

double RateOfNode(const NetworkCall& call) {
  return call.bytes_per_second * static_cast<double>(call.group.ranks_per_node);
}

// The network and the node at work at once, each on what the other has done: the slower runs
// through; the faster adds what the pipe holds before it is full, and of a short message much.
double Pipelined(double network, double within, double network_fill, double within_fill) {
  return std::max(network, within) + std::min(network_fill, within_fill);
}

double RingSeconds(const NetworkCall& call, double steps, double within) {
  const double network = call.bytes * RingShare(call) / (RateOfNode(call) * kNetworkRateShare);
  double best = INFINITY;
  for (const Protocol& p : kRing) {
    best = std::min(best, steps * p.step + std::max(network / p.rate_share, within));
  }
  return best;
}

double TreeSeconds(const NetworkCall& call, WithinNode within) {
  const double hops = 2 * std::log2(static_cast<double>(call.group.node_count));
  const double held = call.bytes * (kPipeBytes / (kPipeBytes + call.bytes));
  const double rate = RateOfNode(call) * kNetworkRateShare / TreeShare(call);
  const double whole_within = within(call.bytes);
  const double held_within = within(held);
  double best = INFINITY;
  for (const Protocol& p : kTree) {
    best =
        std::min(best, hops * p.step + Pipelined(call.bytes / (rate * p.rate_share), whole_within,
                                                 held / (rate * p.rate_share), held_within));
  }
  return best;
}

double AllToAllSeconds(const NetworkCall& call, WithinNode within) {
  const auto ranks = static_cast<double>(call.group.ranks());
  const double away = ranks - static_cast<double>(call.group.ranks_per_node);
  const double network = call.bytes * (away / ranks) / (call.bytes_per_second * kNetworkRateShare);
  const double home = call.bytes * static_cast<double>(call.group.ranks_per_node) / ranks;
  return away * kPeer + std::max(network, within(home));
}

double SendSeconds(const NetworkCall& call) {
  double best = INFINITY;
  for (const Protocol& p : kRing) {
    best = std::min(
        best, p.step + call.bytes / (call.bytes_per_second * kNetworkRateShare * p.rate_share));
  }
  return best;
}

}  // namespace

double SecondsAcrossNodes(const NetworkCall& call, WithinNode within) {
  const auto others = static_cast<double>(call.group.node_count - 1);
  switch (call.op) {
    case CollectiveOp::kAllReduce:
      // Where the switch reduces, NCCL runs trees of switches; elsewhere the faster of both.
      if (call.switch_reduces) return kStart + TreeSeconds(call, within);
      return kStart +
             std::min(RingSeconds(call, 2 * others, within(call.bytes)), TreeSeconds(call, within));
    case CollectiveOp::kAllGather:
    case CollectiveOp::kReduceScatter:
    case CollectiveOp::kBroadcast:
      return kStart + RingSeconds(call, others, within(call.bytes));
    case CollectiveOp::kAllToAll:
      return kStart + AllToAllSeconds(call, within);
    case CollectiveOp::kSendReceive:
      return kStart + SendSeconds(call);
  }
  return kStart;
}

double LeastSecondsAcrossNodes(const NetworkCall& call) {
  const auto nodes = static_cast<double>(call.group.node_count);
  // What a node as a whole must send, shared by its adapters; a send has one.
  const double adapters =
      call.op == CollectiveOp::kSendReceive ? 1 : static_cast<double>(call.group.ranks_per_node);
  double share = WireShare(call.op, call.group.node_count);
  if (call.op == CollectiveOp::kAllToAll) {
    share = static_cast<double>(call.group.ranks_per_node) * (nodes - 1) / nodes;
  }
  return call.bytes * share / (call.bytes_per_second * adapters);
}

}  // namespace sextant
