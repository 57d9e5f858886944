#include "engine/memory/ledger/framework_spec.h"

#include <algorithm>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "engine/memory/fit.h"

namespace sextant {
namespace {

// The low end is a process that loads kernels on demand, the high end one that loaded all of
// PyTorch's. Source: pytorch/pytorch issue 107667, about 300 MB and more than 1,000 MB; between
// them the 0.5 GiB of common rules of thumb.
constexpr BytesInterval kContext = {
    .low = Bytes(300'000'000), .expected = Bytes(536'870'912), .high = Bytes(1'100'000'000)};

// One communicator. Source: NVIDIA/nccl issue 964 on 4 A100, 544 MB with 2 ranks and 688 MB with
// more; issue 864, 1.6 GB for the first one.
constexpr BytesInterval kCommunicator = {
    .low = Bytes(544'000'000), .expected = Bytes(688'000'000), .high = Bytes(1'600'000'000)};

unsigned ScheduleBitOf(PipelineSchedule schedule) {
  switch (schedule) {
    case PipelineSchedule::kGPipe:
      return kGPipeSchedule;
    case PipelineSchedule::kZeroBubbleH1:
    case PipelineSchedule::kZeroBubbleH2:
      return kZeroBubbleSchedules;
    case PipelineSchedule::kDualPipe:
      return kDualPipeSchedule;
    case PipelineSchedule::kOneForwardOneBackward:
      break;
  }
  return kOneForwardOneBackwardSchedule;
}

// False where some attention's queries are wider than its values, or its key and value heads are
// too few for each of the ranks that exchange heads.
bool HasEqualHeads(const ArchitectureSpec& spec, const MemoryJob& job) {
  const int64_t ranks = job.layout.tensor_parallel_size;
  const auto equal = [&](const absl::optional<AttentionSpec>& attention) {
    if (!attention.has_value()) return true;
    const int64_t key_heads = attention->key_value_head_count;
    return attention->query_key_head_size == attention->value_head_size && key_heads % ranks == 0 &&
           key_heads / ranks % job.batch.context_parallel_size == 0;
  };
  return std::all_of(spec.layer_kinds.begin(), spec.layer_kinds.end(), [&](const LayerSpec& layer) {
    return equal(layer.attention) && equal(layer.cross_attention);
  });
}

using Refuse = absl::FunctionRef<void(absl::string_view field, absl::string_view why,
                                      absl::string_view source)>;

void CheckContextParallelism(const FrameworkTraits& traits, const ArchitectureSpec& spec,
                             const MemoryJob& job, Refuse refuse) {
  constexpr char kField[] = "layout.context_parallel_kind";
  const auto& usual = traits.context_parallel_kind;
  if (job.batch.context_parallel_size <= 1) return;
  if (traits.one_context_parallel_kind.value && job.batch.context_parallel_kind != usual.value) {
    const bool ring = usual.value == ContextParallelKind::kRing;
    refuse(kField,
           absl::StrCat("whose context parallel ranks ",
                        ring ? "pass keys and values in a ring" : "exchange heads",
                        ": leave it out, or choose another layout.framework.kind"),
           traits.one_context_parallel_kind.source);
  } else if (ExchangesHeads(job.batch) && traits.exchanges_equal_heads_alone.value &&
             job.layout.tensor_parallel_size >= 1 && !HasEqualHeads(spec, job)) {
    refuse(kField,
           "whose ranks exchange heads only where queries, keys and values are of one width and "
           "tensor x context parallel size divides the key and value heads: write "
           "CONTEXT_PARALLEL_KIND_RING, or a smaller layout.context_parallel_size",
           traits.exchanges_equal_heads_alone.source);
  }
}

void CheckPipeline(const FrameworkTraits& traits, const MemoryJob& job, bool any_schedule,
                   Refuse refuse) {
  if (!traits.pipeline.value) {
    refuse("layout.parallel.pipeline_parallel_size", "which has no pipeline: write 1",
           traits.pipeline.source);
    return;
  }
  if (!any_schedule && (traits.schedules.value & ScheduleBitOf(job.pipeline.schedule)) == 0) {
    refuse("layout.schedule",
           "whose pipelines run in other orders: write "
           "PIPELINE_SCHEDULE_ONE_FORWARD_ONE_BACKWARD, or another layout.framework.kind",
           traits.schedules.source);
  }
  if (job.layout.virtual_stage_count > 1 && (traits.schedules.value & kInterleavedStages) == 0) {
    refuse("layout.parallel.virtual_stage_count", "whose stages are not interleaved: write 1",
           traits.schedules.source);
  }
}

void CheckRecomputation(const FrameworkTraits& traits, const MemoryJob& job, Refuse refuse) {
  if (job.batch.recomputation.policy != RecomputePolicy::kOperators) return;
  if (traits.recomputes_operators.value) return;
  refuse("training.recompute",
         "whose operators are not listed: write NONE, SELECTIVE or FULL, or torchtitan as "
         "layout.framework.kind",
         traits.recomputes_operators.source);
}

void CheckExpertDispatch(const FrameworkTraits& traits, const MemoryJob& job, Refuse refuse) {
  if (job.batch.expert_dispatch == ExpertDispatch::kAllToAll || traits.gathers_tokens.value) return;
  refuse("layout.kernels.expert_dispatch",
         "whose experts get their tokens by an all-to-all: leave it out, or choose another "
         "layout.framework.kind",
         traits.gathers_tokens.source);
}

// True where the state of `kind` has a type that a run may choose.
bool HasTypedState(OptimizerKind kind) {
  return kind != OptimizerKind::kSgd && kind != OptimizerKind::kAdam8bit &&
         kind != OptimizerKind::kAdafactor;
}

}  // namespace

void AssumeCode(const ParallelSizes& sizes, FrameworkSpec& framework) {
  if (framework.kind != Framework::kDeepSpeed || framework.code.has_value()) return;
  const bool divided =
      sizes.tensor_parallel_size.value_or(1) > 1 || sizes.pipeline_parallel_size.value_or(1) > 1;
  framework.code = divided ? ModelCode::kMegatron : ModelCode::kTransformers;
  framework.code_assumed = !divided;
}

void CheckCode(const FrameworkSpec& framework, FieldViolations& violations) {
  constexpr char kField[] = "layout.framework.model_code";
  const FrameworkTraits& traits = framework.traits();
  if (framework.code_release.has_value() && traits.code != ModelCode::kTransformers) {
    violations.Add("layout.framework.model_code_release",
                   absl::StrCat("is of transformers, and the code is ", ModelCodeName(traits.code),
                                ": leave it out, or write layout.framework.model_code: "
                                "MODEL_CODE_TRANSFORMERS"));
  }
  if (!framework.code.has_value()) return;
  if (!framework.named) {
    return violations.Add(kField,
                          "needs layout.framework.kind: the framework that trains the code");
  }
  if ((traits.codes.value & CodeBit(*framework.code)) != 0) return;
  std::string known;
  for (int i = 0; i < kModelCodeCount; ++i) {
    const auto code = static_cast<ModelCode>(i);
    if ((traits.codes.value & CodeBit(code)) == 0) continue;
    absl::StrAppend(&known, known.empty() ? "" : ", ", ModelCodeName(code));
  }
  violations.Add(kField,
                 absl::StrCat("is not trained by ", traits.title, ": write ", known,
                              ", or another layout.framework.kind (", traits.codes.source, ")"));
}

PrecisionPolicy WithDefaults(PrecisionPolicy policy, const FrameworkTraits& traits,
                             OptimizerKind optimizer) {
  const bool computes = policy.compute_data_type != DataType::kUnspecified;
  const DataType compute = computes ? policy.compute_data_type : DataType::kBf16;
  const DataType computed = StorageFor(compute);
  const auto type_of = [&](StateType rule) {
    const bool wide = rule == StateType::kFp32 ||
                      (rule == StateType::kFp32UnderBf16 && computed == DataType::kBf16);
    return wide && StorageBytes(computed) < 4 ? DataType::kFp32 : DataType::kUnspecified;
  };
  if (policy.weight_data_type == DataType::kUnspecified) {
    policy.weight_data_type = type_of(traits.weights.value);
  }
  // Wide weights have wide gradients without a rule; weights that the caller chose otherwise
  // keep gradients of their own type, unless they are what is computed with.
  const bool as_computed =
      policy.weight_data_type == DataType::kUnspecified || policy.weight_data_type == computed;
  if (policy.gradient_data_type == DataType::kUnspecified && as_computed) {
    policy.gradient_data_type =
        type_of((IsOfMatricesAlone(compute) ? traits.narrow_gradients : traits.gradients).value);
  }
  if (traits.no_master_weights.value && !policy.master_weights.has_value()) {
    policy.master_weights = false;
  }
  const bool alone = !policy.master_weights.value_or(true) && HasTypedState(optimizer);
  if (alone && traits.moments_as_weights.value &&
      policy.optimizer_data_type == DataType::kUnspecified) {
    policy.optimizer_data_type =
        policy.weight_data_type == DataType::kUnspecified ? computed : policy.weight_data_type;
  }
  return WithDefaults(policy);
}

ClassHabits ClassHabitsOf(const FrameworkSpec& framework, absl::string_view model,
                          DeviceGeneration generation) {
  const FrameworkTraits& traits = framework.traits();
  using enum AttentionEvidence;
  ClassHabits out;
  out.logit_copies = LogitCopiesOf(traits.code, model, framework.code_release);
  switch (traits.attention.value) {
    case AttentionCode::kFlashAttention:
      if (generation == DeviceGeneration::kBeforeAmpere) out.attention = AttentionKernel::kUnfused;
      break;
    case AttentionCode::kTorch:
      if (traits.code == ModelCode::kPlain) out.evidence = kAssumed;
      break;
    case AttentionCode::kByModelClass: {
      const ClassAttention of_class = ClassAttentionOf(model, framework.code_release);
      if (of_class == ClassAttention::kEager) out.attention = AttentionKernel::kUnfused;
      if (of_class == ClassAttention::kEither) out.evidence = kOpen;
      if (of_class == ClassAttention::kFusedAtLeast) out.evidence = kAssumed;
      break;
    }
  }
  return out;
}

bool DefaultReshardAfterForward(const FrameworkTraits& traits, const ParallelLayout& layout) {
  return traits.reshards_under_pipeline.value || layout.pipeline_parallel_size == 1;
}

int64_t VocabularyMultiple(const FrameworkTraits& traits, int64_t tensor_ranks) {
  const int64_t multiple = traits.vocabulary_multiple.value;
  return multiple == 0 ? 1 : multiple * tensor_ranks;
}

BufferSpec BuffersOf(const FrameworkSpec& framework, const ParallelLayout& layout) {
  const FrameworkTraits& traits = framework.traits();
  const GradientReduction reduction = traits.reduction.value;
  const bool pipeline = layout.pipeline_parallel_size > 1;
  const bool waits = reduction == GradientReduction::kLast ||
                     (reduction == GradientReduction::kLastUnderPipeline && pipeline);
  const bool persistent = framework.persistent_gradients.value_or(traits.gradient_lifetime.value ==
                                                                  GradientLifetime::kAlways);
  return {
      .gradient_lifetime = persistent ? GradientLifetime::kAlways : GradientLifetime::kFromBackward,
      .fused_weight_gradient =
          framework.fused_weight_gradient.value_or(traits.fused_weight_gradient.value),
      .reduce_bucket_elements =
          framework.reduce_bucket_elements.value_or(traits.reduce_bucket_elements.value),
      .gather_bucket_elements =
          framework.gather_bucket_elements.value_or(traits.gather_bucket_elements.value),
      .computed_gradients_stay = traits.computed_gradients_stay.value,
      .deferred_reduction = framework.deferred_reduction.value_or(waits),
      .autocast = traits.autocast.value,
      .transformer_engine = framework.has_transformer_engine(),
      .global_buffer = traits.global_buffer.value,
      .gradient_buckets_stay = traits.gradient_buckets_stay.value,
      .widens_gradients_at_step = traits.widens_gradients_at_step.value,
      .flattens_gradients_at_step = traits.flattens_gradients_at_step.value,
      .keeps_stage_inputs = traits.keeps_stage_buffers.value};
}

ReserveSpec ReserveOf(const FrameworkSpec& framework, const ReserveUse& use) {
  const FrameworkTraits& traits = framework.traits();
  ReserveSpec out;
  const bool grouped =
      use.experts && framework.grouped_experts.value_or(traits.grouped_experts.value);
  const Bytes workspace = WorkspaceOf({.generation = use.generation,
                                       .deterministic = framework.deterministic,
                                       .transformer_engine = framework.has_transformer_engine(),
                                       .grouped_experts = grouped});
  out.workspace = Bytes(framework.workspace_bytes.value_or(workspace.value()));
  out.uncounted_bytes = traits.reserve.value.uncounted_bytes;
  out.uncounted = traits.reserve.value.uncounted;
  out.fragmentation = traits.reserve.value.fragmentation;
  if (framework.fragmentation_ratio.has_value()) {
    const double given = *framework.fragmentation_ratio;
    out.fragmentation = {given, given, given};
  }
  out.context =
      framework.context_bytes.has_value() ? Exactly(Bytes(*framework.context_bytes)) : kContext;
  out.communicators = framework.communicator_bytes.has_value()
                          ? Exactly(Bytes(*framework.communicator_bytes))
                          : kCommunicator * use.communicator_count;
  return out;
}

// DeepSpeed's ZeRO optimizers allocate the bucket in which they reduce. At stages 1 and 2 backward
// passes fill a second one while the first is reduced, if the exchange is to be hidden
// (overlap_comm). Pipelines, as which Megatron-DeepSpeed runs whatever its stages, reduce after
// their passes, and copy what they reduce.
// Source: deepspeedai/DeepSpeed, deepspeed/runtime/zero/stage_1_and_2.py (buf_1) and stage3.py
// (ipg_buckets) @02aa38c3.
void FillBuckets(const FrameworkSpec& framework, const SoftwareUse& use, MemoryJob& job) {
  BufferSpec& buffers = job.buffers;
  const ZeroStage stage = job.state.sharding.zero_stage;
  if (buffers.reduce_bucket_elements == 0 || stage == ZeroStage::kNone) return;
  if (job.layout.pipeline_parallel_size > 1 || framework.traits().code == ModelCode::kMegatron) {
    return;
  }
  buffers.reduce_bucket_whole = true;
  if (stage == ZeroStage::kParameters) return;
  const SoftwareConstants constants =
      ConstantsOf(use.software, framework.named ? &framework.kind : nullptr, use.generation);
  if (constants.of(StackConstant::kDataExchangeOverlap) > 0) buffers.reduce_bucket_count = 2;
}

void CheckRefusals(const FrameworkTraits& traits, const ArchitectureSpec& spec,
                   const MemoryJob& job, bool any_schedule, FieldViolations& violations) {
  const bool pipeline = job.layout.pipeline_parallel_size > 1;
  const ZeroStage stage = job.state.sharding.zero_stage;
  const auto refuse = [&](absl::string_view field, absl::string_view why,
                          absl::string_view source) {
    violations.Add(field, absl::StrCat("is not in ", traits.title, ", ", why, " (", source, ")"));
  };
  CheckContextParallelism(traits, spec, job, refuse);
  CheckExpertDispatch(traits, job, refuse);
  CheckRecomputation(traits, job, refuse);
  const auto& most = pipeline ? traits.max_zero_stage_under_pipeline : traits.max_zero_stage;
  if (stage > most.value) {
    refuse("layout.sharding.zero_stage",
           absl::StrCat("which divides at most as ZeRO stage ", static_cast<int>(most.value),
                        pipeline ? " under a pipeline" : "",
                        ": write a lower stage, or another layout.framework.kind"),
           most.source);
  } else if (stage == ZeroStage::kOptimizer && traits.shards_all_or_nothing.value) {
    refuse("layout.sharding.zero_stage",
           "which divides weights too: write ZERO_STAGE_PARAMETERS, or ZERO_STAGE_GRADIENTS for "
           "weights that stay gathered between the passes",
           traits.shards_all_or_nothing.source);
  }
  if (pipeline) CheckPipeline(traits, job, any_schedule, refuse);
}

}  // namespace sextant
