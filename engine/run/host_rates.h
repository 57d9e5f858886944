// The rates of a run's host: of the link to its devices, and of an optimizer's step there.
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

// Fills in `out.host`, whose devices and nodes are known, where the layout offloads or a search
// may. Where it offloads, both figures are among `out.rates`.
void ResolveHostRates(const RunSpec& run, ResolvedRun& out);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_RUN_HOST_RATES_H_
