#include "server/convert/sizing.h"

#include <algorithm>

#include "engine/hardware/rates.h"
#include "server/convert/batched_run.h"
#include "server/convert/layout.h"
#include "server/convert/message_fields.h"
#include "server/convert/plan.h"

namespace sextant::server {
namespace {

constexpr double kMaxDurationSeconds = 1e9;

// Fields of the requests themselves, not of their run.
constexpr absl::string_view kOwnFields[] = {"max_duration", "max_device_count",
                                            "tokens_per_parameter"};

}  // namespace

RunSpec SizedRunFrom(const v1::PlanRunRequest& run, const google::protobuf::Duration* max_duration,
                     const DeviceResolver& resolver, FieldViolations& violations) {
  RunSpec out = BatchedRunFrom(run, resolver, /*may_exhaust=*/false, violations);
  if (max_duration == nullptr) return out;
  if (run.economics().has_deadline()) {
    violations.Add("max_duration", "and economics.deadline say the same: give one of them");
    return out;
  }
  const absl::optional<double> seconds = SecondsFrom(*max_duration, "max_duration", violations);
  if (!seconds.has_value()) return out;
  violations.RequireRange("", "max_duration", *seconds, {0, kMaxDurationSeconds, true});
  // One out of range is reported once.
  if (*seconds > 0) out.economics.seconds_to_deadline = *seconds;
  return out;
}

std::string SizeRequestField(absl::string_view field) {
  const bool own =
      std::find(std::begin(kOwnFields), std::end(kOwnFields), field) != std::end(kOwnFields);
  return own ? std::string(field) : FieldPath("run", field);
}

absl::Status InSizeRequest(const absl::Status& status) {
  return WithPaths(status, SizeRequestField);
}

std::string SizedPlanTo(const SizedRun& sized, const v1::PlanRunRequest& request, v1::Plan* out) {
  if (sized.plan == nullptr) return "";
  const SearchedPlan& planned = *sized.plan;
  PlanTo(planned.plan, /*full=*/false, out);
  if (planned.outcome.considered > 0) {
    LayoutSearchTo(planned, request, /*full=*/false, out->mutable_search());
  }
  return RatesFingerprint(planned.plan.rates);
}

}  // namespace sextant::server
