// What is wrong with a run's layout, taken beside the rest of the run.
#ifndef SEXTANT_ENGINE_RUN_CHECK_RUN_LAYOUT_H_
#define SEXTANT_ENGINE_RUN_CHECK_RUN_LAYOUT_H_

#include "engine/base/field_violation.h"
#include "engine/run/run_spec.h"

namespace sextant {

// Appends to `violations` what a layout needs and doesn't have, what it excludes, and what nothing
// is for without one. Its own sizes are checked where they become a job: job.h.
void CheckRunLayout(const RunSpec& run, FieldViolations& violations);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_RUN_CHECK_RUN_LAYOUT_H_
