// How a model is cut over GPUs, from the wire.
#ifndef SEXTANT_SERVER_CONVERT_PARALLEL_LAYOUT_H_
#define SEXTANT_SERVER_CONVERT_PARALLEL_LAYOUT_H_

#include "absl/strings/string_view.h"
#include "engine/base/field_violation.h"
#include "engine/model/sharding/parallel_layout.h"
#include "sextant/v1/model_count.pb.h"

namespace sextant {

// `layout`, which stands at `path`. Sizes that are present and 0 are appended to `violations`:
// what stands for a default is to leave it out.
ParallelLayout ParallelLayoutFrom(const v1::ParallelLayout& layout, absl::string_view path,
                                  FieldViolations& violations);

}  // namespace sextant

#endif  // SEXTANT_SERVER_CONVERT_PARALLEL_LAYOUT_H_
