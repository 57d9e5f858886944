#include "engine/run/job.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "engine/base/checked_math.h"
#include "engine/memory/ledger/framework_copies.h"
#include "engine/memory/state/state_rules.h"
#include "engine/memory/state/state_spec.h"
#include "engine/run/layout_fields.h"

namespace sextant {
namespace {

// Micro-batches per stage and rank where the request has no global batch. With this number every
// schedule except GPipe's holds the most micro-batches that it ever holds.
constexpr int64_t kMicroBatchesAStage = 2;

class JobBuilder {
 public:
  JobBuilder(const JobContext& context, const JobChoice& choice, FieldViolations& violations)
      : context_(context),
        choice_(choice),
        layout_(choice.layout),
        traits_(choice.layout.framework.traits()),
        violations_(violations) {}

  MemoryJob Build() {
    CheckSoftware(layout_.software, "layout.software", violations_);
    CheckCode(layout_.framework, violations_);
    job_.pipeline.schedule = layout_.schedule.value_or(PipelineSchedule::kOneForwardOneBackward);
    CheckBatch();
    FillParallelism();
    FillBatch();
    FillState();
    FillPipeline();
    job_.buffers = BuffersOf(layout_.framework, job_.layout);
    FillBuckets(layout_.framework, {layout_.software, context_.generation}, job_);
    FillCasts();
    job_.buffers.optimizer_loop = context_.optimizer.loop.value_or(traits_.optimizer_loop.value);
    CheckDeferral();
    CheckStepInBackward();
    job_.reserve = ReserveOf(layout_.framework, {.generation = context_.generation,
                                                 .experts = HasExperts(context_.spec),
                                                 .communicator_count = CommunicatorCount()});
    if (layout_.framework.refuses()) {
      const bool any_schedule = !layout_.framework.named && layout_.schedule.has_value();
      CheckRefusals(traits_, context_.spec, job_, any_schedule, violations_);
    }
    return std::move(job_);
  }

 private:
  void CheckBatch() {
    if (!layout_.global_batch_size.has_value() &&
        job_.pipeline.schedule == PipelineSchedule::kGPipe) {
      violations_.Add("layout.global_batch_size",
                      "is required for PIPELINE_SCHEDULE_GPIPE, which holds all micro-batches of a "
                      "step");
    }
  }

  void FillParallelism() {
    job_.layout = LayoutOf(layout_.parallel);
    data_size_ = DataSizeToCheck();
    if (choice_.device_count < 1) return;  // reported elsewhere
    const int64_t sizes[] = {job_.layout.tensor_parallel_size, job_.layout.pipeline_parallel_size,
                             context_size()};
    CheckedInt model = 1;
    for (const int64_t size : sizes) {
      if (size < 1) return;  // reported by MemoryModel::Of()
      model = model * size;
    }
    if (!model.ok() || choice_.device_count % model.value() != 0) {
      violations_.Add(
          "cluster.device_count",
          absl::StrCat("must be a multiple of tensor x pipeline x context parallel "
                       "size (",
                       job_.layout.tensor_parallel_size, " x ", job_.layout.pipeline_parallel_size,
                       " x ", context_size(), "), which ", choice_.device_count, " is not"));
      return;
    }
    data_size_ = choice_.device_count / model.value();
    data_size_known_ = true;
  }

  // The smallest data parallel size that fits the shard groups, or the expert parallel ranks.
  int64_t DataSizeToCheck() const {
    const int64_t group = layout_.sharding.shard_group_size;
    const CheckedInt holders =
        CheckedInt(job_.layout.expert_parallel_size) * ExpertTensorParallelSize(job_.layout);
    const int64_t least = group > 0 ? group : holders.ok() ? holders.value() : 1;
    return std::clamp<int64_t>(least, 1, kMaxDataParallelSize);
  }

  void FillBatch() {
    MicroBatchSpec& batch = job_.batch;
    batch = layout_.kernels;
    batch.attention = layout_.attention.value_or(context_.habits.attention);
    batch.sequence_count = micro_batch_size();
    batch.sequence_length = choice_.sequence_length;
    batch.encoder_sequence_length = choice_.encoder_sequence_length;
    batch.sequence_parallel =
        layout_.sequence_parallel.value_or(job_.layout.tensor_parallel_size > 1);
    batch.context_parallel_size = context_size();
    batch.context_parallel_kind =
        layout_.context_parallel_kind.value_or(traits_.context_parallel_kind.value);
    batch.exchanges_output_again = layout_.framework.has_transformer_engine();
    const DataType compute = context_.precision.compute_data_type;
    const bool narrow = IsOfMatricesAlone(compute);
    batch.compute_data_type = narrow ? DataType::kBf16 : compute;
    // Transformer Engine's layers keep inputs as they multiply them, at 8 bits where the ledger
    // knows no fewer; others keep them in 16 bits, and quantise them again.
    // Source: NVIDIA/TransformerEngine, transformer_engine/pytorch/module/linear.py @015d2257;
    // pytorch/ao, torchao/float8/float8_linear.py @36027d82 (input_hp).
    if (narrow && batch.matmul_input_data_type == DataType::kUnspecified &&
        layout_.framework.has_transformer_engine()) {
      batch.matmul_input_data_type = DataType::kFp8E4m3;
    }
    batch.recomputation.policy = choice_.recompute;
    batch.keeps_stage_outputs = traits_.keeps_stage_buffers.value;
    batch.loss = layout_.loss.value_or(traits_.loss.value);
    batch.whole_logits = traits_.whole_logits.value;
    batch.attention_output_copied =
        layout_.attention_output_copied.value_or(CopiesAttentionOutput());
    batch.fused_expert_activation =
        layout_.fused_expert_activation.value_or(FusesExpertActivation());
  }

  // Norms of a base in 8 or 4 bits are in fp32, and so is what they make.
  // Source: huggingface/peft, src/peft/utils/other.py, prepare_model_for_kbit_training()
  // @5d602fdbf.
  bool WidensNorms() const {
    return layout_.frozen.data_type != DataType::kUnspecified && job_.buffers.autocast &&
           traits_.adapters_cast_input.value && !DividesParameters(job_.state.sharding);
  }

  // FSDP gathers weights in the compute type, and hands that on; its outputs are fp32 again.
  // Source: huggingface/accelerate, src/accelerate/accelerator.py, prepare_model(), and
  // docs/memory_transients.md, "Eager code".
  void FillCasts() {
    MicroBatchSpec& batch = job_.batch;
    const bool casts = CastsWeights(job_);
    batch.wide_residual = casts || WidensNorms();
    batch.wide_outputs =
        traits_.wide_outputs.value && (casts || DividesParameters(job_.state.sharding));
    // Kernels that replace the loss come with others for norms.
    batch.eager_layers = traits_.eager_layers.value && batch.loss == LossKind::kPlain;
    batch.adapters_cast_input = traits_.adapters_cast_input.value;
    batch.keeps_frozen_inputs =
        batch.adapters_cast_input && layout_.frozen.data_type == DataType::kInt8;
    batch.wide_softmax = traits_.wide_softmax.value;
    batch.logit_copies = context_.habits.logit_copies;
  }

  // Transformer Engine runs flash-attention rather than cuDNN's before Hopper, and on Blackwell
  // where a run has to be deterministic, which cuDNN's attention was not before its release 9.18.1.
  // Source: NVIDIA/TransformerEngine, get_attention_backend(), pull requests 2130 and 2584.
  bool CopiesAttentionOutput() const {
    const bool flash = job_.batch.attention == AttentionKernel::kFlash;
    if (!flash || !layout_.framework.has_transformer_engine()) return false;
    return IsBeforeHopper(context_.generation) ||
           (context_.generation == DeviceGeneration::kBlackwell && layout_.framework.deterministic);
  }

  // One kernel where all experts are gated.
  bool FusesExpertActivation() const {
    const auto& layers = context_.spec.layer_kinds;
    return traits_.fuses_gated_experts.value &&
           std::all_of(layers.begin(), layers.end(), [](const LayerSpec& layer) {
             return !layer.experts.has_value() ||
                    layer.experts->expert.kind == FeedForwardKind::kGated;
           });
  }

  // FSDP divides weights in ZeRO stage 2 too (SHARD_GRAD_OP), and keeps them gathered from the
  // forward to the backward pass. Source: pytorch/pytorch, ShardingStrategy of
  // torch/distributed/fsdp/api.py.
  StateSharding ShardingOf() const {
    StateSharding out = layout_.sharding;
    out.data_parallel_size = data_size_;
    out.zero_stage = layout_.zero_stage.value_or(traits_.zero_stage.value);
    const bool stays =
        traits_.shards_all_or_nothing.value && DividesGradients(out) && !DividesParameters(out);
    if (stays) out.zero_stage = ZeroStage::kParameters;
    out.reshard_after_forward =
        layout_.reshard_after_forward.value_or(!stays && ReshardsAfterForward(out.zero_stage));
    return out;
  }

  // Matters for ZeRO stage 3 only. Where the request sets the number of prefetched units, weights
  // are freed after the forward pass.
  bool ReshardsAfterForward(ZeroStage zero_stage) const {
    const StateSharding defaults;
    const bool matters = zero_stage == ZeroStage::kParameters &&
                         layout_.sharding.prefetched_unit_count == defaults.prefetched_unit_count;
    return !matters || DefaultReshardAfterForward(traits_, job_.layout);
  }

  void FillState() {
    StateSpec& state = job_.state;
    state.precision = context_.precision;
    state.optimizer = context_.optimizer;
    state.sharding = ShardingOf();
    if (layout_.framework.deferred_reduction.value_or(false) &&
        state.sharding.zero_stage != ZeroStage::kParameters) {
      violations_.Add("layout.framework.deferred_reduction",
                      "is of ZeRO stage 3 alone: leave it out, or set layout.sharding.zero_stage");
    }
    state.frozen = layout_.frozen;
    state.weight_scaling = layout_.weight_scaling;
    state.fp8_weight_copies = layout_.fp8_weight_copies;
    FillLiveElements();
    state.reduces_as_computed = traits_.reduces_as_computed.value;
    state.gradient_offload = traits_.gradient_offload.value;
    state.gathers_fp8_weights = traits_.gathers_fp8_weights.value && IsScaledByTensor();
    state.copies_reduced_units = traits_.shards_all_or_nothing.value;
  }

  void FillLiveElements() {
    StateSpec& state = job_.state;
    const absl::optional<int64_t>& given = layout_.framework.live_elements;
    state.live_elements = given.value_or(traits_.live_elements.value);
    const bool of_deepspeed = traits_.live_elements.value > 0;
    const auto refuse = [&](absl::string_view field) {
      violations_.Add(std::string(field),
                      "is of DeepSpeed's ZeRO stage 3: leave it out, or write "
                      "layout.framework.kind: KIND_DEEPSPEED and that stage");
    };
    if (given.has_value() && !(of_deepspeed && DividesParameters(state.sharding))) {
      refuse("layout.framework.live_elements");
    }
    if (state.sharding.secondary_group_size != 0 && !of_deepspeed) {
      refuse("layout.sharding.secondary_group_size");
    }
  }

  // Blocks are gathered in bf16, and MXFP8 staged in the buffer of gradients.
  // Source: NVIDIA/Megatron-LM, megatron/core/distributed/param_and_grad_buffer.py @d98e8a64.
  bool IsScaledByTensor() const {
    const DataType type = context_.precision.compute_data_type;
    return StorageBytes(type) == 1 && layout_.weight_scaling != WeightScaling::kBlock;
  }

  void FillPipeline() {
    job_.pipeline.deferred_head_gradients = layout_.deferred_head_gradients;
    const int64_t stages = job_.layout.pipeline_parallel_size;
    if (stages < 1 || stages > kMaxPipelineParallelSize) return;  // reported by MemoryModel::Of()
    job_.pipeline.micro_batch_count = kMicroBatchesAStage * stages;
    if (!layout_.global_batch_size.has_value() || !data_size_known_) return;
    if (micro_batch_size() < 1) return;
    const CheckedInt unit = CheckedInt(micro_batch_size()) * data_size_;
    if (!unit.ok() || *layout_.global_batch_size % unit.value() != 0) {
      violations_.Add("layout.global_batch_size",
                      absl::StrCat("must be a multiple of micro_batch_size x the data parallel "
                                   "size (",
                                   micro_batch_size(), " x ", data_size_, "), which ",
                                   *layout_.global_batch_size, " is not"));
      return;
    }
    job_.pipeline.micro_batch_count = *layout_.global_batch_size / unit.value();
    CheckMicroBatches(unit.value());
  }

  // Source: pytorch/torchtune, recipes/full_finetune_single_device.py (optimizer_in_bwd): no
  // accumulation and no clipping.
  void CheckStepInBackward() {
    if (!context_.optimizer.in_backward) return;
    constexpr absl::string_view kField = "training.optimizer.in_backward";
    if (job_.buffers.gradient_lifetime == GradientLifetime::kAlways) {
      violations_.Add(std::string(kField),
                      "is of gradients that PyTorch makes and frees: leave it out, or write a "
                      "layout.framework.kind of PyTorch's, e.g. KIND_TORCHTUNE");
    } else if (job_.layout.pipeline_parallel_size > 1) {
      violations_.Add(std::string(kField), "is not in pipelines: leave it out");
    } else if (job_.pipeline.micro_batch_count > 1 && layout_.global_batch_size.has_value()) {
      violations_.Add("layout.global_batch_size",
                      absl::StrCat("must be that of one micro-batch a rank with "
                                   "training.optimizer.in_backward: leave it out, or write ",
                                   micro_batch_size() * data_size_));
    } else {
      job_.pipeline.micro_batch_count = 1;
    }
  }

  // Source: NVIDIA/Megatron-LM, megatron/core/model_parallel_config.py: deferral needs
  // gradient_accumulation_fusion. Modules of multi-token prediction have heads of their own.
  void CheckDeferral() {
    if (layout_.deferred_head_gradients <= 0) return;
    constexpr absl::string_view kField = "layout.deferred_head_gradients";
    if (!job_.buffers.fused_weight_gradient) {
      violations_.Add(std::string(kField),
                      "needs products that add weight gradients to earlier ones: set "
                      "layout.framework.fused_weight_gradient, or leave it out");
    } else if (context_.spec.multi_token_prediction.has_value() ||
               context_.spec.output.head == OutputHeadKind::kNone ||
               job_.batch.loss == LossKind::kChunked) {
      violations_.Add(std::string(kField),
                      "is of models with one output head whose logits exist at once: leave it out");
    }
  }

  // Reports a global batch whose micro-batches are too many or don't fit the schedule, in the
  // request's sequences. `unit` sequences are one micro-batch on all ranks.
  void CheckMicroBatches(int64_t unit) {
    const int64_t stages = job_.layout.pipeline_parallel_size;
    const bool dual = job_.pipeline.schedule == PipelineSchedule::kDualPipe;
    const int64_t round = dual ? 2 : job_.layout.virtual_stage_count > 1 ? stages : 1;
    const int64_t least = dual ? 2 * stages : round;
    const int64_t count = job_.pipeline.micro_batch_count;
    if (count > kMaxMicroBatches) {
      violations_.Add(
          "layout.global_batch_size",
          absl::StrCat("is ", *layout_.global_batch_size, ", which makes ", count,
                       " micro-batches of ", unit, " sequences on all ranks: write ",
                       kMaxMicroBatches * unit, " or less, or a larger micro_batch_size"));
      return;
    }
    if (round < 1 || (count % round == 0 && count >= least)) return;
    const CheckedInt fitting = CheckedInt(std::max(CeilDivide(count, round) * round, least)) * unit;
    if (!fitting.ok()) return;
    violations_.Add(
        "layout.global_batch_size",
        absl::StrCat("is ", count, " micro-batches of ", unit, " sequences on all ranks, but ",
                     dual ? "DualPipe takes an even number of them, two a stage or more"
                          : "interleaved stages take as many at a time as there are stages",
                     ": write ", fitting.value()));
  }

  // The number of groups of more than one rank that a rank communicates in.
  int64_t CommunicatorCount() const {
    const int64_t sizes[] = {job_.layout.tensor_parallel_size, job_.layout.pipeline_parallel_size,
                             job_.layout.expert_parallel_size, context_size(), data_size_};
    return std::count_if(std::begin(sizes), std::end(sizes), [](int64_t size) { return size > 1; });
  }

  int64_t context_size() const { return layout_.context_parallel_size.value_or(1); }
  int64_t micro_batch_size() const { return layout_.micro_batch_size.value_or(1); }

  const JobContext& context_;
  const JobChoice& choice_;
  const RunLayout& layout_;
  const FrameworkTraits& traits_;
  FieldViolations& violations_;
  int64_t data_size_ = 1;
  bool data_size_known_ = false;
  MemoryJob job_;
};

}  // namespace

bool HasExperts(const ArchitectureSpec& spec) {
  return std::any_of(spec.layer_kinds.begin(), spec.layer_kinds.end(),
                     [](const LayerSpec& layer) { return layer.experts.has_value(); });
}

JobChoice ChoiceOf(const RunSpec& run) {
  return {.layout = *run.layout,
          .recompute = run.training.recompute.value_or(RecomputePolicy::kNone),
          .sequence_length = run.training.sequence_length.value_or(0),
          .encoder_sequence_length = run.training.encoder_sequence_length.value_or(0),
          .device_count = run.cluster.device_count};
}

int64_t PaddedVocabularyOf(const RunLayout& layout, const ArchitectureSpec& shape) {
  const EmbeddingSpec& embedding = shape.embedding;
  const int64_t tensor = kTensorParallelField.in(layout).value_or(1);
  if (embedding.padded_vocabulary_size != 0 || tensor < 1 || tensor > kMaxTensorParallelSize) {
    return 0;
  }
  const int64_t multiple = VocabularyMultiple(layout.framework.traits(), tensor);
  const int64_t padded = PaddedVocabularySize(embedding.vocabulary_size, multiple);
  return padded == embedding.vocabulary_size ? 0 : padded;
}

std::shared_ptr<const ArchitectureSpec> PaddedShape(const RunLayout& layout,
                                                    const ArchitectureSpec& shape) {
  const int64_t padded = PaddedVocabularyOf(layout, shape);
  if (padded == 0) return nullptr;
  auto out = std::make_shared<ArchitectureSpec>(shape);
  out->embedding.padded_vocabulary_size = padded;
  return out;
}

MemoryJob JobOf(const JobContext& context, const JobChoice& choice, FieldViolations& violations) {
  return JobBuilder(context, choice, violations).Build();
}

}  // namespace sextant
