// Efficiency of kernels against their size, drawn in the terminal.
#ifndef SEXTANT_CLIENT_KERNEL_CHART_PLOT_H_
#define SEXTANT_CLIENT_KERNEL_CHART_PLOT_H_

#include <string>

#include "client/kernel_chart.h"

namespace sextant {

// Every line ended. Each curve's letter stands at its largest size.
std::string KernelChartPlot(const KernelChart& chart);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_KERNEL_CHART_PLOT_H_
