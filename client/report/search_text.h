// The result of a search for a layout, as text.
#ifndef SEXTANT_CLIENT_REPORT_SEARCH_TEXT_H_
#define SEXTANT_CLIENT_REPORT_SEARCH_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "sextant/v1/layout_search.pb.h"
#include "sextant/v1/plan.pb.h"

namespace sextant::client {

// The number of layouts considered, and the best as a table. Starts with an empty line and its
// title; "" where nothing was searched for.
std::string SearchSection(const v1::Plan& plan);

// The best layouts, up to `count`, a line each of at most `width` columns, after two lines of
// heads;
// "" where nothing was searched for.
std::string BestLayouts(const v1::Plan& plan, size_t count, size_t width);

// "12,288 of 41,048 layouts; 8.03 s: tp 4 sp pp 4 ...", the best so far.
std::string SearchProgressWords(const v1::SearchProgress& progress, int64_t device_count);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_REPORT_SEARCH_TEXT_H_
