// Efficiency of kernels against their size, as one SVG.
#ifndef SEXTANT_CLIENT_KERNEL_CHART_SVG_H_
#define SEXTANT_CLIENT_KERNEL_CHART_SVG_H_

#include <string>
#include <vector>

#include "client/kernel_chart.h"

namespace sextant {

// The charts below one another, with intervals as bars and sources below.
std::string KernelChartsSvg(const std::vector<KernelChart>& charts);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_KERNEL_CHART_SVG_H_
