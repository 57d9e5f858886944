// Pictures of answers, each an SVG document.
#ifndef SEXTANT_CLIENT_PLOT_PICTURES_H_
#define SEXTANT_CLIENT_PLOT_PICTURES_H_

#include <string>
#include <vector>

#include "client/plot/front_chart.h"
#include "client/plot/kernel_chart.h"
#include "client/plot/roofline_chart.h"
#include "sextant/v1/plan.pb.h"
#include "sextant/v1/planning_service.pb.h"

namespace sextant::client {

// An SVG document: step time against memory, the points that have a letter with their intervals and
// in a list, every point with a tooltip that has its flags. There is at least one point.
std::string FrontSvg(const FrontChart& chart);

// The charts one below the other, with intervals as bars and sources below.
std::string KernelChartsSvg(const std::vector<KernelChart>& charts);

// An SVG document: a stacked bar a stage, or run of equal stages, with the usable memory and the
// estimate's interval. `plan` has memory by stage.
std::string MemorySvg(const v1::Plan& plan);

// 800 pixels wide, about 500 high: the chart, a legend with every point's figures, and the
// sources of the rates.
std::string RooflineSvg(const RooflineChart& chart);

// An SVG document: one bar of the step's parts, the longest first, with its interval, and a legend.
// `plan`, which answers `request`, has a step's time, above 0.
std::string StepSvg(const v1::PlanRunRequest& request, const v1::Plan& plan);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_PLOT_PICTURES_H_
