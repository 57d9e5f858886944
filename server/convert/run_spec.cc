#include "server/convert/run_spec.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "engine/run/run_devices.h"
#include "server/convert/count_spec.h"
#include "server/convert/enums.h"
#include "server/convert/layout.h"
#include "server/convert/message_fields.h"
#include "server/convert/model_spec.h"
#include "server/convert/rates.h"
#include "server/convert/whole_run.h"

namespace sextant::server {
namespace {

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
  out.optimizer.loop = OptimizerLoopPair::Find(m.optimizer().implementation(),
                                               "training.optimizer.implementation", violations);
  out.optimizer.paged = m.optimizer().paged();
  out.optimizer.in_backward = m.optimizer().in_backward();
  if (m.optimizer().has_galore_rank()) out.optimizer.galore_rank = m.optimizer().galore_rank();
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
