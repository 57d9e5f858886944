#include "engine/run/run_spec.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "engine/memory/host_memory.h"

namespace sextant {
namespace {

// Upper limits far beyond any run, low enough that every product of doubles in a plan is finite
// and every byte count of an answer fits an int64 (n x usable memory does not: see fit.h). Options
// of the proto's fields have the others, which are checked before a RunSpec is made.
constexpr int64_t kMaxTokens = 1'000'000'000'000'000'000;
constexpr char kInterruptionsPath[] = "interruptions";
constexpr double kMaxFailures = 3600;   // a device and hour: one a second
constexpr double kMinFailures = 1e-12;  // one in 100 million years; times between are finite
constexpr double kMaxRestartSeconds = 30 * kSecondsPerDay;
constexpr double kMaxIntervalSeconds = 365 * kSecondsPerDay;
constexpr size_t kMaxUnmodelledSettings = 64;
constexpr size_t kMaxUnmodelledBytes = 256;

// Appends violations of the devices: named in no way or twice, of different products, more than
// device_count. Names are resolved elsewhere.
void CheckDevices(const ClusterSpec& cluster, FieldViolations& violations) {
  constexpr char kPath[] = "cluster.device";
  RequireSelection(cluster.device, kPath, violations);
  const std::string list = cluster.device.ListField(kPath);
  // Invalid calibrations were left unread and are already reported.
  if (cluster.device.devices.empty() && violations.Mentions(list)) return;
  CheckSelection(cluster.device, kPath, violations);
  const auto named = static_cast<int64_t>(cluster.device.named_count());
  if (cluster.device_count >= 1 && cluster.device_count < named) {
    violations.Add("cluster.device_count",
                   absl::StrCat("must be at least ", named, ", as many as ", list, " names, not ",
                                cluster.device_count));
  }
}

void CheckUnmodelled(const std::vector<std::string>& settings, FieldViolations& violations) {
  constexpr absl::string_view kField = "layout.unmodelled_settings";
  if (settings.size() > kMaxUnmodelledSettings) {
    violations.Add(std::string(kField),
                   absl::StrCat("must be at most ", kMaxUnmodelledSettings, ", which ",
                                settings.size(), " are not: leave out those that lower it least"));
    return;
  }
  for (size_t i = 0; i < settings.size(); ++i) {
    if (!settings[i].empty() && settings[i].size() <= kMaxUnmodelledBytes) continue;
    violations.Add(absl::StrCat(kField, "[", i, "]"),
                   absl::StrCat("must have 1 to ", kMaxUnmodelledBytes,
                                " bytes: write the setting's name and value"));
  }
}

// Appends violations: fields that a layout requires, fields that it excludes, and fields that need
// a layout. Its sizes are checked by JobOf().
void CheckRunLayout(const RunSpec& run, FieldViolations& violations) {
  if (!run.layout.has_value()) {
    if (run.options.include_ledger) {
      violations.Add("options.include_ledger",
                     "is of memory under a layout: leave it out, or give layout");
    }
    if (run.options.include_operations) {
      violations.Add("options.include_operations",
                     "is of compute under a layout: leave it out, or give layout");
    }
    if (run.options.require_activations && !run.training.activation_bytes.has_value()) {
      violations.Add("layout",
                     "is required, or training.activation_bytes: options.require_activations "
                     "refuses a plan that counts model state alone");
    }
    return;
  }
  if (run.model.parameter_count.has_value()) {
    violations.Add(
        "layout",
        "needs the model's shape, which a bare parameter_count has not: leave it out, or "
        "give a preset, transformer, hugging_face_config or architecture");
    return;
  }
  if (!run.training.sequence_length.has_value()) {
    violations.Add("training.sequence_length",
                   "is required with a layout: activations depend on it");
  }
  const int64_t length = std::max<int64_t>(run.training.sequence_length.value_or(1), 1);
  if (run.layout->global_batch_size.value_or(1) > kMaxTokens / length) {
    violations.Add("layout.global_batch_size",
                   absl::StrCat("must be at most ", kMaxTokens / length, ": a step has at most ",
                                kMaxTokens, " tokens"));
  }
  CheckUnmodelled(run.layout->unmodelled_settings, violations);
  if (run.training.activation_bytes.has_value()) {
    violations.Add("training.activation_bytes",
                   "are counted under a layout: leave them out, or leave out layout");
  }
}

// Reports the options that need the model's shape where only parameter_count is given.
void CheckBareCount(const RunSpec& run, FieldViolations& violations) {
  if (NeedsShapes(run.training.optimizer.kind)) {
    violations.Add("training.optimizer.kind",
                   "keeps state by the shapes of the model's tensors, which a bare "
                   "parameter_count does not have: give the model in another way");
  }
  if (run.options.flops_convention.value_or(FlopsConvention::kSixNTotal) !=
      FlopsConvention::kSixNTotal) {
    violations.Add("options.flops_convention",
                   "needs the shapes of the model's tensors, which a bare parameter_count does not "
                   "have: give the model in another way, or use FLOPS_CONVENTION_SIX_N_TOTAL");
  }
  // If accepted, these would be ignored.
  const TrainingSpec& training = run.training;
  const std::pair<bool, const char*> given[] = {
      {training.sequence_length.has_value(), "training.sequence_length"},
      {training.encoder_sequence_length.has_value(), "training.encoder_sequence_length"},
      {training.recompute.value_or(RecomputePolicy::kNone) != RecomputePolicy::kNone,
       "training.recompute"},
  };
  for (const auto& [present, field] : given) {
    if (!present) continue;
    violations.Add(field,
                   "needs the shapes of the model's tensors, which a bare parameter_count does not "
                   "have: give the model in another way, or leave it out");
  }
}

void CheckOptions(const PlanOptions& options, FieldViolations& violations) {
  constexpr char kNeedsFull[] =
      "is part of a full answer alone: leave it out, or set options.view "
      "to PLAN_VIEW_FULL";
  const std::pair<bool, const char*> parts[] = {
      {options.include_derivation, "options.include_derivation"},
      {options.include_ledger, "options.include_ledger"},
      {options.include_operations, "options.include_operations"},
  };
  for (const auto& [included, field] : parts) {
    if (included && !options.full) violations.Add(field, kNeedsFull);
  }
}

void CheckEconomics(const EconomicsSpec& e, FieldViolations& violations) {
  if (e.budget_usd.has_value() && !e.device_hour_price_usd.has_value()) {
    violations.Add("economics.budget_usd",
                   "needs economics.device_hour_price_usd: without a price the run costs nothing");
  }
  if (e.seconds_to_deadline.has_value() && !(*e.seconds_to_deadline > 0)) {
    violations.Add("economics.deadline", "must be after economics.start_time");
  }
}

// Appends violations of the ramp, except batches that don't suit the layout.
void CheckBatchRamp(const RunSpec& run, FieldViolations& violations) {
  constexpr char kRamp[] = "layout.batch_ramp";
  if (!run.layout.has_value() || run.layout->batch_ramp.empty()) return;
  const std::vector<BatchPhase>& ramp = run.layout->batch_ramp;
  if (!run.layout->global_batch_size.has_value()) {
    violations.Add(kRamp, "leads to layout.global_batch_size: give that too");
  }
  if (ramp.size() > kMaxBatchPhases) {
    violations.Add(
        kRamp, absl::StrCat("must have at most ", kMaxBatchPhases, " phases, not ", ramp.size()));
    return;
  }
  const int64_t length = std::max<int64_t>(run.training.sequence_length.value_or(1), 1);
  int64_t left = run.training.token_count;
  for (size_t i = 0; i < ramp.size(); ++i) {
    const std::string path = absl::StrCat(kRamp, "[", i, "]");
    if (ramp[i].global_batch_size < 1) {
      violations.Add(absl::StrCat(path, ".global_batch_size"), "is required, at least 1");
    } else if (ramp[i].global_batch_size > kMaxTokens / length) {
      violations.Add(absl::StrCat(path, ".global_batch_size"),
                     absl::StrCat("must be at most ", kMaxTokens / length, ": a step has at most ",
                                  kMaxTokens, " tokens"));
    }
    left -= std::min(left, std::max<int64_t>(ramp[i].token_count, 0));
  }
  if (left <= 0 && run.training.token_count >= 1) {
    violations.Add(kRamp, absl::StrCat("must leave some of the run's ", run.training.token_count,
                                       " tokens (training.token_count) to "
                                       "layout.global_batch_size"));
  }
}

void CheckInterruptions(const InterruptionSpec& spec, FieldViolations& violations) {
  const auto require = [&](absl::string_view name, absl::optional<double> value, double low,
                           double high) {
    if (value.has_value()) violations.RequireRange(kInterruptionsPath, name, *value, {low, high});
  };
  require("failures_per_device_hour", spec.failures_per_device_hour, 0, kMaxFailures);
  require("restart_duration", spec.restart_seconds, 0, kMaxRestartSeconds);
  require("checkpoint_interval", spec.checkpoint_interval_seconds, 1, kMaxIntervalSeconds);
  const double failures = spec.failures_per_device_hour.value_or(0);
  if (failures > 0 && failures < kMinFailures) {
    violations.Add(
        "interruptions.failures_per_device_hour",
        absl::StrFormat("is %.4g: write 0 for none, or at least %g", failures, kMinFailures));
  }
  const bool known = spec.checkpoint_write_bytes_per_second.has_value() ||
                     spec.device_write_bytes_per_second.has_value();
  if (spec.writes() && !known) {
    violations.Add("interruptions.checkpoint_write_bytes_per_second",
                   "is required, or device_write_bytes_per_second: how long a checkpoint takes "
                   "decides what failures cost");
  }
}

}  // namespace

TrainingStepSpec StepOf(const TrainingSpec& training) {
  return {.sequences = {{.count = 1,
                         .length = *training.sequence_length,
                         .encoder_length = training.encoder_sequence_length.value_or(0)}},
          .recompute = training.recompute.value_or(RecomputePolicy::kNone)};
}

void CheckLengths(const TrainingSpec& training, const ArchitectureSpec& spec,
                  FieldViolations& violations) {
  if (!training.sequence_length.has_value()) {
    constexpr char kNeedsLength[] = "changes FLOPs only with training.sequence_length: give that";
    if (training.encoder_sequence_length.has_value()) {
      violations.Add("training.encoder_sequence_length", kNeedsLength);
    }
    if (training.recompute.value_or(RecomputePolicy::kNone) != RecomputePolicy::kNone) {
      violations.Add("training.recompute", kNeedsLength);
    }
    return;
  }
  FieldViolations found;
  CheckTrainingStep(StepOf(training), spec, "step", found);
  for (const FieldViolation& violation : found.all()) {
    const absl::string_view field =
        absl::EndsWith(violation.field, "encoder_length") ? "training.encoder_sequence_length"
        : absl::EndsWith(violation.field, "recompute")    ? "training.recompute"
                                                          : "training.sequence_length";
    violations.AddOnce(field, violation.description);
  }
}

void CheckMeasuredStep(const RunSpec& run, FieldViolations& violations) {
  if (!run.measured_step.has_value()) return;
  if (!run.layout.has_value() || !run.layout->global_batch_size.has_value()) {
    violations.Add("measured_step",
                   "calibrates the step of a layout: give layout and layout.global_batch_size");
  }
}

void CheckRun(const RunSpec& run, FieldViolations& violations) {
  CheckModel(run.model, violations);
  if (run.model.parameter_count.has_value() && !violations.Mentions("model")) {
    CheckBareCount(run, violations);
  }
  CheckPolicy(run.training.precision, run.training.optimizer, "training", violations);
  CheckRunLayout(run, violations);
  CheckMeasuredStep(run, violations);
  CheckBatchRamp(run, violations);
  CheckDevices(run.cluster, violations);
  CheckEconomics(run.economics, violations);
  CheckInterruptions(run.interruptions, violations);
  CheckOptions(run.options, violations);
  CheckRequirement(run.rate_requirement, "rate_requirement", violations);
}

}  // namespace sextant
