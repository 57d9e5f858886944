// How a run is spread over its devices, from the wire.
#ifndef SEXTANT_SERVER_CONVERT_RUN_LAYOUT_H_
#define SEXTANT_SERVER_CONVERT_RUN_LAYOUT_H_

#include "absl/strings/string_view.h"
#include "engine/base/field_violation.h"
#include "engine/run/run_layout.h"
#include "sextant/v1/layout.pb.h"

namespace sextant {

// `layout`, which stands at `path`. What only the wire can get wrong is appended to `violations`:
// enum numbers out of range, and optional sizes that are present but zero.
RunLayout RunLayoutFrom(const v1::RunLayout& layout, absl::string_view path,
                        FieldViolations& violations);

}  // namespace sextant

#endif  // SEXTANT_SERVER_CONVERT_RUN_LAYOUT_H_
