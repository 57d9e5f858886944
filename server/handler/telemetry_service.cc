#include "server/handler/telemetry_service.h"

#include <utility>

#include "engine/base/status_macros.h"
#include "server/call/call.h"
#include "server/telemetry/job_report.h"

namespace sextant::server {

TelemetryService::TelemetryService(Dependencies dependencies)
    : Service("sextant.v1.TelemetryService", dependencies.metrics, dependencies.calls),
      its_(std::move(dependencies)) {
  Add(AnsweredBy(this, &TelemetryService::ReportProgress));
}

// A report waits for no list of the host's devices, which a failed GPU may hold up.
absl::Status TelemetryService::ReportProgress(const CallContext&,
                                              const v1::ReportProgressRequest& request,
                                              v1::ReportProgressResponse* response) {
  SEXTANT_ASSIGN_OR_RETURN(const JobReport report,
                           JobReportFrom(request, *its_.host(), its_.now()));
  SEXTANT_ASSIGN_OR_RETURN(const ReportOutcome outcome, its_.jobs.Report(report));
  response->set_outcome(ReportOutcomePair::To(outcome));
  return absl::OkStatus();
}

}  // namespace sextant::server
