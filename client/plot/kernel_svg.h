// Charts of kernels' efficiency over size, as one SVG document.
#ifndef SEXTANT_CLIENT_PLOT_KERNEL_SVG_H_
#define SEXTANT_CLIENT_PLOT_KERNEL_SVG_H_

#include <string>
#include <vector>

#include "client/plot/kernel_chart.h"

namespace sextant::client {

// The charts one below the other, with intervals as bars and sources below.
std::string KernelChartsSvg(const std::vector<KernelChart>& charts);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_PLOT_KERNEL_SVG_H_
