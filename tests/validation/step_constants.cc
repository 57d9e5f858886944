#include "tests/validation/step_constants.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace sextant {
namespace {

using Names = std::vector<std::string>;

bool In(const std::string& name, const Names& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// A generation of devices, by what accelerators are called.
bool IsOf(const StepRow& row, const std::string& generation) {
  const bool ampere = absl::StartsWith(row.accelerator, "a100");
  const bool hopper = absl::StartsWith(row.accelerator, "h");
  if (generation == "A100") return ampere;
  if (generation == "Hopper") return hopper;
  return !ampere && !hopper;
}

// Stacks whose kernels of attention, or of passes over memory, are the same.
struct Group {
  const char* name;
  Names stacks;
};

// Values of one constant in three generations; 0: none is fitted.
struct ByGeneration {
  Group group;
  double ampere = 0;
  double hopper = 0;
  double blackwell = 0;
};

void AddAttention(std::vector<StepConstant>& out) {
  const ByGeneration kRows[] = {
      {{"Megatron", {"megatron_lm", "megatron_bridge", "megascale", "internevo", "generic"}},
       0.85,
       0.75,
       0.85},
      {{"JAX", {"maxtext", "pax"}}, 0.85, 0.75, 0},
      {{"llm-foundry", {"llm_foundry"}}, 0.65, 0.50, 0},
      {{"PyTorch", {"torchtitan", "fms_fsdp", "pytorch_ddp"}}, 0.85, 0.50, 0.40},
  };
  for (const ByGeneration& row : kRows) {
    const std::pair<const char*, double> kEach[] = {
        {"A100", row.ampere}, {"Hopper", row.hopper}, {"Blackwell", row.blackwell}};
    for (const auto& [generation, efficiency] : kEach) {
      if (efficiency == 0) continue;
      const Names stacks = row.group.stacks;
      const std::string on = generation;
      out.push_back({.name = absl::StrCat("attention_time_ratio, ", row.group.name, ", ", on),
                     .field = "attention_time_ratio",
                     .applies =
                         [stacks, on](const StepRow& each) {
                           const std::string stack =
                               each.flash_attention_2 ? "torchtitan" : each.stack;
                           return In(stack, stacks) && IsOf(each, on);
                         },
                     .neutral = 1 / efficiency,
                     .low = 0.7,
                     .high = 4,
                     .grid = 0.05,
                     .doubt = 0.4});
    }
  }
}

// A constant of some stacks.
struct ByStack {
  Group group;
  const char* field;
  double neutral = 0;
  double low = 0;
  double high = 0;
  double grid = 0;
  double doubt = 0;
};

void AddStacks(std::vector<StepConstant>& out) {
  const char* const kPass = "memory_pass_time_ratio";
  const char* const kTensor = "tensor_exchange_exposure";
  const ByStack kRows[] = {
      {{"Megatron", {"megatron_lm", "megatron_lm_2022", "megatron_bridge", "megascale", "generic"}},
       kPass,
       1.0,
       0.4,
       4,
       0.05,
       0.3},
      {{"llm-foundry", {"llm_foundry"}}, kPass, 2.0, 0.4, 4, 0.05, 0.5},
      {{"InternEvo", {"internevo"}}, kPass, 2.0, 0.4, 4, 0.05, 0.5},
      {{"PyTorch, compiled", {"torchtitan", "fms_fsdp"}}, kPass, 1.3, 0.4, 4, 0.05, 0.4},
      {{"PyTorch, eager", {"pytorch_ddp"}}, kPass, 2.0, 0.4, 4, 0.05, 0.5},
      {{"Megatron-DeepSpeed", {"megatron_deepspeed"}}, kPass, 1.3, 0.4, 4, 0.05, 0.4},
      {{"JAX", {"maxtext", "pax"}}, kPass, 1.0, 0.4, 4, 0.05, 0.3},
      {{"Megatron-Bridge", {"megatron_bridge", "megascale"}}, kTensor, 0.6, 0, 2, 0.05, 0.3},
      {{"Megatron-LM", {"megatron_lm"}}, kTensor, 1.0, 0, 2, 0.05, 0.3},
      {{"before 2023", {"megatron_lm_2022", "megatron_deepspeed"}}, kTensor, 1, 0, 2, 0.05, 0.3},
      {{"InternEvo", {"internevo"}}, kTensor, 1.0, 0, 2, 0.05, 0.3},
      {{"torchtitan", {"torchtitan"}}, kTensor, 1.0, 0, 2, 0.05, 0.3},
      {{"sharded weights",
        {"llm_foundry", "torchtitan", "fms_fsdp", "maxtext", "pax", "megatron_bridge",
         "deepspeed_zero3_2021"}},
       "overlap_contention",
       0.3,
       0,
       1,
       0.05,
       0.3},
      {{"llm-foundry", {"llm_foundry"}}, "growth_per_doubling", 0.008, 0, 0.03, 0.001, 0.004},
      {{"Megatron-DeepSpeed", {"megatron_deepspeed"}},
       "host_seconds_per_layer",
       4e-3,
       0,
       0.02,
       0.5e-3,
       4e-3},
      {{"InternEvo", {"internevo"}}, "broadcast_seconds_per_rank", 1.5e-3, 0, 6e-3, 0.1e-3, 1.5e-3},
  };
  for (const ByStack& row : kRows) {
    const Names stacks = row.group.stacks;
    out.push_back({.name = absl::StrCat(row.field, ", ", row.group.name),
                   .field = row.field,
                   .applies = [stacks](const StepRow& each) { return In(each.stack, stacks); },
                   .neutral = row.neutral,
                   .low = row.low,
                   .high = row.high,
                   .grid = row.grid,
                   .doubt = row.doubt});
  }
  out.push_back({.name = "growth_per_doubling, all others",
                 .field = "growth_per_doubling",
                 .applies = [](const StepRow& each) { return each.stack != "llm_foundry"; },
                 .neutral = 0.004,
                 .low = 0,
                 .high = 0.03,
                 .grid = 0.001,
                 .doubt = 0.004});
  // How far MaxText's unpublished recomputation is from none to all layers.
  out.push_back({.name = "recomputed share, MaxText",
                 .field = kRecomputedShare,
                 .applies = [](const StepRow& each) { return each.stack == "maxtext"; },
                 .neutral = 0.6,
                 .low = 0,
                 .high = 1,
                 .grid = 0.05,
                 .doubt = 0.3});
  out.push_back({.name = "narrow_product_time_ratio, one scale a row",
                 .field = "narrow_product_time_ratio",
                 .applies = [](const StepRow& each) { return each.row_scaled; },
                 .neutral = 1.3,
                 .low = 1,
                 .high = 3,
                 .grid = 0.05,
                 .doubt = 0.3});
}

// Long runs over bursts, by device: 16 bits, 8 bits, 4 bits; 0: none.
struct Sustained {
  const char* device;
  Names accelerators;
  double wide = 0;
  double eight = 0;
  double four = 0;
};

void AddSustained(std::vector<StepConstant>& out) {
  const Sustained kRows[] = {
      {"A100", {"a100-sxm-40", "a100-sxm-80"}, 1.05, 0, 0},
      {"H100, H200", {"h100-sxm", "h200-sxm"}, 1.09, 1.09, 0},
      {"B200", {"b200-sxm"}, 1.38, 1.2, 1.0},
      {"GB200", {"gb200"}, 1.2, 1.2, 1.0},
      {"GB300, B300", {"gb300", "b300-sxm"}, 1.0, 1.0, 0.75},
  };
  const auto add = [&](const Sustained& row, const char* type, double neutral) {
    if (neutral == 0) return;
    const Names devices = row.accelerators;
    const std::string bits = type;
    const auto applies = [devices, bits](const StepRow& each) {
      if (!In(each.accelerator, devices)) return false;
      if (bits == "16 bit") return true;
      return each.narrow && (each.format == "nvfp4") == (bits == "4 bit");
    };
    out.push_back(
        {.name = absl::StrCat("sustained_time_ratio, ", row.device, ", ", bits),
         .field = bits == "16 bit" ? "sustained_time_ratio" : "narrow_sustained_time_ratio",
         .applies = applies,
         .neutral = neutral,
         .low = 0.5,
         .high = 2,
         .grid = 0.01,
         .doubt = 0.15});
  };
  for (const Sustained& row : kRows) {
    add(row, "16 bit", row.wide);
    add(row, "8 bit", row.eight);
    add(row, "4 bit", row.four);
  }
}

void AddExperts(std::vector<StepConstant>& out) {
  const auto add = [&](const std::string& framework, bool narrow) {
    out.push_back({.name = absl::StrCat("expert_time_ratio, ", framework,
                                        narrow ? ", 8 bit and less" : ", 16 bit"),
                   .field = "expert_time_ratio",
                   .applies =
                       [framework, narrow](const StepRow& each) {
                         return each.experts && each.framework == framework &&
                                each.narrow == narrow;
                       },
                   .neutral = 1,
                   .low = 0.5,
                   .high = 4,
                   .grid = 0.05,
                   .doubt = 0.25,
                   .experts = true});
  };
  // NeMo's mixtures have few large experts, Megatron-Bridge's many small ones.
  for (const char* framework : {"NeMo", "Megatron-Bridge", "torchtitan"}) {
    add(framework, false);
    add(framework, true);
  }
  add("Megatron-LM", false);
  struct Host {
    const char* name;
    StepExpertHost host;
    double seconds;
  };
  const Host kHosts[] = {{"eager", StepExpertHost::kEager, 9e-3},
                         {"router in graphs", StepExpertHost::kGraphs, 4.8e-3},
                         {"exchange overlapped", StepExpertHost::kOverlap, 9e-3}};
  for (const auto& [name, host, seconds] : kHosts) {
    const StepExpertHost how = host;
    out.push_back(
        {.name = absl::StrCat("expert_layer_host_seconds, ", name),
         .field = "expert_layer_host_seconds",
         .applies = [how](const StepRow& each) { return each.experts && each.expert_host == how; },
         .neutral = seconds,
         .low = 0,
         .high = 0.03,
         .grid = 0.2e-3,
         .doubt = 3e-3,
         .experts = true});
  }
}

}  // namespace

std::vector<StepConstant> StepConstants() {
  std::vector<StepConstant> out;
  AddAttention(out);
  AddStacks(out);
  AddSustained(out);
  AddExperts(out);
  return out;
}

StepOverrides OverridesFor(const StepRow& row, const std::vector<StepConstant>& constants,
                           const std::vector<double>& values) {
  StepOverrides out;
  for (size_t i = 0; i < constants.size(); ++i) {
    if (constants[i].applies(row)) out[constants[i].field] = values[i];
  }
  return out;
}

std::vector<double> NeutralValues(const std::vector<StepConstant>& constants) {
  std::vector<double> out;
  for (const StepConstant& constant : constants) out.push_back(constant.neutral);
  return out;
}

}  // namespace sextant
