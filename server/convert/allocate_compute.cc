#include "server/convert/allocate_compute.h"

#include <cmath>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "server/convert/enums.h"
#include "server/convert/message_fields.h"
#include "server/convert/notes.h"
#include "server/convert/rates.h"
#include "server/convert/run_spec.h"

namespace sextant::server {
namespace {

using ScalingRulePair = OneLater<ScalingRule::kBesiroglu2024, v1::ScalingRule_MAX>;

// All counts of an answer fit: see kMaxBudgetFlops.
int64_t Whole(double count) { return std::llround(count); }

// `flops` are those of training.
void SizedModelTo(const ModelSize& size, Flops flops, absl::optional<double> loss,
                  bool extrapolated, v1::SizedModel* out) {
  out->set_parameter_count(Whole(size.parameters));
  out->set_token_count(Whole(size.tokens));
  out->set_tokens_per_parameter(size.tokens_per_parameter());
  out->set_training_flops(flops.value());
  if (loss.has_value()) out->set_loss(*loss);
  out->set_extrapolated(extrapolated);
}

void DeviceTimeTo(const DeviceBudget& devices, v1::DeviceTime* out) {
  out->set_device(Text(devices.device));
  out->set_device_count(Whole(devices.device_count));
  out->set_duration_seconds(devices.duration.value());
  out->set_device_hours(devices.device_hours());
  out->set_basis(EstimateKindPair::To(devices.basis));
  out->set_flops_per_second(devices.rate.value());
  if (devices.mfu.has_value()) {
    out->set_mfu(*devices.mfu);
    out->set_mfu_basis(MfuBasisPair::To(devices.mfu_basis));
  }
  if (devices.cost.has_value()) out->set_cost_usd(devices.cost->value());
}

void ScalingLawTo(const ScalingRuleFacts& rule, v1::ScalingLaw* out) {
  if (!rule.loss.has_value()) {
    out->set_exponent(rule.allocation.exponent);
    out->mutable_power()->set_anchor_flops(rule.allocation.anchor_flops.value());
    out->mutable_power()->set_anchor_parameter_count(rule.allocation.anchor_parameters);
    return;
  }
  const LossLaw& law = *rule.loss;
  out->set_exponent(law.token_exponent / (law.parameter_exponent + law.token_exponent));
  v1::ScalingLaw::Loss* const loss = out->mutable_loss();
  loss->set_irreducible_loss(law.irreducible);
  loss->set_parameter_coefficient(law.parameter_coefficient);
  loss->set_parameter_exponent(law.parameter_exponent);
  loss->set_token_coefficient(law.token_coefficient);
  loss->set_token_exponent(law.token_exponent);
}

void FittedRangeTo(const FittedRange& range, v1::FittedRange* out) {
  if (range.flops.has_value()) {
    out->set_low_flops(range.flops->low);
    out->set_high_flops(range.flops->high);
  }
  if (range.parameters.has_value()) {
    out->set_low_parameter_count(Whole(range.parameters->low));
    out->set_high_parameter_count(Whole(range.parameters->high));
  }
  if (range.tokens.has_value()) {
    out->set_low_token_count(Whole(range.tokens->low));
    out->set_high_token_count(Whole(range.tokens->high));
  }
}

void ServingTo(const ServingAllocation& serving, absl::optional<double> loss,
               v1::ServingAllocation* out) {
  SizedModelTo(serving.size, serving.training, loss, serving.extrapolated, out->mutable_model());
  out->set_serving_flops(serving.serving.value());
  out->set_total_flops((serving.training + serving.serving).value());
  out->set_saved_flops(serving.saved.value());
  out->set_saved_ratio(serving.saved_ratio);
}

void RuleAllocationTo(const RuleAllocation& answer, Flops budget, SourceNumbers& sources,
                      v1::RuleAllocation* out) {
  const ScalingRuleFacts& rule = *answer.rule;
  out->set_rule(ScalingRulePair::To(rule.rule));
  SizedModelTo(answer.optimum, budget, answer.loss, answer.extrapolated, out->mutable_optimum());
  for (const OffOptimum& other : answer.off_optimum) {
    v1::OffOptimum* const wire = out->add_off_optimum();
    wire->set_parameter_ratio(other.parameter_ratio);
    wire->set_loss_increase(other.loss_increase);
  }
  if (answer.serving.has_value()) {
    ServingTo(*answer.serving, answer.loss, out->mutable_serving());
  }
  if (const auto& ratio = answer.at_ratio; ratio.has_value()) {
    v1::RatioAllocation* const wire = out->mutable_at_ratio();
    SizedModelTo(ratio->size, budget, ratio->loss, ratio->extrapolated, wire->mutable_model());
    if (ratio->loss_increase.has_value()) wire->set_loss_increase(*ratio->loss_increase);
    if (ratio->equal_loss.has_value()) wire->set_equal_loss_flops(ratio->equal_loss->value());
  }
  ScalingLawTo(rule, out->mutable_law());
  FittedRangeTo(rule.range, out->mutable_fitted_range());
  out->set_excludes_embeddings(rule.excludes_embeddings);
  out->set_source_number(sources.Of(rule.source));
  out->set_remark(Text(rule.remark));
}

void DevicesFrom(const v1::AllocateComputeRequest& request, const DeviceResolver& resolver,
                 FieldViolations& violations, AllocationSpec& out) {
  RunSpec& run = out.run;
  out.devices_given = request.has_cluster();
  if (request.has_duration()) {
    out.duration_seconds = SecondsFrom(request.duration(), "duration", violations);
  }
  run.economics = EconomicsFrom(request.economics(), violations);
  if (request.economics().has_start_time() && !request.economics().has_deadline()) {
    violations.Add("economics.start_time",
                   "is the start of economics.deadline: give that, or leave it out");
  }
  if (request.has_assumed_mfu()) run.options.assumed_mfu = request.assumed_mfu();
  run.training.precision.compute_data_type =
      DataTypePair::From(request.compute_data_type(), "compute_data_type", violations);
  run.rate_requirement =
      RateRequirementFrom(request.rate_requirement(), "rate_requirement", violations);
  if (request.has_cluster()) {
    run.cluster = ClusterFrom(request.cluster(), resolver, run.rate_requirement.maximum_age_seconds,
                              violations);
  }
}

}  // namespace

AllocationSpec AllocationSpecFrom(const v1::AllocateComputeRequest& request,
                                  const DeviceResolver& resolver, FieldViolations& violations) {
  static const check::NumberLimits limits(*v1::AllocateComputeRequest::descriptor());
  CheckNumbers(limits, request, "", violations);
  AllocationSpec out;
  if (request.has_flops()) out.flops = request.flops();
  DevicesFrom(request, resolver, violations, out);
  out.rule = ScalingRulePair::Find(request.rule(), "rule", violations);
  if (request.has_flops_per_parameter_token()) {
    out.flops_per_parameter_token = request.flops_per_parameter_token();
  }
  if (request.has_served_token_count()) {
    out.served_token_count = static_cast<double>(request.served_token_count());
  }
  if (request.has_tokens_per_parameter()) {
    out.tokens_per_parameter = request.tokens_per_parameter();
  }
  return out;
}

void ComputeAllocationTo(ComputeAllocation allocation, v1::AllocateComputeResponse* out) {
  SourceNumbers sources(out->mutable_sources());
  v1::ComputeBudget* const budget = out->mutable_budget();
  budget->set_flops(allocation.budget.value());
  budget->set_flops_per_parameter_token(allocation.flops_per_parameter_token);
  if (allocation.devices.has_value()) DeviceTimeTo(*allocation.devices, budget->mutable_devices());
  for (const RuleAllocation& answer : allocation.rules) {
    RuleAllocationTo(answer, allocation.budget, sources, out->add_allocations());
  }
  for (const Rate& rate : allocation.rates) RateTo(rate, sources, out->add_rates());
  if (!allocation.rates.empty()) out->set_rates_fingerprint(RatesFingerprint(allocation.rates));
  NotesTo(std::move(allocation.notes), out->mutable_warnings(), out->mutable_assumptions());
}

}  // namespace sextant::server
