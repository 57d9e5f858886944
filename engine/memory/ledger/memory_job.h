// The properties of a training job that its memory depends on, without the model.
#ifndef SEXTANT_ENGINE_MEMORY_LEDGER_MEMORY_JOB_H_
#define SEXTANT_ENGINE_MEMORY_LEDGER_MEMORY_JOB_H_

#include <cstdint>

#include "engine/base/interval.h"
#include "engine/base/units.h"
#include "engine/framework/framework.h"
#include "engine/memory/schedule/pipeline_schedule.h"
#include "engine/memory/state/state_spec.h"
#include "engine/model/sharding/parallel_layout.h"
#include "engine/model/trace/micro_batch.h"
#include "engine/model/trace/training_choices.h"

namespace sextant {

// The buffers that frameworks hold in addition to the model's tensors.
struct BufferSpec {
  GradientLifetime gradient_lifetime = GradientLifetime::kAlways;
  // True where a matrix's gradient is accumulated into its buffer as it is computed; else it is a
  // tensor of its own first.
  bool fused_weight_gradient = true;
  // Elements gathered or reduced at a time, in addition to their source. 0: in place.
  int64_t reduce_bucket_elements = 0;
  int64_t reduce_bucket_count = 1;
  bool reduce_bucket_whole = false;  // allocated at its size, whatever goes through it
  int64_t gather_bucket_elements = 0;
  // The three habits of framework_copies.h, which says where each matters: computed gradients stay
  // next to wider ones, gradients are reduced only after the last micro-batch, and weights are
  // cast to the compute type on use.
  bool computed_gradients_stay = false;
  bool deferred_reduction = false;
  bool autocast = false;
  // The buffers of standing_buffers.h.
  bool transformer_engine = false;
  bool global_buffer = false;
  bool gradient_buckets_stay = false;
  // The optimizer step makes an fp32 copy of a rank's narrower gradients.
  bool widens_gradients_at_step = false;
  bool flattens_gradients_at_step = false;  // and flat copies in both types
  OptimizerLoop optimizer_loop = OptimizerLoop::kFused;
  bool keeps_stage_inputs = false;  // a buffer to receive each micro-batch of a step in
};

// The estimated reserves. docs/memory.md, "The reserve", has the sources of the defaults.
struct ReserveSpec {
  Bytes workspace = Bytes(0);          // of matrix libraries, inside the framework's allocator
  BytesInterval uncounted_bytes = {};  // allocated but not counted, whatever is counted
  Interval<double> uncounted = {};     // and as a share of the counted bytes
  Interval<double> fragmentation =
      {};                            // reserved by the allocator, as a share of the allocated bytes
  BytesInterval context = {};        // of the driver and loaded kernels
  BytesInterval communicators = {};  // of the collective library
};

struct MemoryJob {
  ParallelLayout layout = {};
  MicroBatchSpec batch = {};
  PipelineSpec pipeline = {};
  StateSpec state = {};
  BufferSpec buffers = {};
  ReserveSpec reserve = {};
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MEMORY_LEDGER_MEMORY_JOB_H_
