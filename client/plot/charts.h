// The charts of answers, each as a Plot.
#ifndef SEXTANT_CLIENT_PLOT_CHARTS_H_
#define SEXTANT_CLIENT_PLOT_CHARTS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/plot/plot.h"
#include "sextant/v1/accounting_service.pb.h"
#include "sextant/v1/hardware_service.pb.h"
#include "sextant/v1/plan.pb.h"
#include "sextant/v1/planning_service.pb.h"

namespace sextant::client {

// A stacked bar a stage, or run of equal stages, of the kinds of memory, with the usable memory and
// the estimate's interval. `plan` has memory by stage.
Plot MemoryPlot(const v1::Plan& plan);

// One bar of the step's parts, the longest first, with its interval. `plan`, which answers
// `request`, has a step's time, above 0.
Plot StepPlot(const v1::PlanRunRequest& request, const v1::Plan& plan);

// A picture shows the intervals of the points that have a letter; a terminal has no room for them.
enum class Medium { kTerminal, kPicture };

// The front of the plan's search, the least memory for each time of a step, as far as three times
// the fastest: what is slower would press the layouts that anyone chooses into a corner. At most 12
// points have a letter, evenly spaced, the first and the last among them. Times and sizes that no
// run has, such as 0, are left out; where that is all, there is no mark.
Plot FrontPlot(const v1::Plan& plan, Medium medium);

// It in text, with its title; "" where there are fewer than two layouts.
std::string FrontSection(const v1::Plan& plan);

// Kernels' efficiency over size: a plot a kind in the answer's order, a line a data type. Shares
// are of the datasheet's dense peak where every curve of the kind has one, else of each line's
// fastest size. Sizes and rates that aren't above 0 are left out, and so are lines of fewer than
// two points.
std::vector<Plot> KernelPlots(const v1::GetKernelRatesResponse& response);

// "square matmul", "token matmul", "causal attention".
std::string KernelKindName(v1::KernelKind kind);

// The meaning of a kind's size: "n of n x n x n".
std::string KernelSizeName(v1::KernelKind kind);

// Bus bandwidth in GB/s over size, a line an operation; leaves out what KernelPlots() does.
Plot LinkPlot(const v1::GetLinkTimesResponse& response);

// "2 nodes of 8 ranks, dgx-h100".
std::string LinkGroupName(const v1::NodeSpec& nodes);

// Attained FLOP/s over arithmetic intensity, below the roofs of a device. The axes hold all points,
// the roofs, and enough of the slope to span two powers of ten. Errors: kFailedPrecondition where
// the answer names no device, or has rates that are zero or not finite and can't be drawn.
absl::StatusOr<Plot> RooflinePlot(const v1::AnalyzeOperationResponse& response);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_PLOT_CHARTS_H_
