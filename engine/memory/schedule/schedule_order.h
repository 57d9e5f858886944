// The order of each pipeline stage's work.
#ifndef SEXTANT_ENGINE_MEMORY_SCHEDULE_SCHEDULE_ORDER_H_
#define SEXTANT_ENGINE_MEMORY_SCHEDULE_SCHEDULE_ORDER_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/memory/schedule/pipeline_schedule.h"
#include "engine/model/sharding/parallel_layout.h"

namespace sextant {

struct WorkItem {
  ScheduleWork work = ScheduleWork::kForward;
  int64_t micro_batch = 0;  // under DualPipe, among those that enter at the same end
  int64_t chunk = 0;        // index within the stage: see InFlight::chunk_count()
  // A forward pass that overlaps with the next item, a backward pass: neither begins before both
  // can, nor sends its result before both end (DualPipe's F&B).
  bool with_next = false;
};

// Far more than any stage has in a step.
inline constexpr int64_t kMaxOrderItems = 1 << 24;

// The order of `stage`'s work in a step: each micro-batch once through each chunk, forward and
// backward. `pipeline` and `layout` have passed CheckPipeline(). Sources:
// docs/memory_schedules.md.
//
// Errors: kInvalidArgument "pipeline" above kMaxOrderItems.
absl::StatusOr<std::vector<WorkItem>> OrderOfStage(const PipelineSpec& pipeline,
                                                   const ParallelLayout& layout, int64_t stage);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MEMORY_SCHEDULE_SCHEDULE_ORDER_H_
