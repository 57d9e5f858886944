#include "engine/run/layout_fields.h"

namespace sextant {
namespace {

constexpr LayoutField kFields[] = {
    kTensorParallelField,
    FieldAt<&RunLayout::parallel, &ParallelSizes::split_key_value_heads>(
        "layout.parallel.split_key_value_heads"),
    kPipelineParallelField,
    kVirtualStagesField,
    kExpertParallelField,
    kExpertTensorParallelField,
    kContextParallelField,
    FieldAt<&RunLayout::context_parallel_kind>("layout.context_parallel_kind"),
    kSequenceParallelField,
    kMicroBatchSequencesField,
    FieldAt<&RunLayout::global_batch_size>("layout.global_batch_size"),
    kScheduleField,
    FieldAt<&RunLayout::deferred_head_gradients>("layout.deferred_head_gradients"),
    kStateDivisionField,
    kShardGroupField,
    kReshardField,
    FieldAt<&RunLayout::sharding, &StateSharding::prefetched_unit_count>(
        "layout.sharding.prefetched_unit_count"),
    kOffloadedOptimizerField,
    kOffloadedParametersField,
    FieldAt<&RunLayout::frozen, &FrozenWeightFormat::data_type>("layout.storage.frozen_data_type"),
    FieldAt<&RunLayout::frozen, &FrozenWeightFormat::double_quantization>(
        "layout.storage.double_quantization"),
    FieldAt<&RunLayout::frozen, &FrozenWeightFormat::block_size>(
        "layout.storage.frozen_block_size"),
    FieldAt<&RunLayout::weight_scaling>("layout.storage.scaling"),
    FieldAt<&RunLayout::fp8_weight_copies>("layout.storage.fp8_weight_copies"),
    kAttentionField,
    kLossField,
    FieldAt<&RunLayout::kernels, &MicroBatchSpec::loss_chunk_tokens>(
        "layout.kernels.loss_chunk_tokens"),
    FieldAt<&RunLayout::kernels, &MicroBatchSpec::dropout>("layout.kernels.dropout"),
    FieldAt<&RunLayout::kernels, &MicroBatchSpec::matmul_input_data_type>(
        "layout.kernels.matmul_input_data_type"),
    kBlockLayersField,
    kActivationAgainField,
    kNormsAgainField,
    kLatentAgainField,
    FieldAt<&RunLayout::kernels, &MicroBatchSpec::expert_scaling>("layout.kernels.expert_scaling"),
    FieldAt<&RunLayout::attention_output_copied>("layout.kernels.attention_output_copied"),
    FieldAt<&RunLayout::fused_expert_activation>("layout.kernels.fused_expert_activation"),
};

}  // namespace

absl::Span<const LayoutField> LayoutFields() { return kFields; }

}  // namespace sextant
