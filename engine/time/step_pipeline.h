// The stages of a step as a pipeline. docs/step_time.md, "Pipelines".
#ifndef SEXTANT_ENGINE_TIME_STEP_PIPELINE_H_
#define SEXTANT_ENGINE_TIME_STEP_PIPELINE_H_

#include <cstddef>

#include "absl/types/span.h"
#include "engine/time/step_time.h"

namespace sextant {

struct StepPipelineSeconds {
  double total = 0;    // what the optimizer waits for
  double sends = 0;    // of the total
  int64_t passes = 0;  // PipelineTime::passes
};

// `seconds`: of StepInput::stages; `send`: one way.
StepPipelineSeconds PipelineOf(const StepInput& in, absl::Span<const StageSeconds> seconds,
                               double send);

// No longer than PipelineOf() with any time of a send, for stages that take turns one way and wait
// for each other; else 0:
//   min(way(s) + m work(s), m work(slowest) + (p - 1) mean chunk)   of the stage s with the most
// where way(s) is the first micro-batch's forward through the stages before s, and the last one's
// backward through them. The second term is PipelineMethod::kApproximation's.
double LeastPipelineOf(const StepInput& in, absl::Span<const StageSeconds> seconds);

// The index of the stages whose layers the devices of `kind`, an index of StepInput::stages, hold
// too, where micro-batches enter at both ends: stages that are alike have opposites that are. Else
// `kind`.
size_t OppositeOf(const StepInput& in, size_t kind);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_TIME_STEP_PIPELINE_H_
