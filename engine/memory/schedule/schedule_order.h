// What each stage of a pipeline does, one thing after the other.
#ifndef SEXTANT_ENGINE_MEMORY_SCHEDULE_SCHEDULE_ORDER_H_
#define SEXTANT_ENGINE_MEMORY_SCHEDULE_SCHEDULE_ORDER_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/memory/schedule/pipeline_schedule.h"
#include "engine/memory/schedule/schedule_work.h"
#include "engine/model/sharding/parallel_layout.h"

namespace sextant {

struct WorkItem {
  ScheduleWork work = ScheduleWork::kForward;
  int64_t micro_batch = 0;  // under DualPipe, of those that enter at the same end
  int64_t chunk = 0;        // of the stage's: InFlight::chunk_count() says which those are
  // A forward pass that runs together with the next item, a backward pass: neither begins before
  // both can, nor sends what it made before both end (DualPipe's F&B).
  bool with_next = false;
};

// Far more than a step of any job has on a stage.
inline constexpr int64_t kMaxOrderItems = 1 << 24;

// The order of `stage` for a step, each micro-batch once through each chunk, forward and backward.
// CheckPipeline() has passed `pipeline` and `layout`. Sources: docs/memory_schedules.md.
//
// Errors: kInvalidArgument "pipeline" above kMaxOrderItems.
absl::StatusOr<std::vector<WorkItem>> OrderOfStage(const PipelineSpec& pipeline,
                                                   const ParallelLayout& layout, int64_t stage);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MEMORY_SCHEDULE_SCHEDULE_ORDER_H_
