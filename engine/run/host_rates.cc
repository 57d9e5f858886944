#include "engine/run/host_rates.h"

#include <algorithm>
#include <iterator>

#include "engine/hardware/host_link.h"

namespace sextant {

absl::optional<BytesPerSecond> HostLinkOf(const RunSpec& run, const ResolvedRun& resolved,
                                          std::vector<Rate>& used) {
  return PinnedHostLink({.models = run.cluster.device.models(),
                         .measured_by = run.cluster.device.source(),
                         .accelerator = resolved.accelerator,
                         .node = resolved.node,
                         .link_line_rate = run.cluster.host_link_bytes_per_second},
                        used);
}

void ResolveHostRates(const RunSpec& run, ResolvedRun& out) {
  if (!run.layout.has_value()) return;
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
