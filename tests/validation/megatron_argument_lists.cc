#include "tests/validation/megatron_argument_lists.h"

#include <set>

#include "absl/strings/str_split.h"

namespace sextant {
namespace {

// Read by megatron_model.cc, megatron_layout.cc and megatron_job.cc.
constexpr absl::string_view kRead = R"(
account-for-embedding-in-pipeline-split account-for-loss-in-pipeline-split attention-backend
attention-dropout bert-no-binary-head bf16 context-parallel-size cross-entropy-fusion-impl
cross-entropy-loss-fusion data-parallel-sharding-strategy deterministic-mode disable-bias-linear
expert-model-parallel-size expert-tensor-parallel-size ffn-hidden-size fp16 global-batch-size
grad-reduce-in-bf16 group-query-attention hidden-dropout hidden-size kv-channels kv-lora-rank
make-vocab-size-divisible-by max-position-embeddings micro-batch-size moe-ffn-hidden-size
moe-grouped-gemm moe-layer-freq moe-router-enable-expert-bias moe-router-topk
moe-shared-expert-intermediate-size moe-token-dispatcher-type mtp-num-layers
multi-latent-attention no-bias-gelu-fusion no-gradient-accumulation-fusion normalization
num-attention-heads num-distributed-optimizer-instances num-experts num-layers
num-layers-per-virtual-pipeline-stage num-query-groups num-virtual-stages-per-pipeline-rank
overlap-grad-reduce overlap-param-gather pipeline-model-parallel-layout
pipeline-model-parallel-size position-embedding-type q-lora-rank qk-head-dim qk-layernorm
qk-pos-emb-head-dim recompute-granularity recompute-method recompute-modules recompute-num-layers
seq-length sequence-parallel squared-relu step-batch-size-schedule swiglu
tensor-model-parallel-size tokenizer-type transformer-impl untie-embeddings-and-output-weights
use-distributed-optimizer use-flash-attn use-megatron-fsdp use-rotary-position-embeddings
v-head-dim vocab-file vocab-size
)";

// Arguments of data, logs, checkpoints, rates, seeds and similar settings; and of the kernel for
// work that is done anyway. Averaging gradients, losses a token and routers' ways to choose change
// a few bytes a token.
constexpr absl::string_view kWithoutEffect = R"(
accumulate-allreduce-grads-in-fp32 adam-beta1 adam-beta2 adam-eps apply-layernorm-1p
apply-query-key-layer-scaling async-ckpt-use-cpu-shm async-save async-strategy
attention-softmax-in-fp32 auto-detect-ckpt-format calculate-per-token-loss check-for-large-grads
check-weight-hash-across-dp-replicas-interval ckpt-assume-constant-structure
ckpt-drop-redundant-extra-state ckpt-format ckpt-fully-parallel-load
ckpt-fully-parallel-load-per-rank-objects ckpt-fully-parallel-save clip-grad cp-comm-type
data-cache-path data-path dataloader-type ddp-average-in-collective ddp-num-buckets
ddp-pad-buckets-for-high-nccl-busbw decoupled-lr decoupled-min-lr disable-gloo-process-groups
dist-ckpt-optim-fully-reshardable dist-ckpt-strictness distributed-backend
distributed-timeout-minutes empty-unused-memory-level enable-experimental eval-global-batch-size
eval-interval eval-iters exit-duration-in-mins exit-interval exp-avg-dtype exp-avg-sq-dtype
fim-data fim-rate fim-spm-rate finetune hierarchical-context-parallel-sizes
high-priority-stream-groups init-method-std load log-energy log-interval log-memory-interval
log-memory-to-tensorboard log-num-zeros-in-grad log-params-norm log-progress log-throughput
log-timers-to-tensorboard log-validation-ppl-to-tensorboard logging-level lr lr-decay-iters
lr-decay-samples lr-decay-style lr-warmup-fraction lr-warmup-init lr-warmup-iters
lr-warmup-samples lr-wsd-decay-samples lr-wsd-decay-style main-grads-dtype main-params-dtype
manual-gc manual-gc-interval megatron-fsdp-grad-comm-dtype megatron-fsdp-main-grads-dtype
megatron-fsdp-main-params-dtype merge-file min-lr mock-data moe-aux-loss-coeff
moe-flex-dispatcher-backend moe-flex-dispatcher-num-sms moe-hybridep-num-sms moe-permute-fusion
moe-router-bias-update-rate moe-router-dtype moe-router-fusion moe-router-group-topk
moe-router-load-balancing-type moe-router-num-groups moe-router-pre-softmax
moe-router-score-function moe-router-topk-scaling-factor mscale mscale-all-dim
mtp-loss-scaling-factor no-check-for-nan-in-loss-and-grad no-ckpt-fully-parallel-save
no-ckpt-load-validate-sharding-integrity no-create-attention-mask-in-dataloader no-load-rng
no-masked-softmax-fusion no-mmap-bin-files no-persist-layer-norm no-rope-fusion norm-epsilon
num-workers outer-dp-sharding-strategy overlap-param-gather-with-optimizer-step
override-opt-param-scheduler override-opt_param-scheduler refit-method rotary-base
rotary-interleaved rotary-percent rotary-scaling-factor save save-interval save-retain-interval
seed split straggler-minmax-count te-rng-tracker tensorboard-dir tensorboard-log-interval
test-mode tiktoken-pattern timing-log-level timing-log-option tokenizer-model train-iters
train-samples use-checkpoint-args use-checkpoint-opt_param-scheduler
use-fused-weighted-squared-relu use-mcore-models use-persistent-ckpt-worker use-tp-pp-dp-mapping
verify-integrity wandb-entity wandb-exp-name wandb-project wandb-save-dir weight-decay
)";

std::vector<absl::string_view> Words(absl::string_view text) {
  return absl::StrSplit(text, absl::ByAnyChar(" \n"), absl::SkipEmpty());
}

const std::set<absl::string_view>& Judged() {
  static const auto* const kJudged = [] {
    auto* out = new std::set<absl::string_view>;
    for (const absl::string_view text : {kRead, kWithoutEffect}) {
      for (const absl::string_view word : Words(text)) out->insert(word);
    }
    return out;
  }();
  return *kJudged;
}

}  // namespace

absl::Span<const ArgumentObstacle> ArgumentObstacles() {
  static const auto* const kObstacles = new std::vector<ArgumentObstacle>{
      {"reinforcement learning keeps an inference engine in addition to the trained model",
       Words("grpo-clamp-eps-lower grpo-clamp-eps-upper grpo-entropy-term-weight "
             "grpo-group-size grpo-iterations grpo-kl-beta grpo-prompts-per-step "
             "inference-dynamic-batching-buffer-size-gb "
             "inference-dynamic-batching-cuda-graph-sizing-distribution "
             "inference-dynamic-batching-num-cuda-graphs "
             "inference-dynamic-batching-unified-memory-level "
             "inference-logging-step-interval inference-max-seq-length langrl-env-config "
             "perform-rl-step rl-consumption-granularity rl-generation-lag "
             "rl-inference-tensor-model-parallel-size rl-offload-optimizer-during-inference "
             "rl-partial-rollouts rl-sequence-packing-algo rl-submission-granularity "
             "rl-training-cuda-graphs rl-use-sequence-packing")},
      {"vision towers are not described",
       Words("dataloader-seq-length dataset-provider disable-vision-class-token img-h img-w "
             "language-model-checkpoint max-tokens-to-oom model-provider "
             "no-use-tokenizer-model-from-checkpoint-args patch-dim total-seq-length "
             "use-packed-sequence")},
      {"Mamba layers are not described",
       Words("hybrid-layer-pattern is-hybrid-model mamba-head-dim mamba-num-groups "
             "mamba-num-heads mamba-state-dim")},
      {"memory pools of CUDA graphs are not described",
       Words("cuda-graph-impl cuda-graph-modules cuda-graph-warmup-steps")},
      {"offloading of activations is not described",
       Words("fine-grained-activation-offloading offload-modules")},
      {"deferred weight gradients of the output head are not described",
       Words("defer-embedding-wgrad-compute delay-wgrad-compute wgrad-deferral-limit")},
      {"interleaving in groups of other than as many micro-batches as stages is not described",
       Words("microbatch-group-size-per-virtual-pipeline-stage "
             "overlap-p2p-communication-warmup-flush")},
      {"two micro-batches whose communication overlaps (overlap-moe-expert-parallel-comm) are not "
       "described",
       Words("overlap-moe-expert-parallel-comm")},
      {"user buffers of overlapped tensor parallel communication are not described",
       Words("tp-comm-overlap tp-comm-overlap-cfg")},
      {"Muon under Megatron-LM keeps matrices by layer, not by shard",
       Words("muon-extra-scale-factor muon-momentum muon-scale-mode "
             "no-use-layer-wise-param-layout optimizer")},
      {"layers of several number formats in one model are not described",
       Words("first-last-layers-bf16 num-layers-at-end-in-bf16 num-layers-at-start-in-bf16 "
             "reuse-grad-buf-for-mxfp8-param-ag")},
      {"fp8 recipes of Transformer Engine keep weights in layouts that are not described",
       Words("fp8-format fp8-param-gather fp8-recipe moe-router-padding-for-quantization")},
      {"fused operators of Transformer Engine keep other tensors",
       Words("use-transformer-engine-op-fuser")},
      {"latent experts are not described", Words("moe-latent-size")},
      {"repeated layers of multi-token prediction are not described",
       Words("mtp-use-repeated-layer")},
      {"distillation or finetuning from a checkpoint without optimizer state",
       Words("no-load-optim")},
      {"specs of layers are not described", Words("spec")},
  };
  return *kObstacles;
}

bool IsJudged(const std::string& argument) { return Judged().count(argument) > 0; }

}  // namespace sextant
