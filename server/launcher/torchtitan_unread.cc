// Settings of torchtitan that are not read: those that no field stands for, and those that change
// nothing that is planned. Source: torchtitan/config/job_config.py of v0.2.2, and of releases from
// v0.1.0 on.
#include "server/launcher/launcher.h"

namespace sextant::server {
namespace {

constexpr Setting kTorchtitanUnread[] = {
    Matters("parallelism.enable_async_tensor_parallel", Effect::kTime,
            "what hides exchanges of tensor parallel ranks"),
    Matters("activation_checkpoint.early_stop", Effect::kTime,
            "recomputation that ends once all is there"),
    Matters("activation_checkpoint.per_op_sac_force_recompute_mm_shapes_by_fqns", Effect::kEither,
            "products that are never saved, by their names"),
    Matters("parallelism.disable_loss_parallel", Effect::kRaises,
            "whole logits on each tensor parallel rank"),
    Matters("parallelism.pipeline_parallel_expert_parallel_overlap", Effect::kRaises,
            "the passes of two micro-batches at the same time"),
    Matters("parallelism.context_parallel_rotate_method", Effect::kEither,
            "keys and values of all context parallel ranks at once, or a rank's at a time"),
    Matters("parallelism.pipeline_parallel_schedule_csv", Effect::kEither,
            "a schedule of a file's"),
    Matters("parallelism.collective_api|parallelism.enable_compiled_autograd", Effect::kTime,
            "how exchanges and backward passes are called"),
    Matters("parallelism.pipeline_parallel_split_points", Effect::kEither,
            "layers of each stage, by their names"),
    Matters("lora.", Effect::kEither, "adapters"),
    // The mode of activation_checkpoint says already what is not modelled.
    Passes("job."),
    Passes("profiling."),
    Passes("metrics."),
    Passes("checkpoint."),
    Passes("lr_scheduler."),
    Passes("comm."),
    Passes("memory_estimation."),
    Passes("fault_tolerance."),
    Passes("experimental.custom_args_module"),
    Passes("experimental.custom_import"),
    Passes("validation."),
    Passes("hf_assets_path"),
    Passes("model.hf_assets_path"),
    Passes("model.tokenizer_path"),
    Passes("model.print_after_conversion"),
    Passes("optimizer.lr"),
    Passes("optimizer.beta1"),
    Passes("optimizer.beta2"),
    Passes("optimizer.eps"),
    Passes("optimizer.weight_decay"),
    Passes("training.dataset"),
    Passes("training.dataset_path"),
    Passes("training.max_norm"),
    Passes("training.gc_freq"),
    Passes("training.gc_debug"),
    Passes("training.dataloader."),
    Passes("debug.seed"),
    Passes("debug.deterministic_warn_only"),
    Passes("debug.moe_force_load_balance"),
    Passes("compile.backend"),
    Passes("activation_checkpoint.determinism_check"),
    Passes("activation_checkpoint.debug"),
    Passes("activation_checkpoint.preserve_rng_state"),
    Passes("activation_checkpoint.visualize_memory_budget_pareto"),
    Passes("activation_checkpoint.memory_budget"),
    Passes("parallelism.context_parallel_load_balancer"),
};

}  // namespace

absl::Span<const Setting> TorchtitanUnread() { return kTorchtitanUnread; }

}  // namespace sextant::server
