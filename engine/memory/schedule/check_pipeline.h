// What a schedule must be to run on a layout.
#ifndef SEXTANT_ENGINE_MEMORY_SCHEDULE_CHECK_PIPELINE_H_
#define SEXTANT_ENGINE_MEMORY_SCHEDULE_CHECK_PIPELINE_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "engine/base/field_violation.h"
#include "engine/memory/schedule/pipeline_schedule.h"
#include "engine/model/sharding/parallel_layout.h"

namespace sextant {

inline constexpr int64_t kMaxMicroBatches = 1'000'000'000;

// Appends to `violations` all that is wrong with `pipeline` for `layout`, whose own sizes
// CheckLayout() has passed, under `path`.pipeline and `path`.layout:
//   interleaved stages (virtual_stage_count > 1) are of 1F1B, and take micro_batch_count in whole
//   rounds of pipeline_parallel_size (arXiv 2104.04473, section 2.2);
//   DualPipe takes an even number of stages, and an even number of micro-batches, two a stage or
//   more (dualpipe.py: docs/memory_schedules.md).
void CheckPipeline(const PipelineSpec& pipeline, const ParallelLayout& layout,
                   absl::string_view path, FieldViolations& violations);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MEMORY_SCHEDULE_CHECK_PIPELINE_H_
