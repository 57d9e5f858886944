#include "tests/validation/nanotron_row.h"

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "engine/base/status_macros.h"
#include "tests/validation/cells.h"
#include "tests/validation/dense_model.h"
#include "tests/validation/request.h"

namespace sextant {
namespace {

DenseShape LlamaShape(int64_t layers, int64_t hidden, int64_t heads, int64_t feed_forward) {
  return {.layer_count = layers,
          .hidden_size = hidden,
          .feed_forward_size = feed_forward,
          .head_count = heads,
          .vocabulary_size = 131'072,
          .gated = true,
          .root_mean_square = true};
}

absl::StatusOr<DenseShape> NanotronShape(const std::string& model) {
  DenseShape out;
  if (model == "nanotron-1.34B") out = LlamaShape(16, 2048, 32, 8192);
  if (model == "nanotron-3.57B") out = LlamaShape(28, 3072, 24, 8192);
  if (model == "nanotron-8.86B") out = LlamaShape(32, 4096, 32, 14336);
  if (model == "nanotron-80.0B") out = LlamaShape(80, 8192, 64, 28672);
  if (out.layer_count == 0) return absl::InvalidArgumentError("shape of the layers not published");
  out.tied = out.hidden_size < 4096;
  return out;
}

absl::Status SetLayout(const CsvRow& row, int64_t layers, v1::RunLayout& out) {
  v1::ParallelLayout& parallel = *out.mutable_parallel();
  SEXTANT_ASSIGN_OR_RETURN(const int64_t tensor, RequiredCell(row, "tp", "layout"));
  SEXTANT_ASSIGN_OR_RETURN(const int64_t stages, RequiredCell(row, "pp", "layout"));
  SEXTANT_ASSIGN_OR_RETURN(const int64_t micro, RequiredCell(row, "micro_batch", "micro-batch"));
  SEXTANT_ASSIGN_OR_RETURN(const int64_t zero, RequiredCell(row, "zero_stage", "ZeRO stage"));
  if (zero < 0 || zero > 3) return absl::InvalidArgumentError("unknown ZeRO stage");
  parallel.set_tensor_parallel_size(tensor);
  parallel.set_pipeline_parallel_size(stages);
  SetUnevenStages(layers, parallel);
  out.set_sequence_parallel(tensor > 1);
  out.set_micro_batch_size(micro);
  out.mutable_sharding()->set_zero_stage(static_cast<v1::ZeroStage>(zero + 1));
  return absl::OkStatus();
}

// All that is known of a run. Sequence length and recomputation are left to the caller.
absl::StatusOr<v1::PlanRunRequest> KnownRequest(const CsvRow& row, const std::string& accelerator,
                                                const DenseShape& shape) {
  v1::PlanRunRequest out = RequestOn(accelerator);
  SEXTANT_ASSIGN_OR_RETURN(v1::Architecture model, DenseArchitecture(shape));
  *out.mutable_model()->mutable_architecture() = std::move(model);
  SEXTANT_RETURN_IF_ERROR(SetLayout(row, shape.layer_count, *out.mutable_layout()));
  SEXTANT_ASSIGN_OR_RETURN(const int64_t replicas, RequiredCell(row, "dp", "layout"));
  SEXTANT_ASSIGN_OR_RETURN(const int64_t batches, RequiredCell(row, "grad_accum", "batch"));
  SetSizes({.data_parallel_size = replicas, .micro_batch_count = batches}, out);
  return out;
}

}  // namespace

absl::StatusOr<OpenCase> OpenNanotronCase(const CsvRow& row) {
  OpenCase out;
  SEXTANT_ASSIGN_OR_RETURN(const DenseShape shape, NanotronShape(Cell(row, "model")));
  SEXTANT_ASSIGN_OR_RETURN(v1::PlanRunRequest request, KnownRequest(row, "h100-sxm", shape));
  SEXTANT_ASSIGN_OR_RETURN(const int64_t length, RequiredCell(row, "seq_len", "sequence length"));
  request.mutable_training()->set_sequence_length(length);
  SetMixedPrecision(v1::DATA_TYPE_BF16, v1::DATA_TYPE_FP32, request);
  // Its loss is computed on logits cast to fp32.
  request.mutable_layout()->mutable_kernels()->set_loss(v1::KernelChoices::LOSS_PLAIN);
  v1::FrameworkMemory& framework = *request.mutable_layout()->mutable_framework();
  framework.set_kind(v1::FrameworkMemory::KIND_MEGATRON_LM);
  framework.set_transformer_engine(false);
  framework.set_fused_weight_gradient(false);
  for (const v1::RecomputePolicy policy : {v1::RECOMPUTE_POLICY_FULL, v1::RECOMPUTE_POLICY_NONE}) {
    request.mutable_training()->set_recompute(policy);
    out.requests.push_back(request);
  }
  out.open = "recomputation: none or full; allocated or reserved";
  out.definitions = {MemoryDefinition::kAllocated, MemoryDefinition::kReserved};
  std::string text = Cell(row, "peak_mem_as_published");  // nanotron's GB are GiB
  if (text.size() > 2) text.insert(text.size() - 1, "i");
  out.measured = PublishedBytes(text);
  return out;
}

absl::StatusOr<OpenCase> OpenInternevoCase(const CsvRow& row) {
  SEXTANT_ASSIGN_OR_RETURN(DenseShape shape, GptShapeOf(row));
  SEXTANT_ASSIGN_OR_RETURN(shape.feed_forward_size,
                           RequiredCell(row, "ffn_hidden", "feed-forward size"));
  shape.gated = shape.root_mean_square = true;
  shape.tied = false;
  shape.attention_bias = shape.hidden_size == 4096;  // of the 7B model alone
  SEXTANT_ASSIGN_OR_RETURN(v1::PlanRunRequest request, KnownRequest(row, "a800-sxm-80", shape));
  const bool sharded = request.layout().sharding().zero_stage() == v1::ZERO_STAGE_PARAMETERS;
  SetMixedPrecision(v1::DATA_TYPE_BF16, sharded ? v1::DATA_TYPE_BF16 : v1::DATA_TYPE_FP32, request);
  request.mutable_layout()->mutable_framework()->set_kind(
      sharded ? v1::FrameworkMemory::KIND_PYTORCH_FSDP : v1::FrameworkMemory::KIND_DEEPSPEED);
  request.mutable_training()->set_recompute(v1::RECOMPUTE_POLICY_FULL);
  OpenCase out;
  for (const int64_t length : {2048, 4096}) {
    request.mutable_training()->set_sequence_length(length);
    out.requests.push_back(request);
  }
  out.open = "sequence length: 2,048 or 4,096";
  out.definitions = {MemoryDefinition::kProcess};
  out.measured = PublishedBytes(Cell(row, "peak_mem_as_published"));
  return out;
}

}  // namespace sextant
