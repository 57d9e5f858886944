// The table of software stacks: how fast each runs what a layout asks for. Kernel tables hold what
// the fastest published kernels reach; these constants hold what a stack's own kernels, overlaps
// and host make of it.
#ifndef SEXTANT_ENGINE_FRAMEWORK_SOFTWARE_STACK_H_
#define SEXTANT_ENGINE_FRAMEWORK_SOFTWARE_STACK_H_

#include <array>
#include <cstddef>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "engine/base/field_violation.h"
#include "engine/framework/framework.h"
#include "engine/framework/workspace.h"

namespace sextant {

enum class StackConstant {
  kAttentionTimeRatio,          // of attention over the fastest published kernel
  kMemoryPassTimeRatio,         // of passes over memory over one fused kernel each
  kTensorExchangeExposure,      // of tensor parallel exchanges: time added over their time alone
  kDataExchangeOverlap,         // share of the passes that hides exchanges of data parallel ranks
  kOverlapContention,           // cost of a hidden exchange of shards, over its time
  kHostSecondsPerLayer,         // for each layer and micro-batch
  kBroadcastSecondsPerRank,     // of the optimizer step, for each rank of the shards' group
  kGrowthPerDoubling,           // share of a step, for each doubling of the devices beyond eight
  kSustainedTimeRatio,          // of 16-bit products; absent from the table: the device's
  kNarrowSustainedTimeRatio,    // of narrower products; likewise
  kNarrowProductTimeRatio,      // of narrow products over kernels with one scale a tensor
  kExpertTimeRatio,             // of experts' products over the grouped kernel
  kExpertLayerHostSeconds,      // least time of a layer of experts, forward and backward
  kOneCopyPerNode,              // 1: a token crosses the network once for each node; 0: each expert
  kPipelineExchangeExposure,    // of sends between interleaved stages: as of tensor exchanges
  kExpertExchangeExposure,      // of exchanges among experts: likewise
  kGradientAdditionOverlap,     // share of what adding a weight's gradient moves that its product
                                // hides
  kMisalignedProductTimeRatio,  // of products off a multiple of 64; absent from the table: stated
  kMisalignedHeadTimeRatio,     // of batched products off a multiple of 8; likewise
  kOptimizerTimeRatio,          // of the optimizer's step over one fused kernel
  kKernelLaunchSeconds,         // of the host, to start one kernel
  kAllReducesGradients,         // 1: gradients are summed on all ranks that divide the optimizer's
                         // numbers, and then weights gathered; 0: each rank gets its part of the
                         // sum
};
inline constexpr size_t kStackConstantCount = 22;

// "attention_time_ratio": a request's name for it.
absl::string_view StackConstantName(StackConstant constant);

// A property of layouts under which a stack hides an exchange.
enum class OverlapNeed {
  kNothing,
  kSequenceParallel,
  kDualPipe,              // the schedule, on several stages
  kDistributedOptimizer,  // optimizer state divided among data parallel ranks
};

// The properties of one layout.
struct OverlapConditions {
  bool sequence_parallel = false;
  bool dual_pipe = false;
  bool distributed_optimizer = false;

  bool Meet(OverlapNeed need) const;
};

// One constant of one stack by the devices' generation.
struct StackValue {
  double before_hopper = 0;
  double hopper = 0;
  double blackwell = 0;
  absl::string_view source = "";
  OverlapNeed needs = OverlapNeed::kNothing;  // else nothing is hidden

  double On(DeviceGeneration generation) const {
    if (IsBeforeHopper(generation)) return before_hopper;
    return generation == DeviceGeneration::kBlackwell ? blackwell : hopper;
  }
};

struct SoftwareStack {
  absl::string_view name = "";   // "megatron_bridge"
  absl::string_view title = "";  // "Megatron-Bridge, NeMo 2"
  std::array<StackValue, kStackConstantCount> values = {};
  StackValue narrow_expert_time_ratio = {};  // kExpertTimeRatio of products in 8 bits or fewer
  bool generic = false;                      // of a framework that isn't known

  const StackValue& of(StackConstant constant) const {
    return values[static_cast<size_t>(constant)];
  }
};

// The stack of the newest release of `framework`.
const SoftwareStack& StackOf(Framework framework);

// A request's stack, and the constants in which the run differs from it.
struct SoftwareSpec {
  absl::string_view name = "";  // empty: the framework's
  std::array<absl::optional<double>, kStackConstantCount> given = {};

  absl::optional<double>& of(StackConstant constant) {
    return given[static_cast<size_t>(constant)];
  }
};

// The constants of one run.
struct SoftwareConstants {
  const SoftwareStack* stack = nullptr;
  DeviceGeneration generation = DeviceGeneration::kUnknown;
  std::array<absl::optional<double>, kStackConstantCount> given = {};
  std::array<double, kStackConstantCount> values = {};  // given, or the stack's

  // kExpertTimeRatio is of 16-bit products; see ExpertTimeRatio().
  double of(StackConstant constant) const { return values[static_cast<size_t>(constant)]; }
  double ExpertTimeRatio(bool narrow) const;
  bool IsGiven(StackConstant constant) const {
    return given[static_cast<size_t>(constant)].has_value();
  }

  // The constants under `layout`: what the stack can't hide there, it does not. A request's
  // constants stay.
  SoftwareConstants Under(const OverlapConditions& layout) const;
  // True where Under() changed the stack's constant.
  bool IsWithheld(StackConstant constant) const {
    return !IsGiven(constant) && of(constant) != stack->of(constant).On(generation);
  }
};

// Appends to `violations` the errors of `spec`, whose path is `path`: an unknown name, with near
// names, and constants out of range.
void CheckSoftware(const SoftwareSpec& spec, absl::string_view path, FieldViolations& violations);

// The constants of `spec`, of which CheckSoftware() finds errors; an unknown name is
// ignored. `framework`: null: not named.
SoftwareConstants ConstantsOf(const SoftwareSpec& spec, const Framework* framework,
                              DeviceGeneration generation);

// "generic" is the first.
absl::Span<const SoftwareStack> SoftwareStacks();

// The stack of a published run of a preset on a product.
struct PublishedStack {
  absl::string_view model = "";        // "deepseek-v3"
  absl::string_view accelerator = "";  // "h800-sxm"
  absl::string_view stack = "";
  absl::string_view with = "";  // what its overlaps need of a layout: a field and its value
  absl::string_view source = "";
};

// Null: none is known.
const PublishedStack* PublishedStackOf(absl::string_view model, absl::string_view accelerator);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_FRAMEWORK_SOFTWARE_STACK_H_
