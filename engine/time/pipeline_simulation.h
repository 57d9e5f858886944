// The orders of a pipeline's stages, pass by pass.
#ifndef SEXTANT_ENGINE_TIME_PIPELINE_SIMULATION_H_
#define SEXTANT_ENGINE_TIME_PIPELINE_SIMULATION_H_

#include <cstdint>
#include <vector>

#include "absl/types/optional.h"
#include "engine/memory/schedule/schedule_order.h"
#include "engine/time/pipeline_time.h"

namespace sextant {

struct SimulatedSeconds {
  double total = 0;
  double longest_stage = 0;
};

// The orders that a simulation has made, for the next one of the same stages.
struct PipelineOrders {
  int64_t micro_batch_count = 0;
  std::vector<std::vector<WorkItem>> stages = {};
  int64_t passes = 0;  // that all simulations of them have run
};

// A pass begins when its stage is free and its input has arrived: what the chunk before it on the
// way made, `send` later. DualPipe's pairs begin when both can, take as long as one after the
// other, and end together: OrderOfStage() has them. Absent where the time doesn't settle within
// kMaxPipelinePasses.
//
// Long steps: the orders for a few micro-batches begin as those for more do. Where each pass of
// the last micro-batches came d (of its own) later than the one q micro-batches before, and that
// one d after its own, further passes do the same until a stage waits for something else than
// before: n q micro-batches are left out by adding n d to the ends of these passes.
absl::optional<SimulatedSeconds> SimulatePipeline(const PipelineInput& in, double send,
                                                  PipelineOrders& orders);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_TIME_PIPELINE_SIMULATION_H_
