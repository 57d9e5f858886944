#include "tests/validation/step_software.h"

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/validation/cells.h"

namespace sextant {
namespace {

using Framework = v1::FrameworkMemory;

// The first that a column starts with is its own.
constexpr StepSoftware kSoftware[] = {
    {.column = "Megatron-DeepSpeed",
     .name = "Megatron-DeepSpeed",
     .stack = "megatron_deepspeed",
     .kind = Framework::KIND_DEEPSPEED,
     .unfused_attention = true,
     .dropout = true,
     .pads_vocabulary = true},
    {.column = "DeepSpeed+Megatron",
     .name = "Megatron-DeepSpeed",
     .stack = "megatron_deepspeed",
     .kind = Framework::KIND_DEEPSPEED,
     .unfused_attention = true,
     .dropout = true,
     .pads_vocabulary = true},
    {.column = "DeepSpeed ZeRO-3",
     .name = "DeepSpeed ZeRO-3",
     .stack = "deepspeed_zero3_2021",
     .kind = Framework::KIND_DEEPSPEED,
     .unfused_attention = true,
     .dropout = true},
    {.column = "Megatron-LM 202",
     .name = "Megatron-LM 2020-22",
     .stack = "megatron_lm_2022",
     .kind = Framework::KIND_MEGATRON_LM,
     .unfused_attention = true,
     .dropout = true,
     .pads_vocabulary = true},
    {.column = "Megatron-LM",
     .name = "Megatron-LM",
     .stack = "megatron_lm",
     .kind = Framework::KIND_MEGATRON_LM,
     .pads_vocabulary = true},
    // README of 2024: tensor parallel exchanges overlapped (--tp-comm-overlap), as the stack has
    // them that Megatron-Bridge builds on.
    {.column = "Megatron-Core",
     .name = "Megatron-Core",
     .stack = "megatron_bridge",
     .kind = Framework::KIND_MEGATRON_LM,
     .pads_vocabulary = true},
    {.column = "MegaScale",
     .name = "MegaScale",
     .stack = "megascale",
     .kind = Framework::KIND_MEGATRON_LM,
     .pads_vocabulary = true},
    {.column = "Megatron-Bridge",
     .name = "Megatron-Bridge",
     .stack = "megatron_bridge",
     .kind = Framework::KIND_MEGATRON_BRIDGE,
     .pads_vocabulary = true},
    {.column = "NeMo",
     .name = "NeMo",
     .stack = "megatron_bridge",
     .kind = Framework::KIND_MEGATRON_BRIDGE,
     .pads_vocabulary = true},
    {.column = "InternEvo", .name = "InternEvo", .stack = "internevo"},
    {.column = "llm-foundry",
     .name = "llm-foundry",
     .stack = "llm_foundry",
     .kind = Framework::KIND_LLM_FOUNDRY},
    {.column = "torchtitan",
     .name = "torchtitan",
     .stack = "torchtitan",
     .kind = Framework::KIND_TORCHTITAN},
    {.column = "PyTorch FSDP1 + compile",
     .name = "fms-fsdp",
     .stack = "fms_fsdp",
     .kind = Framework::KIND_PYTORCH_FSDP},
    {.column = "MaxText", .name = "MaxText", .stack = "maxtext"},
    {.column = "PaxML", .name = "PaxML", .stack = "pax"},
    {.column = "nanoGPT",
     .name = "nanoGPT",
     .stack = "pytorch_ddp",
     .kind = Framework::KIND_PYTORCH_DDP,
     .unfused_attention = false},
    {.column = "llm.c", .name = "llm.c", .stack = "generic"},
};

// Networks where rows say nothing: the vendor's datasheets of DGX A100 (HDR), DGX H100, H200 and
// B200 (NDR), DGX B300 (ConnectX-8), DGX GB200 (NDR) and DGX GB300 (ConnectX-8), a port a GPU.
constexpr double kHdr = 200;
constexpr double kNdr = 400;
constexpr double kXdr = 800;
constexpr StepHardware kHardware[] = {
    {.column = "a100-sxm-40",
     .label = "A100",
     .accelerator = "a100-sxm-40",
     .node_type = "hgx-a100",
     .network_gigabits = kHdr},
    {.column = "a100-sxm-80",
     .label = "A100",
     .accelerator = "a100-sxm-80",
     .node_type = "hgx-a100",
     .network_gigabits = kHdr},
    // 500 W in place of 700: clocks go with the cube root of power. HBM2e of 2.4 in place of
    // 3.35 TB/s. No node type comes with it.
    {.column = "h100-96-hbm2e-500w",
     .label = "H100 500 W",
     .accelerator = "h100-sxm",
     .node_type = "hgx-h100",
     .network_gigabits = kNdr,
     .product_time_ratio = 1.12,
     .memory_time_ratio = 3.35 / 2.4},
    {.column = "h100-sxm",
     .label = "H100",
     .accelerator = "h100-sxm",
     .node_type = "hgx-h100",
     .network_gigabits = kNdr},
    {.column = "h200-sxm",
     .label = "H200",
     .accelerator = "h200-sxm",
     .node_type = "hgx-h200",
     .network_gigabits = kNdr},
    {.column = "b200-sxm",
     .label = "B200",
     .accelerator = "b200-sxm",
     .node_type = "hgx-b200",
     .network_gigabits = kNdr},
    {.column = "b300-sxm",
     .label = "B300",
     .accelerator = "b300-sxm",
     .node_type = "hgx-b300",
     .network_gigabits = kXdr},
    {.column = "gb200",
     .label = "GB200",
     .accelerator = "gb200",
     .node_type = "gb200-nvl72",
     .network_gigabits = kNdr},
    {.column = "gb300",
     .label = "GB300",
     .accelerator = "gb300",
     .node_type = "gb300-nvl72",
     .network_gigabits = kXdr},
};
// Slower by what a limit of some 2 / 3 of the power is worth.
constexpr StepHardware kLimitedB200 = {.column = "b200-sxm",
                                       .label = "B200, limited",
                                       .accelerator = "b200-sxm",
                                       .node_type = "hgx-b200",
                                       .network_gigabits = kNdr,
                                       .power_open = true};

struct NetworkNote {
  absl::string_view note;
  double gigabits;  // of one device of eight
};
constexpr NetworkNote kNotes[] = {
    {"1600 Gbps", 200},     {"400 Gbps inter-node", 50}, {"800 Gbps inter-node", 100},
    {"4x100 Gb", 50},       {"4x Omni-Path 100", 50},    {"8x200 Gb/s", 200},
    {"400 Gb/s RDMA", 400},
};

}  // namespace

absl::StatusOr<const StepSoftware*> StepSoftwareOf(const CsvRow& row) {
  const std::string column = Cell(row, "framework");
  for (const StepSoftware& software : kSoftware) {
    if (absl::StartsWith(column, software.column)) return &software;
  }
  return absl::InvalidArgumentError(absl::StrCat("no stack for its framework: ", column));
}

absl::StatusOr<const StepHardware*> StepHardwareOf(const CsvRow& row) {
  const std::string key = Cell(row, "gpu_key");
  if (absl::StrContains(Cell(row, "hardware"), "power limited")) return &kLimitedB200;
  for (const StepHardware& hardware : kHardware) {
    if (absl::StartsWith(key, hardware.column)) return &hardware;
  }
  return absl::InvalidArgumentError(absl::StrCat("hardware not timed: ", Cell(row, "hardware")));
}

double StepNetworkOf(const CsvRow& row, const StepHardware& hardware) {
  constexpr double kBytes = 1e9 / 8;
  for (const NetworkNote& note : kNotes) {
    if (absl::StrContains(Cell(row, "hardware_note"), note.note)) return note.gigabits * kBytes;
  }
  return hardware.network_gigabits * kBytes;
}

bool StepFormat::narrow() const { return type != v1::DATA_TYPE_BF16 && type != v1::DATA_TYPE_FP16; }

absl::StatusOr<StepFormat> StepFormatOf(const CsvRow& row) {
  const std::string text = absl::AsciiStrToLower(Cell(row, "precision"));
  const auto has = [&](absl::string_view part) { return absl::StrContains(text, part); };
  const bool by_row = has("rowwise");
  if (has("nvfp4")) return StepFormat{"nvfp4", v1::DATA_TYPE_NVFP4};
  if (has("mxfp8") || has("fp8-mx")) return StepFormat{"mxfp8", v1::DATA_TYPE_MXFP8};
  if (has("fp8") || has("float8")) return StepFormat{"fp8", v1::DATA_TYPE_FP8_E4M3, by_row};
  // BLOOM's trials: mostly bf16 with a memory footprint as fp16's, their names printed together.
  if (has("bf16")) return StepFormat{"bf16", v1::DATA_TYPE_BF16};
  if (has("fp16")) return StepFormat{"fp16", v1::DATA_TYPE_FP16};
  return absl::InvalidArgumentError("precision not published");
}

}  // namespace sextant
