#include "server/convert/plan.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/variant.h"
#include "server/convert/compute.h"
#include "server/convert/counted_model.h"
#include "server/convert/enums.h"
#include "server/convert/message_fields.h"
#include "server/convert/notes.h"
#include "server/convert/rates.h"
#include "server/convert/step_time.h"
#include "server/convert/whole_run.h"
#include "sextant/v1/memory.pb.h"

namespace sextant::server {
namespace {

void CapacityTo(const DeviceCapacity& capacity, v1::DeviceCapacity* out) {
  out->set_capacity_bytes(capacity.capacity.value());
  out->set_source(CapacitySourcePair::To(capacity.source));
  if (capacity.reported.has_value()) out->set_reported_bytes(capacity.reported->value());
  if (capacity.nominal.has_value()) out->set_nominal_bytes(capacity.nominal->value());
  out->set_reserved_bytes(capacity.reserved.value());
  out->set_usable_bytes(capacity.usable().value());
  out->set_driver_reserved_bytes(capacity.driver_reserved.value());
  out->set_reserved_is_taken(capacity.taken);
}

void StateTo(const Plan& plan, v1::ModelState* out) {
  for (const StateTerm& term : plan.state.terms) {
    auto* wire = out->add_terms();
    wire->set_name(Text(term.name));
    wire->set_data_type(DataTypePair::To(term.data_type));
    wire->set_bytes_per_parameter(static_cast<double>(term.size.value()) /
                                  static_cast<double>(plan.parameters.all.total));
    wire->set_size_bytes(term.size.value());
  }
  out->set_state_bytes(plan.state.total.value());
  if (plan.activations.has_value()) out->set_activation_bytes(plan.activations->value());
  out->set_total_bytes(plan.fit.total.value());
  out->set_minimum_device_count(plan.fit.minimum_device_count);
  out->set_largest_parameter_count(plan.fit.largest_parameter_count);
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

// The parts that the rows of a ledger share.
struct RowContext {
  const std::vector<std::string>& layer_kinds;
  SourceNumbers& sources;
};

void RowTo(const RowContext& context, const LedgerRow& row, v1::LedgerRow* out) {
  out->set_kind(LedgerKindPair::To(row.kind));
  if (row.part.has_value()) out->set_part(ModelPartPair::To(*row.part));
  if (row.layer_kind >= 0) {
    out->set_layer_kind(context.layer_kinds[static_cast<size_t>(row.layer_kind)]);
  }
  out->set_layer_count(row.layers);
  if (row.chunk >= 0) out->set_chunk(row.chunk);
  out->set_name(RowName(row));
  out->set_shape(Text(row.shape));
  DimensionsTo(row, out);
  out->set_element_kind(RowElementsPair::To(row.element_kind));
  out->set_data_type(DataTypePair::To(row.data_type));
  out->set_element_bits(row.element_bits);
  out->set_elements(row.elements);
  out->set_scale_bytes(row.scale_bytes);
  out->set_micro_batch_count(row.micro_batches);
  out->set_size_bytes(row.size.value());
  out->set_alive(Text(row.alive));
  out->set_why(Text(row.why));
  out->set_source_number(context.sources.Of(row.source));
}

void StageTo(int64_t number, const RowContext& context, const StageEstimate& stage,
             v1::StageMemory* out) {
  out->set_stage(number);
  out->set_layer_count(stage.layer_count);
  out->set_parameter_count(stage.parameter_count);
  out->set_peak_phase(PeakPhasePair::To(stage.memory.phase));
  for (const int64_t count : stage.micro_batches_in_flight) {
    out->add_micro_batches_in_flight(count);
  }
  for (int i = 0; i < kLedgerKindCount; ++i) {
    const auto kind = static_cast<LedgerKind>(i);
    auto* sum = out->add_sums();
    sum->set_kind(LedgerKindPair::To(kind));
    sum->set_size_bytes(stage.memory.of(kind).value());
  }
  out->set_total_bytes(stage.memory.total().value());
  IntervalTo(stage.memory.allocated, out->mutable_allocated_bytes());
  IntervalTo(stage.memory.reserved, out->mutable_reserved_bytes());
  IntervalTo(stage.memory.process, out->mutable_process_bytes());
  out->set_host_bytes(stage.memory.host.value());
  for (const LedgerRow& row : stage.ledger) RowTo(context, row, out->add_ledger());
}

// Writes a setting's value; enums by their names in JSON.
struct ValueWriter {
  v1::SettingValue* out;

  void operator()(int64_t value) const { out->set_number(value); }
  void operator()(bool value) const { out->set_enabled(value); }
  void operator()(ZeroStage value) const {
    out->set_enum_name(v1::ZeroStage_Name(ZeroStagePair::To(value)));
  }
  void operator()(RecomputePolicy value) const {
    out->set_enum_name(v1::RecomputePolicy_Name(RecomputePolicyPair::To(value)));
  }
  void operator()(AttentionKernel value) const {
    out->set_enum_name(v1::KernelChoices::Attention_Name(AttentionKernelPair::To(value)));
  }
  void operator()(OptimizerLoop value) const {
    out->set_enum_name(v1::OptimizerSpec::Implementation_Name(OptimizerLoopPair::To(value)));
  }
  void operator()(LossKind value) const {
    out->set_enum_name(v1::KernelChoices::Loss_Name(LossKindPair::To(value)));
  }
};

void SettingTo(ChangedSetting setting, v1::ChangedSetting* out) {
  out->set_field(std::move(setting.field));
  absl::visit(ValueWriter{out->mutable_old_value()}, setting.from);
  absl::visit(ValueWriter{out->mutable_new_value()}, setting.to);
}

void ChangeTo(FittingChange change, v1::FittingChange* out) {
  for (ChangedSetting& setting : change.settings) {
    SettingTo(std::move(setting), out->add_settings());
  }
  out->set_cost(ChangeCostPair::To(change.cost));
  out->set_cost_text(std::move(change.cost_text));
  IntervalTo(change.process, out->mutable_peak_bytes());
  out->set_host_bytes(change.host.value());
}

void OpenChoiceTo(OpenChoice choice, v1::OpenChoice* out) {
  SettingTo(std::move(choice.setting), out->mutable_setting());
  IntervalTo(choice.process, out->mutable_peak_bytes());
  out->set_spanned(choice.spanned);
  out->set_decides_verdict(choice.decides);
}

void HostTo(const MemoryEstimate& estimate, int64_t devices, v1::HostMemory* out) {
  const HostFit& host = estimate.host;
  out->set_needed_bytes(host.need.value());
  if (host.server.memory.has_value()) {
    out->set_server_bytes(host.server.memory->value());
    out->set_share_bytes(host.server.ShareOf(devices).value());
  }
  out->set_device_count(host.server.device_count);
  out->set_node_type(host.server.name);
  out->set_citation(host.server.citation);
  out->set_decides_verdict(host.verdict != Verdict::kFits && host.verdict == estimate.verdict);
}

// The parts that an even share over all devices has.
void EvenShareTo(const Plan& plan, v1::Memory* out) {
  out->set_scope(plan.activations.has_value() ? v1::MEMORY_SCOPE_MODEL_STATE_AND_GIVEN_ACTIVATIONS
                                              : v1::MEMORY_SCOPE_MODEL_STATE);
  out->set_zero_stage(v1::ZERO_STAGE_PARAMETERS);
  IntervalTo(Exactly(plan.fit.per_device), out->mutable_peak_bytes());
  IntervalTo(Exactly(plan.fit.headroom), out->mutable_headroom_bytes());
}

void LayoutTo(MemoryEstimate& estimate, bool full, SourceNumbers& sources, v1::Memory* out) {
  out->set_scope(v1::MEMORY_SCOPE_LAYOUT);
  const BytesInterval& used = estimate.peak().process;
  IntervalTo(used, out->mutable_peak_bytes());
  IntervalTo(estimate.usable - used, out->mutable_headroom_bytes());
  out->set_peak_stage(estimate.peak_stage);
  out->set_zero_stage(ZeroStagePair::To(estimate.zero_stage));
  out->set_framework(FrameworkPair::To(estimate.framework));
  out->set_data_parallel_size(estimate.data_parallel_size);
  out->set_micro_batch_count(estimate.micro_batch_count);
  for (FittingChange& change : estimate.changes) {
    if (full || out->changes().empty()) ChangeTo(std::move(change), out->add_changes());
  }
  out->set_changes_considered(estimate.changes_considered);
  out->set_changes_search_ended_early(estimate.search_ended_early);
  for (std::string& setting : estimate.unmodelled_settings) {
    out->add_unmodelled_settings(std::move(setting));
  }
  out->set_recipe(std::string(estimate.recipe));
  out->set_unmodelled_effect(MemoryEffectPair::To(estimate.unmodelled_effect));
  if (!full) return;
  int64_t number = 0;
  for (const StageEstimate& stage : estimate.stages) {
    StageTo(number++, {estimate.layer_kinds, sources}, stage, out->add_stages());
  }
}

// Fills `out`, which is empty, without the fields of a full view. The plan's texts move into it.
void MemoryTo(Plan& plan, bool full, SourceNumbers& sources, v1::Memory* out) {
  CapacityTo(plan.capacity, out->mutable_capacity());
  if (plan.memory_estimate.has_value()) {
    LayoutTo(*plan.memory_estimate, full, sources, out);
    const MemoryEstimate& estimate = *plan.memory_estimate;
    if (estimate.host.need > Bytes(0)) HostTo(estimate, plan.device_count, out->mutable_host());
  } else {
    EvenShareTo(plan, out);
  }
  if (full) StateTo(plan, out->mutable_state());
}

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
  if (plan.memory_estimate.has_value()) {
    out->set_fit_chance(plan.memory_estimate->fit_chance);
    for (OpenChoice& choice : plan.memory_estimate->open_choices) {
      OpenChoiceTo(std::move(choice), out->add_open_choices());
    }
  }
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
