#include "server/handler/batch_plan_answer.h"

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "engine/base/field_violation.h"
#include "engine/base/status_macros.h"
#include "server/call/status.h"
#include "server/convert/batched_run.h"
#include "server/convert/run_spec.h"
#include "server/handler/plan_answer.h"

namespace sextant::server {
namespace {

// Steps of CallWork for each run: its translation and resolution, about 0.1 ms. Large enough that
// each run asks whether somebody still waits.
constexpr int64_t kStepsARun = 10'000;

absl::Status CheckCount(int count) {
  if (count >= 1 && count <= kMaxBatchedRuns) return absl::OkStatus();
  if (count == 0) {
    return InvalidField("runs", absl::StrCat("is required: give 1 to ", kMaxBatchedRuns, " runs"));
  }
  return InvalidField("runs", absl::StrCat("are ", count, ": give at most ", kMaxBatchedRuns,
                                           " in one call, the others in another"));
}

absl::StatusOr<std::string> AnswerRun(const v1::BatchPlanRunsRequest& batch, int index,
                                      const DeviceResolver& resolver, CallWork& work,
                                      Metrics& metrics, v1::Plan* out) {
  const v1::PlanRunRequest& request = batch.runs(index);
  FieldViolations violations;
  CheckPlanNumbers(request, violations);
  const RunSpec run =
      BatchedRunFrom(request, resolver, batch.runs_size() <= kMaxExhaustiveRuns, violations);
  return AnswerPlan({.request = request, .run = run, .violations = std::move(violations)}, work,
                    metrics, out);
}

}  // namespace

absl::Status AnswerBatch(const v1::BatchPlanRunsRequest& request, const DeviceResolver& resolver,
                         CallWork& work, Metrics& metrics, v1::BatchPlanRunsResponse* out) {
  SEXTANT_RETURN_IF_ERROR(CheckCount(request.runs_size()));
  out->mutable_runs()->Reserve(request.runs_size());
  for (int i = 0; i < request.runs_size(); ++i) {
    SEXTANT_RETURN_IF_ERROR(work.Spend(kStepsARun));
    v1::PlannedRun& planned = *out->add_runs();
    absl::StatusOr<std::string> rates =
        AnswerRun(request, i, resolver, work, metrics, planned.mutable_plan());
    if (rates.ok()) {
      planned.set_rates_fingerprint(*std::move(rates));
      continue;
    }
    SEXTANT_RETURN_IF_ERROR(work.Spend(0));  // the call's own end, not the run's
    planned.clear_plan();
    *planned.mutable_status() =
        ToRpcStatus(BelowField(rates.status(), absl::StrCat("runs[", i, "]")), "");
  }
  return absl::OkStatus();
}

}  // namespace sextant::server
