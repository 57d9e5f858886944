// The fields of a run's layout, each with its path in the request. Translations, searches, changes
// and violations find them here.
#ifndef SEXTANT_ENGINE_RUN_LAYOUT_FIELDS_H_
#define SEXTANT_ENGINE_RUN_LAYOUT_FIELDS_H_

#include <cstdint>
#include <type_traits>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "engine/run/run_spec.h"

namespace sextant {

// A count, a choice or a switch. Choices are the numbers of the engine's enums.
struct LayoutField {
  absl::string_view path;  // "layout.parallel.tensor_parallel_size"
  // Absent: the layout leaves it open, or has its default where it can't be left open.
  absl::optional<int64_t> (*in)(const RunLayout& layout);
  void (*set)(int64_t value, RunLayout& layout);
};

template <typename T>
inline constexpr bool kMayBeAbsent = false;
template <typename T>
inline constexpr bool kMayBeAbsent<absl::optional<T>> = true;

// The field at `kMembers`: a member of RunLayout, or one of that one's.
template <auto... kMembers>
constexpr LayoutField FieldAt(absl::string_view path) {
  constexpr auto kIn = [](const RunLayout& layout) -> absl::optional<int64_t> {
    const auto& value = (layout.*....*kMembers);
    if constexpr (kMayBeAbsent<std::decay_t<decltype(value)>>) {
      return value.has_value() ? absl::make_optional(static_cast<int64_t>(*value)) : absl::nullopt;
    } else {
      static const RunLayout& none = *new RunLayout;
      return value != (none.*....*kMembers) ? absl::make_optional(static_cast<int64_t>(value))
                                            : absl::nullopt;
    }
  };
  constexpr auto kSet = [](int64_t value, RunLayout& layout) {
    auto& out = (layout.*....*kMembers);
    if constexpr (kMayBeAbsent<std::decay_t<decltype(out)>>) {
      out = static_cast<std::decay_t<decltype(*out)>>(value);
    } else {
      out = static_cast<std::decay_t<decltype(out)>>(value);
    }
  };
  return {path, kIn, kSet};
}

inline constexpr LayoutField kTensorParallelField =
    FieldAt<&RunLayout::parallel, &ParallelSizes::tensor_parallel_size>(
        "layout.parallel.tensor_parallel_size");
inline constexpr LayoutField kPipelineParallelField =
    FieldAt<&RunLayout::parallel, &ParallelSizes::pipeline_parallel_size>(
        "layout.parallel.pipeline_parallel_size");
inline constexpr LayoutField kVirtualStagesField =
    FieldAt<&RunLayout::parallel, &ParallelSizes::virtual_stage_count>(
        "layout.parallel.virtual_stage_count");
inline constexpr LayoutField kExpertParallelField =
    FieldAt<&RunLayout::parallel, &ParallelSizes::expert_parallel_size>(
        "layout.parallel.expert_parallel_size");
inline constexpr LayoutField kExpertTensorParallelField =
    FieldAt<&RunLayout::parallel, &ParallelSizes::expert_tensor_parallel_size>(
        "layout.parallel.expert_tensor_parallel_size");
inline constexpr LayoutField kContextParallelField =
    FieldAt<&RunLayout::context_parallel_size>("layout.context_parallel_size");
inline constexpr LayoutField kSequenceParallelField =
    FieldAt<&RunLayout::sequence_parallel>("layout.sequence_parallel");
inline constexpr LayoutField kMicroBatchSequencesField =
    FieldAt<&RunLayout::micro_batch_size>("layout.micro_batch_size");
inline constexpr LayoutField kScheduleField = FieldAt<&RunLayout::schedule>("layout.schedule");
inline constexpr LayoutField kStateDivisionField =
    FieldAt<&RunLayout::zero_stage>("layout.sharding.zero_stage");
inline constexpr LayoutField kShardGroupField =
    FieldAt<&RunLayout::sharding, &StateSharding::shard_group_size>(
        "layout.sharding.shard_group_size");
inline constexpr LayoutField kOffloadedOptimizerField =
    FieldAt<&RunLayout::sharding, &StateSharding::offload_optimizer>(
        "layout.sharding.offload_optimizer");
inline constexpr LayoutField kOffloadedParametersField =
    FieldAt<&RunLayout::sharding, &StateSharding::offload_parameters>(
        "layout.sharding.offload_parameters");
inline constexpr LayoutField kAttentionField =
    FieldAt<&RunLayout::attention>("layout.kernels.attention");
inline constexpr LayoutField kLossField = FieldAt<&RunLayout::loss>("layout.kernels.loss");
inline constexpr LayoutField kActivationAgainField =
    FieldAt<&RunLayout::kernels, &MicroBatchSpec::recomputation,
            &Recomputation::activation_function>("layout.kernels.recompute_activation_function");
inline constexpr LayoutField kNormsAgainField =
    FieldAt<&RunLayout::kernels, &MicroBatchSpec::recomputation, &Recomputation::norm_outputs>(
        "layout.kernels.recompute_norm_outputs");

// These, and all others of a layout but its framework's and software's, in the request's order.
inline constexpr LayoutField kLayoutFields[] = {
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
    FieldAt<&RunLayout::sharding, &StateSharding::secondary_group_size>(
        "layout.sharding.secondary_group_size"),
    FieldAt<&RunLayout::reshard_after_forward>("layout.sharding.reshard_after_forward"),
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
    FieldAt<&RunLayout::kernels, &MicroBatchSpec::adapter_dropout>(
        "layout.kernels.adapter_dropout"),
    FieldAt<&RunLayout::kernels, &MicroBatchSpec::matmul_input_data_type>(
        "layout.kernels.matmul_input_data_type"),
    FieldAt<&RunLayout::kernels, &MicroBatchSpec::recomputation, &Recomputation::layers_per_block>(
        "layout.kernels.recomputed_layers_per_block"),
    kActivationAgainField,
    kNormsAgainField,
    FieldAt<&RunLayout::kernels, &MicroBatchSpec::recomputation,
            &Recomputation::latent_up_projections>(
        "layout.kernels.recompute_latent_up_projections"),
    FieldAt<&RunLayout::kernels, &MicroBatchSpec::expert_scaling>("layout.kernels.expert_scaling"),
    FieldAt<&RunLayout::kernels, &MicroBatchSpec::expert_dispatch>(
        "layout.kernels.expert_dispatch"),
    FieldAt<&RunLayout::attention_output_copied>("layout.kernels.attention_output_copied"),
    FieldAt<&RunLayout::fused_expert_activation>("layout.kernels.fused_expert_activation"),
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_RUN_LAYOUT_FIELDS_H_
