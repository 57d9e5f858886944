// A ReportProgressRequest as a checked report.
#ifndef SEXTANT_SERVER_TELEMETRY_JOB_REPORT_H_
#define SEXTANT_SERVER_TELEMETRY_JOB_REPORT_H_

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/convert/enum_pair.h"
#include "server/store/calibration_snapshot.h"
#include "server/telemetry/job_progress.h"
#include "sextant/v1/telemetry_service.pb.h"

namespace sextant::server {

// Errors: kInvalidArgument (FIELD_INVALID) with all violations; kNotFound (DEVICE_UNKNOWN) where
// devices that `host` does not have are the only fault.
absl::StatusOr<JobReport> JobReportFrom(const v1::ReportProgressRequest& request,
                                        const CalibrationSnapshot& host, absl::Time now);

using ReportOutcomePair =
    OneLater<ReportOutcome::kChangedSettings, v1::ReportProgressResponse::Outcome_MAX>;

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_TELEMETRY_JOB_REPORT_H_
