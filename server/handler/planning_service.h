// sextant.v1.PlanningService.
#ifndef SEXTANT_SERVER_HANDLER_PLANNING_SERVICE_H_
#define SEXTANT_SERVER_HANDLER_PLANNING_SERVICE_H_

#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "engine/base/call_work.h"
#include "engine/base/field_violation.h"
#include "engine/run/plan.h"
#include "engine/run/run_spec.h"
#include "server/call/call.h"
#include "server/call/worker_pool.h"
#include "server/metrics/metrics.h"
#include "server/store/calibration_snapshot.h"
#include "server/store/supplied_calibrations.h"
#include "sextant/v1/planning_service.grpc.pb.h"

namespace sextant::server {

struct PlanningOptions {
  CallLogLevel log_level = CallLogLevel::kNone;
  // Returns the state of this host's devices; never null. This and `now` are called on many
  // threads.
  std::function<std::shared_ptr<const CalibrationSnapshot>()> calibrations;
  std::function<absl::Time()> now;
  // Reads the calibrations of requests; outlives the service's calls.
  SuppliedCalibrations* supplied = nullptr;
  // Answers requests that take long; outlives the service's calls.
  WorkerPool* workers = nullptr;
};

class PlanningService final : public v1::PlanningService::WithRawCallbackMethod_PlanRun<
                                  v1::PlanningService::WithRawCallbackMethod_AllocateCompute<
                                      v1::PlanningService::Service>> {
 public:
  // `metrics` outlives the service.
  PlanningService(Metrics& metrics, PlanningOptions options);

  grpc::ServerUnaryReactor* PlanRun(grpc::CallbackServerContext* context,
                                    const grpc::ByteBuffer* request,
                                    grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* AllocateCompute(grpc::CallbackServerContext* context,
                                            const grpc::ByteBuffer* request,
                                            grpc::ByteBuffer* response) override;

 private:
  absl::Status Answer(const v1::PlanRunRequest& request, const grpc::CallbackServerContext& context,
                      v1::PlanRunResponse* response);
  // Of a run whose layout is searched for.
  absl::Status AnswerSearch(const v1::PlanRunRequest& request, const RunSpec& run,
                            FieldViolations violations, const grpc::CallbackServerContext& context,
                            v1::PlanRunResponse* response);
  absl::Status AnswerLayout(const RunSpec& run, FieldViolations violations, CallWork& work,
                            v1::PlanRunResponse* response);
  void PlanTo(const RunSpec& run, Plan plan, v1::PlanRunResponse* response);
  absl::Status Allocate(const v1::AllocateComputeRequest& request,
                        v1::AllocateComputeResponse* response);

  Metrics& metrics_;
  const PlanningOptions options_;
  Method plan_run_;
  Method allocate_compute_;
};

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_HANDLER_PLANNING_SERVICE_H_
