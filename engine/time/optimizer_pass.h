// The bytes that an optimizer step reads and writes, wherever it runs.
#ifndef SEXTANT_ENGINE_TIME_OPTIMIZER_PASS_H_
#define SEXTANT_ENGINE_TIME_OPTIMIZER_PASS_H_

#include "engine/memory/ledger/memory_job.h"
#include "engine/model/sharding/sharded_weights.h"
#include "engine/model/trace/trace.h"

namespace sextant {

// Trainable parameters of `weights`, those of a stage, on one rank.
struct RankParameters {
  double held = 0;     // whose gradients it keeps
  double updated = 0;  // whose step it does
};
RankParameters RankParametersOf(const MemoryJob& job, const StageWeights& weights);

// Reads gradients, reads and writes master weights and the optimizer's numbers, and writes weights.
// Source: docs/step_time.md, "Once a step".
PassWork OptimizerPass(const StateSpec& state, double parameters);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_TIME_OPTIMIZER_PASS_H_
