// A run's layout: the wire's as the engine's RunLayout, and what a search changed in it back, both
// by the engine's table of fields.
#ifndef SEXTANT_SERVER_CONVERT_RUN_LAYOUT_H_
#define SEXTANT_SERVER_CONVERT_RUN_LAYOUT_H_

#include "absl/strings/string_view.h"
#include "engine/base/field_violation.h"
#include "engine/run/run_spec.h"
#include "sextant/v1/layout.pb.h"
#include "sextant/v1/model_count.pb.h"

namespace sextant::server {

// `layout`, which stands at `path`. What only the wire can get wrong is appended to `violations`:
// enum numbers out of range.
RunLayout RunLayoutFrom(const v1::RunLayout& layout, absl::string_view path,
                        FieldViolations& violations);

// Those that `m` gives.
ParallelSizes ParallelSizesFrom(const v1::ParallelLayout& m);

// Sets the fields of `out`, which is `given`, that `chosen` has otherwise.
void ChangedLayoutTo(const RunLayout& given, const RunLayout& chosen, v1::RunLayout* out);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_CONVERT_RUN_LAYOUT_H_
