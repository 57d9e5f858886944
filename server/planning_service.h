// sextant.v1.PlanningService.
#ifndef SEXTANT_SERVER_PLANNING_SERVICE_H_
#define SEXTANT_SERVER_PLANNING_SERVICE_H_

#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "server/calibration_snapshot.h"
#include "server/metrics.h"
#include "server/unary_call.h"
#include "server/worker_pool.h"
#include "sextant/v1/planning_service.grpc.pb.h"

namespace sextant {

struct PlanningOptions {
  CallLogLevel log_level = CallLogLevel::kNone;
  // What is known of this host's devices; never null. Both are called from many threads.
  std::function<std::shared_ptr<const CalibrationSnapshot>()> calibrations;
  std::function<absl::Time()> now;
  // Where what takes long is answered; outlives the service's calls.
  WorkerPool* workers = nullptr;
};

class PlanningService final
    : public v1::PlanningService::WithRawCallbackMethod_PlanRun<v1::PlanningService::Service> {
 public:
  // `metrics` outlives the service.
  PlanningService(Metrics& metrics, PlanningOptions options);

  grpc::ServerUnaryReactor* PlanRun(grpc::CallbackServerContext* context,
                                    const grpc::ByteBuffer* request,
                                    grpc::ByteBuffer* response) override;

 private:
  absl::Status Answer(const v1::PlanRunRequest& request, v1::PlanRunResponse* response);

  Metrics& metrics_;
  const PlanningOptions options_;
  Method plan_run_;
};

}  // namespace sextant

#endif  // SEXTANT_SERVER_PLANNING_SERVICE_H_
