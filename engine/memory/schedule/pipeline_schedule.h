// Pipeline schedules: the order in which stages process the micro-batches of a step, and the
// layouts that each schedule supports.
#ifndef SEXTANT_ENGINE_MEMORY_SCHEDULE_PIPELINE_SCHEDULE_H_
#define SEXTANT_ENGINE_MEMORY_SCHEDULE_PIPELINE_SCHEDULE_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "engine/base/field_violation.h"
#include "engine/model/sharding/parallel_layout.h"

namespace sextant {

enum class PipelineSchedule {
  kOneForwardOneBackward,  // 1F1B; interleaved where a stage has several chunks
  kGPipe,                  // all forwards, then all backwards
  kZeroBubbleH1,           // backward split in two, with as many in flight as 1F1B
  kZeroBubbleH2,           // no bubble, with more in flight
  kDualPipe,               // fed from both ends: a stage holds its own and its opposite's layers
};

// "1f1b", "gpipe", "zb_h1", "zb_h2", "dualpipe".
absl::string_view PipelineScheduleName(PipelineSchedule schedule);

struct PipelineSpec {
  PipelineSchedule schedule = PipelineSchedule::kOneForwardOneBackward;
  int64_t micro_batch_count = 1;  // per step and data parallel rank
  // The first micro-batches of a step whose weight gradients of the output head wait until the last
  // stage's last backward pass; more than there are: all.
  int64_t deferred_head_gradients = 0;
};

// One unit of a stage's work: one micro-batch on one chunk of layers.
enum class ScheduleWork {
  kForward,
  kBackward,        // both halves
  kInputGradient,   // first half of a split pass: B of arXiv 2401.10241, section 2
  kWeightGradient,  // second half, W: only the optimizer waits for it
};

inline constexpr int64_t kMaxMicroBatches = 1'000'000'000;

// Appends to `violations` all errors of `pipeline` for `layout`, whose own sizes have passed
// CheckLayout(), under the paths of a run's request:
//   interleaved stages (virtual_stage_count > 1) need 1F1B, and micro_batch_count in whole
//   rounds of pipeline_parallel_size (arXiv 2104.04473, section 2.2);
//   deferred_head_gradients needs several stages, and 1F1B: other schedules put off all weight
//   gradients, or have no such time;
//   DualPipe needs an even number of stages, and an even number of micro-batches, at least two
//   per stage (dualpipe.py: docs/memory_schedules.md).
void CheckPipeline(const PipelineSpec& pipeline, const ParallelLayout& layout,
                   FieldViolations& violations);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MEMORY_SCHEDULE_PIPELINE_SCHEDULE_H_
