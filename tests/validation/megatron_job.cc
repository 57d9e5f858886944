// Defaults are those of NVIDIA/Megatron-LM @000c4ac24f61, `megatron/training/arguments.py`.
#include "tests/validation/megatron_job.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "engine/base/status_macros.h"
#include "tests/validation/megatron_layout.h"
#include "tests/validation/request.h"

namespace sextant {
namespace {

constexpr double kDefaultDropout = 0.1;

bool IsUnfused(const MegatronArguments& arguments) {
  const std::string backend = arguments.Text("attention-backend", "auto");
  return backend == "unfused" || backend == "local" || !UsesTransformerEngine(arguments);
}

// Where a run names the kernel of attention, its copies follow: flash-attention's output is
// reordered, cuDNN's is not.
void SetAttention(const MegatronArguments& arguments, v1::KernelChoices& out) {
  out.set_attention(IsUnfused(arguments) ? v1::KernelChoices::ATTENTION_UNFUSED
                                         : v1::KernelChoices::ATTENTION_FLASH);
  const std::string backend = arguments.Text("attention-backend", "auto");
  const bool named = backend == "flash" || backend == "fused";
  if (named && !IsUnfused(arguments)) out.set_attention_output_copied(backend == "flash");
}

// "[layernorm mla_up_proj moe_act]"
absl::Status AddModules(const std::string& modules, v1::PlanRunRequest& out) {
  v1::KernelChoices& kernels = *out.mutable_layout()->mutable_kernels();
  const std::vector<std::string> names =
      absl::StrSplit(modules, absl::ByAnyChar("[] ,"), absl::SkipEmpty());
  for (const std::string& name : names) {
    if (name == "core_attn") {
      out.mutable_training()->set_recompute(v1::RECOMPUTE_POLICY_SELECTIVE);
    } else if (name == "layernorm") {
      kernels.set_recompute_norm_outputs(true);
    } else if (name == "mla_up_proj") {
      kernels.set_recompute_latent_up_projections(true);
    } else if (name == "moe_act") {
      kernels.set_recompute_activation_function(true);
    } else {
      return absl::InvalidArgumentError(
          absl::StrCat("recomputation of module ", name, " alone is not described"));
    }
  }
  return absl::OkStatus();
}

absl::Status SetRecomputation(const MegatronArguments& arguments, v1::PlanRunRequest& out) {
  const std::string granularity = arguments.Text("recompute-granularity", "");
  out.mutable_training()->set_recompute(v1::RECOMPUTE_POLICY_NONE);
  if (granularity == "selective") {
    return AddModules(arguments.Text("recompute-modules", "core_attn"), out);
  }
  if (granularity != "full") return absl::OkStatus();
  if (arguments.Text("recompute-method", "") != "uniform") {
    return absl::InvalidArgumentError("recomputation of a stage's first layers alone");
  }
  out.mutable_training()->set_recompute(v1::RECOMPUTE_POLICY_FULL);
  out.mutable_layout()->mutable_kernels()->set_recomputed_layers_per_block(
      arguments.Count("recompute-num-layers", 1));
  return absl::OkStatus();
}

absl::Status SetKernels(const MegatronArguments& arguments, v1::KernelChoices& out) {
  const double hidden = arguments.Number("hidden-dropout", kDefaultDropout);
  const double attention = arguments.Number("attention-dropout", kDefaultDropout);
  if ((hidden > 0) != (attention > 0)) {
    return absl::InvalidArgumentError("dropout of attention or of branches alone");
  }
  out.set_dropout(hidden > 0);
  SetAttention(arguments, out);
  out.set_loss(arguments.Flag("cross-entropy-loss-fusion")
                   ? v1::KernelChoices::LOSS_VOCABULARY_PARALLEL_COMPILED
                   : v1::KernelChoices::LOSS_VOCABULARY_PARALLEL);
  if (!arguments.Has("num-experts")) return absl::OkStatus();
  // One kernel where experts are gated, or their squared ReLU is asked to be fused.
  out.set_fused_expert_activation(arguments.Flag("swiglu") ||
                                  arguments.Flag("use-fused-weighted-squared-relu"));
  return absl::OkStatus();
}

// bf16 training adds gradients up in fp32; fp16 training in fp16.
void SetPrecision(const MegatronArguments& arguments, v1::PlanRunRequest& out) {
  const v1::DataType compute = arguments.Flag("bf16")   ? v1::DATA_TYPE_BF16
                               : arguments.Flag("fp16") ? v1::DATA_TYPE_FP16
                                                        : v1::DATA_TYPE_FP32;
  const bool narrow = compute != v1::DATA_TYPE_BF16 || arguments.Flag("grad-reduce-in-bf16");
  SetMixedPrecision(compute, narrow ? compute : v1::DATA_TYPE_FP32, out);
}

absl::Status SetSharding(const MegatronArguments& arguments, int64_t ranks,
                         v1::StateSharding& out) {
  out.set_zero_stage(arguments.Flag("use-distributed-optimizer") ? v1::ZERO_STAGE_OPTIMIZER
                                                                 : v1::ZERO_STAGE_NONE);
  if (arguments.Flag("use-megatron-fsdp")) {
    const std::string strategy = arguments.Text("data-parallel-sharding-strategy", "no_shard");
    if (strategy != "optim_grads_params") {
      return absl::InvalidArgumentError(absl::StrCat("sharding strategy ", strategy));
    }
    out.set_zero_stage(v1::ZERO_STAGE_PARAMETERS);
  }
  const int64_t instances = arguments.Count("num-distributed-optimizer-instances", 1);
  if (instances > 1) {
    if (ranks % instances != 0) return absl::InvalidArgumentError("shard groups of unequal size");
    out.set_shard_group_size(ranks / instances);
  }
  return absl::OkStatus();
}

void SetFramework(const MegatronArguments& arguments, v1::FrameworkMemory& out) {
  out.set_kind(v1::FrameworkMemory::KIND_MEGATRON_LM);
  out.set_fused_weight_gradient(!arguments.Flag("no-gradient-accumulation-fusion"));
  out.set_transformer_engine(UsesTransformerEngine(arguments));
  out.set_deterministic(arguments.Flag("deterministic-mode"));
  if (arguments.Has("num-experts")) out.set_grouped_experts(arguments.Flag("moe-grouped-gemm"));
}

absl::StatusOr<int64_t> MicroBatches(const MegatronArguments& arguments, int64_t replicas) {
  if (arguments.Has("step-batch-size-schedule")) {
    return absl::InvalidArgumentError("global batch changes during the run");
  }
  const int64_t micro = arguments.Count("micro-batch-size", 1) * replicas;
  const int64_t global = arguments.Count("global-batch-size", micro);
  if (micro < 1 || global % micro != 0) {
    return absl::InvalidArgumentError("global batch is no multiple of the micro-batches at a time");
  }
  return global / micro;
}

}  // namespace

bool UsesTransformerEngine(const MegatronArguments& arguments) {
  return arguments.Text("transformer-impl", "transformer_engine") == "transformer_engine" &&
         arguments.Text("spec", "") != "local";
}

int64_t GpusOfReplica(const MegatronArguments& arguments) {
  return arguments.Count("tensor-model-parallel-size", 1) *
         arguments.Count("pipeline-model-parallel-size", 1) *
         arguments.Count("context-parallel-size", 1);
}

bool SharesState(const MegatronArguments& arguments) {
  return arguments.Flag("use-distributed-optimizer") || arguments.Flag("use-megatron-fsdp");
}

absl::Status SetMegatronJob(const MegatronArguments& arguments, const MegatronMachine& machine,
                            v1::PlanRunRequest& out) {
  v1::RunLayout& layout = *out.mutable_layout();
  SEXTANT_ASSIGN_OR_RETURN(*layout.mutable_parallel(), MegatronLayout(arguments));
  layout.set_context_parallel_size(arguments.Count("context-parallel-size", 1));
  layout.set_sequence_parallel(arguments.Flag("sequence-parallel") &&
                               layout.parallel().tensor_parallel_size() > 1);
  layout.set_micro_batch_size(arguments.Count("micro-batch-size", 1));
  out.mutable_training()->set_sequence_length(arguments.Count("seq-length", 0));
  SEXTANT_RETURN_IF_ERROR(SetKernels(arguments, *layout.mutable_kernels()));
  SEXTANT_RETURN_IF_ERROR(SetRecomputation(arguments, out));
  SetPrecision(arguments, out);
  SetFramework(arguments, *layout.mutable_framework());
  const int64_t replicas = machine.gpu_count / GpusOfReplica(arguments);
  SEXTANT_RETURN_IF_ERROR(SetSharding(arguments, replicas * layout.context_parallel_size(),
                                      *layout.mutable_sharding()));
  SEXTANT_ASSIGN_OR_RETURN(const int64_t batches, MicroBatches(arguments, replicas));
  SetSizes({.data_parallel_size = replicas, .micro_batch_count = batches}, out);
  return absl::OkStatus();
}

}  // namespace sextant
