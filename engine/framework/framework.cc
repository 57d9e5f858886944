#include "engine/framework/framework.h"

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
constexpr char kTitanModels[] = "pytorch/torchtitan, torchtitan/models @b5bcd76c6";
constexpr char kTitanLoss[] = "pytorch/torchtitan, torchtitan/components/loss.py @b5bcd76c6";
constexpr char kFoundryYaml[] =
    "mosaicml/llm-foundry, scripts/train/yamls/pretrain @8c8dd48f7; composer "
    "utils/parallelism.py @640518880";
constexpr char kFoundryLoss[] =
    "mosaicml/llm-foundry, llmfoundry/models/mpt/modeling_mpt.py @8c8dd48f7";
constexpr char kComposer[] = "mosaicml/composer, composer/distributed/dist_strategy.py @640518880";
constexpr char kAccelerate[] = "huggingface/accelerate, src/accelerate/accelerator.py @16cb6eb8";
constexpr char kAccelerateFsdp[] =
    "huggingface/accelerate, src/accelerate/utils/dataclasses.py @16cb6eb8";
constexpr char kCausalLoss[] =
    "huggingface/transformers, src/transformers/loss/loss_utils.py @0114da07";
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
constexpr int64_t kMegatronVocabularyMultiple = 128;

// docs/accuracy_memory.md has the rows that these are from, and their coverage of rows left out.
// Fragmentation: minimum, median and maximum of reserved over allocated, minus 1, of 28 runs of
// Megatron-LM that publish both.
constexpr Interval<double> kFragmentation = {.low = 0.029, .expected = 0.053, .high = 0.079};

// Measured over counted, minus 1: 10th and 90th percentile of 294 allocated figures of Megatron-LM.
constexpr ReserveShares kMegatronShares = {
    .uncounted = {.low = -0.0005, .expected = 0, .high = 0.032}, .fragmentation = kFragmentation};

// 5th and 95th percentile of 40 processes of one project's four series of runs: wider, since their
// series differ by more than the runs of one series.
constexpr ReserveShares kDeepSpeedShares = {
    .uncounted = {.low = -0.08, .expected = 0, .high = 0.0485}, .fragmentation = kFragmentation};

// Unproven: six figures of torchtitan lie between 2 and 15 % above the expected ones.
constexpr ReserveShares kPytorchShares = {.uncounted = {.low = -0.05, .expected = 0, .high = 0.15},
                                          .fragmentation = kFragmentation};

constexpr unsigned kTorchSchedules = kOneForwardOneBackwardSchedule | kGPipeSchedule |
                                     kZeroBubbleSchedules | kDualPipeSchedule | kInterleavedStages;

constexpr FrameworkTraits MegatronLm() {
  FrameworkTraits out;
  out.kind = Framework::kMegatronLm;
  out.name = "megatron_lm";
  out.title = "Megatron-LM";
  out.weights = {StateType::kAsComputed, kArguments};
  out.gradients = {StateType::kFp32UnderBf16, kArguments};
  out.narrow_gradients = out.gradients;
  out.zero_stage = {ZeroStage::kNone, kArguments};
  out.loss = {LossKind::kVocabularyParallel,
              "NVIDIA/Megatron-LM, megatron/core/model_parallel_config.py @d98e8a64"};
  out.vocabulary_multiple = {kMegatronVocabularyMultiple,
                             "NVIDIA/Megatron-LM, megatron/training/vocab_utils.py @d98e8a64"};
  out.transformer_engine = {true, kArguments};
  out.grouped_experts = {false, kArguments};
  out.fused_projections = {
      true, "NVIDIA/Megatron-LM, megatron/core/transformer/attention.py (linear_qkv) @d98e8a64"};
  out.fuses_gated_experts = {
      true, "NVIDIA/Megatron-LM, megatron/core/fusions/fused_bias_swiglu.py @d98e8a64"};
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
  out.gradient_offload = {GradientOffload::kAtStep, kHybridOptimizer};
  out.offloads = {kOffloadsOptimizer, kHybridOptimizer};
  out.global_buffer = {true, kMegatronLayers};
  out.reserve = {kMegatronShares, kEstimated};
  out.max_zero_stage = {ZeroStage::kParameters,
                        "NVIDIA/Megatron-LM, megatron/core/distributed/fsdp @d98e8a64"};
  out.max_zero_stage_under_pipeline = out.max_zero_stage;
  out.pipeline = {true, kMegatronSchedules};
  out.recomputes_modules = {
      true, "NVIDIA/Megatron-LM, megatron/core/transformer/transformer_config.py @d98e8a64"};
  out.fused_loss = {false, kArguments};  // refuses cross_entropy_fusion_impl te
  out.schedules = {kOneForwardOneBackwardSchedule | kInterleavedStages, kMegatronSchedules};
  out.gathers_tokens = {
      true, "NVIDIA/Megatron-LM, megatron/core/transformer/moe/token_dispatcher.py @d98e8a64"};
  out.exchanges_equal_heads_alone = {true, kTeContext};
  return out;
}

constexpr FrameworkTraits MegatronBridge() {
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

constexpr FrameworkTraits DeepSpeed() {
  FrameworkTraits out;
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

constexpr FrameworkTraits PytorchFsdp() {
  FrameworkTraits out;
  out.kind = Framework::kPytorchFsdp;
  out.name = "pytorch_fsdp";
  out.title = "PyTorch FSDP";
  out.weights = {StateType::kFp32, kFullyShard};
  out.gradients = {StateType::kAsComputed, kFullyShard};  // of wide weights: wide shards
  out.narrow_gradients = out.gradients;
  out.zero_stage = {ZeroStage::kParameters, kFullyShard};
  out.loss = {LossKind::kPlain, "pytorch/pytorch, torch/nn/functional.py, cross_entropy()"};
  out.fused_projections = {
      false, "huggingface/transformers, src/transformers/models/llama/modeling_llama.py @0114da07"};
  out.fuses_gated_experts = {true, kModels};
  out.reshards_under_pipeline = {false, kTitanFsdp};
  out.context_parallel_kind = {ContextParallelKind::kRing, kTorchRing};
  out.gradient_lifetime = {GradientLifetime::kFromBackward, kFullyShard};
  out.reduction = {GradientReduction::kLastUnderPipeline, kPipelining};
  out.reduces_as_computed = {true, kFullyShard};
  out.gradient_offload = {GradientOffload::kAddedOnHost, kForeachReduce};
  out.offloads = {kOffloadsAll, kOffloadPolicy};
  out.autocast = {true, kAutocast};
  out.keeps_stage_buffers = {true, kPipelining};
  out.reserve = {kPytorchShares, kEstimated};
  out.recomputes_modules = {false, kModels};
  out.max_zero_stage = {ZeroStage::kParameters, kFullyShard};
  out.max_zero_stage_under_pipeline = {ZeroStage::kParameters, kPipelining};
  out.shards_all_or_nothing = {true, kFullyShard};
  out.pipeline = {true, kPipelining};
  out.fused_loss = {true, "linkedin/Liger-Kernel, src/liger_kernel/ops @ead96b61"};
  out.schedules = {kTorchSchedules,
                   "pytorch/pytorch, torch/distributed/pipelining/schedules.py @01386103"};
  out.gathers_tokens = {false, kModels};
  return out;
}

constexpr FrameworkTraits Torchtitan() {
  FrameworkTraits out = PytorchFsdp();
  out.kind = Framework::kTorchtitan;
  out.name = "torchtitan";
  out.title = "torchtitan";
  out.weights.source = kTitanConfig;
  out.gradients.source = kTitanConfig;
  out.narrow_gradients = out.gradients;
  out.loss.source = kTitanLoss;
  out.fused_projections.source = kTitanModels;
  out.reduces_as_computed = {false, kTitanConfig};
  out.one_context_parallel_kind = {true, kTorchRing};  // cp_rotate_method is of its ring
  return out;
}

constexpr FrameworkTraits LlmFoundry() {
  FrameworkTraits out = PytorchFsdp();
  out.kind = Framework::kLlmFoundry;
  out.name = "llm_foundry";
  out.title = "llm-foundry";
  out.weights.source = kFoundryYaml;
  out.gradients.source = kFoundryYaml;
  out.narrow_gradients = out.gradients;
  out.zero_stage.source = kFoundryYaml;
  out.loss = {LossKind::kFused, kFoundryLoss};
  out.fused_projections = {
      true, "mosaicml/llm-foundry, llmfoundry/models/layers/attention.py (Wqkv) @8c8dd48f7"};
  out.reduction = {GradientReduction::kEach, kComposer};
  out.reduces_as_computed.source = kFoundryYaml;
  out.pipeline = {false, kComposer};
  return out;
}

constexpr FrameworkTraits HuggingFaceTrainer() {
  FrameworkTraits out = PytorchFsdp();
  out.kind = Framework::kHuggingFaceTrainer;
  out.name = "hugging_face_trainer";
  out.title = "Hugging Face Trainer";
  out.weights.source = kAccelerate;
  out.gradients.source = kAccelerate;
  out.narrow_gradients = out.gradients;
  out.zero_stage = {ZeroStage::kNone, kAccelerate};
  out.loss.source = kCausalLoss;
  out.reduction = {GradientReduction::kLast, kAccelerate};
  out.reduces_as_computed.source = kAccelerateFsdp;
  out.wide_outputs = {true, kAccelerate};
  out.gradient_buckets_stay = {true, kDdp};
  out.pipeline = {false, kAccelerate};
  return out;
}

constexpr FrameworkTraits PytorchDdp() {
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
  out.recomputes_modules = {false, kModels};
  out.max_zero_stage = {ZeroStage::kNone, kDdp};
  out.max_zero_stage_under_pipeline = {ZeroStage::kNone, kDdp};
  out.shards_all_or_nothing = {};
  return out;
}

constexpr FrameworkTraits kTable[] = {MegatronLm(),         DeepSpeed(),  PytorchFsdp(),
                                      MegatronBridge(),     Torchtitan(), LlmFoundry(),
                                      HuggingFaceTrainer(), PytorchDdp()};
static_assert(sizeof(kTable) / sizeof(kTable[0]) == kFrameworkCount);

}  // namespace

const FrameworkTraits& TraitsOf(Framework framework) {
  return kTable[static_cast<size_t>(framework)];
}

}  // namespace sextant
