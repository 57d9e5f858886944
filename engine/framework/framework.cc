#include "engine/framework/framework.h"

#include <array>
#include <cstddef>

namespace sextant {
namespace {

constexpr char kArguments[] = "NVIDIA/Megatron-LM, megatron/training/arguments.py @d98e8a64";
constexpr char kGradBuffer[] =
    "NVIDIA/Megatron-LM, megatron/core/distributed/param_and_grad_buffer.py @d98e8a64";
constexpr char kMegatronLayers[] =
    "NVIDIA/Megatron-LM, megatron/core/tensor_parallel/layers.py @d98e8a64";
constexpr char kMegatronSchedules[] =
    "NVIDIA/Megatron-LM, megatron/core/pipeline_parallel/schedules.py @d98e8a64";
constexpr char kMixedPrecision[] =
    "NVIDIA-NeMo/Megatron-Bridge, src/megatron/bridge/training/mixed_precision.py @067f987d";
constexpr char kHybridOptimizer[] =
    "NVIDIA/Megatron-LM, megatron/core/optimizer/cpu_offloading/hybrid_optimizer.py @0d41ecd8";
constexpr char kPerfPrecision[] =
    "NVIDIA-NeMo/Megatron-Bridge, src/megatron/bridge/perf_recipes/_common.py (_perf_precision) "
    "@067f987d";
constexpr char kGptProvider[] =
    "NVIDIA-NeMo/Megatron-Bridge, src/megatron/bridge/models/gpt_provider.py @067f987d";
constexpr char kDsEngine[] = "deepspeedai/DeepSpeed, deepspeed/runtime/engine.py @edaa7221";
constexpr char kDsZeroConfig[] =
    "deepspeedai/DeepSpeed, deepspeed/runtime/zero/config.py @edaa7221";
constexpr char kDsZero[] =
    "deepspeedai/DeepSpeed, deepspeed/runtime/zero/stage_1_and_2.py @edaa7221";
constexpr char kDsBf16[] = "deepspeedai/DeepSpeed, deepspeed/runtime/bf16_optimizer.py @edaa7221";
constexpr char kDsPipe[] = "deepspeedai/DeepSpeed, deepspeed/runtime/pipe/engine.py @edaa7221";
constexpr char kMegatronDeepSpeed[] =
    "bigscience-workshop/Megatron-DeepSpeed, megatron/mpu/cross_entropy.py @8387ae17";
constexpr char kMegatronDeepSpeedAttention[] =
    "deepspeedai/Megatron-DeepSpeed, megatron/model/transformer.py (FlashSelfAttention)";
constexpr char kTorchAdam[] = "pytorch/pytorch, torch/optim/adamw.py (zeros_like(p))";
constexpr char kTorchFused[] =
    "pytorch/pytorch, torch/optim/optimizer.py, _default_to_fused_or_foreach()";
constexpr char kTrainerOptim[] =
    "huggingface/transformers, src/transformers/training_args.py, default_optim: adamw_torch_fused "
    "from torch 2.8 on, adamw_torch before";
constexpr char kTuneConfigs[] = "pytorch/torchtune, recipes/configs (dtype: bf16)";
constexpr char kFullyShard[] = "pytorch/pytorch, torch/distributed/fsdp/_fully_shard";
constexpr char kForeachReduce[] =
    "pytorch/pytorch, torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py, foreach_reduce() "
    "@010ae4a8";
constexpr char kOffloadPolicy[] =
    "pytorch/pytorch, torch/distributed/fsdp/_fully_shard, CPUOffloadPolicy: parameters, gradients "
    "and optimizer state together";
constexpr char kPipelining[] = "pytorch/pytorch, torch/distributed/pipelining/stage.py @01386103";
constexpr char kDdp[] = "pytorch/pytorch, torch/nn/parallel/distributed.py @0028a164";
constexpr char kAutocast[] = "pytorch/pytorch, aten/src/ATen/autocast_mode.cpp";
constexpr char kTitanConfig[] = "pytorch/torchtitan, torchtitan/config/configs.py @b5bcd76c6";
constexpr char kTitanFsdp[] = "pytorch/torchtitan, torchtitan/distributed/fsdp.py @b5bcd76c6";
constexpr char kFoundryYaml[] =
    "mosaicml/llm-foundry, scripts/train/yamls/pretrain @8c8dd48f7; composer "
    "utils/parallelism.py @640518880";
constexpr char kComposer[] = "mosaicml/composer, composer/distributed/dist_strategy.py @640518880";
constexpr char kAccelerate[] = "huggingface/accelerate, src/accelerate/accelerator.py @16cb6eb8";
constexpr char kAccelerateFsdp[] =
    "huggingface/accelerate, src/accelerate/utils/dataclasses.py @16cb6eb8";
constexpr char kTeContext[] =
    "NVIDIA/TransformerEngine, "
    "transformer_engine/pytorch/attention/dot_product_attention/context_parallel.py @015d2257";
constexpr char kDsSequence[] =
    "deepspeedai/DeepSpeed, deepspeed/sequence/layer.py @25493c74; "
    "deepspeed/runtime/sequence_parallel/ulysses_sp.py @016d2f70";
constexpr char kTorchRing[] =
    "pytorch/pytorch, torch/distributed/tensor/experimental/_attention.py "
    "(_templated_ring_attention)";
constexpr char kModels[] = "the framework has no such option";
constexpr char kEstimated[] = "docs/accuracy_memory.md, \"Intervals\"";

// Elements that DeepSpeed reduces or gathers at a time: reduce_bucket_size, allgather_bucket_size.
constexpr int64_t kDeepSpeedBucket = 500'000'000;
// Weights that it keeps whole: max_live_parameters, and as much as max_reuse_distance.
constexpr int64_t kDeepSpeedLive = 1'000'000'000;

// docs/accuracy_memory.md has the rows that these are from, and their coverage of rows left out.
// Fragmentation: minimum, median and maximum of reserved over allocated, minus 1, of 28 runs of
// Megatron-LM that publish both.
constexpr Interval<double> kFragmentation = {.low = 0.029, .expected = 0.053, .high = 0.079};

constexpr Bytes MiB(double count) { return Bytes(static_cast<int64_t>(count * 1024 * 1024)); }

// Lines through the 10th and 90th percentiles of measured less counted bytes over counted ones
// (Koenker and Bassett 1978), and through the median of small jobs, of 294 allocated figures of
// Megatron-LM.
constexpr ReserveShares kMegatronShares = {
    .uncounted_bytes = {.low = MiB(7.5), .expected = MiB(10), .high = MiB(34)},
    .uncounted = {.low = -0.001, .expected = 0, .high = 0.0165},
    .fragmentation = kFragmentation};

// 5th and 95th percentile of 40 processes of one project's four series of runs: wider, since their
// series differ by more than the runs of one series.
constexpr ReserveShares kDeepSpeedShares = {
    .uncounted = {.low = -0.08, .expected = 0, .high = 0.0485}, .fragmentation = kFragmentation};

// Unproven: six figures of torchtitan lie between 2 and 15 % above the expected ones.
constexpr ReserveShares kPytorchShares = {.uncounted = {.low = -0.05, .expected = 0, .high = 0.15},
                                          .fragmentation = kFragmentation};

// Hugging Face's Trainer: 10th to 90th percentile of 36 allocated figures, with the release given.
constexpr ReserveShares kTrainerShares = {.uncounted = {.low = -0.015, .expected = 0, .high = 0.03},
                                          .fragmentation = kFragmentation};

constexpr unsigned kTorchSchedules = kOneForwardOneBackwardSchedule | kGPipeSchedule |
                                     kZeroBubbleSchedules | kDualPipeSchedule | kInterleavedStages;

// `row` with the cells of another code.
FrameworkTraits Retrained(FrameworkTraits row, ModelCode code) {
  static_cast<ModelCodeTraits&>(row) = CodeTraitsOf(code);
  row.code = code;
  return row;
}

FrameworkTraits MegatronLm() {
  FrameworkTraits out = Retrained({}, ModelCode::kMegatron);
  out.kind = Framework::kMegatronLm;
  out.name = "megatron_lm";
  out.title = "Megatron-LM";
  out.weights = {StateType::kAsComputed, kArguments};
  out.gradients = {StateType::kFp32UnderBf16, kArguments};
  out.narrow_gradients = out.gradients;
  out.codes = {CodeBit(ModelCode::kMegatron), kArguments};
  out.zero_stage = {ZeroStage::kNone, kArguments};
  out.reshards_under_pipeline = {true, kArguments};
  out.context_parallel_kind = {ContextParallelKind::kRing, kArguments};  // cp_comm_type p2p
  out.gradient_lifetime = {GradientLifetime::kAlways, kGradBuffer};
  out.fused_weight_gradient = {true, kMegatronLayers};
  out.reduction = {GradientReduction::kEach, kGradBuffer};
  out.reduces_as_computed = {false, kGradBuffer};
  out.reduce_bucket_elements = {0, kGradBuffer};
  out.gather_bucket_elements = {0, kGradBuffer};
  out.widens_gradients_at_step = {
      true, "NVIDIA/Megatron-LM, megatron/core/optimizer/optimizer.py @d98e8a64"};
  out.optimizer_loop = {OptimizerLoop::kFused,
                        "NVIDIA/Megatron-LM, megatron/core/optimizer/__init__.py (FusedAdam)"};
  out.gradient_offload = {GradientOffload::kAtStep, kHybridOptimizer};
  out.offloads = {kOffloadsOptimizer, kHybridOptimizer};
  out.reserve = {kMegatronShares, kEstimated};
  out.max_zero_stage = {ZeroStage::kParameters,
                        "NVIDIA/Megatron-LM, megatron/core/distributed/fsdp @d98e8a64"};
  out.max_zero_stage_under_pipeline = out.max_zero_stage;
  out.pipeline = {true, kMegatronSchedules};
  out.schedules = {kOneForwardOneBackwardSchedule | kInterleavedStages, kMegatronSchedules};
  out.gathers_tokens = {
      true, "NVIDIA/Megatron-LM, megatron/core/transformer/moe/token_dispatcher.py @d98e8a64"};
  out.exchanges_equal_heads_alone = {true, kTeContext};
  return out;
}

FrameworkTraits MegatronBridge() {
  FrameworkTraits out = MegatronLm();
  out.kind = Framework::kMegatronBridge;
  out.name = "megatron_bridge";
  out.title = "Megatron-Bridge";
  out.gradients.source = kMixedPrecision;
  out.narrow_gradients = {StateType::kAsComputed, kPerfPrecision};
  out.gathers_fp8_weights = {true, kMixedPrecision};  // fp8_param_gather
  out.zero_stage = {ZeroStage::kOptimizer, kMixedPrecision};
  out.loss.source = kGptProvider;
  out.vocabulary_multiple = {0, kGptProvider};
  out.grouped_experts = {true, kGptProvider};
  out.fused_loss = {true, "NVIDIA-NeMo/Megatron-Bridge, src/megatron/bridge/recipes @067f987d"};
  return out;
}

// With Megatron-DeepSpeed's code, an older fork of Megatron-LM's.
FrameworkTraits DeepSpeed() {
  FrameworkTraits out;
  out.code = ModelCode::kMegatron;
  out.attention = {AttentionCode::kFlashAttention, kMegatronDeepSpeedAttention};
  out.logit_copies = {LogitCopies::kNone, kMegatronDeepSpeed};
  out.stages = {true, kDsPipe};
  out.codes = {CodeBit(ModelCode::kMegatron) | CodeBit(ModelCode::kTransformers) |
                   CodeBit(ModelCode::kPlain),
               kDsEngine};
  out.kind = Framework::kDeepSpeed;
  out.name = "deepspeed";
  out.title = "DeepSpeed";
  out.weights = {StateType::kAsComputed, kDsEngine};
  out.gradients = {StateType::kAsComputed, kDsEngine};
  out.narrow_gradients = out.gradients;
  out.zero_stage = {ZeroStage::kNone, kDsZeroConfig};
  out.loss = {LossKind::kVocabularyParallel, kMegatronDeepSpeed};
  out.fused_projections = {true,
                           "bigscience-workshop/Megatron-DeepSpeed, megatron/model/transformer.py "
                           "(query_key_value) @8387ae17"};
  out.fuses_gated_experts = {true, kModels};
  out.reshards_under_pipeline = {true, kDsPipe};
  out.context_parallel_kind = {ContextParallelKind::kAllToAll, kDsSequence};
  out.gradient_lifetime = {GradientLifetime::kAlways, kDsZero};
  out.reduction = {GradientReduction::kEach, kDsEngine};
  out.reduce_bucket_elements = {kDeepSpeedBucket, kDsZeroConfig};
  out.gather_bucket_elements = {kDeepSpeedBucket, kDsZeroConfig};
  out.live_elements = {kDeepSpeedLive, kDsZeroConfig};
  out.computed_gradients_stay = {true, kDsBf16};
  out.widens_gradients_at_step = {true, kDsZero};
  out.flattens_gradients_at_step = {true, kDsZero};
  out.optimizer_loop = {OptimizerLoop::kFused, kDsEngine};  // FusedAdam
  out.gradient_offload = {GradientOffload::kAddedOnDevice, kDsZero};
  out.offloads = {kOffloadsOptimizer | kOffloadsAll, kDsZeroConfig};
  out.reserve = {kDeepSpeedShares, kEstimated};
  out.recomputes_modules = {false, kModels};
  out.max_zero_stage = {ZeroStage::kParameters, kDsZeroConfig};
  out.max_zero_stage_under_pipeline = {ZeroStage::kOptimizer, kDsPipe};
  out.pipeline = {true, kDsPipe};
  out.fused_loss = {false, kMegatronDeepSpeed};
  out.schedules = {kOneForwardOneBackwardSchedule,
                   "deepspeedai/DeepSpeed, deepspeed/runtime/pipe/schedule.py @edaa7221"};
  out.one_context_parallel_kind = {true, kDsSequence};
  out.gathers_tokens = {false, kModels};
  return out;
}

FrameworkTraits PytorchFsdp() {
  FrameworkTraits out = Retrained({}, ModelCode::kPlain);
  out.kind = Framework::kPytorchFsdp;
  out.name = "pytorch_fsdp";
  out.title = "PyTorch FSDP";
  out.weights = {StateType::kFp32, kFullyShard};
  out.gradients = {StateType::kAsComputed, kFullyShard};  // of wide weights: wide shards
  out.narrow_gradients = out.gradients;
  out.zero_stage = {ZeroStage::kParameters, kFullyShard};
  out.codes = {CodeBit(ModelCode::kPlain) | CodeBit(ModelCode::kTransformers), kFullyShard};
  out.moments_as_weights = {true, kTorchAdam};
  out.reshards_under_pipeline = {false, kTitanFsdp};
  out.context_parallel_kind = {ContextParallelKind::kRing, kTorchRing};
  out.gradient_lifetime = {GradientLifetime::kFromBackward, kFullyShard};
  out.reduction = {GradientReduction::kLastUnderPipeline, kPipelining};
  out.reduces_as_computed = {true, kFullyShard};
  out.optimizer_loop = {OptimizerLoop::kForeach, kTorchFused};
  out.gradient_offload = {GradientOffload::kAddedOnHost, kForeachReduce};
  out.offloads = {kOffloadsAll, kOffloadPolicy};
  out.autocast = {true, kAutocast};
  out.keeps_stage_buffers = {true, kPipelining};
  out.reserve = {kPytorchShares, kEstimated};
  out.max_zero_stage = {ZeroStage::kParameters, kFullyShard};
  out.max_zero_stage_under_pipeline = {ZeroStage::kParameters, kPipelining};
  out.shards_all_or_nothing = {true, kFullyShard};
  out.pipeline = {true, kPipelining};
  out.schedules = {kTorchSchedules,
                   "pytorch/pytorch, torch/distributed/pipelining/schedules.py @01386103"};
  out.gathers_tokens = {false, kModels};
  return out;
}

FrameworkTraits Torchtitan() {
  FrameworkTraits out = Retrained(PytorchFsdp(), ModelCode::kTorchtitan);
  out.kind = Framework::kTorchtitan;
  out.name = "torchtitan";
  out.title = "torchtitan";
  out.weights.source = kTitanConfig;
  out.gradients.source = kTitanConfig;
  out.narrow_gradients = out.gradients;
  out.codes = {CodeBit(ModelCode::kTorchtitan), kTitanConfig};
  out.reduces_as_computed = {false, kTitanConfig};
  out.one_context_parallel_kind = {true, kTorchRing};  // cp_rotate_method is of its ring
  out.optimizer_loop = {OptimizerLoop::kFused, kTitanConfig};
  return out;
}

FrameworkTraits LlmFoundry() {
  FrameworkTraits out = Retrained(PytorchFsdp(), ModelCode::kLlmFoundry);
  out.kind = Framework::kLlmFoundry;
  out.name = "llm_foundry";
  out.title = "llm-foundry";
  out.weights.source = kFoundryYaml;
  out.gradients.source = kFoundryYaml;
  out.narrow_gradients = out.gradients;
  out.zero_stage.source = kFoundryYaml;
  out.codes = {CodeBit(ModelCode::kLlmFoundry) | CodeBit(ModelCode::kTransformers), kFoundryYaml};
  out.reduction = {GradientReduction::kEach, kComposer};
  out.optimizer_loop = {OptimizerLoop::kForLoop,
                        "mosaicml/composer, composer/optim/decoupled_weight_decay.py @640518880"};
  out.reduces_as_computed.source = kFoundryYaml;
  out.pipeline = {false, kComposer};
  return out;
}

FrameworkTraits HuggingFaceTrainer() {
  FrameworkTraits out = Retrained(PytorchFsdp(), ModelCode::kTransformers);
  out.kind = Framework::kHuggingFaceTrainer;
  out.name = "hugging_face_trainer";
  out.title = "Hugging Face Trainer";
  out.reserve = {kTrainerShares, kEstimated};
  out.weights.source = kAccelerate;
  out.gradients.source = kAccelerate;
  out.narrow_gradients = out.gradients;
  out.zero_stage = {ZeroStage::kNone, kAccelerate};
  out.codes = {CodeBit(ModelCode::kTransformers), kAccelerate};
  out.reduction = {GradientReduction::kLast, kAccelerate};
  out.optimizer_loop = {OptimizerLoop::kFused, kTrainerOptim};
  out.optimizer_loop_is_open = {true, kTrainerOptim};
  out.reduces_as_computed.source = kAccelerateFsdp;
  out.wide_outputs = {true, kAccelerate};
  out.gradient_buckets_stay = {true, kDdp};
  out.pipeline = {false, kAccelerate};
  return out;
}

FrameworkTraits PytorchDdp() {
  FrameworkTraits out = PytorchFsdp();
  out.kind = Framework::kPytorchDdp;
  out.name = "pytorch_ddp";
  out.title = "PyTorch DDP";
  out.weights.source = kDdp;
  out.gradients.source = kDdp;
  out.narrow_gradients = out.gradients;
  out.zero_stage = {ZeroStage::kNone, kDdp};
  out.reduction = {GradientReduction::kEach, kDdp};
  out.reduces_as_computed = {false, kDdp};
  out.gradient_buckets_stay = {true, kDdp};
  out.offloads = {0, kModels};
  out.max_zero_stage = {ZeroStage::kNone, kDdp};
  out.max_zero_stage_under_pipeline = {ZeroStage::kNone, kDdp};
  out.shards_all_or_nothing = {};
  return out;
}

// Weights, gradients and moments in 16 bits. Source: torchtune's recipes, dtype: bf16.
FrameworkTraits Torchtune() {
  FrameworkTraits out = Retrained(PytorchFsdp(), ModelCode::kTorchtune);
  out.kind = Framework::kTorchtune;
  out.name = "torchtune";
  out.title = "torchtune";
  out.codes = {CodeBit(ModelCode::kTorchtune), kTuneConfigs};
  out.weights = {StateType::kAsComputed, kTuneConfigs};
  out.gradients = {StateType::kAsComputed, kTuneConfigs};
  out.narrow_gradients = out.gradients;
  out.no_master_weights = {true, kTuneConfigs};
  out.optimizer_loop = {OptimizerLoop::kFused, kTuneConfigs};
  out.autocast = {false, kTuneConfigs};
  return out;
}

// A framework's rows, by the code that it trains.
struct CodeRows {
  explicit CodeRows(const FrameworkTraits& row) : usual(row.code) {
    for (size_t i = 0; i < rows.size(); ++i) {
      const auto code = static_cast<ModelCode>(i);
      rows[i] = code == usual ? row : Retrained(row, code);
      if (!rows[i].stages.value) rows[i].pipeline = rows[i].stages;
    }
  }

  ModelCode usual;
  std::array<FrameworkTraits, kModelCodeCount> rows;
};

const CodeRows& RowsOf(Framework framework) {
  // In the order of Framework.
  static const auto& table = *new std::array<CodeRows, kFrameworkCount>{
      CodeRows(MegatronLm()),         CodeRows(DeepSpeed()),  CodeRows(PytorchFsdp()),
      CodeRows(MegatronBridge()),     CodeRows(Torchtitan()), CodeRows(LlmFoundry()),
      CodeRows(HuggingFaceTrainer()), CodeRows(PytorchDdp()), CodeRows(Torchtune())};
  return table[static_cast<size_t>(framework)];
}

}  // namespace

const FrameworkTraits& TraitsOf(Framework framework) {
  const CodeRows& rows = RowsOf(framework);
  return rows.rows[static_cast<size_t>(rows.usual)];
}

const FrameworkTraits& TraitsOf(Framework framework, ModelCode code) {
  return RowsOf(framework).rows[static_cast<size_t>(code)];
}

}  // namespace sextant
