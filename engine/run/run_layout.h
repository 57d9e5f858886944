// How a run is spread over its devices and carried out, as a request has it: what is absent has a
// default, and what other parts of the run say is filled in from there.
#ifndef SEXTANT_ENGINE_RUN_RUN_LAYOUT_H_
#define SEXTANT_ENGINE_RUN_RUN_LAYOUT_H_

#include <cstdint>

#include "absl/types/optional.h"
#include "engine/memory/activations/micro_batch.h"
#include "engine/memory/ledger/framework.h"
#include "engine/memory/schedule/pipeline_schedule.h"
#include "engine/memory/state/state_spec.h"
#include "engine/model/sharding/parallel_layout.h"

namespace sextant {

struct RunLayout {
  ParallelLayout parallel = {};
  absl::optional<int64_t> context_parallel_size = {};
  absl::optional<bool> sequence_parallel = {};
  absl::optional<int64_t> micro_batch_size = {};
  absl::optional<int64_t> global_batch_size = {};  // sequences
  PipelineSchedule schedule = PipelineSchedule::kOneForwardOneBackward;
  absl::optional<ZeroStage> zero_stage = {};
  StateSharding sharding = {};  // but for data_parallel_size and what has a field of its own here
  absl::optional<bool> reshard_after_forward = {};
  FrozenWeightFormat frozen = {};
  WeightScaling weight_scaling = WeightScaling::kNone;
  int64_t fp8_weight_copies = 0;
  MicroBatchSpec kernels = {};  // what computes it and keeps what; its sizes are the run's
  FrameworkSpec framework = {};
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_RUN_RUN_LAYOUT_H_
