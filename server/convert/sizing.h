// Parts that the messages of SizeCluster and SizeModel share.
#ifndef SEXTANT_SERVER_CONVERT_SIZING_H_
#define SEXTANT_SERVER_CONVERT_SIZING_H_

#include <google/protobuf/duration.pb.h>

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "engine/base/field_violation.h"
#include "engine/run/run_spec.h"
#include "engine/search/sized_run.h"
#include "server/convert/device_resolver.h"
#include "server/convert/enum_pair.h"
#include "sextant/v1/plan.pb.h"
#include "sextant/v1/planning_service.pb.h"
#include "sextant/v1/sizing.pb.h"

namespace sextant::server {

using SizeBasisPair = OneLater<SizeBasis::kStateAlone, v1::SizeBasis_MAX>;
using SizeLimitPair = SameNumbers<SizeLimit::kBudget, v1::SizeLimit_MAX>;

// BatchedRunFrom(), with `max_duration` as the run's deadline unless that is null. Violations name
// the fields of PlanRunRequest, and "max_duration".
RunSpec SizedRunFrom(const v1::PlanRunRequest& run, const google::protobuf::Duration* max_duration,
                     const DeviceResolver& resolver, FieldViolations& violations);

// The path of a violation's field in a request of size: fields of PlanRunRequest are below "run",
// those of the request itself stand by themselves.
std::string SizeRequestField(absl::string_view field);

// `status` with the fields of its violations by SizeRequestField(). Unchanged where it has none.
absl::Status InSizeRequest(const absl::Status& status);

// Fills in the plan of `sized`, if it has one, of which `request` was asked. Returns the
// fingerprint of its rates.
std::string SizedPlanTo(const SizedRun& sized, const v1::PlanRunRequest& request, v1::Plan* out);

// The figures of a try that all messages of one have.
template <typename Tried>
void TriedTo(const SizedRun& sized, Tried* out) {
  out->set_misses(SizeLimitPair::To(sized.misses));
  if (sized.elapsed.has_value()) out->set_elapsed_seconds(sized.elapsed->value());
  if (sized.cost.has_value()) out->set_cost_usd(sized.cost->value());
}

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_CONVERT_SIZING_H_
