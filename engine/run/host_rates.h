// A run's host: its memory, the rate of its link to the devices, and of an optimizer's step there.
#ifndef SEXTANT_ENGINE_RUN_HOST_RATES_H_
#define SEXTANT_ENGINE_RUN_HOST_RATES_H_

#include <vector>

#include "absl/types/optional.h"
#include "engine/base/units.h"
#include "engine/hardware/rates.h"
#include "engine/run/resolve.h"
#include "engine/run/run_spec.h"

namespace sextant {

// PinnedHostLink() of the devices of `run`.
absl::optional<BytesPerSecond> HostLinkOf(const RunSpec& run, const ResolvedRun& resolved,
                                          std::vector<Rate>& used);

// Fills in `out.server`, where there is a layout, and `out.host` where it offloads or a search may.
// The devices and nodes of `out` are known. Where it offloads, both rates are among `out.rates`.
void ResolveHost(const RunSpec& run, ResolvedRun& out);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_RUN_HOST_RATES_H_
