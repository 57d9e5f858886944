// 1F1B, interleaved or not, whose chunks take the same but for the first and the last one.
#ifndef SEXTANT_ENGINE_TIME_PIPELINE_FORMULA_H_
#define SEXTANT_ENGINE_TIME_PIPELINE_FORMULA_H_

#include <cstdint>

#include "absl/types/optional.h"

namespace sextant {

// Seconds of one micro-batch.
struct PassPair {
  double forward = 0;
  double backward = 0;

  double all() const { return forward + backward; }
};

struct EvenPipeline {
  int64_t stage_count = 1;
  int64_t chunk_count = 1;  // of a stage
  int64_t micro_batch_count = 1;
  PassPair chunk = {};
  PassPair first = {};  // what the first chunk of the first stage takes beyond that
  PassPair last = {};   // what the last chunk of the last stage takes

  // One micro-batch on the last stage.
  double last_stage() const {
    return static_cast<double>(chunk_count) * chunk.all() + last.all() +
           (stage_count == 1 ? first.all() : 0);
  }
};

// The step, whose sends take `send` seconds one way. Absent where the last stage does not decide:
// one of the ends takes less than the other chunks; or the first chunk longer than the last one, of
// interleaved stages by more than all micro-batches have to spare; or sends of interleaved stages
// longer than a pass of a chunk. docs/step_time.md, "Pipelines", has the formula; tests compare it
// with passes that are run one by one.
absl::optional<double> EvenPipelineSeconds(const EvenPipeline& of, double send);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_TIME_PIPELINE_FORMULA_H_
