#include "server/convert/plan.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "server/convert/counted_model.h"
#include "server/convert/enums.h"
#include "server/convert/message_fields.h"
#include "server/convert/rates.h"

namespace sextant::server {
namespace {

void IntervalTo(const BytesInterval& interval, v1::BytesInterval* out) {
  out->set_low(interval.low.value());
  out->set_expected(interval.expected.value());
  out->set_high(interval.high.value());
}

// Returns a name as "attention.query.bias"; empty parts are left out. Optimizer buffers add their
// term, which tells the buffers of one optimizer apart; other rows differ by kind.
std::string RowName(const LedgerRow& row) {
  std::string out;
  const absl::string_view buffer = row.kind == LedgerKind::kOptimizerState ? row.term : "";
  for (const absl::string_view part : {row.module, row.name, row.role, buffer}) {
    if (!part.empty()) absl::StrAppend(&out, out.empty() ? "" : ".", part);
  }
  return out;
}

void DimensionsTo(const LedgerRow& row, v1::LedgerRow* out) {
  for (const int64_t dimension : row.dimensions) {
    if (dimension == 0) return;  // only zeros follow
    out->add_dimensions(dimension);
  }
}

void RowTo(const std::vector<std::string>& layer_kinds, const LedgerRow& row, v1::LedgerRow* out) {
  out->set_kind(LedgerKindTo(row.kind));
  if (row.part.has_value()) out->set_part(Text(ModelPartName(*row.part)));
  if (row.layer_kind >= 0) out->set_layer_kind(layer_kinds[static_cast<size_t>(row.layer_kind)]);
  out->set_layer_count(row.layers);
  if (row.chunk >= 0) out->set_chunk(row.chunk);
  out->set_name(RowName(row));
  out->set_shape(Text(row.shape));
  DimensionsTo(row, out);
  out->set_data_type(Text(row.data_type));
  out->set_element_bits(row.element_bits);
  out->set_elements(row.elements);
  out->set_scale_bytes(row.scale_bytes);
  out->set_micro_batch_count(row.micro_batches);
  out->set_size_bytes(row.size.value());
  out->set_alive(Text(row.alive));
  out->set_why(Text(row.why));
  out->set_source(Text(row.source));
}

void StageTo(int64_t number, const std::vector<std::string>& layer_kinds,
             const StageEstimate& stage, v1::StageMemory* out) {
  out->set_stage(number);
  out->set_layer_count(stage.layer_count);
  out->set_parameter_count(stage.parameter_count);
  out->set_moment(PeakMomentTo(stage.memory.moment));
  for (const int64_t count : stage.micro_batches_in_flight) {
    out->add_micro_batches_in_flight(count);
  }
  for (int i = 0; i < kLedgerKindCount; ++i) {
    const auto kind = static_cast<LedgerKind>(i);
    auto* sum = out->add_sums();
    sum->set_kind(LedgerKindTo(kind));
    sum->set_size_bytes(stage.memory.of(kind).value());
  }
  out->set_total_bytes(stage.memory.total().value());
  IntervalTo(stage.memory.allocated, out->mutable_allocated_bytes());
  IntervalTo(stage.memory.reserved, out->mutable_reserved_bytes());
  IntervalTo(stage.memory.process, out->mutable_process_bytes());
  out->set_host_bytes(stage.memory.host.value());
  for (const LedgerRow& row : stage.ledger) RowTo(layer_kinds, row, out->add_ledger());
}

void ChangeTo(FittingChange change, v1::FittingChange* out) {
  for (ChangedSetting& setting : change.settings) {
    auto* wire = out->add_settings();
    wire->set_field(std::move(setting.field));
    wire->set_from(std::move(setting.from));
    wire->set_to(std::move(setting.to));
  }
  out->set_cost(std::move(change.cost));
  IntervalTo(change.process, out->mutable_process_bytes());
}

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

void MemoryEstimateTo(MemoryEstimate estimate, v1::MemoryEstimate* out) {
  int64_t number = 0;
  for (const StageEstimate& stage : estimate.stages) {
    StageTo(number++, estimate.layer_kinds, stage, out->add_stages());
  }
  out->set_peak_stage(estimate.peak_stage);
  const int64_t usable = estimate.usable.value();
  out->set_usable_bytes(usable);
  const BytesInterval& used = estimate.peak().process;
  out->mutable_headroom_bytes()->set_low(usable - used.high.value());
  out->mutable_headroom_bytes()->set_expected(usable - used.expected.value());
  out->mutable_headroom_bytes()->set_high(usable - used.low.value());
  out->set_data_parallel_size(estimate.data_parallel_size);
  out->set_micro_batch_count(estimate.micro_batch_count);
  for (FittingChange& change : estimate.changes) ChangeTo(std::move(change), out->add_changes());
  out->set_changes_considered(estimate.changes_considered);
  for (std::string& sentence : estimate.assumptions) out->add_assumptions(std::move(sentence));
}

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

}  // namespace sextant::server
