// A roofline in a terminal.
#ifndef SEXTANT_CLIENT_ROOFLINE_PLOT_H_
#define SEXTANT_CLIENT_ROOFLINE_PLOT_H_

#include <string>

#include "client/roofline_chart.h"

namespace sextant {

// A section "Roofline": at most kTextWidth columns, legible without colour. The legend below it
// holds every point's figures and what the roofs are.
std::string RooflinePlot(const RooflineChart& chart);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_ROOFLINE_PLOT_H_
