#include "engine/hardware/links/network.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/base/field_violation.h"
#include "engine/base/near_names.h"
#include "engine/base/reason.h"

namespace sextant {
namespace {

constexpr double kGigabit = 1e9 / 8;

constexpr char kEdr[] = "forums.developer.nvidia.com 207166: 100 Gb/s (4x EDR)";
constexpr char kHdr[] = "infinibandta.org, revised roadmap: HDR is 50 Gb/s a lane; four lanes";
constexpr char kNdr[] = "Linux commit f946e45f59ef, IB/mlx5: NDR x4 is 400 Gb/s";
constexpr char kXdr[] = "nexuswise-c.com, InfiniBand XDR: 4 x 200 Gb/s a port";
constexpr char kInItsName[] = "the line rate that its name says";

// InfiniBand by the names of its generations, four lanes; RoCE by the line rate.
constexpr NamedNetwork kNetworks[] = {
    {"ib-edr", "InfiniBand EDR, 100 Gb/s", 100 * kGigabit, kEdr},
    {"roce-100", "RoCE v2, 100 Gb/s", 100 * kGigabit, kInItsName},
    {"ib-hdr", "InfiniBand HDR, 200 Gb/s", 200 * kGigabit, kHdr},
    {"roce-200", "RoCE v2, 200 Gb/s", 200 * kGigabit, kInItsName},
    {"ib-ndr", "InfiniBand NDR, 400 Gb/s", 400 * kGigabit, kNdr},
    {"roce-400", "RoCE v2, 400 Gb/s", 400 * kGigabit, kInItsName},
    {"ib-xdr", "InfiniBand XDR, 800 Gb/s", 800 * kGigabit, kXdr},
    {"roce-800", "RoCE v2, 800 Gb/s", 800 * kGigabit, kInItsName},
};

constexpr double kMinLinkRate = 1e6;
constexpr double kMaxLinkRate = 1e13;

std::vector<KnownName> Names() {
  std::vector<KnownName> out;
  for (const NamedNetwork& network : kNetworks) out.push_back({network.name, network.product_name});
  return out;
}

// The time of any call across nodes before its first byte: two nodes of H20 answer in 46 us
// (NVIDIA/nccl issue 1244), of which the node itself takes 16 and two hops 10.
constexpr double kStart = 20e-6;

// A protocol of NCCL: its latency per step, and its usable share of the rate.
struct Protocol {
  double step;
  double rate_share;
};

// hwLat and busBw of NVIDIA/nccl src/graph/tuning.cc @b6475625fbca, network rows: LL, then Simple.
// The row of NVLS tree is used for trees, whether or not the switch reduces.
constexpr std::array<Protocol, 2> kRing = {{{2.7e-6, 0.25}, {14e-6, 1}}};
constexpr std::array<Protocol, 2> kTree = {{{5e-6, 0.25}, {14e-6, 1}}};
// Latency per peer on another node in an all_to_all, from the first row of kRing.
constexpr double kPeer = 2.7e-6;

// NCCL's data in flight before the first byte is through: its default buffer of 4 MiB for each of
// 16 channels.
constexpr double kPipeBytes = 16.0 * 4 * 1024 * 1024;

// Bytes that cross a node's adapters per byte of the message, in NCCL's ring of all ranks:
// WireShare() of all ranks, because the ring enters each node once.
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

// The network and the node as a pipeline: the slower one determines the time; the faster one adds
// the time to fill the pipe, which is most of a short message.
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

absl::Span<const NamedNetwork> NamedNetworks() { return kNetworks; }

absl::StatusOr<const NamedNetwork*> FindNetwork(absl::string_view name) {
  if (const NamedNetwork* const found = FindNamed(NamedNetworks(), name)) return found;
  return WithReason(UnknownNameError("network", name, Names(), "docs/links.md"), "NETWORK_UNKNOWN");
}

absl::Status NetworkMissing(const NodeType& node, int64_t node_count) {
  std::vector<absl::string_view> names;
  for (const NamedNetwork& network : kNetworks) names.push_back(network.name);
  return InvalidField(
      "network", absl::StrCat("is missing: ", node_count, " nodes of type ", node.name,
                              " are joined by one, and the type says none; name one of ",
                              absl::StrJoin(names, ", "),
                              ", or give bytes_per_second, the line rate of one device's adapter"));
}

absl::StatusOr<Network> ResolveNetwork(const NodeType& node, int64_t node_count,
                                       const NetworkRequest& request) {
  if (!request.name.empty() && request.bytes_per_second != 0) {
    return InvalidField("network", "says both name and bytes_per_second: give one of them");
  }
  if (!request.name.empty()) {
    const absl::StatusOr<const NamedNetwork*> found = FindNetwork(request.name);
    if (!found.ok()) return found.status();
    return Network{.bytes_per_second = (*found)->bytes_per_second,
                   .citation = absl::StrCat((*found)->name, ": ", (*found)->product_name,
                                            "; one port a device")};
  }
  if (request.bytes_per_second != 0) {
    FieldViolations violations;
    violations.RequireRange("network", "bytes_per_second", request.bytes_per_second,
                            {kMinLinkRate, kMaxLinkRate});
    if (!violations.empty()) return violations.ToStatus();
    return Network{.bytes_per_second = request.bytes_per_second, .citation = "the request"};
  }
  if (!node.network_rate) return NetworkMissing(node, node_count);
  return Network{.bytes_per_second = node.network_rate.value,
                 .citation = absl::StrCat(node.name, ": ", SourceOf(node.network_rate))};
}

double SecondsAcrossNodes(const NetworkCall& call, WithinNode within) {
  const auto others = static_cast<double>(call.group.node_count - 1);
  switch (call.op) {
    case CollectiveOp::kAllReduce:
      // Where the switch reduces, NCCL runs trees of switches; elsewhere the faster of ring and
      // tree.
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
  // The bytes that a node sends, divided among its adapters; a send uses one.
  const double adapters =
      call.op == CollectiveOp::kSendReceive ? 1 : static_cast<double>(call.group.ranks_per_node);
  double share = WireShare(call.op, call.group.node_count);
  if (call.op == CollectiveOp::kAllToAll) {
    share = static_cast<double>(call.group.ranks_per_node) * (nodes - 1) / nodes;
  }
  return call.bytes * share / (call.bytes_per_second * adapters);
}

}  // namespace sextant
