#include "server/handler/telemetry_service.h"

#include <utility>

#include "engine/base/status_macros.h"
#include "server/call/call.h"
#include "server/telemetry/job_report.h"

namespace sextant::server {

TelemetryService::TelemetryService(Dependencies dependencies)
    : Service("sextant.v1.TelemetryService", dependencies.metrics, dependencies.calls),
      its_(std::move(dependencies)) {
  Add("ReportProgress", &TelemetryService::ReportProgress);
}

// A report waits for no list of the host's devices, which a failed GPU may hold up.
void TelemetryService::ReportProgress(Method& method, UnaryTransport& transport) {
  AnswerInline<v1::ReportProgressRequest, v1::ReportProgressResponse>(
      method, transport,
      [this](const v1::ReportProgressRequest& in, v1::ReportProgressResponse* out) {
        SEXTANT_ASSIGN_OR_RETURN(const JobReport report,
                                 JobReportFrom(in, *its_.host(), its_.now()));
        SEXTANT_ASSIGN_OR_RETURN(const ReportOutcome outcome, its_.jobs.Report(report));
        out->set_outcome(ReportOutcomePair::To(outcome));
        return absl::OkStatus();
      });
}

}  // namespace sextant::server
