#include "server/convert/run_layout.h"

#include <string>

#include "server/convert/enums.h"
#include "server/convert/layout_enums.h"
#include "server/convert/optional_size.h"
#include "server/convert/parallel_layout.h"

namespace sextant {
namespace {

void ShardingFrom(const v1::StateSharding& m, absl::string_view path, FieldViolations& violations,
                  RunLayout& out) {
  out.zero_stage = ZeroStageFrom(m.zero_stage(), FieldPath(path, "zero_stage"), violations);
  out.sharding.shard_group_size = SizeOrDefault(
      m.has_shard_group_size(), m.shard_group_size(),
      [&] { return FieldPath(path, "shard_group_size"); }, violations);
  if (m.has_reshard_after_forward()) {
    out.reshard_after_forward = m.reshard_after_forward();
  }
  if (m.has_prefetched_unit_count()) {
    out.sharding.prefetched_unit_count = m.prefetched_unit_count();
  }
  out.sharding.offload_optimizer = m.offload_optimizer();
  out.sharding.offload_parameters = m.offload_parameters();
}

void StorageFrom(const v1::WeightStorage& m, absl::string_view path, FieldViolations& violations,
                 RunLayout& out) {
  out.frozen.data_type =
      DataTypeFrom(m.frozen_data_type(), FieldPath(path, "frozen_data_type"), violations);
  out.frozen.double_quantization = m.double_quantization();
  out.frozen.block_size = SizeOrDefault(
      m.has_frozen_block_size(), m.frozen_block_size(),
      [&] { return FieldPath(path, "frozen_block_size"); }, violations);
  out.weight_scaling = WeightScalingFrom(m.scaling(), FieldPath(path, "scaling"), violations);
  out.fp8_weight_copies = m.fp8_weight_copies();
}

MicroBatchSpec KernelsFrom(const v1::KernelChoices& m, absl::string_view path,
                           FieldViolations& violations) {
  MicroBatchSpec out;
  out.attention = AttentionKernelFrom(m.attention(), FieldPath(path, "attention"), violations);
  out.loss = LossKindFrom(m.loss(), FieldPath(path, "loss"), violations);
  out.loss_chunk_tokens = m.loss_chunk_tokens();
  out.dropout = m.dropout();
  out.matmul_input_data_type = DataTypeFrom(m.matmul_input_data_type(),
                                            FieldPath(path, "matmul_input_data_type"), violations);
  if (m.has_recomputed_layers_per_block()) {
    out.recomputation.layers_per_block = m.recomputed_layers_per_block();
  }
  out.recomputation.activation_function = m.recompute_activation_function();
  out.recomputation.norm_outputs = m.recompute_norm_outputs();
  out.recomputation.latent_up_projections = m.recompute_latent_up_projections();
  if (m.has_expert_load_factor()) out.expert_load_factor = m.expert_load_factor();
  out.expert_scaling =
      ExpertScalingFrom(m.expert_scaling(), FieldPath(path, "expert_scaling"), violations);
  return out;
}

FrameworkSpec FrameworkMemoryFrom(const v1::FrameworkMemory& m, absl::string_view path,
                                  FieldViolations& violations) {
  FrameworkSpec out;
  out.kind = FrameworkFrom(m.kind(), FieldPath(path, "kind"), violations);
  if (m.has_persistent_gradients()) out.persistent_gradients = m.persistent_gradients();
  if (m.has_fused_weight_gradient()) out.fused_weight_gradient = m.fused_weight_gradient();
  if (m.has_reduce_bucket_elements()) out.reduce_bucket_elements = m.reduce_bucket_elements();
  if (m.has_gather_bucket_elements()) out.gather_bucket_elements = m.gather_bucket_elements();
  if (m.has_deferred_reduction()) out.deferred_reduction = m.deferred_reduction();
  if (m.has_workspace_bytes()) out.workspace_bytes = m.workspace_bytes();
  if (m.has_fragmentation_ratio()) out.fragmentation_ratio = m.fragmentation_ratio();
  if (m.has_context_bytes()) out.context_bytes = m.context_bytes();
  if (m.has_communicator_bytes()) out.communicator_bytes = m.communicator_bytes();
  return out;
}

}  // namespace

RunLayout RunLayoutFrom(const v1::RunLayout& m, absl::string_view path,
                        FieldViolations& violations) {
  RunLayout out;
  out.parallel = ParallelLayoutFrom(m.parallel(), FieldPath(path, "parallel"), violations);
  if (m.has_context_parallel_size()) out.context_parallel_size = m.context_parallel_size();
  if (m.has_sequence_parallel()) out.sequence_parallel = m.sequence_parallel();
  if (m.has_micro_batch_size()) out.micro_batch_size = m.micro_batch_size();
  if (m.has_global_batch_size()) out.global_batch_size = m.global_batch_size();
  out.schedule = PipelineScheduleFrom(m.schedule(), FieldPath(path, "schedule"), violations);
  ShardingFrom(m.sharding(), FieldPath(path, "sharding"), violations, out);
  StorageFrom(m.storage(), FieldPath(path, "storage"), violations, out);
  out.kernels = KernelsFrom(m.kernels(), FieldPath(path, "kernels"), violations);
  out.framework = FrameworkMemoryFrom(m.framework(), FieldPath(path, "framework"), violations);
  return out;
}

}  // namespace sextant
