// sextant.v1.TelemetryService.
#ifndef SEXTANT_SERVER_HANDLER_TELEMETRY_SERVICE_H_
#define SEXTANT_SERVER_HANDLER_TELEMETRY_SERVICE_H_

#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "server/call/service.h"
#include "server/metrics/metrics.h"
#include "server/store/calibration_snapshot.h"
#include "server/telemetry/job_progress.h"
#include "sextant/v1/telemetry_service.pb.h"

namespace sextant::server {

class TelemetryService final : public Service {
 public:
  struct Dependencies {
    Metrics& metrics;
    CallRules calls;
    JobProgress& jobs;
    // Returns the state of this host's devices; never null. This and `now` are called on many
    // threads.
    std::function<std::shared_ptr<const CalibrationSnapshot>()> host;
    std::function<absl::Time()> now;
  };
  // `metrics` and `jobs` outlive the service.
  explicit TelemetryService(Dependencies dependencies);

 private:
  absl::Status ReportProgress(const CallContext& context, const v1::ReportProgressRequest& request,
                              v1::ReportProgressResponse* response);

  const Dependencies its_;
};

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_HANDLER_TELEMETRY_SERVICE_H_
