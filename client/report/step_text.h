// The predicted time of a step for people.
#ifndef SEXTANT_CLIENT_REPORT_STEP_TEXT_H_
#define SEXTANT_CLIENT_REPORT_STEP_TEXT_H_

#include <string>

#include "sextant/v1/plan.pb.h"

namespace sextant::client {

// The step's time, its parts as a table with bars, and what higher rates would save. Starts with an
// empty line and its title; "" where the plan has no time of a step.
std::string StepSection(const v1::Plan& plan);

// The software's constants with their sources, in the words of the command line; "" where the
// answer has none.
std::string SoftwareSection(const v1::Plan& plan);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_REPORT_STEP_TEXT_H_
