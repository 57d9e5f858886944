#include "tests/validation/litgpt_row.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "engine/model/presets/presets.h"
#include "tests/validation/cells.h"
#include "tests/validation/request.h"
#include "tests/validation/traits.h"

namespace sextant {
namespace {

constexpr char kAccelerator[] = "a10g";
constexpr int64_t kSeveralMicroBatches = 2;  // gradients stay from one to the next
constexpr int64_t kNf4Block = 64;            // bitsandbytes' default

std::string PresetNameOf(const std::string& model) {
  return model == "tiny-llama" ? "tinyllama-1.1b" : model;
}

// "gemma2-2b/lora.yaml" next to the model gemma-2b: one of the two is wrong.
bool ContradictsItself(const CsvRow& row) {
  const std::string table = Cell(row, "source_table");
  return Cell(row, "model") == "gemma-2b" && !table.empty() &&
         !absl::StartsWith(table, "gemma-2b/");
}

void SetState(bool several, v1::PlanRunRequest& out) {
  v1::PrecisionPolicy& precision = *out.mutable_training()->mutable_precision();
  precision.set_compute_data_type(v1::DATA_TYPE_BF16);
  precision.set_weight_data_type(v1::DATA_TYPE_BF16);
  precision.set_gradient_data_type(v1::DATA_TYPE_BF16);
  precision.set_master_weights(false);
  precision.set_optimizer_data_type(v1::DATA_TYPE_BF16);
  out.mutable_layout()->mutable_sharding()->set_zero_stage(several ? v1::ZERO_STAGE_PARAMETERS
                                                                   : v1::ZERO_STAGE_NONE);
  out.mutable_layout()->mutable_framework()->set_kind(
      several ? v1::FrameworkMemory::KIND_PYTORCH_FSDP : v1::FrameworkMemory::KIND_PYTORCH_DDP);
}

absl::StatusOr<v1::PlanRunRequest> LitgptRequest(const CsvRow& row) {
  if (ContradictsItself(row)) return absl::InvalidArgumentError(kSelfContradicting);
  v1::PlanRunRequest out = RequestOn(kAccelerator);
  const auto preset = FindModelPreset(PresetNameOf(Cell(row, "model")));
  if (!preset.ok()) return absl::InvalidArgumentError("shape of the layers not published");
  out.mutable_model()->set_preset(std::string((*preset)->name));
  SEXTANT_ASSIGN_OR_RETURN(const int64_t length, RequiredCell(row, "seq_len", "sequence length"));
  SEXTANT_ASSIGN_OR_RETURN(const int64_t micro, RequiredCell(row, "micro_batch", "micro-batch"));
  SEXTANT_ASSIGN_OR_RETURN(const int64_t gpus, RequiredCell(row, "gpus", "GPU count"));
  out.mutable_training()->set_sequence_length(length);
  out.mutable_layout()->set_micro_batch_size(micro);
  out.mutable_layout()->mutable_kernels()->set_loss(v1::KernelChoices::LOSS_PLAIN);
  SetState(gpus > 1, out);
  SetSizes({.data_parallel_size = gpus, .micro_batch_count = kSeveralMicroBatches}, out);
  return out;
}

// Adapters of `rank` on queries and values, or on every matrix of the layers.
void SetAdapters(int64_t rank, bool everywhere, const ArchitectureSpec& spec,
                 v1::ModelChanges& out) {
  std::vector<std::string> targets = {"attention.query", "attention.value"};
  if (everywhere) {
    for (const char* target :
         {"attention.key", "attention.output", "feed_forward.up", "feed_forward.down"}) {
      targets.push_back(target);
    }
    const auto& feed_forward = spec.layer_kinds.front().feed_forward;
    const bool gated = feed_forward.has_value() && feed_forward->kind == FeedForwardKind::kGated;
    if (gated) targets.push_back("feed_forward.gate");
  }
  out.mutable_adapters()->set_rank(rank);
  for (const std::string& target : targets) out.mutable_adapters()->add_targets(target);
  out.set_base_frozen(true);
}

}  // namespace

absl::StatusOr<MeasuredCase> LitgptCase(const CsvRow& row) {
  const std::string task = Cell(row, "task");
  if (task == "pretrain") return absl::InvalidArgumentError("sequence length not published");
  if (ContradictsItself(row)) return absl::InvalidArgumentError(kSelfContradicting);
  if (task != "sft") {
    return absl::InvalidArgumentError("rank and targets of adapters not published with the row");
  }
  MeasuredCase out;
  SEXTANT_ASSIGN_OR_RETURN(out.all_fields, LitgptRequest(row));
  const std::string text = Cell(row, "peak_mem_as_published");
  out.ran_out = text == "OOM";
  const auto size = PublishedBytes(text);
  if (!out.ran_out && !size.has_value()) return absl::InvalidArgumentError("no measured memory");
  if (size.has_value()) out.measured.push_back({MemoryDefinition::kAllocated, *size});
  out.hardware = Cell(row, "hardware");
  out.series = Cell(row, "model");
  out.traits.insert(kTraitShorterSamples);
  out.assumptions.push_back("samples as long as the longest");
  return out;
}

absl::StatusOr<OpenCase> OpenLitgptCase(const CsvRow& row) {
  const std::string task = Cell(row, "task");
  if (task != "lora" && task != "qlora") return absl::InvalidArgumentError("not of adapters");
  SEXTANT_ASSIGN_OR_RETURN(v1::PlanRunRequest request, LitgptRequest(row));
  const auto preset = FindModelPreset(request.model().preset());
  if (!preset.ok()) return preset.status();
  if (task == "qlora") {
    v1::WeightStorage& storage = *request.mutable_layout()->mutable_storage();
    storage.set_frozen_data_type(v1::DATA_TYPE_FP4);
    storage.set_frozen_block_size(kNf4Block);
  }
  OpenCase out;
  out.open =
      "rank: 8 to 32; adapters: on queries and values, or on all matrices; samples: 128 to 512 "
      "tokens";
  out.definitions = {MemoryDefinition::kAllocated};
  out.measured = PublishedBytes(Cell(row, "peak_mem_as_published"));
  const ArchitectureSpec& spec = (*preset)->architecture;
  v1::PlanRunRequest least = request;
  SetAdapters(8, false, spec, *least.mutable_model()->mutable_changes());
  least.mutable_training()->set_sequence_length(128);
  SetAdapters(32, true, spec, *request.mutable_model()->mutable_changes());
  if (request.cluster().device_count() > 1) {
    // The figures of several GPUs are those of one.
    absl::StrAppend(&out.open, "; weights: sharded or whole");
    SetState(false, request);
  }
  out.requests = {std::move(least), std::move(request)};
  return out;
}

}  // namespace sextant
