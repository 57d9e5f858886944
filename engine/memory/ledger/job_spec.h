// A training job as far as its memory depends on it: everything but the model.
#ifndef SEXTANT_ENGINE_MEMORY_LEDGER_JOB_SPEC_H_
#define SEXTANT_ENGINE_MEMORY_LEDGER_JOB_SPEC_H_

#include <cstdint>

#include "engine/base/units.h"
#include "engine/memory/activations/micro_batch.h"
#include "engine/memory/schedule/pipeline_schedule.h"
#include "engine/memory/state/state_spec.h"
#include "engine/model/sharding/parallel_layout.h"

namespace sextant {

// When gradients have memory.
enum class GradientLifetime {
  kAlways,        // buffers made once (Megatron-LM, DeepSpeed)
  kFromBackward,  // each from its backward pass to the optimizer step (PyTorch's .grad)
};

// What frameworks hold beside tensors of the model.
struct BufferSpec {
  GradientLifetime gradient_lifetime = GradientLifetime::kAlways;
  // Whether a matrix's gradient is added to its buffer as it is worked out; else it is a tensor of
  // its own first.
  bool fused_weight_gradient = true;
  // Numbers gathered or reduced at a time, beside what they come from. 0: in place.
  int64_t reduce_bucket_elements = 0;
  int64_t gather_bucket_elements = 0;
  // See framework_copies.h, which says where each matters. Whether gradients stay in the type they
  // are computed in beside wider ones, are reduced behind the last micro-batch alone, and whether
  // weights are cast to the compute type as they are used.
  bool computed_gradients_stay = false;
  bool deferred_reduction = false;
  bool autocast = false;
};

// An amount that is estimated, not counted. low <= expected <= high.
struct BytesInterval {
  Bytes low = Bytes(0);
  Bytes expected = Bytes(0);
  Bytes high = Bytes(0);
};

struct ShareInterval {
  double low = 0;
  double expected = 0;
  double high = 0;
};

// What is estimated. docs/memory.md has the sources of the defaults.
struct ReserveSpec {
  Bytes workspace = Bytes(0);        // of matrix libraries, inside the framework's allocator
  ShareInterval uncounted = {};      // allocated beyond what is counted, as a share of it
  ShareInterval fragmentation = {};  // reserved by the allocator, of what is allocated
  BytesInterval context = {};        // of the driver and the kernels loaded
  BytesInterval communicators = {};  // of the collective library
};

struct JobSpec {
  ParallelLayout layout = {};
  MicroBatchSpec batch = {};
  PipelineSpec pipeline = {};
  StateSpec state = {};
  BufferSpec buffers = {};
  ReserveSpec reserve = {};
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MEMORY_LEDGER_JOB_SPEC_H_
