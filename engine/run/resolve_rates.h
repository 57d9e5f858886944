// The hardware figures of a run: peak, measured rate, memory, power.
#ifndef SEXTANT_ENGINE_RUN_RESOLVE_RATES_H_
#define SEXTANT_ENGINE_RUN_RESOLVE_RATES_H_

#include "engine/base/field_violation.h"
#include "engine/run/resolve.h"
#include "engine/run/run_spec.h"

namespace sextant {

// Fills the figures of `out`, whose devices are known, and its `rates`. Where several sources
// have a figure, the request's comes first, then what was measured, then the datasheet's.
// Appends to `violations` what no source has, and memory that leaves nothing to use.
void ResolveRates(const RunSpec& run, ResolvedRun& out, FieldViolations& violations);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_RUN_RESOLVE_RATES_H_
