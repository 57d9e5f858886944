#include "tests/validation/bloom_row.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "engine/base/status_macros.h"
#include "engine/model/architecture/architecture_spec.h"
#include "tests/validation/cells.h"
#include "tests/validation/dense_model.h"
#include "tests/validation/request.h"

namespace sextant {
namespace {

constexpr char kAccelerator[] = "a100-sxm-80";
// From "Rebalancing layers" on, an embedding at either end counts as a layer.
constexpr char kRebalanced[] = "Rebalancing layers";

// The context and all kernels of PyTorch 1.10.2 on an A100 with 80 GB, loaded eagerly: 1.78 GiB
// (stas00/ml-engineering @744d01e, `training/performance/README.md`). The trials of February 2022
// ran nightly builds of PyTorch 1.11 and 1.12 on CUDA 11.3, which can't load kernels on demand.
constexpr int64_t kContextBytes = 1'911'260'447;

// The fewest and the most heads of trials that don't publish theirs: of 300 and of 90 elements.
constexpr int64_t kOpenHeads[] = {48, 160};

absl::Status SetModel(const CsvRow& row, v1::PlanRunRequest& out) {
  SEXTANT_ASSIGN_OR_RETURN(DenseShape shape, GptShapeOf(row));
  SEXTANT_ASSIGN_OR_RETURN(shape.position_count, RequiredCell(row, "seq_len", "sequence length"));
  shape.attention_bias = shape.feed_forward_bias = true;
  SEXTANT_ASSIGN_OR_RETURN(v1::Architecture model, DenseArchitecture(shape));
  const int64_t multiple = 128 * std::max<int64_t>(1, WholeCell(row, "tp").value_or(1));
  model.mutable_embedding()->set_padded_vocabulary_size(
      PaddedVocabularySize(shape.vocabulary_size, multiple));
  *out.mutable_model()->mutable_architecture() = std::move(model);
  return absl::OkStatus();
}

absl::Status SetParallel(const CsvRow& row, v1::ParallelLayout& out) {
  SEXTANT_ASSIGN_OR_RETURN(const int64_t tensor, RequiredCell(row, "tp", "layout"));
  SEXTANT_ASSIGN_OR_RETURN(const int64_t stages, RequiredCell(row, "pp", "layout"));
  SEXTANT_ASSIGN_OR_RETURN(const int64_t layers, RequiredCell(row, "layers", "number of layers"));
  out.set_tensor_parallel_size(tensor);
  out.set_pipeline_parallel_size(stages);
  const bool ends = absl::StrContains(Cell(row, "source_table"), kRebalanced);
  if (stages < 1 || (layers + (ends ? 2 : 0)) % stages != 0) {
    return absl::InvalidArgumentError("layers of each stage not published");
  }
  for (int64_t i = 0; ends && i < stages; ++i) {
    const int64_t embeddings = (i == 0 ? 1 : 0) + (i == stages - 1 ? 1 : 0);
    out.add_layers_per_chunk((layers + 2) / stages - embeddings);
  }
  return absl::OkStatus();
}

void SetState(const CsvRow& row, v1::PlanRunRequest& out) {
  const bool wide = absl::StrContains(Cell(row, "precision"), "fp32 grad accumulation");
  const v1::DataType type = wide ? v1::DATA_TYPE_BF16 : v1::DATA_TYPE_FP16;
  SetMixedPrecision(type, wide ? v1::DATA_TYPE_FP32 : type, out);
  out.mutable_layout()->mutable_sharding()->set_zero_stage(
      WholeCell(row, "zero_stage") == 0 ? v1::ZERO_STAGE_NONE : v1::ZERO_STAGE_OPTIMIZER);
}

void SetKernels(v1::PlanRunRequest& out) {
  out.mutable_training()->set_recompute(v1::RECOMPUTE_POLICY_FULL);
  v1::KernelChoices& kernels = *out.mutable_layout()->mutable_kernels();
  kernels.set_attention(v1::KernelChoices::ATTENTION_UNFUSED);
  kernels.set_loss(v1::KernelChoices::LOSS_VOCABULARY_PARALLEL);
  kernels.set_dropout(true);
  v1::FrameworkMemory& framework = *out.mutable_layout()->mutable_framework();
  framework.set_kind(v1::FrameworkMemory::KIND_DEEPSPEED);
  framework.set_context_bytes(kContextBytes);
  out.mutable_layout()->set_sequence_parallel(false);
}

absl::Status SetBatch(const CsvRow& row, v1::PlanRunRequest& out) {
  SEXTANT_ASSIGN_OR_RETURN(const int64_t length, RequiredCell(row, "seq_len", "sequence length"));
  SEXTANT_ASSIGN_OR_RETURN(const int64_t micro, RequiredCell(row, "micro_batch", "micro-batch"));
  SEXTANT_ASSIGN_OR_RETURN(const int64_t global, RequiredCell(row, "global_batch", "batch"));
  SEXTANT_ASSIGN_OR_RETURN(const int64_t replicas, RequiredCell(row, "dp", "layout"));
  if (micro < 1 || replicas < 1) return absl::InvalidArgumentError("no batch");
  out.mutable_training()->set_sequence_length(length);
  out.mutable_layout()->set_micro_batch_size(micro);
  SetSizes({.data_parallel_size = replicas, .micro_batch_count = global / (micro * replicas)}, out);
  return absl::OkStatus();
}

absl::StatusOr<v1::PlanRunRequest> BloomRequest(const CsvRow& row) {
  v1::PlanRunRequest out = RequestOn(kAccelerator);
  SEXTANT_RETURN_IF_ERROR(SetModel(row, out));
  SEXTANT_RETURN_IF_ERROR(SetParallel(row, *out.mutable_layout()->mutable_parallel()));
  SetState(row, out);
  SetKernels(out);
  SEXTANT_RETURN_IF_ERROR(SetBatch(row, out));
  return out;
}

// The multiple of the stages that is nearest to the published size over 12 h^2: 78 for "194B as
// published" on 6 stages.
absl::StatusOr<int64_t> LayersBySize(const CsvRow& row) {
  const std::string size = Cell(row, "params_note");
  const double hidden = static_cast<double>(WholeCell(row, "hidden").value_or(0));
  const int64_t stages = WholeCell(row, "pp").value_or(0);
  double billions = 0;
  if (!absl::SimpleAtod(size.substr(0, size.find('B')), &billions) || hidden < 1 || stages < 1) {
    return absl::InvalidArgumentError("number of layers not published");
  }
  const double layers = billions * 1e9 / (12 * hidden * hidden);
  return stages * std::llround(layers / static_cast<double>(stages));
}

}  // namespace

absl::StatusOr<MeasuredCase> BloomCase(const CsvRow& row) {
  MeasuredCase out;
  const std::string text = Cell(row, "peak_mem_as_published");
  out.ran_out = text == "OOM" || Cell(row, "oom") == "True";
  if (!out.ran_out) {
    const auto size = PublishedBytes(text);
    if (!size.has_value()) return absl::InvalidArgumentError("no measured memory");
    out.measured.push_back({MemoryDefinition::kProcess, *size});
  }
  SEXTANT_ASSIGN_OR_RETURN(out.all_fields, BloomRequest(row));
  out.hardware = Cell(row, "hardware");
  const std::vector<std::string> title =
      absl::StrSplit(Cell(row, "source_table"), absl::MaxSplits(": ", 1));
  out.series = title.back();
  return out;
}

absl::StatusOr<OpenCase> OpenBloomCase(const CsvRow& row) {
  OpenCase out;
  out.definitions = {MemoryDefinition::kProcess};
  out.measured = PublishedBytes(Cell(row, "peak_mem_as_published"));
  if (!out.measured.has_value() || !Cell(row, "heads").empty()) {
    return absl::InvalidArgumentError("no open field with a measured figure");
  }
  CsvRow closed = row;
  out.open = absl::StrCat("heads: ", kOpenHeads[0], " to ", kOpenHeads[1]);
  if (Cell(row, "layers").empty()) {
    SEXTANT_ASSIGN_OR_RETURN(const int64_t layers, LayersBySize(row));
    closed["layers"] = absl::StrCat(layers);
    absl::StrAppend(&out.open, "; ", layers, " layers, by the published size");
  }
  for (const int64_t heads : kOpenHeads) {
    closed["heads"] = absl::StrCat(heads);
    SEXTANT_ASSIGN_OR_RETURN(v1::PlanRunRequest request, BloomRequest(closed));
    out.requests.push_back(std::move(request));
  }
  return out;
}

}  // namespace sextant
