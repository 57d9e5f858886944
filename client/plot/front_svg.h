// The front of a layout search as an SVG document.
#ifndef SEXTANT_CLIENT_PLOT_FRONT_SVG_H_
#define SEXTANT_CLIENT_PLOT_FRONT_SVG_H_

#include <string>

#include "client/plot/front_chart.h"

namespace sextant::client {

// An SVG document: step time against memory, the points that have a letter with their intervals and
// in a list, every point with a tooltip that has its flags. There is at least one point.
std::string FrontSvg(const FrontChart& chart);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_PLOT_FRONT_SVG_H_
