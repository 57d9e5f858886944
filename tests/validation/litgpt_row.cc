#include "tests/validation/litgpt_row.h"

#include <string>

#include "absl/status/status.h"
#include "engine/base/status_macros.h"
#include "engine/model/presets/presets.h"
#include "tests/validation/cells.h"
#include "tests/validation/framework_memory.h"
#include "tests/validation/traits.h"

namespace sextant {
namespace {

constexpr int kAmpere = 8;
constexpr int64_t kA10gMemory = int64_t{24} << 30;
constexpr int64_t kSeveralMicroBatches = 2;  // gradients stay from one to the next

std::string PresetNameOf(const std::string& model) {
  return model == "tiny-llama" ? "tinyllama-1.1b" : model;
}

}  // namespace

absl::StatusOr<MeasuredCase> LitgptCase(const CsvRow& row) {
  const std::string task = Cell(row, "task");
  if (task == "pretrain") return absl::InvalidArgumentError("sequence length not published");
  if (task != "sft") {
    return absl::InvalidArgumentError("rank and targets of adapters not published with the row");
  }
  MeasuredCase out;
  const auto preset = FindModelPreset(PresetNameOf(Cell(row, "model")));
  if (!preset.ok()) return absl::InvalidArgumentError("shape of the layers not published");
  out.model = (*preset)->architecture;
  MicroBatchSpec& batch = out.job.batch;
  SEXTANT_ASSIGN_OR_RETURN(batch.sequence_length, RequiredCell(row, "seq_len", "sequence length"));
  SEXTANT_ASSIGN_OR_RETURN(batch.sequence_count, RequiredCell(row, "micro_batch", "micro-batch"));
  batch.loss = LossKind::kPlain;
  out.job.pipeline.micro_batch_count = kSeveralMicroBatches;
  StateSpec& state = out.job.state;
  state.precision = WithDefaults({.master_weights = false, .optimizer_data_type = DataType::kBf16});
  SEXTANT_ASSIGN_OR_RETURN(state.sharding.data_parallel_size,
                           RequiredCell(row, "gpus", "GPU count"));
  const bool several = state.sharding.data_parallel_size > 1;
  state.sharding.zero_stage = several ? ZeroStage::kParameters : ZeroStage::kNone;
  out.job.buffers = BuffersOf({.kind = Framework::kPytorchFsdp}, out.job.layout);
  out.job.reserve =
      ReserveWith(WorkspaceOf({.compute_capability = kAmpere}), Framework::kPytorchFsdp, out.job);
  const std::string text = Cell(row, "peak_mem_as_published");
  out.ran_out = text == "OOM";
  const auto size = PublishedBytes(text);
  if (!out.ran_out && !size.has_value()) return absl::InvalidArgumentError("no measured memory");
  if (size.has_value()) out.measured.push_back({MemoryDefinition::kAllocated, *size});
  out.device_memory = Bytes(kA10gMemory);
  out.hardware = Cell(row, "hardware");
  out.traits.insert(kTraitShorterSamples);
  out.assumptions.push_back("samples as long as the longest");
  return out;
}

}  // namespace sextant
