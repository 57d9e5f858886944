// The time of a step by cause, as an SVG document.
#ifndef SEXTANT_CLIENT_PLOT_STEP_SVG_H_
#define SEXTANT_CLIENT_PLOT_STEP_SVG_H_

#include <string>

#include "sextant/v1/planning_service.pb.h"

namespace sextant::client {

// An SVG document: one bar of the step's parts, the longest first, with its interval, and a legend.
// `plan`, which answers `request`, has a step's time, above 0.
std::string StepSvg(const v1::PlanRunRequest& request, const v1::Plan& plan);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_PLOT_STEP_SVG_H_
