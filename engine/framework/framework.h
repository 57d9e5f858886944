// The table of training frameworks: their defaults and what they hold in memory, each cell with
// its source. Memory, suggested changes and a request's defaults all read it.
#ifndef SEXTANT_ENGINE_FRAMEWORK_FRAMEWORK_H_
#define SEXTANT_ENGINE_FRAMEWORK_FRAMEWORK_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "engine/base/interval.h"
#include "engine/framework/model_code.h"
#include "engine/model/trace/training_choices.h"

namespace sextant {

enum class Framework {
  kMegatronLm,
  kDeepSpeed,
  kPytorchFsdp,
  kMegatronBridge,
  kTorchtitan,
  kLlmFoundry,
  kHuggingFaceTrainer,
  kPytorchDdp,
  kTorchtune,
};
inline constexpr int kFrameworkCount = 9;

// The type of a tensor of the state, next to the type that is computed with.
enum class StateType {
  kAsComputed,
  kFp32,
  kFp32UnderBf16,  // fp32 where bf16 is computed with, as computed otherwise
};

// The micro-batches after which gradients are divided among data parallel ranks.
enum class GradientReduction {
  kEach,               // after each micro-batch, or once in place where no rank divides them
  kLastUnderPipeline,  // under a pipeline, after the last: whole gradients wait until then
  kLast,               // after the last
};

// The way of gradients to an optimizer in host memory.
enum class GradientOffload {
  kAtStep,         // once a step: they add up on the device
  kAddedOnDevice,  // after each micro-batch; those of earlier ones come back to be added, and
                   // return
  kAddedOnHost,    // after each micro-batch; the host adds them, and from the second on all wait
};

// Bits of FrameworkTraits::offloads: what a search may move to host memory.
enum OffloadSet : unsigned {
  kOffloadsOptimizer = 1,  // gradients, master weights and optimizer state
  kOffloadsAll = 2,        // and shards of weights
};

// Estimates of what no ledger counts, as an 80 % interval.
struct ReserveShares {
  // Allocated but not counted: bytes of any job, and a share of the counted bytes.
  BytesInterval uncounted_bytes = {};
  Interval<double> uncounted = {};
  Interval<double> fragmentation =
      {};  // reserved by the allocator, as a share of the allocated bytes
};

// Bits of FrameworkTraits::schedules.
enum ScheduleSet : unsigned {
  kOneForwardOneBackwardSchedule = 1,
  kGPipeSchedule = 2,
  kZeroBubbleSchedules = 4,
  kDualPipeSchedule = 8,
  kInterleavedStages = 16,
};

// Bits of FrameworkTraits::codes: 1 << ModelCode.
constexpr unsigned CodeBit(ModelCode code) { return 1u << static_cast<unsigned>(code); }

// One row of the table: the framework's own cells, and those of the code that it trains.
struct FrameworkTraits : ModelCodeTraits {
  Framework kind = Framework::kMegatronLm;
  absl::string_view name = "";   // "megatron_lm"
  absl::string_view title = "";  // "Megatron-LM"
  ModelCode code = ModelCode::kMegatron;
  Cited<unsigned> codes = {};  // those that it can train

  // Defaults of a run.
  Cited<StateType> weights = {};
  Cited<StateType> gradients = {};
  Cited<StateType> narrow_gradients = {};  // of runs that compute in 8 bits or fewer
  Cited<ZeroStage> zero_stage = {};
  // True where 16-bit weights are all that there is: no fp32 copy of them is kept.
  Cited<bool> no_master_weights = {};
  // True where moments of weights without an fp32 copy have the weights' type (torch.optim).
  Cited<bool> moments_as_weights = {};
  Cited<bool> reshards_under_pipeline =
      {};  // weights gathered for a micro-batch are freed after it
  Cited<ContextParallelKind> context_parallel_kind = {};

  // Gradients.
  Cited<GradientLifetime> gradient_lifetime = {};
  // True where a matrix's gradient is added to its buffer as it is computed.
  Cited<bool> fused_weight_gradient = {};
  Cited<GradientReduction> reduction = {};
  // True where gradients travel in the type that is computed with, if the kept type is wider.
  Cited<bool> reduces_as_computed = {};
  // True where a run in fp8 with a scale a tensor gathers its layers' matrices in fp8.
  Cited<bool> gathers_fp8_weights = {};
  // Elements gathered or reduced at a time, in addition to their source. 0: in place.
  Cited<int64_t> reduce_bucket_elements = {};
  Cited<int64_t> gather_bucket_elements = {};
  // ZeRO stage 3: gathered weights stay until this many elements are whole. 0: units are freed.
  Cited<int64_t> live_elements = {};
  // True where buckets of all gradients stay, in addition to the gradients.
  Cited<bool> gradient_buckets_stay = {};
  // True where computed gradients stay next to the wider ones that they are added to.
  Cited<bool> computed_gradients_stay = {};
  // True where the optimizer step makes an fp32 copy of narrower gradients.
  Cited<bool> widens_gradients_at_step = {};
  // True where the optimizer step works on flat copies of a rank's whole share, which no cached
  // block of the allocator is large enough for.
  Cited<bool> flattens_gradients_at_step = {};

  // The optimizer's step where a run does not say. True in the second where releases of the last
  // years differ: some copy the second moments.
  Cited<OptimizerLoop> optimizer_loop = {};
  Cited<bool> optimizer_loop_is_open = {};

  // Offloading.
  Cited<GradientOffload> gradient_offload = {};
  Cited<unsigned> offloads = {};  // an OffloadSet

  // Buffers and copies.
  Cited<bool> autocast = {};             // wide weights are cast to the compute type on use
  Cited<bool> wide_outputs = {};         // logits that the model returns are copied to fp32
  Cited<bool> keeps_stage_buffers = {};  // a pipeline's stage has a buffer for each micro-batch
  Cited<ReserveShares> reserve = {};

  // Refusals.
  Cited<ZeroStage> max_zero_stage = {};
  Cited<ZeroStage> max_zero_stage_under_pipeline = {};
  Cited<bool> shards_all_or_nothing = {};  // FSDP: ZeRO stages 1 and 2 don't exist apart from 3
  Cited<bool> pipeline = {};
  Cited<unsigned> schedules = {};  // a ScheduleSet
  // Context parallelism is of the default kind alone.
  Cited<bool> one_context_parallel_kind = {};
  // Experts' ranks may gather the tokens of all of them.
  Cited<bool> gathers_tokens = {};
  // Ranks that exchange heads need as many key and value heads each, none of them a copy, and
  // queries as wide as values.
  Cited<bool> exchanges_equal_heads_alone = {};
};

// The row of `framework` with the code that it usually trains.
const FrameworkTraits& TraitsOf(Framework framework);
// With another code that it can train.
const FrameworkTraits& TraitsOf(Framework framework, ModelCode code);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_FRAMEWORK_FRAMEWORK_H_
