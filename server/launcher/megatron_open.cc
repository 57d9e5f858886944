// Arguments of Megatron-LM and Megatron-DeepSpeed that change the memory or the time, and that no
// field stands for: what each can do to a plan without it.
// Source: megatron/training/arguments.py of NVIDIA/Megatron-LM core_v0.15.3, and of its other
// releases from v1.0 on; what a setting of Megatron-Core does is in transformer_config.py,
// model_parallel_config.py, optimizer/optimizer_config.py and
// distributed/distributed_data_parallel_config.py of megatron/core @d98e8a64.
#include "server/launcher/megatron.h"

namespace sextant::server {
namespace {

constexpr Setting kMegatronOpen[] = {
    // These change the time alone.
    Matters(
        "--overlap-param-gather-with-optimizer-step|--delay-param-gather|--no-delay-grad-reduce|"
        "--create-all-gather-group|--fsdp-manual-registration",
        Effect::kTime, "when gradients and weights are exchanged"),
    Matters("--overlap-cpu-optimizer-d2h-h2d|--use-torch-optimizer-for-cpu-offload|"
            "--no-pin-cpu-grads|--no-pin-cpu-params|--use-pin-memory",
            Effect::kTime, "how an offloaded optimizer copies and steps"),
    Matters("--no-async-tensor-model-parallel-allreduce|--symmetric-ar-type|"
            "--no-scatter-gather-tensors-in-pipeline|--hierarchical-context-parallel-sizes|"
            "--use-tp-pp-dp-mapping|--no-gradient-reduce-div-fusion|--tp-comm-atomic-ag|"
            "--tp-comm-atomic-rs|--tp-comm-overlap-disable-qkv|--tp-comm-overlap-disable-fc1|"
            "--batch-p2p-comm|--batch-p2p-sync|--high-priority-a2a-comm-stream",
            Effect::kTime, "how ranks exchange, and in which order they are numbered"),
    Matters("--no-persist-layer-norm|--mla-down-proj-fusion|--optimizer-cuda-graph|"
            "--moe-flex-dispatcher-num-sms|--moe-hybridep-|--moe-permute-fusion-into-hybridep|"
            "--fused-residual-rmsnorm|--fused-single-qkv-rope|--batch-invariant-|"
            "--use-grouped-gemm-for-shared-expert|--use-grouped-gemm-for-dense-mlp",
            Effect::kTime, "kernels of another speed"),
    Matters("--window-size|--window-attn-skip-freq|--sft", Effect::kTime,
            "attention over fewer pairs of tokens than the plan prices"),
    Matters("--random-ltd", Effect::kTime, "layers that skip tokens at first"),
    // These take more memory.
    Matters("--overlap-moe-expert-parallel-comm|--delay-wgrad-compute|--moe-shared-expert-overlap|"
            "--overlap-dispatch-backward-with-experts-wgrad",
            Effect::kRaises, "the passes of two micro-batches, or parts of one, at the same time"),
    Matters("--overlap-p2p-communication-warmup-flush", Effect::kRaises,
            "activations on their way between stages"),
    Matters("--use-nccl-ub|--fsdp-double-buffer|--fsdp-db-use-persist-buf-on-alloc-fail|"
            "--megatron-fsdp-max-pool-double-buffer|--keep-fp8-transpose-cache|"
            "--keep-fp8-transpose-cache-when-using-custom-fsdp|"
            "--torch-fsdp2-no-reshard-after-forward|--no-contiguous-buffers-in-local-ddp",
            Effect::kRaises, "buffers of sharded weights and gradients that stay"),
    Matters("--no-fp8-wgrad|--first-last-layers-bf16|--num-layers-at-start-in-bf16|"
            "--num-layers-at-end-in-bf16",
            Effect::kRaises, "parts of a run in 8 bits that are kept in 16"),
    Matters("--fp32-residual-connection|--embedding-weights-in-fp32|--fp32-allreduce",
            Effect::kRaises, "parts of a run in 16 bits that are kept in 32"),
    Matters("--no-bias-dropout-fusion|--no-bias-gelu-fusion|--no-rope-fusion|--disable-jit-fuser|"
            "--no-scaled-masked-softmax-fusion|--activation-func-clamp-value|"
            "--disable-mem-efficient-ln",
            Effect::kRaises, "inputs and outputs between passes that are otherwise one"),
    Matters("--no-clone-scatter-output-in-embedding", Effect::kRaises,
            "the whole embedding's output, which a clone of a rank's part would free"),
    Matters("--moe-router-padding-for-fp8|--moe-router-padding-for-quantization|--vocab-extra-ids",
            Effect::kRaises, "padding of experts' tokens and of the vocabulary"),
    Matters("--cuda-graph-modules|--cuda-graph-retain-backward-graph", Effect::kRaises,
            "the memory of captured graphs"),
    Matters("--logits-load-|--logits-save-|--kd|--mos|--retro-add-retriever", Effect::kRaises,
            "a teacher, or what its logits are compared with"),
    // These take less memory.
    Matters("--enable-full-sharding-in-hsdp|--outer-dp-sharding-strategy", Effect::kLowers,
            "state divided by copies of a shard group too", "layout.sharding.shard_group_size"),
    Matters("--offload-optimizer-states", Effect::kLowers, "optimizer state in host memory",
            "layout.sharding.offload_optimizer"),
    Matters("--freeze-all-layers|--freeze-", Effect::kLowers, "parts that are not trained",
            "model.changes.base_frozen"),
    Matters("--use-fused-weighted-squared-relu|--memory-efficient-layer-norm|"
            "--deallocate-pipeline-outputs|--moe-paged-stash|--moe-single-grouped-",
            Effect::kLowers, "activations that are not kept"),
    Matters("--mtp-use-repeated-layer", Effect::kLowers, "modules that share one layer's weights"),
    Matters("--ds-sequence-parallel-fpdt|--ds-sequence-parallel-fpdt-", Effect::kLowers,
            "sequences in chunks, which may lie in host memory"),
    Matters("--use-bnb-optimizer", Effect::kLowers, "optimizer state in 8 bits",
            "training.optimizer.kind"),
    // Another model, program or division, of which nothing is known.
    Matters("--spec|--kitchen-|--use-kitchen|--te-precision-config-file|--quant-recipe|--yaml-cfg|"
            "--use-legacy-models|--heterogeneous-layers-config-|--heterogeneous-block-specs|"
            "--mlp-type|--use-transformer-engine-op-fuser",
            Effect::kEither, "layers, or settings, of another file"),
    Matters("--hybrid-|--is-hybrid-model|--mamba-|--linear-|--disable-mamba-mem-eff-path|"
            "--experimental-attention-variant|--dsa-|--enable-mhc-connections|--mhc-|--gdp-|"
            "--use-mup|--attention-output-gate",
            Effect::kEither, "layers of another kind than attention"),
    Matters("--squared-relu|--softmax-type|--use-te-activation-func|--moe-apply-probs-on-input|"
            "--moe-extended-tp|--moe-use-legacy-grouped-gemm|--moe-latent-size|"
            "--moe-shared-expert-gate|--moe-token-dropping|--moe-train-capacity-factor|"
            "--moe-min-capacity|--moe-expert-rank-capacity-factor|--disable-moe-token-dropping|"
            "--enable-expert-tensor-parallelism|--use-tutel|--expert-interval|--num-experts-switch",
            Effect::kEither, "feed-forwards and experts of another kind"),
    Matters("--moe-expert-parallel-size", Effect::kEither, "ranks that hold other experts",
            "layout.parallel.expert_parallel_size"),
    Matters("--ds-sequence-parallel-size|--force-ds-sequence-parallel", Effect::kEither,
            "ranks that share a sequence, by all-to-all", "layout.context_parallel_size"),
    Matters("--num-key-value-heads", Effect::kEither, "key and value heads of Megatron-DeepSpeed"),
    Matters("--microbatch-group-size-per-virtual-pipeline-stage|--standalone-embedding-stage|"
            "--pipeline-model-parallel-split-rank|--encoder-tensor-model-parallel-size|"
            "--encoder-pipeline-model-parallel-size|--mtp-standalone|--decoder-num-layers|"
            "--decoder-seq-length|--no-pipeline-parallel|--enable-zbh1-pipeline|"
            "--enable-zbh1-exact-semantics|--virtual-pipeline-model-parallel-size",
            Effect::kEither, "stages of another kind"),
    Matters("--gtp-|--tensor-parallel-num-weight-shards|--expert-gtp-weight-remat-size|"
            "--expert-tensor-parallel-num-weight-shards|--no-use-layer-wise-param-layout|"
            "--megatron-fsdp-|--hybrid-context-parallel|--max-seqlen-per-dp-cp-rank|"
            "--num-microbatches-with-partial-activation-checkpoints|--mlp-chunks-for-training",
            Effect::kEither, "weights, gradients or sequences divided in another way"),
    Matters("--zero-allgather-bucket-size|--zero-reduce-bucket-size|--zero-reduce-scatter|"
            "--zero-contigious-gradients",
            Effect::kEither, "buckets, which a DeepSpeed configuration says too"),
    Matters("--output-logit-dtype", Effect::kEither, "the type of the logits",
            "layout.kernels.loss"),
    // Values and names that may lower memory where they are not read.
    Lowers("--recompute-", "training.recompute"),
    Lowers("--moe-layer-recompute", "training.recompute"),
    Lowers("--distribute-saved-activations"),
    Lowers("--distribute-checkpointed-activations"),
    Lowers("--partition-activations"),
    Lowers("--checkpoint-in-cpu"),
    Lowers("--scattered-embeddings"),
    Lowers("--split-transformers"),
    Lowers("--memory-centric-tiled-linear"),
    Lowers("--remote-device", "layout.sharding.offload_parameters"),
    Lowers("--cpu-offloading"),
    Lowers("--fine-grained-activation-offloading"),
    Lowers("--activation-func-fp8-input-store"),
    Lowers("--optimizer-offload-fraction", "layout.sharding.offload_optimizer"),
    Lowers("--exp-avg-dtype", "training.precision.optimizer_data_type"),
    Lowers("--main-params-dtype", "training.precision.master_weights"),
    Lowers("--main-grads-dtype", "training.precision.gradient_data_type"),
    Lowers("--fp4-param-gather", "training.precision.weight_data_type"),
    Lowers("--cross-entropy-fusion-impl", "layout.kernels.loss"),
    Lowers("--fp16-lm-cross-entropy", "layout.kernels.loss"),
    Lowers("--reuse-grad-buf-for-mxfp8-param-ag"),
    Lowers("--use-torch-fsdp2", "layout.sharding.zero_stage"),
    Lowers("--empty-unused-memory-level", "layout.framework.fragmentation_ratio"),
    Matters("--perform-rl-step", Effect::kEither, "sampling, and a reference model"),
};

}  // namespace

absl::Span<const Setting> MegatronOpen() { return kMegatronOpen; }

}  // namespace sextant::server
