// The 80 % interval of a step, from the doubt about each of its parts. Derivation:
// docs/step_time.md, "The interval of a step".
#ifndef SEXTANT_ENGINE_TIME_STEP_INTERVAL_H_
#define SEXTANT_ENGINE_TIME_STEP_INTERVAL_H_

#include "engine/time/operation_pricer.h"
#include "engine/time/step_time.h"

namespace sextant {

// The interval around `out.seconds.expected`, whose parts are those of `in`.
SecondsInterval StepInterval(const StepInput& in, const StepEstimate& out);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_TIME_STEP_INTERVAL_H_
