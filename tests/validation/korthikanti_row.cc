#include "tests/validation/korthikanti_row.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "tests/validation/cells.h"
#include "tests/validation/dense_model.h"
#include "tests/validation/request.h"

namespace sextant {
namespace {

constexpr char kAccelerator[] = "a100-sxm-80";
constexpr int64_t kMicroBatchesAStage = 8;  // enough to fill the pipeline

absl::Status SetModel(const CsvRow& row, v1::PlanRunRequest& out) {
  SEXTANT_ASSIGN_OR_RETURN(const DenseShape shape, GptShapeOf(row));
  SEXTANT_ASSIGN_OR_RETURN(v1::Architecture model, DenseArchitecture(shape));
  *out.mutable_model()->mutable_architecture() = std::move(model);
  return absl::OkStatus();
}

absl::Status SetTraining(const CsvRow& row, v1::TrainingSpec& out) {
  SEXTANT_ASSIGN_OR_RETURN(const int64_t length, RequiredCell(row, "seq_len", "sequence length"));
  out.set_sequence_length(length);
  const std::string recompute = Cell(row, "recompute");
  if (recompute == "selective") {
    out.set_recompute(v1::RECOMPUTE_POLICY_SELECTIVE);
  } else if (recompute != "none") {
    return absl::InvalidArgumentError(absl::StrCat("recompute ", recompute));
  }
  return absl::OkStatus();
}

absl::Status SetLayout(const CsvRow& row, v1::PlanRunRequest& out) {
  v1::RunLayout& layout = *out.mutable_layout();
  SEXTANT_ASSIGN_OR_RETURN(const int64_t tensor, RequiredCell(row, "tp", "layout"));
  SEXTANT_ASSIGN_OR_RETURN(const int64_t stages, RequiredCell(row, "pp", "layout"));
  SEXTANT_ASSIGN_OR_RETURN(const int64_t micro, RequiredCell(row, "micro_batch", "micro-batch"));
  layout.mutable_parallel()->set_tensor_parallel_size(tensor);
  layout.mutable_parallel()->set_pipeline_parallel_size(stages);
  layout.mutable_parallel()->set_virtual_stage_count(WholeCell(row, "vpp").value_or(1));
  layout.set_micro_batch_size(micro);
  layout.set_sequence_parallel(Cell(row, "sequence_parallel") == "True");
  layout.mutable_sharding()->set_zero_stage(v1::ZERO_STAGE_NONE);
  layout.mutable_kernels()->set_attention(v1::KernelChoices::ATTENTION_UNFUSED);
  layout.mutable_kernels()->set_loss(v1::KernelChoices::LOSS_VOCABULARY_PARALLEL);
  layout.mutable_kernels()->set_dropout(true);
  layout.mutable_framework()->set_kind(v1::FrameworkMemory::KIND_MEGATRON_LM);
  layout.mutable_framework()->set_transformer_engine(false);
  SetSizes({.micro_batch_count = kMicroBatchesAStage * stages}, out);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<MeasuredCase> KorthikantiCase(const CsvRow& row) {
  MeasuredCase out;
  out.all_fields = RequestOn(kAccelerator);
  SEXTANT_RETURN_IF_ERROR(SetModel(row, out.all_fields));
  SEXTANT_RETURN_IF_ERROR(SetTraining(row, *out.all_fields.mutable_training()));
  SEXTANT_RETURN_IF_ERROR(SetLayout(row, out.all_fields));
  // Weights 2, gradients 4, fp32 weights and both moments 12.
  SetMixedPrecision(v1::DATA_TYPE_FP16, v1::DATA_TYPE_FP32, out.all_fields);
  double gibibytes = 0;
  if (!absl::SimpleAtod(Cell(row, "peak_mem_gib"), &gibibytes)) {
    return absl::InvalidArgumentError("no calculated memory");
  }
  out.measured.push_back({MemoryDefinition::kCalculated, Bytes(std::llround(gibibytes * 0x1p30))});
  out.stage = 0;
  out.series = Cell(row, "model");
  return out;
}

}  // namespace sextant
