#include "tests/validation/torchtitan_row.h"

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "engine/model/presets/presets.h"
#include "tests/validation/cells.h"
#include "tests/validation/request.h"
#include "tests/validation/traits.h"

namespace sextant {
namespace {

constexpr char kLocalBatch[] = "local batch size ";
constexpr char kGrandTeton[] = "h100-96-hbm2e-500w";
// That GPU has no published peak, without which the service plans no run. No memory depends on it.
constexpr double kAnyPeak = 5e14;

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

std::string AcceleratorOf(const CsvRow& row) {
  const std::string key = Cell(row, "gpu_key");
  return key.empty() || absl::StartsWith(key, "h100-sxm") ? "h100-sxm" : key;
}

// Sets the model and returns its number of layers.
absl::StatusOr<int64_t> SetModel(const CsvRow& row, v1::PlanRunRequest& out) {
  const auto preset = FindModelPreset(PresetNameOf(Cell(row, "model")));
  if (!preset.ok()) return absl::InvalidArgumentError("shape of the layers not published");
  out.mutable_model()->set_preset(std::string((*preset)->name));
  int64_t layers = 0;
  for (const LayerRun& run : (*preset)->architecture.decoder.layers) layers += run.count;
  return layers;
}

absl::Status SetLayout(const CsvRow& row, int64_t layers, v1::RunLayout& out) {
  v1::ParallelLayout& parallel = *out.mutable_parallel();
  SEXTANT_ASSIGN_OR_RETURN(const int64_t tensor, RequiredCell(row, "tp", "layout"));
  SEXTANT_ASSIGN_OR_RETURN(const int64_t stages, RequiredCell(row, "pp", "layout"));
  parallel.set_tensor_parallel_size(tensor);
  parallel.set_pipeline_parallel_size(stages);
  // torchtitan's own split may differ by a layer.
  SetUnevenStages(layers, parallel);
  out.set_sequence_parallel(tensor > 1);
  out.set_context_parallel_size(WholeCell(row, "cp").value_or(1));
  out.mutable_sharding()->set_zero_stage(v1::ZERO_STAGE_PARAMETERS);
  out.mutable_sharding()->set_reshard_after_forward(stages == 1);
  out.mutable_kernels()->set_loss(v1::KernelChoices::LOSS_PLAIN);
  out.mutable_framework()->set_kind(v1::FrameworkMemory::KIND_TORCHTITAN);
  out.mutable_framework()->set_deferred_reduction(stages > 1);
  return absl::OkStatus();
}

absl::Status SetBatch(const CsvRow& row, v1::PlanRunRequest& out) {
  SEXTANT_ASSIGN_OR_RETURN(const int64_t length, RequiredCell(row, "seq_len", "sequence length"));
  SEXTANT_ASSIGN_OR_RETURN(const int64_t local, LocalBatchOf(row));
  SEXTANT_ASSIGN_OR_RETURN(const int64_t replicas, RequiredCell(row, "dp", "layout"));
  out.mutable_training()->set_sequence_length(length);
  const bool pipeline = out.layout().parallel().pipeline_parallel_size() > 1;
  out.mutable_layout()->set_micro_batch_size(pipeline ? 1 : local);
  SetSizes({.data_parallel_size = replicas, .micro_batch_count = pipeline ? local : 1}, out);
  return absl::OkStatus();
}

absl::StatusOr<v1::PlanRunRequest> TorchtitanRequest(const CsvRow& row) {
  const std::string accelerator = AcceleratorOf(row);
  v1::PlanRunRequest out = RequestOn(accelerator);
  if (accelerator == kGrandTeton) out.mutable_cluster()->set_peak_flops_per_second(kAnyPeak);
  SEXTANT_ASSIGN_OR_RETURN(const int64_t layers, SetModel(row, out));
  SEXTANT_RETURN_IF_ERROR(SetLayout(row, layers, *out.mutable_layout()));
  SEXTANT_RETURN_IF_ERROR(SetBatch(row, out));
  v1::PrecisionPolicy& precision = *out.mutable_training()->mutable_precision();
  precision.set_compute_data_type(v1::DATA_TYPE_BF16);
  precision.set_weight_data_type(v1::DATA_TYPE_FP32);
  precision.set_gradient_data_type(v1::DATA_TYPE_FP32);
  precision.set_master_weights(false);
  precision.set_optimizer_data_type(v1::DATA_TYPE_FP32);
  return out;
}

// torchtitan logs GiB, which tables made of its logs print as GB.
absl::optional<Bytes> LoggedBytes(const CsvRow& row) {
  std::string text = Cell(row, "peak_mem_as_published");
  if (absl::EndsWith(text, " GB")) text.replace(text.size() - 2, 2, "GiB");
  return PublishedBytes(text);
}

}  // namespace

absl::StatusOr<MeasuredCase> TorchtitanCase(const CsvRow& row) {
  if (Cell(row, "recompute") != "full") {
    return absl::InvalidArgumentError("recomputation by operator can't be described");
  }
  MeasuredCase out;
  SEXTANT_ASSIGN_OR_RETURN(out.all_fields, TorchtitanRequest(row));
  out.all_fields.mutable_training()->set_recompute(v1::RECOMPUTE_POLICY_FULL);
  const auto size = PublishedBytes(Cell(row, "peak_mem_as_published"));
  if (!size.has_value()) return absl::InvalidArgumentError("no measured memory");
  out.measured.push_back({MemoryDefinition::kReserved, *size});
  out.hardware = Cell(row, "hardware");
  out.series = absl::StrCat(Cell(row, "model"), " ", Cell(row, "source_table"));
  out.traits.insert(kTraitCompiled);
  out.assumptions.push_back("the tensors that torch.compile and fp8 products keep");
  return out;
}

absl::StatusOr<OpenCase> OpenTorchtitanCase(const CsvRow& row) {
  OpenCase out;
  out.definitions = {MemoryDefinition::kReserved};
  out.measured = LoggedBytes(row);
  if (!out.measured.has_value()) return absl::InvalidArgumentError("no measured memory");
  const bool full = Cell(row, "recompute") == "full";
  if (full && !Cell(row, "micro_batch").empty()) return absl::InvalidArgumentError("nothing open");
  CsvRow closed = row;
  for (const int choice : {1, 2}) {
    if (full) closed["micro_batch"] = absl::StrCat(choice);
    SEXTANT_ASSIGN_OR_RETURN(v1::PlanRunRequest request, TorchtitanRequest(closed));
    request.mutable_training()->set_recompute(full || choice == 1 ? v1::RECOMPUTE_POLICY_FULL
                                                                  : v1::RECOMPUTE_POLICY_NONE);
    out.requests.push_back(std::move(request));
  }
  out.open = full ? "micro-batch: 1 or 2" : "recomputation, by operator: between none and full";
  return out;
}

}  // namespace sextant
