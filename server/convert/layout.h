// A run's layout: the wire's as the engine's RunLayout, and the layouts that a search found as
// messages, both by the engine's table of fields.
#ifndef SEXTANT_SERVER_CONVERT_LAYOUT_H_
#define SEXTANT_SERVER_CONVERT_LAYOUT_H_

#include "absl/strings/string_view.h"
#include "engine/base/field_violation.h"
#include "engine/run/run_spec.h"
#include "engine/search/layout_search.h"
#include "sextant/v1/layout.pb.h"
#include "sextant/v1/layout_search.pb.h"
#include "sextant/v1/model_count.pb.h"
#include "sextant/v1/planning_service.pb.h"

namespace sextant::server {

// `layout`, which stands at `path`. What only the wire can get wrong is appended to `violations`:
// enum numbers out of range.
RunLayout RunLayoutFrom(const v1::RunLayout& layout, absl::string_view path,
                        FieldViolations& violations);

// Those that `m` gives.
ParallelSizes ParallelSizesFrom(const v1::ParallelLayout& m);

// Fills `out`, which is empty. Layouts are those of `request` with what was chosen. `full`: also
// the alternatives and the front.
void LayoutSearchTo(const SearchedPlan& searched, const v1::PlanRunRequest& request, bool full,
                    v1::LayoutSearchResult* out);

// Fills `out`, which is empty.
void SearchProgressTo(const SearchProgress& progress, const v1::PlanRunRequest& request,
                      v1::SearchProgress* out);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_CONVERT_LAYOUT_H_
