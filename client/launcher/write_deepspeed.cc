#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "client/launcher/launcher.h"

namespace sextant::client {
namespace {

using OrderedJson = nlohmann::ordered_json;

// Adapters, how a frozen base is stored, lengths, tokens, recomputation and kernels are the
// training script's.
constexpr Expressible kDeepspeedFields[] = {
    {"model.changes.adapters.rank"},
    {"model.changes.adapters.targets"},
    {"model.changes.base_frozen"},
    {"training.sequence_length"},
    {"training.recompute"},
    {"training.precision.compute_data_type", "fp32|fp16|bf16"},
    {"training.precision.weight_data_type", "fp32|fp16|bf16"},
    {"training.precision.gradient_data_type", "fp32|fp16|bf16"},
    {"training.precision.master_weights", "true"},
    {"training.precision.optimizer_data_type", "fp32"},
    {"training.optimizer.kind", "sgd|adagrad|adam|adamw|lion|muon"},
    {"layout.parallel.tensor_parallel_size"},
    {"layout.parallel.pipeline_parallel_size"},
    {"layout.parallel.virtual_stage_count", "1"},
    {"layout.parallel.expert_parallel_size"},
    {"layout.parallel.expert_tensor_parallel_size"},
    {"layout.context_parallel_size"},
    {"layout.context_parallel_kind", "all-to-all"},
    {"layout.sequence_parallel"},
    {"layout.micro_batch_size"},
    {"layout.global_batch_size"},
    {"layout.schedule", "one-forward-one-backward"},
    {"layout.sharding.zero_stage"},
    {"layout.sharding.shard_group_size"},
    {"layout.sharding.reshard_after_forward", "true"},
    {"layout.sharding.prefetched_unit_count", "1"},
    {"layout.sharding.offload_optimizer"},
    {"layout.sharding.offload_parameters"},
    {"layout.storage.frozen_data_type"},
    {"layout.storage.frozen_block_size"},
    {"layout.storage.double_quantization"},
    {"layout.kernels.attention"},
    {"layout.kernels.loss"},
    {"layout.kernels.loss_chunk_tokens"},
    {"layout.kernels.dropout"},
    {"layout.kernels.recomputed_layers_per_block"},
    {"layout.framework.kind", "deepspeed"},
    {"layout.framework.deterministic"},
};

int StageOf(v1::ZeroStage stage) { return static_cast<int>(stage) - v1::ZERO_STAGE_NONE; }

void WriteZero(const LaunchedRun& run, const LaunchSizes& sizes, OrderedJson* json,
               Refusals* refusals) {
  const v1::StateSharding& sharding = run.request.layout().sharding();
  const v1::FrameworkMemory& framework = run.request.layout().framework();
  OrderedJson& zero = (*json)["zero_optimization"];
  zero["stage"] = StageOf(sizes.zero);
  if (sizes.pipeline > 1 && StageOf(sizes.zero) > 1) {
    refusals->Add(absl::StrCat("--zero=", StageOf(sizes.zero)), "with --pp it takes 0 or 1");
  }
  if (sharding.offload_optimizer()) zero["offload_optimizer"] = {{"device", "cpu"}};
  if (sharding.offload_parameters()) zero["offload_param"] = {{"device", "cpu"}};
  if (framework.has_reduce_bucket_elements()) {
    zero["reduce_bucket_size"] = framework.reduce_bucket_elements();
  }
  if (framework.has_gather_bucket_elements()) {
    zero["allgather_bucket_size"] = framework.gather_bucket_elements();
  }
  if (!sharding.has_shard_group_size()) return;
  if (sharding.shard_group_size() == sizes.data * sizes.context) return;
  if (sizes.zero != v1::ZERO_STAGE_PARAMETERS) {
    return refusals->Add("--shard-group-size", "it takes --zero=3");
  }
  zero["mics_shard_size"] = sharding.shard_group_size();
}

void WriteParallel(const LaunchedRun& run, const LaunchSizes& sizes, OrderedJson* json,
                   LauncherFile* out, Refusals* refusals) {
  const v1::ParallelLayout& parallel = run.request.layout().parallel();
  if (sizes.tensor > 1) (*json)["tensor_parallel"]["autotp_size"] = sizes.tensor;
  if (sizes.sequence_parallel) {
    refusals->Add("--sp", "tensor parallel ranks keep whole sequences: give --sp=false");
  }
  if (sizes.context > 1) (*json)["sequence_parallel_size"] = sizes.context;
  if (sizes.pipeline > 1) {
    (*json)["pipeline"]["stages"] = sizes.pipeline;
    out->left_out.push_back(absl::StrCat("--pp=", sizes.pipeline, " (its PipelineModule)"));
  }
  if (sizes.expert == 1) return;
  OrderedJson& experts = (*json)["expert_parallel"];
  experts["enabled"] = true;
  experts["autoep_size"] = sizes.expert;
  if (parallel.has_expert_tensor_parallel_size()) {
    experts["expert_tensor_parallel_size"] = parallel.expert_tensor_parallel_size();
  }
}

// A pipeline's layers are recomputed by a setting; other models do it themselves.
void WriteRecompute(const LaunchedRun& run, const LaunchSizes& sizes, OrderedJson* json,
                    LauncherFile* out) {
  const v1::RecomputePolicy policy = run.request.training().recompute();
  const v1::KernelChoices& kernels = run.request.layout().kernels();
  if (policy == v1::RECOMPUTE_POLICY_UNSPECIFIED || policy == v1::RECOMPUTE_POLICY_NONE) return;
  const bool full = policy == v1::RECOMPUTE_POLICY_FULL;
  if (full && sizes.pipeline > 1) {
    (*json)["pipeline"]["activation_checkpoint_interval"] =
        kernels.has_recomputed_layers_per_block() ? kernels.recomputed_layers_per_block() : 1;
  } else {
    out->left_out.emplace_back(full ? "--recompute=full" : "--recompute=selective");
  }
}

// The adapters and the frozen base, by their flags.
void LeaveOutAdapters(const v1::PlanRunRequest& request, LauncherFile* out) {
  if (!request.model().changes().has_adapters()) return;
  out->left_out.emplace_back("--lora-rank");
  out->left_out.emplace_back("--lora-targets");
  if (request.model().changes().base_frozen()) out->left_out.emplace_back("--freeze-base");
  const bool stored = request.layout().storage().frozen_data_type() != 0;
  if (stored) out->left_out.emplace_back("--frozen-data-type");
}

const char* TypeName(v1::DataType type) {
  return type == v1::DATA_TYPE_FP32 ? "fp32" : type == v1::DATA_TYPE_FP16 ? "fp16" : "bf16";
}

const char* OptimizerName(v1::OptimizerSpec::Kind kind) {
  switch (kind) {
    case v1::OptimizerSpec::KIND_SGD:
      return "SGD";
    case v1::OptimizerSpec::KIND_ADAGRAD:
      return "Adagrad";
    case v1::OptimizerSpec::KIND_ADAM:
      return "Adam";
    case v1::OptimizerSpec::KIND_LION:
      return "Lion";
    case v1::OptimizerSpec::KIND_MUON:
      return "Muon";
    default:
      return "AdamW";
  }
}

void WritePrecision(const v1::TrainingSpec& training, OrderedJson* json, Refusals* refusals) {
  const v1::PrecisionPolicy& precision = training.precision();
  const v1::DataType compute = precision.compute_data_type();
  const v1::DataType weight = precision.weight_data_type();
  const bool open = compute == v1::DATA_TYPE_UNSPECIFIED;
  if (weight != 0 && weight != (open ? v1::DATA_TYPE_BF16 : compute)) {
    refusals->Add("--weight-data-type", "weights are stored as they are computed with");
  }
  (*json)["bf16"]["enabled"] = open || compute == v1::DATA_TYPE_BF16;
  (*json)["fp16"]["enabled"] = compute == v1::DATA_TYPE_FP16;
  if (precision.gradient_data_type() != 0) {
    (*json)["data_types"]["grad_accum_dtype"] = TypeName(precision.gradient_data_type());
  }
  if (training.optimizer().kind() != 0) {
    (*json)["optimizer"]["type"] = OptimizerName(training.optimizer().kind());
  }
}

}  // namespace

absl::Span<const Expressible> DeepspeedFields() { return kDeepspeedFields; }

absl::StatusOr<LauncherFile> WriteDeepspeed(const LaunchedRun& run) {
  Refusals refusals("DeepSpeed");
  refusals.Check(run.request, kDeepspeedFields);
  if (run.request.layout().global_batch_size() <= 0) refusals.Add("--gbs", "it takes one");
  const LaunchSizes sizes = SizesOf(run.request);
  LauncherFile out = {.left_out = {"the model", "--sequence-length", "--tokens"}};
  OrderedJson json;
  json["train_batch_size"] = sizes.global_batch;
  json["train_micro_batch_size_per_gpu"] = sizes.micro_batch;
  json["gradient_accumulation_steps"] = sizes.global_batch / sizes.data / sizes.micro_batch;
  WritePrecision(run.request.training(), &json, &refusals);
  WriteZero(run, sizes, &json, &refusals);
  WriteParallel(run, sizes, &json, &out, &refusals);
  WriteRecompute(run, sizes, &json, &out);
  LeaveOutAdapters(run.request, &out);
  if (!refusals.status().ok()) return refusals.status();
  out.text = absl::StrCat(json.dump(2), "\n");
  return out;
}

}  // namespace sextant::client
