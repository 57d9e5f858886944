// What a parallel layout must be to fit a model.
#ifndef SEXTANT_ENGINE_MODEL_SHARDING_CHECK_LAYOUT_H_
#define SEXTANT_ENGINE_MODEL_SHARDING_CHECK_LAYOUT_H_

#include "absl/strings/string_view.h"
#include "engine/base/field_violation.h"
#include "engine/model/architecture/architecture_spec.h"
#include "engine/model/sharding/parallel_layout.h"

namespace sextant {

// Appends to `violations` all that is wrong with `layout` for `spec`, which CheckArchitecture() has
// passed, under paths that start with `path` (e.g. "layout"): sizes out of range, layers that
// don't divide into chunks, and a size that doesn't divide what it cuts, with the nearest smaller
// one that does.
void CheckLayout(const ArchitectureSpec& spec, const ParallelLayout& layout, absl::string_view path,
                 FieldViolations& violations);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_SHARDING_CHECK_LAYOUT_H_
