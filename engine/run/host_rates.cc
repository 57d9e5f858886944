#include "engine/run/host_rates.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "engine/hardware/host_link.h"

namespace sextant {
namespace {

// A server of the run's nodes, with the memory that the request gives or else theirs.
HostServer ServerOf(const RunSpec& run, const ResolvedRun& resolved) {
  HostServer out;
  if (resolved.node != nullptr) {
    const NodeType& node = *resolved.node;
    out.name = std::string(node.name);
    out.device_count = HostDevicesOf(node);
    const LinkDatum memory =
        HostMemoryOf(node, resolved.accelerator != nullptr ? resolved.accelerator->name : "");
    if (memory) {
      out.memory = Bytes(static_cast<int64_t>(memory.value));
      out.citation = SourceOf(memory);
    }
  }
  if (run.cluster.host_memory_bytes.has_value()) {
    out.memory = Bytes(*run.cluster.host_memory_bytes);
    out.whole = true;
    out.citation = "the request";
  }
  return out;
}

}  // namespace

absl::optional<BytesPerSecond> HostLinkOf(const RunSpec& run, const ResolvedRun& resolved,
                                          std::vector<Rate>& used) {
  return PinnedHostLink({.models = run.cluster.device.models(),
                         .measured_by = run.cluster.device.source(),
                         .accelerator = resolved.accelerator,
                         .node = resolved.node,
                         .link_line_rate = run.cluster.host_link_bytes_per_second},
                        used);
}

void ResolveHost(const RunSpec& run, ResolvedRun& out) {
  if (!run.layout.has_value()) return;
  out.server = ServerOf(run, out);
  const bool offloads = run.layout->sharding.offload_optimizer;
  if (!offloads && run.options.search == SearchExtent::kNone) return;
  std::vector<Rate> used;
  out.host.link = HostLinkOf(run, out, used).value_or(BytesPerSecond());
  out.host.update = HostUpdateRate({.accelerator = out.accelerator,
                                    .node = out.node,
                                    .memory_line_rate = run.cluster.host_memory_bytes_per_second},
                                   used)
                        .value_or(BytesPerSecond());
  if (!offloads) return;
  std::move(used.begin(), used.end(), std::back_inserter(out.rates));
}

}  // namespace sextant
