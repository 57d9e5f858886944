#include "engine/run/run_spec.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "engine/memory/host_memory.h"

namespace sextant {
namespace {

// Upper limits far beyond any run, low enough that every product of doubles in a plan is finite
// and every byte count of an answer fits an int64 (n x usable memory does not: see fit.h). The
// comments of the proto state the same limits.
constexpr int64_t kMaxTokens = 1'000'000'000'000'000'000;
constexpr int64_t kMaxActivationBytes = 1'000'000'000'000'000'000;
constexpr double kMaxPriceOrPower = 1e6;
constexpr double kMaxPowerUsageEffectiveness = 10;
constexpr double kMaxBudget = 1e15;
constexpr double kMaxStepSeconds = 1e6;
// A nanosecond is a few clocks of any device: too few for a forward and a backward pass and an
// update. The limit keeps ratios to it finite where no peak is known.
constexpr double kMinStepSeconds = 1e-9;
constexpr double kMaxPeak = 1e20;  // FLOP/s of one device
constexpr double kMinMfu = 1e-6;
constexpr double kMaxAgeSeconds = 315'576'000'000;  // the limit of google.protobuf.Duration
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

// A size of memory that a request may give. Less was meant in another unit.
struct MemoryRange {
  absl::string_view field;
  absl::string_view owner;
  int64_t least;
  int64_t most;
};

void CheckMemory(int64_t bytes, const MemoryRange& range, FieldViolations& violations) {
  if (bytes >= range.least) {
    violations.RequireRange("cluster", range.field, bytes, range.least, range.most);
    return;
  }
  violations.Add(absl::StrCat("cluster.", range.field),
                 absl::StrCat("is ", bytes, ", and no ", range.owner, " has less than ",
                              range.least, " (1 GiB): write bytes"));
}

// Appends violations of the devices and of ranges.
void CheckCluster(const ClusterSpec& cluster, FieldViolations& violations) {
  CheckDevices(cluster, violations);
  violations.Require("cluster", "device_count", cluster.device_count, 1, kMaxDevices);
  if (cluster.peak_flops_per_second.has_value()) {
    violations.RequireRange("cluster", "peak_flops_per_second", *cluster.peak_flops_per_second,
                            {.low = 1, .high = kMaxPeak});
  }
  if (cluster.device_memory_bytes.has_value()) {
    CheckMemory(*cluster.device_memory_bytes,
                {"device_memory_bytes", "device", kMinDeviceMemoryBytes, kMaxDeviceMemoryBytes},
                violations);
  }
  const auto line_rate = [&](absl::string_view field, absl::optional<double> value, double most) {
    if (value.has_value()) {
      violations.RequireRange("cluster", field, *value, {kMinHostLineRate, most});
    }
  };
  line_rate("host_link_bytes_per_second", cluster.host_link_bytes_per_second, kMaxHostLinkRate);
  line_rate("host_memory_bytes_per_second", cluster.host_memory_bytes_per_second,
            kMaxHostMemoryRate);
  if (cluster.host_memory_bytes.has_value()) {
    CheckMemory(*cluster.host_memory_bytes,
                {"host_memory_bytes", "server", kMinHostMemoryBytes, kMaxHostMemoryBytes},
                violations);
  }
  if (cluster.reserved_memory_bytes.has_value()) {
    violations.RequireRange("cluster", "reserved_memory_bytes", *cluster.reserved_memory_bytes, 0,
                            kMaxDeviceMemoryBytes);
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

void CheckReal(FieldViolations& violations, absl::string_view path, absl::string_view name,
               absl::optional<double> value, FieldViolations::RealRange range) {
  if (value.has_value()) violations.RequireRange(path, name, *value, range);
}

void CheckWhole(FieldViolations& violations, absl::string_view path, absl::string_view name,
                absl::optional<int64_t> value, int64_t low, int64_t high) {
  if (value.has_value()) violations.RequireRange(path, name, *value, low, high);
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
      {training.recompute != RecomputePolicy::kNone, "training.recompute"},
  };
  for (const auto& [present, field] : given) {
    if (!present) continue;
    violations.Add(field,
                   "needs the shapes of the model's tensors, which a bare parameter_count does not "
                   "have: give the model in another way, or leave it out");
  }
}

void CheckOptions(const PlanOptions& options, FieldViolations& violations) {
  constexpr char kPath[] = "options";
  CheckReal(violations, kPath, "assumed_mfu", options.assumed_mfu, {.low = kMinMfu, .high = 1});
  violations.RequireRange(kPath, "fits_chance", options.thresholds.fits, {.low = 0.5, .high = 1});
  violations.RequireRange(kPath, "does_not_fit_chance", options.thresholds.does_not_fit,
                          {.low = 0, .high = 0.5});
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
  constexpr char kPath[] = "economics";
  CheckReal(violations, kPath, "device_hour_price_usd", e.device_hour_price_usd,
            {.low = 0, .high = kMaxPriceOrPower});
  CheckReal(violations, kPath, "device_power_watts", e.device_power_watts,
            {.low = 0, .high = kMaxPriceOrPower, .above_low = true});
  CheckReal(violations, kPath, "host_power_watts_per_device", e.host_power_watts_per_device,
            {.low = 0, .high = kMaxPriceOrPower});
  CheckReal(violations, kPath, "power_usage_effectiveness", e.power_usage_effectiveness,
            {.low = 1, .high = kMaxPowerUsageEffectiveness});
  CheckReal(violations, kPath, "budget_usd", e.budget_usd,
            {.low = 0, .high = kMaxBudget, .above_low = true});
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
    violations.Require(path, "token_count", ramp[i].token_count, 1, kMaxTokens);
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

}  // namespace

TrainingStepSpec StepOf(const TrainingSpec& training) {
  return {.sequences = {{.count = 1,
                         .length = *training.sequence_length,
                         .encoder_length = training.encoder_sequence_length.value_or(0)}},
          .recompute = training.recompute};
}

void CheckLengths(const TrainingSpec& training, const ArchitectureSpec& spec,
                  FieldViolations& violations) {
  if (!training.sequence_length.has_value()) {
    constexpr char kNeedsLength[] = "changes FLOPs only with training.sequence_length: give that";
    if (training.encoder_sequence_length.has_value()) {
      violations.Add("training.encoder_sequence_length", kNeedsLength);
    }
    if (training.recompute != RecomputePolicy::kNone) {
      violations.Add("training.recompute", kNeedsLength);
    }
    return;
  }
  if (*training.sequence_length == 0) {
    violations.Add("training.sequence_length", "must be at least 1, or left out");
    return;
  }
  FieldViolations found;
  CheckTrainingStep(StepOf(training), spec, "step", found);
  for (const FieldViolation& violation : found.all()) {
    violations.Add(absl::EndsWith(violation.field, "encoder_length")
                       ? "training.encoder_sequence_length"
                       : "training.sequence_length",
                   violation.description);
  }
}

void CheckMeasuredStep(const RunSpec& run, FieldViolations& violations) {
  if (!run.measured_step.has_value()) return;
  constexpr char kPath[] = "measured_step";
  const MeasuredStep& step = *run.measured_step;
  violations.RequireRange(kPath, "seconds", step.seconds, {kMinStepSeconds, kMaxStepSeconds});
  CheckWhole(violations, kPath, "device_count", step.device_count, 1, kMaxDevices);
  CheckWhole(violations, kPath, "sequence_length", step.sequence_length, 1, kMaxTokens);
  if (!run.layout.has_value() || !run.layout->global_batch_size.has_value()) {
    violations.Add(kPath,
                   "calibrates the step of a layout: give layout and layout.global_batch_size");
  }
}

void CheckRequirement(const RateRequirement& requirement, absl::string_view path,
                      FieldViolations& violations) {
  if (requirement.minimum_source == RateSource::kRequest) {
    violations.Add(
        FieldPath(path, "minimum_source"),
        "can't be RATE_SOURCE_REQUEST, which is not a measurement: write MEASURED_SUPPLIED, "
        "MEASURED_DEVICE, MEASURED_MODEL, REFERENCE or DATASHEET, or leave it out for any");
  }
  if (!requirement.maximum_age_seconds.has_value()) return;
  violations.RequireRange(path, "maximum_age", *requirement.maximum_age_seconds,
                          {.low = 0, .high = kMaxAgeSeconds, .above_low = true});
}

void CheckRun(const RunSpec& run, FieldViolations& violations) {
  CheckModel(run.model, violations);
  if (run.model.parameter_count.has_value() && !violations.Mentions("model")) {
    CheckBareCount(run, violations);
  }
  violations.Require("training", "token_count", run.training.token_count, 1, kMaxTokens);
  CheckPolicy(run.training.precision, run.training.optimizer, "training", violations);
  CheckWhole(violations, "training", "activation_bytes", run.training.activation_bytes, 0,
             kMaxActivationBytes);
  CheckRunLayout(run, violations);
  CheckMeasuredStep(run, violations);
  CheckBatchRamp(run, violations);
  CheckCluster(run.cluster, violations);
  CheckEconomics(run.economics, violations);
  CheckInterruptions(run.interruptions, violations);
  CheckOptions(run.options, violations);
  CheckRequirement(run.rate_requirement, "rate_requirement", violations);
}

}  // namespace sextant
