// Bus bandwidth of exchanges against their size, as pictures show it.
#ifndef SEXTANT_CLIENT_LINK_CHART_H_
#define SEXTANT_CLIENT_LINK_CHART_H_

#include <string>

#include "client/kernel_chart.h"
#include "sextant/v1/hardware_service.pb.h"

namespace sextant {

// A line an operation, in GB/s. What isn't above 0 is left out, and lines without two sizes.
KernelChart LinkChartOf(const v1::GetLinkTimesResponse& response);

// "2 nodes of 8 ranks, dgx-h100".
std::string LinkGroupName(const v1::NodeSpec& nodes);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_LINK_CHART_H_
