// A roofline as an SVG document.
#ifndef SEXTANT_CLIENT_PLOT_ROOFLINE_SVG_H_
#define SEXTANT_CLIENT_PLOT_ROOFLINE_SVG_H_

#include <string>

#include "client/plot/roofline_chart.h"

namespace sextant::client {

// 800 pixels wide, about 500 high: the chart, a legend with every point's figures, and the
// sources of the rates.
std::string RooflineSvg(const RooflineChart& chart);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_PLOT_ROOFLINE_SVG_H_
