// A step's time and the software that it depends on.
#ifndef SEXTANT_SERVER_CONVERT_STEP_TIME_H_
#define SEXTANT_SERVER_CONVERT_STEP_TIME_H_

#include "engine/framework/software_stack.h"
#include "engine/run/step_plan.h"
#include "server/convert/notes.h"
#include "sextant/v1/layout.pb.h"
#include "sextant/v1/step_time.pb.h"

namespace sextant::server {

// Views into `m`, which outlives the result.
SoftwareSpec SoftwareFrom(const v1::SoftwareStack& m);

// Fills `out`, which is empty.
void StepTimeTo(const StepPlan& step, bool full, SourceNumbers& sources, v1::StepTime* out);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_CONVERT_STEP_TIME_H_
