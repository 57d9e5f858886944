// The order in which the stages of a pipeline work on the micro-batches of a step.
#ifndef SEXTANT_ENGINE_MEMORY_SCHEDULE_PIPELINE_SCHEDULE_H_
#define SEXTANT_ENGINE_MEMORY_SCHEDULE_PIPELINE_SCHEDULE_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace sextant {

enum class PipelineSchedule {
  kOneForwardOneBackward,  // 1F1B; interleaved where a stage has several chunks
  kGPipe,                  // all forwards, then all backwards
  kZeroBubbleH1,           // backward split in two, as many in flight as 1F1B
  kZeroBubbleH2,           // no bubble for more in flight
  kDualPipe,               // fed from both ends: a stage holds its own and its opposite's layers
};

// "1f1b", "gpipe", "zb_h1", "zb_h2", "dualpipe".
absl::string_view PipelineScheduleName(PipelineSchedule schedule);

struct PipelineSpec {
  PipelineSchedule schedule = PipelineSchedule::kOneForwardOneBackward;
  int64_t micro_batch_count = 1;  // a step's, of one data parallel rank
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MEMORY_SCHEDULE_PIPELINE_SCHEDULE_H_
