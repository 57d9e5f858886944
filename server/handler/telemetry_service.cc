#include "server/handler/telemetry_service.h"

#include <utility>

#include "engine/base/status_macros.h"
#include "server/telemetry/job_report.h"

namespace sextant::server {

TelemetryService::TelemetryService(Dependencies dependencies)
    : its_(std::move(dependencies)),
      report_progress_("sextant.v1.TelemetryService/ReportProgress", its_.metrics, its_.calls) {}

// A report waits for no list of the host's devices, which a failed GPU may hold up.
grpc::ServerUnaryReactor* TelemetryService::ReportProgress(grpc::CallbackServerContext* context,
                                                           const grpc::ByteBuffer* request,
                                                           grpc::ByteBuffer* response) {
  return AnswerInline<v1::ReportProgressRequest, v1::ReportProgressResponse>(
      report_progress_, context, request, response,
      [this](const v1::ReportProgressRequest& in, v1::ReportProgressResponse* out) {
        SEXTANT_ASSIGN_OR_RETURN(const JobReport report,
                                 JobReportFrom(in, *its_.host(), its_.now()));
        SEXTANT_ASSIGN_OR_RETURN(const ReportOutcome outcome, its_.jobs.Report(report));
        out->set_outcome(ReportOutcomeTo(outcome));
        return absl::OkStatus();
      });
}

}  // namespace sextant::server
