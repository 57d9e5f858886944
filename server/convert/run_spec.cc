#include "server/convert/run_spec.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "engine/run/run_devices.h"
#include "server/convert/count_spec.h"
#include "server/convert/enums.h"
#include "server/convert/message_fields.h"
#include "server/convert/model_spec.h"
#include "server/convert/rates.h"
#include "server/convert/step_time.h"
#include "server/convert/whole_run.h"

namespace sextant::server {
namespace {

void ShardingFrom(const v1::StateSharding& m, absl::string_view path, FieldViolations& violations,
                  RunLayout& out) {
  out.zero_stage = ZeroStagePair::Find(m.zero_stage(), {path, "zero_stage"}, violations);
  out.sharding.shard_group_size = m.shard_group_size();
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
      DataTypePair::From(m.frozen_data_type(), {path, "frozen_data_type"}, violations);
  out.frozen.double_quantization = m.double_quantization();
  out.frozen.block_size = m.frozen_block_size();
  out.weight_scaling = WeightScalingPair::From(m.scaling(), {path, "scaling"}, violations);
  out.fp8_weight_copies = m.fp8_weight_copies();
}

void KernelsFrom(const v1::KernelChoices& m, absl::string_view path, FieldViolations& violations,
                 RunLayout& layout) {
  MicroBatchSpec& out = layout.kernels;
  out.attention = AttentionKernelPair::From(m.attention(), {path, "attention"}, violations);
  layout.loss = LossKindPair::Find(m.loss(), {path, "loss"}, violations);
  out.loss_chunk_tokens = m.loss_chunk_tokens();
  out.dropout = m.dropout();
  out.matmul_input_data_type =
      DataTypePair::From(m.matmul_input_data_type(), {path, "matmul_input_data_type"}, violations);
  if (m.has_recomputed_layers_per_block()) {
    out.recomputation.layers_per_block = m.recomputed_layers_per_block();
  }
  out.recomputation.activation_function = m.recompute_activation_function();
  out.recomputation.norm_outputs = m.recompute_norm_outputs();
  out.recomputation.latent_up_projections = m.recompute_latent_up_projections();
  if (m.has_expert_load_factor()) out.expert_load_factor = m.expert_load_factor();
  out.expert_scaling =
      ExpertScalingPair::From(m.expert_scaling(), {path, "expert_scaling"}, violations);
  out.expert_dispatch =
      ExpertDispatchPair::From(m.expert_dispatch(), {path, "expert_dispatch"}, violations);
  if (m.has_attention_output_copied()) {
    layout.attention_output_copied = m.attention_output_copied();
  }
  if (m.has_fused_expert_activation()) {
    layout.fused_expert_activation = m.fused_expert_activation();
  }
}

// A size of 0, which is refused elsewhere, is as one that is not divided.
absl::optional<int64_t> SizeFrom(bool given, int64_t size) {
  if (!given) return absl::nullopt;
  return size == 0 ? 1 : size;
}

FrameworkSpec FrameworkMemoryFrom(const v1::FrameworkMemory& m, absl::string_view path,
                                  FieldViolations& violations) {
  FrameworkSpec out;
  out.kind = FrameworkPair::From(m.kind(), {path, "kind"}, violations);
  out.named = m.kind() != v1::FrameworkMemory::KIND_UNSPECIFIED;
  if (m.has_persistent_gradients()) out.persistent_gradients = m.persistent_gradients();
  if (m.has_fused_weight_gradient()) out.fused_weight_gradient = m.fused_weight_gradient();
  if (m.has_reduce_bucket_elements()) out.reduce_bucket_elements = m.reduce_bucket_elements();
  if (m.has_gather_bucket_elements()) out.gather_bucket_elements = m.gather_bucket_elements();
  if (m.has_deferred_reduction()) out.deferred_reduction = m.deferred_reduction();
  if (m.has_workspace_bytes()) out.workspace_bytes = m.workspace_bytes();
  if (m.has_fragmentation_ratio()) out.fragmentation_ratio = m.fragmentation_ratio();
  if (m.has_context_bytes()) out.context_bytes = m.context_bytes();
  if (m.has_communicator_bytes()) out.communicator_bytes = m.communicator_bytes();
  if (m.has_transformer_engine()) out.transformer_engine = m.transformer_engine();
  out.deterministic = m.deterministic();
  if (m.has_grouped_experts()) out.grouped_experts = m.grouped_experts();
  if (m.has_fused_projections()) out.fused_projections = m.fused_projections();
  out.captured_graphs = m.captured_graphs();
  return out;
}

PrecisionPolicy PrecisionFrom(const v1::PrecisionPolicy& m, FieldViolations& violations) {
  const auto type = [&](v1::DataType wire, absl::string_view name) {
    return DataTypePair::From(wire, {"training.precision", name}, violations);
  };
  PrecisionPolicy out;
  out.compute_data_type = type(m.compute_data_type(), "compute_data_type");
  out.weight_data_type = type(m.weight_data_type(), "weight_data_type");
  out.gradient_data_type = type(m.gradient_data_type(), "gradient_data_type");
  out.optimizer_data_type = type(m.optimizer_data_type(), "optimizer_data_type");
  if (m.has_master_weights()) out.master_weights = m.master_weights();
  return out;
}

TrainingSpec TrainingFrom(const v1::TrainingSpec& m, FieldViolations& violations) {
  TrainingSpec out;
  out.token_count = m.token_count();
  out.precision = PrecisionFrom(m.precision(), violations);
  out.optimizer.kind = OptimizerKindPair::From(m.optimizer().kind(), "training.optimizer.kind",
                                               violations, OptimizerKind::kAdamw);
  out.optimizer.adafactor_momentum = m.optimizer().adafactor_momentum();
  if (m.optimizer().has_quantization_block_size()) {
    out.optimizer.quantization_block_size = m.optimizer().quantization_block_size();
  }
  if (m.has_activation_bytes()) out.activation_bytes = m.activation_bytes();
  if (m.has_sequence_length()) out.sequence_length = m.sequence_length();
  if (m.has_encoder_sequence_length()) {
    out.encoder_sequence_length = m.encoder_sequence_length();
  }
  out.recompute = RecomputePolicyPair::Find(m.recompute(), "training.recompute", violations);
  return out;
}

PlanOptions OptionsFrom(const v1::PlanOptions& m, FieldViolations& violations) {
  PlanOptions out;
  if (m.has_assumed_mfu()) out.assumed_mfu = m.assumed_mfu();
  out.flops_convention =
      FlopsConventionPair::Find(m.flops_convention(), "options.flops_convention", violations);
  if (!v1::PlanView_IsValid(m.view()))
    violations.Add("options.view", check::UnknownEnumNumber(m.view()));
  out.full = m.view() == v1::PLAN_VIEW_FULL;
  out.assumptions = out.full;
  out.include_derivation = m.include_derivation();
  out.include_ledger = m.include_ledger();
  out.include_operations = m.include_operations();
  if (m.has_fits_chance()) out.thresholds.fits = m.fits_chance();
  if (m.has_does_not_fit_chance()) out.thresholds.does_not_fit = m.does_not_fit_chance();
  out.require_activations = m.require_activations();
  out.tensor_across_nodes = m.tensor_across_nodes();
  out.search_kernels = m.search_kernels();
  if (!v1::LayoutSearch_IsValid(m.search())) {
    violations.Add("options.search", check::UnknownEnumNumber(m.search()));
  } else if (m.search() == v1::LAYOUT_SEARCH_BOUNDED) {
    out.search = SearchExtent::kBounded;
  } else if (m.search() == v1::LAYOUT_SEARCH_EXHAUSTIVE) {
    out.search = SearchExtent::kExhaustive;
  }
  return out;
}

MeasuredStep MeasuredStepFrom(const v1::MeasuredStep& m, FieldViolations& violations) {
  MeasuredStep out;
  out.seconds = m.seconds();
  if (m.has_layout()) {
    out.layout = RunLayoutFrom(m.layout(), "measured_step.layout", violations);
  } else {
    violations.Add("measured_step.layout", "is required: the layout that was measured");
  }
  if (m.has_device_count()) out.device_count = m.device_count();
  if (m.has_sequence_length()) out.sequence_length = m.sequence_length();
  if (m.recompute() != v1::RECOMPUTE_POLICY_UNSPECIFIED) {
    out.recompute = RecomputePolicyPair::From(m.recompute(), "measured_step.recompute", violations);
  }
  return out;
}

}  // namespace

ClusterSpec ClusterFrom(const v1::ClusterSpec& m, const DeviceResolver& resolver,
                        absl::optional<double> maximum_age_seconds, FieldViolations& violations) {
  ClusterSpec out;
  if (m.has_device()) {
    out.device = resolver.Resolve(m.device(), "cluster.device", maximum_age_seconds, violations);
  }
  out.device_count = m.device_count();
  if (m.has_peak_flops_per_second()) out.peak_flops_per_second = m.peak_flops_per_second();
  if (m.has_device_memory_bytes()) out.device_memory_bytes = m.device_memory_bytes();
  if (m.has_reserved_memory_bytes()) out.reserved_memory_bytes = m.reserved_memory_bytes();
  if (m.has_host_link_bytes_per_second()) {
    out.host_link_bytes_per_second = m.host_link_bytes_per_second();
  }
  if (m.has_host_memory_bytes_per_second()) {
    out.host_memory_bytes_per_second = m.host_memory_bytes_per_second();
  }
  if (m.has_host_memory_bytes()) out.host_memory_bytes = m.host_memory_bytes();
  out.node_type = m.node_type();
  out.network = {.name = m.network().name(), .bytes_per_second = m.network().bytes_per_second()};
  return out;
}

EconomicsSpec EconomicsFrom(const v1::EconomicsSpec& m, FieldViolations& violations) {
  EconomicsSpec out;
  if (m.has_device_hour_price_usd()) out.device_hour_price_usd = m.device_hour_price_usd();
  if (m.has_device_power_watts()) out.device_power_watts = m.device_power_watts();
  if (m.has_host_power_watts_per_device()) {
    out.host_power_watts_per_device = m.host_power_watts_per_device();
  }
  if (m.has_power_usage_effectiveness()) {
    out.power_usage_effectiveness = m.power_usage_effectiveness();
  }
  if (m.has_budget_usd()) out.budget_usd = m.budget_usd();
  out.seconds_to_deadline = SecondsToDeadline(m, violations);
  return out;
}

void CheckPlanNumbers(const v1::PlanRunRequest& request, FieldViolations& violations) {
  static const check::NumberLimits limits(*v1::PlanRunRequest::descriptor());
  CheckNumbers(limits, request, "", violations);
}

ParallelSizes ParallelSizesFrom(const v1::ParallelLayout& m) {
  ParallelSizes out = {
      .tensor_parallel_size = SizeFrom(m.has_tensor_parallel_size(), m.tensor_parallel_size()),
      .split_key_value_heads = m.split_key_value_heads(),
      .pipeline_parallel_size =
          SizeFrom(m.has_pipeline_parallel_size(), m.pipeline_parallel_size()),
      .virtual_stage_count = SizeFrom(m.has_virtual_stage_count(), m.virtual_stage_count()),
      .layers_per_chunk = {m.layers_per_chunk().begin(), m.layers_per_chunk().end()},
      .expert_parallel_size = SizeFrom(m.has_expert_parallel_size(), m.expert_parallel_size())};
  if (m.has_expert_tensor_parallel_size()) {
    out.expert_tensor_parallel_size = m.expert_tensor_parallel_size();
  }
  return out;
}

RunLayout RunLayoutFrom(const v1::RunLayout& m, absl::string_view path,
                        FieldViolations& violations) {
  RunLayout out;
  out.parallel = ParallelSizesFrom(m.parallel());
  if (m.has_context_parallel_size()) out.context_parallel_size = m.context_parallel_size();
  out.context_parallel_kind = ContextParallelKindPair::Find(
      m.context_parallel_kind(), {path, "context_parallel_kind"}, violations);
  if (m.has_sequence_parallel()) out.sequence_parallel = m.sequence_parallel();
  if (m.has_micro_batch_size()) out.micro_batch_size = m.micro_batch_size();
  if (m.has_global_batch_size()) out.global_batch_size = m.global_batch_size();
  out.schedule = PipelineSchedulePair::Find(m.schedule(), {path, "schedule"}, violations);
  ShardingFrom(m.sharding(), FieldPath(path, "sharding"), violations, out);
  StorageFrom(m.storage(), FieldPath(path, "storage"), violations, out);
  KernelsFrom(m.kernels(), FieldPath(path, "kernels"), violations, out);
  out.framework = FrameworkMemoryFrom(m.framework(), FieldPath(path, "framework"), violations);
  out.software = SoftwareFrom(m.software());
  out.deferred_head_gradients = m.deferred_head_gradients();
  out.batch_ramp.reserve(static_cast<size_t>(m.batch_ramp_size()));
  for (const v1::BatchPhase& phase : m.batch_ramp()) {
    out.batch_ramp.push_back({phase.token_count(), phase.global_batch_size()});
  }
  out.unmodelled_settings = {m.unmodelled_settings().begin(), m.unmodelled_settings().end()};
  return out;
}

bool SearchesByDefault(const v1::PlanRunRequest& request) {
  const v1::RunLayout& layout = request.layout();
  const bool laid_out = layout.has_parallel() || layout.has_sharding() ||
                        layout.has_context_parallel_size() || layout.has_sequence_parallel() ||
                        layout.has_micro_batch_size() ||
                        layout.schedule() != v1::PIPELINE_SCHEDULE_UNSPECIFIED;
  return layout.has_global_batch_size() && !laid_out && !request.has_measured_step() &&
         request.training().has_sequence_length() && !request.model().has_parameter_count() &&
         request.options().search() == v1::LAYOUT_SEARCH_UNSPECIFIED;
}

RunSpec RunSpecFrom(const v1::PlanRunRequest& request, const DeviceResolver& resolver,
                    FieldViolations& violations) {
  RunSpec out;
  out.model = ModelSpecFrom(request.model(), violations);
  out.training = TrainingFrom(request.training(), violations);
  out.economics = EconomicsFrom(request.economics(), violations);
  out.interruptions = InterruptionsFrom(request.interruptions(), violations);
  out.options = OptionsFrom(request.options(), violations);
  out.rate_requirement =
      RateRequirementFrom(request.rate_requirement(), "rate_requirement", violations);
  out.cluster = ClusterFrom(request.cluster(), resolver, out.rate_requirement.maximum_age_seconds,
                            violations);
  AssumeNodes(out.cluster);
  if (request.has_layout()) out.layout = RunLayoutFrom(request.layout(), "layout", violations);
  if (SearchesByDefault(request)) out.options.search = SearchExtent::kBounded;
  if (request.has_measured_step()) {
    out.measured_step = MeasuredStepFrom(request.measured_step(), violations);
  }
  return out;
}

}  // namespace sextant::server
