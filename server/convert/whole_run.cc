#include "server/convert/whole_run.h"

#include <string>

#include "server/convert/enums.h"
#include "server/convert/message_fields.h"

namespace sextant::server {
namespace {

constexpr char kPath[] = "interruptions";

void CheckpointTo(const CheckpointPlan& checkpoint, const Interruptions& interruptions,
                  v1::CheckpointPlan* out) {
  for (const CheckpointTerm& term : checkpoint.terms) {
    auto* const wire = out->add_terms();
    wire->set_name(Text(term.name));
    wire->set_size_bytes(term.size.value());
  }
  out->set_size_bytes(checkpoint.size.value());
  if (checkpoint.write.has_value()) out->set_write_seconds(checkpoint.write->value());
  if (checkpoint.young_interval.has_value()) {
    out->set_young_interval_seconds(checkpoint.young_interval->value());
  }
  if (checkpoint.daly_interval.has_value()) {
    out->set_daly_interval_seconds(checkpoint.daly_interval->value());
  }
  if (checkpoint.count.has_value()) out->set_count(*checkpoint.count);
  out->set_resume_read_bytes(checkpoint.resume_read.value());
  out->set_resume_read_bytes_per_device(checkpoint.resume_read_per_device.value());
  if (checkpoint.resume.has_value()) out->set_resume_read_seconds(checkpoint.resume->value());
  if (!interruptions.interval.has_value()) return;
  out->set_stall_seconds(interruptions.stall.value());
  out->set_interval_seconds(interruptions.interval->value());
}

void DataTo(const DataLoading& data, v1::DataLoading* out) {
  out->set_bytes_per_token_id(data.bytes_per_token_id);
  out->set_token_file_bytes(data.token_file.value());
  if (data.read_rate.has_value()) out->set_read_bytes_per_second(data.read_rate->value());
  if (data.device_step.has_value()) out->set_device_step_bytes(data.device_step->value());
  if (data.device_copy.has_value()) out->set_device_copy_seconds(data.device_copy->value());
}

void SlowestTo(const SlowestCost& slowest, v1::SlowestDevice* out) {
  out->set_uuid(slowest.device.uuid);
  out->set_hostname(slowest.hostname);
  out->set_saved_share(slowest.device.saved_share);
  out->set_saved_seconds(slowest.saved.value());
  if (slowest.saved_cost.has_value()) out->set_saved_cost_usd(slowest.saved_cost->value());
}

void TelemetryTo(const Plan& plan, const TimeEstimate* basis, v1::TelemetryPlan* out) {
  out->set_flops_convention(FlopsConventionPair::To(plan.flops.convention));
  out->set_model_flops_per_token(plan.flops.used().per_token.value());
  out->set_compute_data_type(DataTypePair::To(plan.compute_data_type));
  if (plan.peak.has_value()) out->set_peak_flops_per_second(plan.peak->value());
  if (basis == nullptr) return;
  if (basis->mfu.has_value()) out->set_planned_mfu(*basis->mfu);
  out->set_planned_tokens_per_second(basis->tokens_per_second);
}

}  // namespace

InterruptionSpec InterruptionsFrom(const v1::InterruptionSpec& m, FieldViolations& violations) {
  InterruptionSpec out;
  if (m.has_failures_per_device_hour()) {
    out.failures_per_device_hour = m.failures_per_device_hour();
  }
  if (m.has_restart_duration()) {
    out.restart_seconds =
        SecondsFrom(m.restart_duration(), FieldPath(kPath, "restart_duration"), violations);
  }
  if (m.has_checkpoint_write_bytes_per_second()) {
    out.checkpoint_write_bytes_per_second = m.checkpoint_write_bytes_per_second();
  }
  if (m.has_device_write_bytes_per_second()) {
    out.device_write_bytes_per_second = m.device_write_bytes_per_second();
  }
  if (m.has_checkpoint_read_bytes_per_second()) {
    out.checkpoint_read_bytes_per_second = m.checkpoint_read_bytes_per_second();
  }
  if (m.has_checkpoint_stall_ratio()) out.checkpoint_stall_ratio = m.checkpoint_stall_ratio();
  if (m.has_checkpoint_interval()) {
    out.checkpoint_interval_seconds =
        SecondsFrom(m.checkpoint_interval(), FieldPath(kPath, "checkpoint_interval"), violations);
  }
  if (m.has_stall_ratio()) out.stall_ratio = m.stall_ratio();
  return out;
}

absl::optional<double> SecondsToDeadline(const v1::EconomicsSpec& m, FieldViolations& violations) {
  if (m.has_start_time() && !IsSound(m.start_time())) {
    violations.Add("economics.start_time", kUnsoundTimestamp);
    return absl::nullopt;
  }
  if (!m.has_deadline()) return absl::nullopt;
  if (!IsSound(m.deadline())) {
    violations.Add("economics.deadline", kUnsoundTimestamp);
    return absl::nullopt;
  }
  if (!m.has_start_time()) {
    violations.Add("economics.start_time",
                   "is required with economics.deadline: no answer depends on a clock");
    return absl::nullopt;
  }
  return static_cast<double>(m.deadline().seconds() - m.start_time().seconds()) +
         1e-9 * (m.deadline().nanos() - m.start_time().nanos());
}

void LimitTo(const LimitCheck& limit, v1::LimitCheck* out) {
  out->set_verdict(limit.met ? v1::LimitCheck::VERDICT_MET : v1::LimitCheck::VERDICT_MISSED);
  out->set_margin(limit.margin);
  if (limit.chance.has_value()) out->set_chance(*limit.chance);
}

void WholeRunTo(const Plan& plan, v1::WholeRun* out) {
  const WholeRun& whole = plan.whole_run;
  const TimeEstimate* const basis = BasisOf(plan);
  if (basis != nullptr) out->set_basis(EstimateKindPair::To(basis->kind));
  if (whole.steps.has_value()) out->set_step_count(whole.steps->count);
  const double all = whole.elapsed.all();
  out->set_goodput_ratio(whole.goodput());
  out->set_stall_share(whole.elapsed.stalls / all);
  out->set_checkpoint_share(whole.elapsed.checkpoints / all);
  out->set_failure_share(whole.elapsed.failures / all);
  if (whole.interruptions.between_failures.has_value()) {
    out->set_mean_time_between_failures_seconds(whole.interruptions.between_failures->value());
  }
  if (whole.failure_count.has_value()) out->set_expected_failure_count(*whole.failure_count);
  if (whole.time_limit.has_value()) {
    out->set_recommended_time_limit_seconds(whole.time_limit->value());
  }
  CheckpointTo(whole.checkpoint, whole.interruptions, out->mutable_checkpoint());
  if (whole.data.has_value()) DataTo(*whole.data, out->mutable_data_loading());
  if (whole.slowest.has_value()) SlowestTo(*whole.slowest, out->mutable_slowest_device());
  TelemetryTo(plan, basis, out->mutable_telemetry());
}

}  // namespace sextant::server
