// Storage and sharding of model state among data parallel ranks.
#ifndef SEXTANT_ENGINE_MEMORY_STATE_STATE_SPEC_H_
#define SEXTANT_ENGINE_MEMORY_STATE_STATE_SPEC_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "engine/base/field_violation.h"
#include "engine/framework/framework.h"
#include "engine/memory/training_policy.h"
#include "engine/model/architecture/architecture_spec.h"
#include "engine/model/sharding/parallel_layout.h"
#include "engine/model/trace/training_choices.h"
#include "engine/tensor/data_type.h"

namespace sextant {

struct StateSharding {
  int64_t data_parallel_size = 1;  // without context parallel ranks, which share state, too
  ZeroStage zero_stage = ZeroStage::kNone;
  // Ranks that divide a shard; the others hold copies (HSDP). 0: all of them.
  int64_t shard_group_size = 0;
  // Stage 3: ranks that divide a second copy of the weights, which backward passes gather from
  // (Wang et al. 2023, ZeRO++, arXiv 2306.10209, section 3.2: hpZ). 0: there is none.
  int64_t secondary_group_size = 0;
  bool reshard_after_forward = true;  // stage 3; false: they stay until the backward pass
  int64_t prefetched_unit_count = 1;  // stage 3: units gathered ahead of the current one
  bool offload_optimizer = false;     // its state is in host memory; see gradient_offload
  bool offload_parameters = false;    // stage 3: weight shards are in host memory
};

// Storage of frozen matrices inside layers, where it differs from other weights. A block_size of 0
// means 64 elements for 4 bits, and a row for 8: Dettmers et al. 2023 (QLoRA, arXiv 2305.14314)
// section 3; Dettmers et al. 2022 (LLM.int8(), arXiv 2208.07339) section 2.
struct FrozenWeightFormat {
  DataType data_type = DataType::kUnspecified;  // as all weights; else kInt8, kInt4 or kFp4 (NF4)
  int64_t block_size = 0;                       // elements that share a scale; 0: see above
  bool double_quantization = false;             // scales in 8 bits, one fp32 per 256 of them
};

// Scales of fp8 weights.
enum class WeightScaling {
  kNone,
  kTensor,  // one fp32 per tensor
  kBlock,   // one fp32 per 128 x 128 block
  kMx,      // one byte per 32 elements
};

struct StateSpec {
  PrecisionPolicy precision = {};  // with its defaults
  OptimizerSpec optimizer = {};
  StateSharding sharding = {};
  FrozenWeightFormat frozen = {};
  WeightScaling weight_scaling = WeightScaling::kNone;  // of fp8 weights and of fp8 copies
  // fp8 copies kept next to 16-bit weights for the matrix units: 1, or 2 with the transpose.
  int64_t fp8_weight_copies = 0;
  // Stage 3: elements of gathered weights that stay whole, if that is more than the units in work.
  int64_t live_elements = 0;
  // For an offloaded optimizer. kAtStep: gradients stay on the device until then.
  GradientOffload gradient_offload = GradientOffload::kAddedOnDevice;
  // True where a unit's gradients travel in the compute type, if theirs is wider.
  bool reduces_as_computed = false;
  // True where matrices of layers are gathered in fp8, whatever their type between steps.
  bool gathers_fp8_weights = false;
  // True where a unit's gradients are copied to a buffer that they are reduced from (FSDP).
  bool copies_reduced_units = false;
};

// Limits of a model state request, for a model and its layout.

// Upper limits far beyond any job.
inline constexpr int64_t kMaxDataParallelSize = 16'777'216;
inline constexpr int64_t kMaxQuantizedBlockSize = 1'048'576;

inline constexpr int64_t kMinQuantizedBlockSize = 8;  // scales stay smaller than the data

// Appends to `violations` all errors of `state` under the paths of a run's request: sizes out of
// range, ranks that don't divide their share, and options that contradict each other or have no
// effect. `spec` and `layout` have passed CheckArchitecture() and CheckLayout(), and
// context_parallel_size CheckMicroBatch().
void CheckStateSpec(const StateSpec& state, const ArchitectureSpec& spec,
                    const ParallelLayout& layout, int64_t context_parallel_size,
                    FieldViolations& violations);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MEMORY_STATE_STATE_SPEC_H_
