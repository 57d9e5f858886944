// What is below the axes of a plot's picture: keys, tables, notes and sources.
#ifndef SEXTANT_CLIENT_PLOT_SVG_LEGEND_H_
#define SEXTANT_CLIENT_PLOT_SVG_LEGEND_H_

#include <string>
#include <vector>

#include "client/plot/plot.h"
#include "client/plot/svg.h"

namespace sextant::client {

inline constexpr double kSvgWidth = 900;

// Draws it from the baseline and the left edge `at` on. Returns the baseline below it.
double DrawSvgLegend(const Plot& plot, const PlotPoint& at, SvgWriter& svg);

// The lines of a text, of up to `width` characters.
std::vector<std::string> SvgLines(const std::string& text, size_t width);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_PLOT_SVG_LEGEND_H_
