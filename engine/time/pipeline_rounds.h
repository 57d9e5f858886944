// 1F1B with one chunk a stage, round by round.
#ifndef SEXTANT_ENGINE_TIME_PIPELINE_ROUNDS_H_
#define SEXTANT_ENGINE_TIME_PIPELINE_ROUNDS_H_

#include "absl/types/optional.h"
#include "engine/time/pipeline_time.h"

namespace sextant {

// From the first pass to the last, both of the first stage. Absent where the time doesn't settle
// within kMaxPipelinePasses.
//
// Round r of stage i is the forward pass of micro-batch r and the backward pass of micro-batch
// r - (p - 1 - i), where there are such. The ends y of the stages' rounds decide those of the next
// round, y' = A y:
//   forward_i = max(y_i, forward_(i-1) + send) + f_i
//   y'_i      = max(forward_i, y_(i+1) + send) + b_i
// Once q rounds have added the same times d twice, n more times q rounds add n d, as long as that
// holds for the last of them: what A^q adds beyond d is a maximum of linear functions of n, so it
// is convex, and where it is 0 at 0, 1 and n it is 0 in between. A is linear over maximum and
// addition: Baccelli et al. 1992, "Synchronization and Linearity", chapter 3.
//
// Adds the passes that it runs to `passes`.
absl::optional<double> OneForwardOneBackwardSeconds(const PipelineInput& in, double send,
                                                    int64_t& passes);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_TIME_PIPELINE_ROUNDS_H_
