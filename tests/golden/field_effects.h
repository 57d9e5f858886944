// The effect of each field of a run on the memory of a device and on the time of a step, in a few
// words: for the table of launchers' settings.
#ifndef SEXTANT_TESTS_GOLDEN_FIELD_EFFECTS_H_
#define SEXTANT_TESTS_GOLDEN_FIELD_EFFECTS_H_

namespace sextant {

struct FieldEffect {
  const char* path;   // of a field, or of the message that it is in
  const char* bytes;  // "": none
  const char* time;
};

// The longest path that a field starts with counts.
inline constexpr FieldEffect kFieldEffects[] = {
    {"model", "the model's size", "the model's products"},
    {"model.changes.vocabulary_multiple", "rows of embedding and head", "the head's product"},
    {"model.changes.adapters", "adapters alone have state", "adapters' products"},
    {"model.changes.base_frozen", "no state of the base", "no gradients of its weights"},
    {"cluster.device_count", "what ranks divide", "ranks that share a step"},
    {"training.sequence_length", "activations and logits", "products and attention"},
    {"training.token_count", "", "steps of the run"},
    {"training.precision.compute_data_type", "activations; weights", "rate of products"},
    {"training.precision.weight_data_type", "weights", "what is gathered"},
    {"training.precision.gradient_data_type", "gradients", "what is reduced"},
    {"training.precision.master_weights", "an fp32 copy", "the optimizer's step"},
    {"training.precision.optimizer_data_type", "optimizer state", "the optimizer's step"},
    {"training.optimizer", "optimizer state", "the optimizer's step"},
    {"training.recompute", "activations", "passes that run again"},
    {"layout.parallel.tensor_parallel_size", "weights, state and activations are divided",
     "exchanges in each layer; smaller products"},
    {"layout.sequence_parallel", "norms and residuals are divided", "the same exchanges in parts"},
    {"layout.context_parallel", "activations are divided", "exchanges of keys and values"},
    {"layout.parallel.pipeline_parallel_size", "layers are divided", "sends and idle stages"},
    {"layout.parallel.virtual_stage_count", "more micro-batches in flight", "less idle time"},
    {"layout.parallel.layers_per_chunk", "layers of each stage", "the slowest stage"},
    {"layout.schedule", "micro-batches in flight", "idle stages"},
    {"layout.deferred_head_gradients", "inputs of the head wait", "less idle time"},
    {"layout.parallel.expert_parallel_size", "experts are divided", "exchanges of tokens"},
    {"layout.parallel.expert_tensor_parallel_size", "experts are divided",
     "exchanges; smaller products"},
    {"layout.micro_batch_size", "activations and logits", "sizes of products"},
    {"layout.global_batch_size", "micro-batches in flight", "micro-batches of a step"},
    {"layout.batch_ramp", "", "steps of other batches"},
    {"layout.sharding.zero_stage", "state of a rank", "what is exchanged"},
    {"layout.sharding.shard_group_size", "state of a rank", "over which links"},
    {"layout.sharding.reshard_after_forward", "gathered weights", "gathers in the backward pass"},
    {"layout.sharding.prefetched_unit_count", "gathered weights", "hidden gathers"},
    {"layout.sharding.secondary_group_size", "a second shard of the weights",
     "links of gathers in the backward pass"},
    {"layout.sharding.offload", "state in host memory", "copies and the host's step"},
    {"layout.storage", "frozen weights", "dequantisation"},
    {"layout.kernels.attention", "the softmax of all pairs, unfused", "passes of attention"},
    {"layout.kernels.dropout", "masks", "passes"},
    {"layout.kernels.adapter_dropout", "masks and inputs of adapters", "passes"},
    {"layout.kernels.loss", "logits and their copies", "passes of the loss"},
    {"layout.kernels.expert_dispatch", "tokens of experts", "exchanges of tokens"},
    {"layout.kernels.expert_load_factor", "tokens of experts", "experts' products"},
    {"layout.kernels.fused_expert_activation", "outputs of the activation function", "passes"},
    {"layout.kernels.recompute", "activations", "passes that run again"},
    {"layout.kernels.recomputed_layers_per_block", "activations", "passes that run again"},
    {"layout.framework", "buffers and workspaces of its code", "its software's constants"},
    {"layout.framework.deterministic", "workspaces", "kernels"},
    {"layout.framework.captured_graphs", "", "launches by the host"},
    {"layout.framework.grouped_experts", "a workspace", "experts' products"},
    {"layout.framework.fused_weight_gradient", "a matrix's gradient of its own", "additions"},
    {"layout.framework.reduce_bucket_elements", "a bucket", ""},
    {"layout.framework.gather_bucket_elements", "a bucket", ""},
    {"layout.framework.live_elements", "gathered weights", ""},
    {"layout.software", "", "a constant of the software"},
    {"layout.software.data_exchange_overlap", "DeepSpeed's second bucket at stages 1 and 2",
     "what of exchanges is hidden"},
    {"layout.software.overlap_contention", "", "what hidden exchanges slow down"},
    {"layout.software.tensor_exchange_exposure", "", "what of exchanges adds"},
    {"layout.software.pipeline_exchange_exposure", "", "what of sends adds"},
    {"layout.software.one_copy_per_node", "", "copies of a token over the network"},
    {"layout.software.all_reduces_gradients", "", "gradients are summed on all ranks"},
    {"layout.software.memory_pass_time_ratio", "", "passes over memory"},
    {"layout.software.optimizer_time_ratio", "", "the optimizer's step"},
};

}  // namespace sextant

#endif  // SEXTANT_TESTS_GOLDEN_FIELD_EFFECTS_H_
