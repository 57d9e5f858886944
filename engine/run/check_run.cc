#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/run/check_cluster.h"
#include "engine/run/check_run_layout.h"
#include "engine/run/rate_requirement.h"
#include "engine/run/run_spec.h"

namespace sextant {
namespace {

// Upper ends far beyond any run, low enough that every product of doubles in a plan is finite
// and every byte count of an answer an int64 (n x usable memory is not one: see fit.h). They are
// those of the proto's comments; the cluster's are in check_cluster.cc.
constexpr int64_t kMaxTokens = 1'000'000'000'000'000'000;
constexpr int64_t kMaxActivationBytes = 1'000'000'000'000'000'000;
constexpr double kMaxPriceOrPower = 1e6;
constexpr double kMaxPowerUsageEffectiveness = 10;
constexpr double kMinMfu = 1e-6;

void CheckReal(FieldViolations& violations, absl::string_view path, absl::string_view name,
               absl::optional<double> value, FieldViolations::RealRange range) {
  if (value.has_value()) violations.RequireRange(path, name, *value, range);
}

void CheckWhole(FieldViolations& violations, absl::string_view path, absl::string_view name,
                absl::optional<int64_t> value, int64_t low, int64_t high) {
  if (value.has_value()) violations.RequireRange(path, name, *value, low, high);
}

// What a bare parameter_count can't answer.
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
  // Accepted, they would be ignored.
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
}

}  // namespace

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
  CheckCluster(run.cluster, violations);
  CheckEconomics(run.economics, violations);
  CheckReal(violations, "options", "assumed_mfu", run.options.assumed_mfu,
            {.low = kMinMfu, .high = 1});
  CheckRequirement(run.rate_requirement, "rate_requirement", violations);
}

}  // namespace sextant
