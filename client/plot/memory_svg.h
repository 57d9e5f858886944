// Memory by pipeline stage, as an SVG document.
#ifndef SEXTANT_CLIENT_PLOT_MEMORY_SVG_H_
#define SEXTANT_CLIENT_PLOT_MEMORY_SVG_H_

#include <string>

#include "sextant/v1/plan.pb.h"

namespace sextant::client {

// An SVG document: a stacked bar a stage, or run of equal stages, with the usable memory and the
// estimate's interval. `plan` has memory by stage.
std::string MemorySvg(const v1::Plan& plan);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_PLOT_MEMORY_SVG_H_
