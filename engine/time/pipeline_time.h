// The time of a step's forward and backward passes on a pipeline of stages.
// docs/step_time.md, "Pipelines", has the formulas.
#ifndef SEXTANT_ENGINE_TIME_PIPELINE_TIME_H_
#define SEXTANT_ENGINE_TIME_PIPELINE_TIME_H_

#include <array>
#include <cstdint>

#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "engine/base/units.h"
#include "engine/memory/schedule/pipeline_schedule.h"
#include "engine/model/sharding/parallel_layout.h"

namespace sextant {

// The time of one micro-batch on one chunk of a stage.
struct ChunkTime {
  Seconds forward;
  Seconds input_gradient;   // with what it recomputes
  Seconds weight_gradient;  // a whole backward pass is both
};

struct PipelineInput {
  const PipelineSpec& pipeline;  // has passed CheckPipeline() for `layout`
  const ParallelLayout& layout;
  // Chunk c of stage i is at i * InFlight::chunk_count() + c; under DualPipe, chunk 1 is the
  // opposite stage's layers. Finite and not negative.
  absl::Span<const ChunkTime> chunks;
  Seconds send;  // exposed time to pass a micro-batch to another stage, one way
};

enum class PipelineMethod {
  kFormula,     // of even stages
  kSimulation,  // of the stages' orders, exact
  // The formula for even stages with the mean of all chunks and the work of the slowest stage:
  // the simulation would take more than kMaxPipelinePasses, or doesn't settle in as many. Exact
  // for even stages without sends where these formulas are.
  kApproximation,
};

// Passes that one answer may simulate, and half as many for the end of the step.
inline constexpr int64_t kMaxPipelinePasses = 200'000;

struct PipelineTime {
  // From the first pass of the first stage to the end of the last pass of any stage: of a step
  // whose optimizer waits for all stages.
  Seconds total;
  // The longest that a stage takes from its own first pass to its last. Less than `total` where
  // stages end one after the other, as they began: of a step whose optimizer doesn't wait.
  Seconds longest_stage;
  Seconds work;   // of the stage that works longest: all of its passes
  Seconds sends;  // total less what it is where `send` is 0
  PipelineMethod method = PipelineMethod::kFormula;
  int64_t passes = 0;  // that were run to find it

  // The rest of the total.
  Seconds bubble() const { return total - work - sends; }
};

// No cost grows with the number of micro-batches but with its logarithm, and nothing is allocated
// for GPipe, for even stages or for 1F1B of up to 16 stages.
PipelineTime TimeOfPipeline(const PipelineInput& in);

// Seconds at two times of a send, which take little longer to find than one.
using InterleavedTimes = std::array<double, 2>;

// The time from the first pass to the last, both of the first stage, at each of `sends`: the result
// of SimulatePipeline(), from all passes, without its queue and its lists. Absent if there are too
// many passes: SimulatePipeline() skips repeats.
//
// In tick t stage i runs its (t - i)-th forward pass and its (t - w + i)-th backward pass, if there
// are such; w = 2 (p - 1) + (v - 1) p is the first stage's warm-up. The order of each stage is
// OrderOfStage()'s, and what a pass waits for ended in the tick before, or with the forward pass of
// its own tick.
absl::optional<InterleavedTimes> InterleavedSeconds(const PipelineInput& in,
                                                    const InterleavedTimes& sends);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_TIME_PIPELINE_TIME_H_
