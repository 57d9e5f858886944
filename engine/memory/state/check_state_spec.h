// What a request for model state must be to fit a model and its layout.
#ifndef SEXTANT_ENGINE_MEMORY_STATE_CHECK_STATE_SPEC_H_
#define SEXTANT_ENGINE_MEMORY_STATE_CHECK_STATE_SPEC_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "engine/base/field_violation.h"
#include "engine/memory/state/state_spec.h"
#include "engine/model/architecture/architecture_spec.h"
#include "engine/model/sharding/parallel_layout.h"

namespace sextant {

// Upper ends far beyond any job.
inline constexpr int64_t kMaxDataParallelSize = 16'777'216;
inline constexpr int64_t kMaxQuantizedBlockSize = 1'048'576;
inline constexpr int64_t kMinQuantizedBlockSize = 8;  // scales stay smaller than what they scale

// Appends to `violations` all that is wrong with `state` for `spec` and `layout`, which
// CheckArchitecture() and CheckLayout() have passed, and a context_parallel_size that
// CheckMicroBatch() has, under paths that start with `path`: sizes out of range, ranks that don't
// divide what they share, and options that contradict each other or that nothing would heed.
void CheckStateSpec(const StateSpec& state, const ArchitectureSpec& spec,
                    const ParallelLayout& layout, int64_t context_parallel_size,
                    absl::string_view path, FieldViolations& violations);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MEMORY_STATE_CHECK_STATE_SPEC_H_
