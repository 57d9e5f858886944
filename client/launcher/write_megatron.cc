#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/launcher/launcher.h"
#include "client/launcher/megatron_arguments.h"
#include "client/launcher/megatron_model.h"
#include "client/launcher/megatron_pipeline.h"

namespace sextant::client {
namespace {

constexpr Expressible kMegatronFields[] = {
    {"training.sequence_length"},
    {"training.recompute"},
    {"training.precision.compute_data_type", "fp32|fp16|bf16|fp8|fp8-e4m3|mxfp8|nvfp4"},
    {"training.precision.weight_data_type", "fp32|fp16|bf16|fp8|fp8-e4m3"},
    {"training.precision.gradient_data_type", "fp32|fp16|bf16"},
    {"training.precision.master_weights", "true"},
    {"training.precision.optimizer_data_type", "fp32|fp16|bf16|fp8"},
    {"training.optimizer.kind", "sgd|sgd-momentum|adam|adamw"},
    {"model.changes.vocabulary_multiple"},
    {"layout.parallel.tensor_parallel_size"},
    {"layout.parallel.pipeline_parallel_size"},
    {"layout.parallel.virtual_stage_count"},
    {"layout.parallel.layers_per_chunk"},
    {"layout.parallel.expert_parallel_size"},
    {"layout.parallel.expert_tensor_parallel_size"},
    {"layout.context_parallel_size"},
    {"layout.context_parallel_kind"},
    {"layout.sequence_parallel"},
    {"layout.micro_batch_size"},
    {"layout.global_batch_size"},
    {"layout.schedule", "one-forward-one-backward"},
    {"layout.deferred_head_gradients"},
    {"layout.sharding.zero_stage"},
    {"layout.sharding.shard_group_size"},
    {"layout.sharding.reshard_after_forward", "true"},
    {"layout.sharding.offload_optimizer"},
    {"layout.kernels.attention"},
    {"layout.kernels.loss", "vocabulary-parallel|vocabulary-parallel-compiled"},
    {"layout.kernels.dropout"},
    {"layout.kernels.recomputed_layers_per_block"},
    {"layout.kernels.recompute_activation_function"},
    {"layout.kernels.recompute_norm_outputs"},
    {"layout.kernels.recompute_latent_up_projections"},
    {"layout.framework.kind", "megatron-lm|megatron-bridge"},
    {"layout.framework.transformer_engine"},
    {"layout.framework.fused_weight_gradient"},
    {"layout.framework.grouped_experts"},
    {"layout.framework.deterministic"},
    {"layout.framework.captured_graphs"},
};

const char* ShortName(v1::DataType type) {
  switch (type) {
    case v1::DATA_TYPE_FP16:
      return "fp16";
    case v1::DATA_TYPE_BF16:
      return "bf16";
    case v1::DATA_TYPE_FP8:
      return "fp8";
    default:
      return "fp32";
  }
}

void WriteNarrow(v1::DataType compute, MegatronText* out) {
  if (compute == v1::DATA_TYPE_NVFP4) return out->Add("--fp4-format", "e2m1");
  out->Add("--fp8-format", compute == v1::DATA_TYPE_FP8 ? "hybrid" : "e4m3");
  if (compute == v1::DATA_TYPE_MXFP8) out->Add("--fp8-recipe", "mxfp8");
}

// Weights are as wide as what is computed in, or fp8 with fp8 products.
bool IsUsualWeight(v1::DataType weight, v1::DataType compute) {
  if (weight == v1::DATA_TYPE_UNSPECIFIED) return true;
  return weight == (IsNarrow(compute) ? v1::DATA_TYPE_BF16 : compute);
}

void WritePrecision(const v1::PlanRunRequest& request, MegatronText* out, Refusals* refusals) {
  const v1::PrecisionPolicy& precision = request.training().precision();
  const bool open = precision.compute_data_type() == v1::DATA_TYPE_UNSPECIFIED;
  const v1::DataType compute = open ? v1::DATA_TYPE_BF16 : precision.compute_data_type();
  const bool half = compute == v1::DATA_TYPE_FP16;
  const bool whole = compute == v1::DATA_TYPE_FP32;
  const v1::DataType weight = precision.weight_data_type();
  if (!whole) out->Flag(half ? "--fp16" : "--bf16");
  if (IsNarrow(compute)) WriteNarrow(compute, out);
  if (IsNarrow(weight) && IsNarrow(compute)) {
    out->Flag("--fp8-param-gather");
    if (SizesOf(request).zero == v1::ZERO_STAGE_NONE) {
      refusals->Add("--weight-data-type", "in fp8 it takes the distributed optimizer, --zero=1");
    }
  } else if (!IsUsualWeight(weight, compute)) {
    refusals->Add("--weight-data-type", "weights are stored as they are computed with");
  }
  const v1::DataType gradient = precision.gradient_data_type();
  const bool bf16 = !whole && !half;
  if (gradient == v1::DATA_TYPE_BF16 && bf16) {
    out->Flag("--grad-reduce-in-bf16");
  } else if (gradient == v1::DATA_TYPE_FP32 || (gradient == 0 && bf16)) {
    if (!whole) out->Flag("--accumulate-allreduce-grads-in-fp32");
  } else if (gradient != 0 && !half) {
    refusals->Add("--gradient-data-type", "gradients are fp32, or as wide as weights");
  }
}

void WriteOptimizer(const v1::PlanRunRequest& request, MegatronText* out, Refusals* refusals) {
  const v1::TrainingSpec& training = request.training();
  const bool offloaded = request.layout().sharding().offload_optimizer();
  const v1::OptimizerSpec::Kind kind = training.optimizer().kind();
  const bool sgd =
      kind == v1::OptimizerSpec::KIND_SGD || kind == v1::OptimizerSpec::KIND_SGD_MOMENTUM;
  out->Add("--optimizer", sgd ? "sgd" : "adam");
  if (kind == v1::OptimizerSpec::KIND_SGD) out->Add("--sgd-momentum", 0);
  const v1::DataType state = training.precision().optimizer_data_type();
  const bool narrow = state != v1::DATA_TYPE_UNSPECIFIED && state != v1::DATA_TYPE_FP32;
  if (narrow || offloaded) out->Flag("--use-precision-aware-optimizer");
  if (narrow && SizesOf(request).zero == v1::ZERO_STAGE_NONE) {
    refusals->Add("--optimizer-data-type", "it takes the distributed optimizer, --zero=1");
  }
  if (narrow) {
    out->Add("--exp-avg-dtype", ShortName(state));
    out->Add("--exp-avg-sq-dtype", ShortName(state));
  }
  if (!offloaded) return;
  out->Flag("--optimizer-cpu-offload");
  out->Add("--optimizer-offload-fraction", "1.0");
}

// True where one grouped product multiplies all experts of a GPU: by default in Megatron-Bridge.
bool GroupsExperts(const LaunchedRun& run) {
  const v1::FrameworkMemory& framework = run.request.layout().framework();
  const bool experts = absl::c_any_of(run.model.layer_kinds(),
                                      [](const v1::LayerKind& kind) { return kind.has_experts(); });
  if (framework.has_grouped_experts()) return experts && framework.grouped_experts();
  return experts && framework.kind() == v1::FrameworkMemory::KIND_MEGATRON_BRIDGE;
}

// Activation functions are recomputed by the module of grouped experts (TransformerConfig).
void RefuseActivations(const LaunchedRun& run, Refusals* refusals) {
  const bool dense = absl::c_any_of(
      run.model.layer_kinds(), [](const v1::LayerKind& kind) { return kind.has_feed_forward(); });
  if (dense) {
    refusals->Add("--recompute-activation-function", "it recomputes those of experts alone");
  } else if (!GroupsExperts(run)) {
    refusals->Add("--recompute-activation-function", "it takes --grouped-experts=true");
  }
}

void WriteRecompute(const LaunchedRun& run, MegatronText* out, Refusals* refusals) {
  const v1::KernelChoices& kernels = run.request.layout().kernels();
  const v1::RecomputePolicy policy = run.request.training().recompute();
  if (policy == v1::RECOMPUTE_POLICY_FULL) {
    out->Add("--recompute-granularity", "full");
    out->Add("--recompute-method", "uniform");
    return out->Add("--recompute-num-layers", kernels.has_recomputed_layers_per_block()
                                                  ? kernels.recomputed_layers_per_block()
                                                  : 1);
  }
  std::vector<std::string> modules;
  if (policy == v1::RECOMPUTE_POLICY_SELECTIVE) modules.emplace_back("core_attn");
  if (kernels.recompute_activation_function()) {
    modules.emplace_back("moe_act");
    RefuseActivations(run, refusals);
  }
  if (kernels.recompute_norm_outputs()) modules.emplace_back("layernorm");
  if (kernels.recompute_latent_up_projections()) modules.emplace_back("mla_up_proj");
  if (modules.empty()) return;
  out->Add("--recompute-granularity", "selective");
  out->Add("--recompute-modules", absl::StrJoin(modules, " "));
}

void WriteSharding(const LaunchedRun& run, const LaunchSizes& sizes, MegatronText* out,
                   Refusals* refusals) {
  const v1::StateSharding& sharding = run.request.layout().sharding();
  if (sizes.zero == v1::ZERO_STAGE_NONE) {
    if (sharding.offload_optimizer()) {
      refusals->Add("--offload-optimizer", "it takes the distributed optimizer, --zero=1");
    }
    return;
  }
  out->Flag("--use-distributed-optimizer");
  const bool fsdp = sizes.zero != v1::ZERO_STAGE_OPTIMIZER;
  if (fsdp) {
    out->Flag("--use-megatron-fsdp");
    out->Add("--data-parallel-sharding-strategy",
             sizes.zero == v1::ZERO_STAGE_GRADIENTS ? "optim_grads" : "optim_grads_params");
    out->Add("--ckpt-format", "fsdp_dtensor");
  }
  const int64_t ranks = sizes.data * sizes.context;
  const int64_t group = sharding.has_shard_group_size() ? sharding.shard_group_size() : ranks;
  if (group <= 0 || group == ranks) return;
  if (fsdp) return refusals->Add("--shard-group-size", "it takes --zero=1");
  out->Add("--num-distributed-optimizer-instances", ranks / group);
}

void WriteLayout(const LaunchedRun& run, MegatronText* out, Refusals* refusals) {
  const LaunchSizes sizes = SizesOf(run.request);
  const v1::ParallelLayout& parallel = run.request.layout().parallel();
  out->Add("--tensor-model-parallel-size", sizes.tensor);
  if (sizes.sequence_parallel) out->Flag("--sequence-parallel");
  out->Add("--context-parallel-size", sizes.context);
  const v1::ContextParallelKind kind = run.request.layout().context_parallel_kind();
  if (sizes.context > 1 && kind != v1::CONTEXT_PARALLEL_KIND_UNSPECIFIED) {
    out->Add("--cp-comm-type", kind == v1::CONTEXT_PARALLEL_KIND_RING ? "p2p" : "a2a");
  }
  WritePipeline(run, out);
  out->Add("--expert-model-parallel-size", sizes.expert);
  if (parallel.has_expert_tensor_parallel_size()) {
    out->Add("--expert-tensor-parallel-size", parallel.expert_tensor_parallel_size());
  }
  if (const int64_t deferred = run.request.layout().deferred_head_gradients(); deferred > 0) {
    out->Flag("--defer-embedding-wgrad-compute");
    if (deferred < kAllMicroBatches) out->Add("--wgrad-deferral-limit", deferred);
  }
  out->Add("--micro-batch-size", sizes.micro_batch);
  out->Add("--global-batch-size", sizes.global_batch);
  WriteSharding(run, sizes, out, refusals);
  if (!run.request.model().changes().has_vocabulary_multiple()) return;
  const int64_t multiple = run.request.model().changes().vocabulary_multiple();
  if (multiple % sizes.tensor != 0) {
    refusals->Add("--vocabulary-multiple", "it takes a multiple of --tp");
  }
  out->Add("--make-vocab-size-divisible-by", multiple / sizes.tensor);
}

void WriteKernels(const LaunchedRun& run, MegatronText* out) {
  const v1::KernelChoices& kernels = run.request.layout().kernels();
  const v1::FrameworkMemory& framework = run.request.layout().framework();
  out->Add("--attention-backend",
           kernels.attention() == v1::KernelChoices::ATTENTION_UNFUSED ? "unfused" : "flash");
  const char* const dropout = kernels.dropout() ? "0.1" : "0.0";  // 0.1 is Megatron-LM's default
  out->Add("--attention-dropout", dropout);
  out->Add("--hidden-dropout", dropout);
  if (kernels.loss() == v1::KernelChoices::LOSS_VOCABULARY_PARALLEL_COMPILED) {
    out->Flag("--cross-entropy-loss-fusion");
    out->Add("--cross-entropy-fusion-impl", "native");
  }
  if (GroupsExperts(run)) out->Flag("--moe-grouped-gemm");
  if (framework.has_transformer_engine() && !framework.transformer_engine()) {
    out->Add("--transformer-impl", "local");
  }
  if (framework.has_fused_weight_gradient() && !framework.fused_weight_gradient()) {
    out->Flag("--no-gradient-accumulation-fusion");
  }
  if (framework.deterministic()) out->Flag("--deterministic-mode");
  if (framework.captured_graphs()) out->Add("--cuda-graph-impl", "local");
}

}  // namespace

absl::Span<const Expressible> MegatronFields() { return kMegatronFields; }

absl::StatusOr<std::vector<std::string>> MegatronLines(const LaunchedRun& run) {
  const v1::TrainingSpec& training = run.request.training();
  Refusals refusals("Megatron-LM");
  refusals.Check(run.request, kMegatronFields);
  if (training.sequence_length() <= 0) refusals.Add("--sequence-length", "it takes one");
  if (run.request.layout().global_batch_size() <= 0) refusals.Add("--gbs", "it takes one");
  MegatronText out;
  WriteModel(run, &out, &refusals);
  WriteLayout(run, &out, &refusals);
  out.Add("--seq-length", training.sequence_length());
  out.Add("--train-samples", SequenceCount(training));
  WritePrecision(run.request, &out, &refusals);
  WriteOptimizer(run.request, &out, &refusals);
  WriteRecompute(run, &out, &refusals);
  WriteKernels(run, &out);
  if (!refusals.status().ok()) return refusals.status();
  return out.lines();
}

absl::StatusOr<LauncherFile> WriteMegatron(const LaunchedRun& run) {
  const absl::StatusOr<std::vector<std::string>> lines = MegatronLines(run);
  if (!lines.ok()) return lines.status();
  return LauncherFile{.text = absl::StrCat(absl::StrJoin(*lines, "\n"), "\n")};
}

}  // namespace sextant::client
