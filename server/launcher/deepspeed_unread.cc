// Settings of DeepSpeed that are not read: those that no field stands for, and those that change
// nothing that is planned.
#include "server/launcher/launcher.h"

namespace sextant::server {
namespace {

constexpr Setting kDeepspeedUnread[] = {
    // Those that no field stands for. Sources: docs/_pages/config-json.md and the files of
    // deepspeed_options.txt.
    Matters("communication_data_type|seq_parallel_communication_data_type", Effect::kTime,
            "the type that gradients and sequences travel in"),
    Matters("zero_optimization.stage3_allgather_sequential|"
            "zero_optimization.stage3_use_all_reduce_for_fetch_params|"
            "zero_optimization.mics_hierarchical_params_gather|disable_allgather|"
            "zero_optimization.zeropp_loco_param.",
            Effect::kTime, "how weights are gathered and gradients quantised"),
    Matters("zero_optimization.stage3_module_granularity_threshold", Effect::kRaises,
            "modules that are gathered whole"),
    Matters("torch_autocast.|amp.", Effect::kRaises, "16-bit copies of fp32 weights"),
    Matters("data_types.param_dtype", Effect::kEither, "the type of the weights",
            "training.precision.weight_data_type"),
    Matters("zero_optimization.offload_optimizer.super_offload|zero_optimization.zenflow.",
            Effect::kEither, "an optimizer whose step is divided between device and host"),
    Matters("elasticity.|hybrid_engine.|sparse_gradients|autotuning.", Effect::kEither,
            "another batch, another pass, or gradients of rows alone"),
    // Ignored ones that may lower memory.
    Lowers("activation_checkpointing.", "training.recompute"),
    Lowers("optimizer.type", "training.optimizer.kind"),
    Lowers("bf16.bf16_master_weights_and_grads", "training.precision.master_weights"),
    Lowers("bf16.bf16_optimizer_states", "training.precision.optimizer_data_type"),
    Lowers("fp16.fp16_master_weights_and_grads", "training.precision.master_weights"),
    Lowers("zero_optimization.zero_quantized_"),
    Lowers("compression_training."),
    Lowers("quantize_training."),
    Lowers("compile."),
    Lowers("sparse_attention."),
    Lowers("curriculum_learning."),
    Lowers("data_efficiency."),
    // Weights that ZeRO stage 3 fetches ahead are within stage3_max_live_parameters.
    Passes("aio.|autotuning.exps_dir|autotuning.results_dir|bf16.check_grad_overflow"
           "|bf16.immediate_grad_update|checkpoint.|comet.|comms_logger.|csv_monitor."
           "|dataloader_drop_last|dump_state|flops_profiler.|fp16.auto_cast"
           "|fp16.consecutive_hysteresis|fp16.hysteresis|fp16.initial_scale_power"
           "|fp16.loss_scale|fp16.loss_scale_window|fp16.min_loss_scale|gradient_allreduce_op"
           "|gradient_clipping|gradient_predivide_factor|managed_gradient_accumulation"
           "|memory_breakdown|monitor_config.|optimizer.legacy_fusion|optimizer.params."
           "|prescale_gradients|scheduler.|steps_per_print|tensorboard.|wall_clock_breakdown"
           "|wandb.|zero_allow_untested_optimizer|zero_force_ds_cpu_optimizer"
           "|zero_optimization.allgather_partitions|zero_optimization.contiguous_gradients"
           "|zero_optimization.cpu_offload_use_pin_memory|zero_optimization.elastic_checkpoint"
           "|zero_optimization.enable_sanity_checks|zero_optimization.grad_hooks"
           "|zero_optimization.ignore_unused_parameters|zero_optimization.legacy_stage1"
           "|zero_optimization.load_from_fp32_weights|zero_optimization.log_trace_cache_warnings"
           "|zero_optimization.memory_efficient_linear"
           "|zero_optimization.offload_optimizer.buffer_count"
           "|zero_optimization.offload_optimizer.buffer_size"
           "|zero_optimization.offload_optimizer.cpuadam_cores_perc"
           "|zero_optimization.offload_optimizer.fast_init"
           "|zero_optimization.offload_optimizer.nvme_path"
           "|zero_optimization.offload_optimizer.pin_memory"
           "|zero_optimization.offload_optimizer.pipeline_read"
           "|zero_optimization.offload_optimizer.pipeline_write"
           "|zero_optimization.offload_param.buffer_count"
           "|zero_optimization.offload_param.buffer_size"
           "|zero_optimization.offload_param.max_in_cpu"
           "|zero_optimization.offload_param.nvme_path"
           "|zero_optimization.offload_param.pin_memory|zero_optimization.override_module_apply"
           "|zero_optimization.pipeline_loading_checkpoint"
           "|zero_optimization.round_robin_gradients"
           "|zero_optimization.stage3_gather_16bit_weights_on_model_save"
           "|zero_optimization.stage3_gather_fp16_weights_on_model_save"
           "|zero_optimization.stage3_model_persistence_threshold"
           "|zero_optimization.stage3_param_persistence_threshold"
           "|zero_optimization.stage3_prefetch_bucket_size"
           "|zero_optimization.use_multi_rank_bucket_allreduce"),
};

}  // namespace

absl::Span<const Setting> DeepspeedUnread() { return kDeepspeedUnread; }

}  // namespace sextant::server
