// The result of a search for a layout, as a message.
#ifndef SEXTANT_SERVER_CONVERT_LAYOUT_SEARCH_H_
#define SEXTANT_SERVER_CONVERT_LAYOUT_SEARCH_H_

#include "engine/search/layout_search.h"
#include "sextant/v1/layout_search.pb.h"
#include "sextant/v1/planning_service.pb.h"

namespace sextant::server {

// Fills `out`, which is empty. Layouts are those of `request` with what was chosen. `full`: also
// the alternatives and the front.
void LayoutSearchTo(const SearchedPlan& searched, const v1::PlanRunRequest& request, bool full,
                    v1::LayoutSearchResult* out);

// Fills `out`, which is empty.
void SearchProgressTo(const SearchProgress& progress, const v1::PlanRunRequest& request,
                      v1::SearchProgress* out);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_CONVERT_LAYOUT_SEARCH_H_
