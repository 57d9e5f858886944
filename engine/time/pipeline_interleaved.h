// Interleaved 1F1B, tick by tick.
#ifndef SEXTANT_ENGINE_TIME_PIPELINE_INTERLEAVED_H_
#define SEXTANT_ENGINE_TIME_PIPELINE_INTERLEAVED_H_

#include <array>

#include "absl/types/optional.h"
#include "engine/time/pipeline_time.h"

namespace sextant {

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

#endif  // SEXTANT_ENGINE_TIME_PIPELINE_INTERLEAVED_H_
