#include "engine/framework/software_stack.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/base/near_names.h"

namespace sextant {
namespace {

constexpr char kStacksPage[] = "docs/frameworks.md";

// In the order of StackConstant.
constexpr absl::string_view kConstants[] = {
    "attention_time_ratio",        "memory_pass_time_ratio",    "tensor_exchange_exposure",
    "data_exchange_overlap",       "overlap_contention",        "host_seconds_per_layer",
    "broadcast_seconds_per_rank",  "growth_per_doubling",       "sustained_time_ratio",
    "narrow_sustained_time_ratio", "narrow_product_time_ratio", "expert_time_ratio",
    "expert_layer_host_seconds",   "one_copy_per_node",         "pipeline_exchange_exposure",
    "expert_exchange_exposure",    "gradient_addition_overlap", "misaligned_product_time_ratio",
    "misaligned_head_time_ratio",  "optimizer_time_ratio",      "kernel_launch_seconds",
    "all_reduces_gradients",
};
static_assert(sizeof(kConstants) / sizeof(kConstants[0]) == kStackConstantCount);

// The constants that hide exchanges, and their values where nothing is hidden.
constexpr struct {
  StackConstant constant;
  double nothing_hidden;
} kOverlaps[] = {{StackConstant::kTensorExchangeExposure, 1},
                 {StackConstant::kExpertExchangeExposure, 1},
                 {StackConstant::kDataExchangeOverlap, 0}};

// Null: not known.
const SoftwareStack* FindStack(absl::string_view name) {
  for (const SoftwareStack& stack : SoftwareStacks()) {
    if (stack.name == name) return &stack;
  }
  const std::string wanted = ComparableName(name);
  for (const SoftwareStack& stack : SoftwareStacks()) {
    if (ComparableName(stack.name) == wanted) return &stack;
  }
  return nullptr;
}

}  // namespace

absl::string_view StackConstantName(StackConstant constant) {
  return kConstants[static_cast<size_t>(constant)];
}

const SoftwareStack& StackOf(Framework framework) {
  switch (framework) {
    case Framework::kMegatronLm:
      return *FindStack("megatron_lm");
    case Framework::kDeepSpeed:
      return *FindStack("deepspeed");
    case Framework::kMegatronBridge:
      return *FindStack("megatron_bridge");
    case Framework::kTorchtitan:
      return *FindStack("torchtitan");
    case Framework::kLlmFoundry:
      return *FindStack("llm_foundry");
    case Framework::kPytorchDdp:
      return *FindStack("pytorch_ddp");
    case Framework::kPytorchFsdp:
    case Framework::kHuggingFaceTrainer:
    case Framework::kTorchtune:
      return *FindStack("pytorch_fsdp");
  }
  return SoftwareStacks()[0];
}

double SoftwareConstants::ExpertTimeRatio(bool narrow) const {
  if (!narrow || IsGiven(StackConstant::kExpertTimeRatio)) {
    return of(StackConstant::kExpertTimeRatio);
  }
  return stack->narrow_expert_time_ratio.On(generation);
}

bool OverlapConditions::Meet(OverlapNeed need) const {
  switch (need) {
    case OverlapNeed::kNothing:
      return true;
    case OverlapNeed::kSequenceParallel:
      return sequence_parallel;
    case OverlapNeed::kDualPipe:
      return dual_pipe;
    case OverlapNeed::kDistributedOptimizer:
      return distributed_optimizer;
  }
  return true;
}

SoftwareConstants SoftwareConstants::Under(const OverlapConditions& layout) const {
  SoftwareConstants out = *this;
  for (const auto& [constant, nothing_hidden] : kOverlaps) {
    if (IsGiven(constant) || layout.Meet(stack->of(constant).needs)) continue;
    out.values[static_cast<size_t>(constant)] = nothing_hidden;
  }
  return out;
}

void CheckSoftware(const SoftwareSpec& spec, absl::string_view path, FieldViolations& violations) {
  if (!spec.name.empty() && FindStack(spec.name) == nullptr) {
    std::vector<KnownName> names;
    for (const SoftwareStack& stack : SoftwareStacks()) names.push_back({stack.name, stack.title});
    violations.Add(absl::StrCat(path, ".name"),
                   UnknownNameMessage("software stack", spec.name, names, kStacksPage));
  }
}

SoftwareConstants ConstantsOf(const SoftwareSpec& spec, const Framework* framework,
                              DeviceGeneration generation) {
  const SoftwareStack* stack = framework == nullptr ? &SoftwareStacks()[0] : &StackOf(*framework);
  if (const SoftwareStack* const named = FindStack(spec.name); named != nullptr) stack = named;
  SoftwareConstants out = {.stack = stack, .generation = generation, .given = spec.given};
  for (size_t i = 0; i < kStackConstantCount; ++i) {
    out.values[i] = spec.given[i].value_or(stack->values[i].On(generation));
  }
  return out;
}

}  // namespace sextant
