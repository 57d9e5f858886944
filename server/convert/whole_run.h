// The parts of a run other than steps: interruptions, limits, checkpoints, data.
#ifndef SEXTANT_SERVER_CONVERT_WHOLE_RUN_H_
#define SEXTANT_SERVER_CONVERT_WHOLE_RUN_H_

#include "engine/base/field_violation.h"
#include "engine/run/plan.h"
#include "engine/run/run_spec.h"
#include "engine/run/whole_run.h"
#include "sextant/v1/cluster.pb.h"
#include "sextant/v1/whole_run.pb.h"

namespace sextant::server {

InterruptionSpec InterruptionsFrom(const v1::InterruptionSpec& m, FieldViolations& violations);

// The seconds from economics.start_time to the deadline; absent without a deadline.
absl::optional<double> SecondsToDeadline(const v1::EconomicsSpec& m, FieldViolations& violations);

void LimitTo(const LimitCheck& limit, v1::LimitCheck* out);

// Fills `out`, which is empty, from the whole run of `plan`.
void WholeRunTo(const Plan& plan, v1::WholeRun* out);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_CONVERT_WHOLE_RUN_H_
