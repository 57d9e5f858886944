#include "engine/framework/software_stack.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/base/near_names.h"

namespace sextant {
namespace {

constexpr char kStacksPage[] = "docs/frameworks.md";

struct ConstantRow {
  absl::string_view name;
  ConstantRange range;
};

// In the order of StackConstant.
constexpr ConstantRow kConstants[] = {
    {"attention_time_ratio", {0.5, 10}},      {"memory_pass_time_ratio", {0.3, 10}},
    {"tensor_exchange_exposure", {0, 2}},     {"data_exchange_overlap", {0, 1}},
    {"overlap_contention", {0, 1}},           {"host_seconds_per_layer", {0, 1}},
    {"broadcast_seconds_per_rank", {0, 1}},   {"growth_per_doubling", {0, 0.1}},
    {"sustained_time_ratio", {0.5, 5}},       {"narrow_sustained_time_ratio", {0.5, 5}},
    {"narrow_product_time_ratio", {0.5, 10}}, {"expert_time_ratio", {0.5, 10}},
    {"expert_layer_host_seconds", {0, 1}},    {"one_copy_per_node", {0, 1}},
    {"pipeline_exchange_exposure", {0, 2}},   {"expert_exchange_exposure", {0, 2}},
    {"gradient_addition_overlap", {0, 1}},    {"misaligned_product_time_ratio", {1, 50}},
    {"misaligned_head_time_ratio", {1, 50}},  {"optimizer_time_ratio", {0.3, 50}},
    {"kernel_launch_seconds", {0, 1e-3}},     {"all_reduces_gradients", {0, 1}},
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
  return kConstants[static_cast<size_t>(constant)].name;
}

ConstantRange RangeOf(StackConstant constant) {
  return kConstants[static_cast<size_t>(constant)].range;
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
  for (size_t i = 0; i < kStackConstantCount; ++i) {
    if (!spec.given[i].has_value()) continue;
    const auto constant = static_cast<StackConstant>(i);
    const ConstantRange range = RangeOf(constant);
    violations.RequireRange(path, StackConstantName(constant), *spec.given[i],
                            {range.low, range.high});
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
