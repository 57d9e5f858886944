#include "tests/validation/torchtitan_row.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "engine/model/presets/presets.h"
#include "tests/validation/cells.h"
#include "tests/validation/framework_memory.h"
#include "tests/validation/traits.h"

namespace sextant {
namespace {

constexpr int kHopper = 9;
constexpr char kLocalBatch[] = "local batch size ";

// "torch.compile+AsyncTP+1F1B; local batch size 8": sequences of a step on a rank.
absl::StatusOr<int64_t> LocalBatchOf(const CsvRow& row) {
  const auto given = WholeCell(row, "micro_batch");
  if (given.has_value()) return *given;
  const std::string notes = Cell(row, "notes");
  const size_t at = notes.find(kLocalBatch);
  int64_t out = 0;
  if (at != std::string::npos && absl::SimpleAtoi(notes.substr(at + sizeof(kLocalBatch) - 1), &out))
    return out;
  return absl::InvalidArgumentError("micro-batch not published");
}

// The table's llama3-405b is Llama 3.1's: there is no other.
std::string PresetNameOf(const std::string& model) {
  return model == "llama3-405b" ? "llama-3.1-405b" : model;
}

// Where stages don't divide the layers the first ones have one more. torchtitan's own split may
// differ by a layer.
void SetChunks(const ArchitectureSpec& model, ParallelLayout& layout) {
  int64_t layers = 0;
  for (const LayerRun& run : model.decoder.layers) layers += run.count;
  const int64_t stages = layout.pipeline_parallel_size;
  if (stages < 1 || layers % stages == 0) return;
  for (int64_t i = 0; i < stages; ++i) {
    layout.layers_per_chunk.push_back(layers / stages + (i < layers % stages ? 1 : 0));
  }
}

absl::Status SetBatch(const CsvRow& row, MemoryJob& job) {
  MicroBatchSpec& batch = job.batch;
  SEXTANT_ASSIGN_OR_RETURN(batch.sequence_length, RequiredCell(row, "seq_len", "sequence length"));
  SEXTANT_ASSIGN_OR_RETURN(const int64_t local, LocalBatchOf(row));
  const bool pipeline = job.layout.pipeline_parallel_size > 1;
  batch.sequence_count = pipeline ? 1 : local;
  job.pipeline.micro_batch_count = pipeline ? local : 1;
  batch.sequence_parallel = job.layout.tensor_parallel_size > 1;
  batch.context_parallel_size = WholeCell(row, "cp").value_or(1);
  batch.recomputation.policy = RecomputePolicy::kFull;
  batch.loss = LossKind::kPlain;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<MeasuredCase> TorchtitanCase(const CsvRow& row) {
  if (Cell(row, "recompute") != "full") {
    return absl::InvalidArgumentError(
        "selective recomputation by operator is not described in the engine's terms");
  }
  MeasuredCase out;
  const auto preset = FindModelPreset(PresetNameOf(Cell(row, "model")));
  if (!preset.ok()) return absl::InvalidArgumentError("shape of the layers not published");
  out.model = (*preset)->architecture;
  ParallelLayout& layout = out.job.layout;
  SEXTANT_ASSIGN_OR_RETURN(layout.tensor_parallel_size, RequiredCell(row, "tp", "layout"));
  SEXTANT_ASSIGN_OR_RETURN(layout.pipeline_parallel_size, RequiredCell(row, "pp", "layout"));
  SetChunks(out.model, layout);
  SEXTANT_RETURN_IF_ERROR(SetBatch(row, out.job));
  StateSharding& sharding = out.job.state.sharding;
  SEXTANT_ASSIGN_OR_RETURN(sharding.data_parallel_size, RequiredCell(row, "dp", "layout"));
  sharding.zero_stage = ZeroStage::kParameters;
  sharding.reshard_after_forward = DefaultReshardAfterForward(Framework::kPytorchFsdp, layout);
  out.job.state.precision = WithDefaults({.compute_data_type = DataType::kBf16,
                                          .weight_data_type = DataType::kFp32,
                                          .gradient_data_type = DataType::kFp32});
  out.job.buffers = BuffersOf({.kind = Framework::kPytorchFsdp}, layout);
  out.job.reserve =
      ReserveWith(WorkspaceOf({.compute_capability = kHopper}), Framework::kPytorchFsdp, out.job);
  const auto size = PublishedBytes(Cell(row, "peak_mem_as_published"));
  if (!size.has_value()) return absl::InvalidArgumentError("no measured memory");
  out.measured.push_back({MemoryDefinition::kReserved, *size});
  out.hardware = Cell(row, "hardware");
  out.traits.insert(kTraitCompiled);
  out.assumptions.push_back("what torch.compile keeps, and what an fp8 product keeps");
  return out;
}

}  // namespace sextant
