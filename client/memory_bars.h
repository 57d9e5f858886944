// Memory by pipeline stage as bars of letters.
#ifndef SEXTANT_CLIENT_MEMORY_BARS_H_
#define SEXTANT_CLIENT_MEMORY_BARS_H_

#include <string>

#include "client/memory_chart.h"

namespace sextant {

// A line a bar, on a scale that ends at what is usable or beyond, with a mark where that ends; an
// axis below and a legend. No line has more than kTextWidth columns.
std::string MemoryBars(const MemoryChart& chart);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_MEMORY_BARS_H_
