// Defaults are those of NVIDIA/Megatron-LM @000c4ac24f61, `megatron/training/arguments.py`.
#include "tests/validation/megatron_job.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "engine/base/status_macros.h"
#include "tests/validation/framework_memory.h"
#include "tests/validation/megatron_layout.h"

namespace sextant {
namespace {

constexpr double kDefaultDropout = 0.1;
constexpr int kHopper = 9;  // compute capability

bool IsUnfused(const MegatronArguments& arguments) {
  const std::string backend = arguments.Text("attention-backend", "auto");
  return backend == "unfused" || backend == "local" || !UsesTransformerEngine(arguments);
}

// True where Transformer Engine uses flash-attention rather than cuDNN's: always before Hopper, and
// on Blackwell where a run has to be deterministic, which cuDNN's attention was not there before
// its release 9.18.1. Source: NVIDIA/TransformerEngine, get_attention_backend(), pull requests 2130
// and 2584.
bool TakesFlashAttention(const MegatronArguments& arguments, const MegatronMachine& machine) {
  const std::string backend = arguments.Text("attention-backend", "auto");
  if (IsUnfused(arguments) || backend == "fused") return false;
  if (backend == "flash") return true;
  const int capability = machine.compute_capability;
  return capability < kHopper || (capability > kHopper && arguments.Flag("deterministic-mode"));
}

// One kernel where experts are gated, or their squared ReLU is asked to be fused.
bool FusesExpertActivation(const MegatronArguments& arguments) {
  if (!arguments.Has("num-experts")) return true;
  return arguments.Flag("swiglu") || arguments.Flag("use-fused-weighted-squared-relu");
}

LossKind LossOf(const MegatronArguments& arguments) {
  return arguments.Flag("cross-entropy-loss-fusion") ? LossKind::kVocabularyParallelCompiled
                                                     : LossKind::kVocabularyParallel;
}

// "[layernorm mla_up_proj moe_act]"
absl::Status AddModules(const std::string& modules, Recomputation& out) {
  const std::vector<std::string> names =
      absl::StrSplit(modules, absl::ByAnyChar("[] ,"), absl::SkipEmpty());
  for (const std::string& name : names) {
    if (name == "core_attn") {
      out.policy = RecomputePolicy::kSelective;
    } else if (name == "layernorm") {
      out.norm_outputs = true;
    } else if (name == "mla_up_proj") {
      out.latent_up_projections = true;
    } else if (name == "moe_act") {
      out.activation_function = true;
    } else {
      return absl::InvalidArgumentError(
          absl::StrCat("recomputation of module ", name, " alone is not described"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Recomputation> RecomputationOf(const MegatronArguments& arguments) {
  const std::string granularity = arguments.Text("recompute-granularity", "");
  Recomputation out;
  if (granularity == "selective") {
    SEXTANT_RETURN_IF_ERROR(AddModules(arguments.Text("recompute-modules", "core_attn"), out));
  } else if (granularity == "full") {
    if (arguments.Text("recompute-method", "") != "uniform") {
      return absl::InvalidArgumentError("recomputation of a stage's first layers alone");
    }
    out.policy = RecomputePolicy::kFull;
    out.layers_per_block = arguments.Count("recompute-num-layers", 1);
  }
  return out;
}

absl::StatusOr<MicroBatchSpec> BatchOf(const MegatronArguments& arguments,
                                       const MegatronMachine& machine) {
  const double hidden = arguments.Number("hidden-dropout", kDefaultDropout);
  const double attention = arguments.Number("attention-dropout", kDefaultDropout);
  if ((hidden > 0) != (attention > 0)) {
    return absl::InvalidArgumentError("dropout of attention or of branches alone");
  }
  SEXTANT_ASSIGN_OR_RETURN(const Recomputation recomputation, RecomputationOf(arguments));
  const DataType compute = arguments.Flag("bf16")   ? DataType::kBf16
                           : arguments.Flag("fp16") ? DataType::kFp16
                                                    : DataType::kFp32;
  return MicroBatchSpec{
      .sequence_count = arguments.Count("micro-batch-size", 1),
      .sequence_length = arguments.Count("seq-length", 0),
      .sequence_parallel = arguments.Flag("sequence-parallel") &&
                           arguments.Count("tensor-model-parallel-size", 1) > 1,
      .context_parallel_size = arguments.Count("context-parallel-size", 1),
      .compute_data_type = compute,
      .attention = IsUnfused(arguments) ? AttentionKernel::kUnfused : AttentionKernel::kFlash,
      .attention_output_copied = TakesFlashAttention(arguments, machine),
      .dropout = hidden > 0,
      .recomputation = recomputation,
      .loss = LossOf(arguments),
      .fused_expert_activation = FusesExpertActivation(arguments)};
}

// bf16 training adds gradients up in fp32; fp16 training in fp16.
PrecisionPolicy PrecisionOf(const MegatronArguments& arguments, DataType compute) {
  const bool narrow = compute != DataType::kBf16 || arguments.Flag("grad-reduce-in-bf16");
  return WithDefaults({.compute_data_type = compute,
                       .weight_data_type = compute,
                       .gradient_data_type = narrow ? compute : DataType::kFp32});
}

absl::StatusOr<StateSharding> ShardingOf(const MegatronArguments& arguments,
                                         const MegatronMachine& machine) {
  StateSharding out = {.data_parallel_size = machine.gpu_count / GpusOfReplica(arguments)};
  if (arguments.Flag("use-distributed-optimizer")) out.zero_stage = ZeroStage::kOptimizer;
  if (arguments.Flag("use-megatron-fsdp")) {
    const std::string strategy = arguments.Text("data-parallel-sharding-strategy", "no_shard");
    if (strategy != "optim_grads_params") {
      return absl::InvalidArgumentError(absl::StrCat("sharding strategy ", strategy));
    }
    out.zero_stage = ZeroStage::kParameters;
  }
  const int64_t instances = arguments.Count("num-distributed-optimizer-instances", 1);
  const int64_t ranks = out.data_parallel_size * arguments.Count("context-parallel-size", 1);
  if (instances > 1) {
    if (ranks % instances != 0) return absl::InvalidArgumentError("shard groups of unequal size");
    out.shard_group_size = ranks / instances;
  }
  return out;
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

absl::StatusOr<MemoryJob> MegatronJob(const MegatronArguments& arguments,
                                      const MegatronMachine& machine) {
  MemoryJob out;
  SEXTANT_ASSIGN_OR_RETURN(out.layout, MegatronLayout(arguments));
  SEXTANT_ASSIGN_OR_RETURN(out.batch, BatchOf(arguments, machine));
  SEXTANT_ASSIGN_OR_RETURN(out.state.sharding, ShardingOf(arguments, machine));
  SEXTANT_ASSIGN_OR_RETURN(out.pipeline.micro_batch_count,
                           MicroBatches(arguments, out.state.sharding.data_parallel_size));
  out.state.precision = PrecisionOf(arguments, out.batch.compute_data_type);
  out.buffers.fused_weight_gradient = !arguments.Flag("no-gradient-accumulation-fusion");
  const Bytes workspace = WorkspaceOf({.compute_capability = machine.compute_capability,
                                       .deterministic = arguments.Flag("deterministic-mode"),
                                       .transformer_engine = UsesTransformerEngine(arguments),
                                       .grouped_matmul = arguments.Flag("moe-grouped-gemm")});
  out.reserve = ReserveWith(workspace, Framework::kMegatronLm, out);
  return out;
}

}  // namespace sextant
