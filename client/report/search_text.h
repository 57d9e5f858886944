// What a search for a layout found, for people.
#ifndef SEXTANT_CLIENT_REPORT_SEARCH_TEXT_H_
#define SEXTANT_CLIENT_REPORT_SEARCH_TEXT_H_

#include <string>

#include "sextant/v1/layout_search.pb.h"
#include "sextant/v1/plan.pb.h"

namespace sextant::client {

// What was considered, and the best layouts as a table. Starts with an empty line and its title; ""
// where nothing was searched for.
std::string SearchSection(const v1::Plan& plan);

// "--tp=8 --pp=4 ...": the flags that give what a search chooses.
std::string LayoutFlags(const v1::LayoutOption& option);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_REPORT_SEARCH_TEXT_H_
