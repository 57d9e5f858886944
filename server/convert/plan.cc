#include "server/convert/plan.h"

#include <string>
#include <utility>

#include "server/convert/enums.h"
#include "server/convert/layout_enums.h"
#include "server/convert/memory_estimate.h"
#include "server/convert/parameter_counts.h"
#include "server/convert/rates.h"
#include "server/convert/text.h"

namespace sextant {
namespace {

void FlopsTo(const Plan& plan, v1::TrainingFlops* out) {
  for (const FlopsCount& count : plan.flops.counts) {
    auto* wire = out->add_counts();
    wire->set_convention(FlopsConventionTo(count.convention));
    wire->set_flops_per_token(count.per_token.value());
    wire->set_flops(count.run.value());
    wire->set_hardware(FactsOf(count.convention).kind == FlopsKind::kHardware);
  }
  out->set_convention_used(FlopsConventionTo(plan.flops.convention));
  if (plan.flops.hardware.has_value()) {
    out->set_hardware_flops_ratio(plan.flops.hardware->ratio());
  }
}

void MemoryTo(const Plan& plan, v1::Memory* out) {
  for (const StateTerm& term : plan.state.terms) {
    auto* wire = out->add_terms();
    wire->set_name(Text(term.name));
    wire->set_data_type(DataTypeTo(term.data_type));
    wire->set_bytes_per_parameter(static_cast<double>(term.size.value()) /
                                  static_cast<double>(plan.parameters.all.total));
    wire->set_size_bytes(term.size.value());
  }
  out->set_model_state_bytes(plan.state.total.value());
  if (plan.activations.has_value()) out->set_activation_bytes(plan.activations->value());
  out->set_total_bytes(plan.fit.total.value());
  out->set_bytes_per_device(plan.fit.per_device.value());
  out->set_usable_bytes_per_device(plan.usable_per_device.value());
  out->set_headroom_bytes_per_device(plan.fit.headroom.value());
  out->set_minimum_device_count(plan.fit.minimum_device_count);
  out->set_largest_parameter_count(plan.fit.largest_parameter_count);
  out->set_counted(plan.activations.has_value() ? "model state and the request's activations"
                                                : "model state; no activations");
}

void CostTo(RunCost cost, v1::RunCost* out) {
  if (cost.mfu.has_value()) out->set_mfu(*cost.mfu);
  out->set_mfu_basis(std::move(cost.mfu_basis));
  if (cost.hfu.has_value()) out->set_hfu(*cost.hfu);
  out->set_duration_seconds(cost.duration.value());
  out->set_duration_days(cost.duration_days());
  out->set_device_hours(cost.device_hours);
  out->set_tokens_per_second(cost.tokens_per_second);
  if (cost.cost.has_value()) out->set_cost_usd(cost.cost->value());
  if (cost.energy.has_value()) out->set_energy_joules(cost.energy->value());
  if (cost.measured_fraction.has_value()) out->set_measured_fraction(*cost.measured_fraction);
}

void CostsTo(Plan& plan, v1::Plan* out) {
  if (plan.lower_bound.has_value()) {
    CostTo(*std::move(plan.lower_bound), out->mutable_lower_bound());
  }
  if (plan.textbook_estimate.has_value()) {
    CostTo(*std::move(plan.textbook_estimate), out->mutable_textbook_estimate());
  }
  if (plan.measured_bound.has_value()) {
    CostTo(*std::move(plan.measured_bound), out->mutable_measured_bound());
  }
}

void StepTo(DerivationStep step, v1::DerivationStep* out) {
  out->set_symbol(std::move(step.symbol));
  out->set_formula(Text(step.formula));
  out->set_substitution(std::move(step.substitution));
  out->set_value(step.value);
  out->set_unit(Text(step.unit));
  out->set_source(std::move(step.source));
}

}  // namespace

void PlanTo(Plan plan, v1::Plan* out) {
  out->set_verdict(VerdictTo(plan.verdict()));
  out->set_model_name(Text(plan.model_name));
  out->set_accelerator(Text(plan.accelerator));
  out->set_device_count(plan.device_count);
  out->set_token_count(plan.token_count);
  if (plan.has_shapes()) {
    ParameterCountsTo(plan.parameters, out->mutable_parameters());
  } else {
    out->mutable_parameters()->set_total(plan.parameters.all.total);
  }
  FlopsTo(plan, out->mutable_flops());
  MemoryTo(plan, out->mutable_memory());
  if (plan.memory_estimate.has_value()) {
    MemoryEstimateTo(*std::move(plan.memory_estimate), out->mutable_memory_estimate());
  }
  CostsTo(plan, out);
  for (Rate& rate : plan.rates) RateTo(std::move(rate), out->add_rates());
  for (std::string& sentence : plan.assumptions) out->add_assumptions(std::move(sentence));
  for (DerivationStep& step : plan.derivation) StepTo(std::move(step), out->add_derivation());
}

}  // namespace sextant
