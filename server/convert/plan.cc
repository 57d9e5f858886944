#include "server/convert/plan.h"

#include <string>
#include <utility>

#include "server/convert/compute.h"
#include "server/convert/counted_model.h"
#include "server/convert/enums.h"
#include "server/convert/memory.h"
#include "server/convert/message_fields.h"
#include "server/convert/notes.h"
#include "server/convert/rates.h"
#include "server/convert/step_time.h"
#include "server/convert/whole_run.h"

namespace sextant::server {
namespace {

void FlopsTo(const Plan& plan, bool full, v1::TrainingFlops* out) {
  for (const FlopsCount& count : plan.flops.counts) {
    if (!full && count.convention != plan.flops.convention) continue;
    auto* wire = out->add_counts();
    wire->set_convention(FlopsConventionPair::To(count.convention));
    wire->set_flops_per_token(count.per_token.value());
    wire->set_flops(count.run.value());
    wire->set_hardware(FactsOf(count.convention).kind == FlopsKind::kHardware);
  }
  out->set_convention_used(FlopsConventionPair::To(plan.flops.convention));
  if (plan.flops.hardware.has_value()) {
    out->set_hardware_flops_ratio(plan.flops.hardware->ratio());
  }
}

void ParametersTo(const Plan& plan, bool full, v1::ParameterCounts* out) {
  if (!plan.has_shapes()) {
    out->set_total(plan.parameters.all.total);
    return;
  }
  ParameterCountsTo(plan.parameters, full, out);
}

void EstimateTo(const TimeEstimate& estimate, v1::TimeEstimate* out) {
  out->set_kind(EstimateKindPair::To(estimate.kind));
  IntervalTo(SecondsInterval{estimate.low, estimate.duration, estimate.high},
             out->mutable_duration_seconds());
  IntervalTo(SecondsInterval{estimate.elapsed_low, estimate.elapsed, estimate.elapsed_high},
             out->mutable_elapsed_seconds());
  if (estimate.deadline.has_value()) LimitTo(*estimate.deadline, out->mutable_deadline());
  if (estimate.budget.has_value()) LimitTo(*estimate.budget, out->mutable_budget());
  if (estimate.mfu.has_value()) {
    out->set_mfu(*estimate.mfu);
    out->set_mfu_basis(MfuBasisPair::To(estimate.mfu_basis));
  }
  if (estimate.hfu.has_value()) out->set_hfu(*estimate.hfu);
  if (estimate.measured_fraction.has_value()) {
    out->set_measured_fraction(*estimate.measured_fraction);
  }
  out->set_device_hours(estimate.device_hours);
  out->set_tokens_per_second(estimate.tokens_per_second);
  if (estimate.cost.has_value()) out->set_cost_usd(estimate.cost->value());
  if (estimate.energy.has_value()) out->set_energy_joules(estimate.energy->value());
}

void StepTo(DerivationStep step, SourceNumbers& sources, v1::DerivationStep* out) {
  out->set_symbol(std::move(step.symbol));
  out->set_formula(Text(step.formula));
  out->set_substitution(std::move(step.substitution));
  out->set_value(step.value);
  out->set_unit(Text(step.unit));
  out->set_source_number(sources.Of(step.source));
}

}  // namespace

void PlanTo(Plan plan, bool full, v1::Plan* out) {
  SourceNumbers sources(full ? out->mutable_sources() : nullptr);
  out->set_verdict(VerdictPair::To(plan.verdict()));
  if (plan.memory_estimate.has_value()) out->set_fit_chance(plan.memory_estimate->fit_chance);
  out->set_model_name(Text(plan.model_name));
  out->set_device(Text(plan.device));
  out->set_device_count(plan.device_count);
  out->set_token_count(plan.token_count);
  ParametersTo(plan, full, out->mutable_parameters());
  FlopsTo(plan, full, out->mutable_flops());
  MemoryTo(plan, full, sources, out->mutable_memory());
  for (const TimeEstimate& estimate : plan.estimates) EstimateTo(estimate, out->add_estimates());
  NotesTo(std::move(plan.notes), out->mutable_warnings(),
          full ? out->mutable_assumptions() : nullptr);
  if (plan.step.has_value()) StepTimeTo(*plan.step, full, sources, out->mutable_step_time());
  WholeRunTo(plan, out->mutable_whole_run());
  for (const Rate& rate : plan.rates) RateTo(rate, sources, out->add_rates());
  for (DerivationStep& step : plan.derivation) {
    StepTo(std::move(step), sources, out->add_derivation());
  }
  if (full && plan.compute.has_value() && plan.memory_estimate.has_value()) {
    ComputeTo(*plan.compute, plan.memory_estimate->layer_kinds, sources, out->mutable_compute());
  }
}

}  // namespace sextant::server
