#include "engine/hardware/links/network.h"

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

constexpr double kLeastRate = 1e6;
constexpr double kMostRate = 1e13;

std::vector<KnownName> Names() {
  std::vector<KnownName> out;
  for (const NamedNetwork& network : kNetworks) out.push_back({network.name, network.product_name});
  return out;
}

}  // namespace

absl::Span<const NamedNetwork> NamedNetworks() { return kNetworks; }

absl::StatusOr<const NamedNetwork*> FindNetwork(absl::string_view name) {
  const std::string wanted = ComparableName(name);
  for (const NamedNetwork& network : kNetworks) {
    if (ComparableName(network.name) == wanted || ComparableName(network.product_name) == wanted) {
      return &network;
    }
  }
  return WithReason(
      absl::NotFoundError(UnknownNameMessage("network", name, Names(), "docs/links.md")),
      "NETWORK_UNKNOWN");
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
                            {kLeastRate, kMostRate});
    if (!violations.empty()) return violations.ToStatus();
    return Network{.bytes_per_second = request.bytes_per_second, .citation = "the request"};
  }
  if (!node.network_rate) return NetworkMissing(node, node_count);
  return Network{.bytes_per_second = node.network_rate.value,
                 .citation = absl::StrCat(node.name, ": ", SourceOf(node.network_rate))};
}

}  // namespace sextant
