// sextant.v1.PlanningService.
#ifndef SEXTANT_SERVER_HANDLER_PLANNING_SERVICE_H_
#define SEXTANT_SERVER_HANDLER_PLANNING_SERVICE_H_

#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "engine/base/call_work.h"
#include "engine/search/layout_search.h"
#include "server/call/call.h"
#include "server/call/stream_call.h"
#include "server/call/worker_pool.h"
#include "server/device/device_finder.h"
#include "server/metrics/metrics.h"
#include "server/store/calibration_snapshot.h"
#include "server/store/supplied_calibrations.h"
#include "sextant/v1/planning_service.grpc.pb.h"

namespace sextant::server {

struct PlanningOptions {
  CallRules calls = {};
  // Returns the state of this host's devices; never null. This and `now` are called on many
  // threads.
  std::function<std::shared_ptr<const CalibrationSnapshot>()> calibrations;
  std::function<absl::Time()> now;
  // Reads the calibrations of requests; outlives the service's calls.
  SuppliedCalibrations* supplied = nullptr;
  // Answer single plans; bounded searches; exhaustive ones and questions of many runs. They outlive
  // the service's calls.
  WorkerPool* workers = nullptr;
  WorkerPool* short_searches = nullptr;
  WorkerPool* searches = nullptr;
  FleetReader* fleet = nullptr;  // likewise; null: no fleet's metrics are read
};

// True where a plan takes a millisecond at most, whether or not it fits: of state alone, or of
// one layout of few stages and of a model with few kinds of layers and no experts, at a product's
// published rates (which are fitted in tens of milliseconds, but once). Others evaluate every stage
// and, where none fits, many changes to it; or fit what was measured.
// Short calls are answered on gRPC's threads.
bool IsShort(const v1::PlanRunRequest& request);
// Not with measurements, which are read and checked first.
bool IsShort(const v1::AllocateComputeRequest& request);

using RawPlanningService = v1::PlanningService::WithRawCallbackMethod_PlanRun<
    v1::PlanningService::WithRawCallbackMethod_WatchPlanRun<
        v1::PlanningService::WithRawCallbackMethod_BatchPlanRuns<
            v1::PlanningService::WithRawCallbackMethod_SizeCluster<
                v1::PlanningService::WithRawCallbackMethod_SizeModel<
                    v1::PlanningService::WithRawCallbackMethod_AllocateCompute<
                        v1::PlanningService::Service>>>>>>;

class PlanningService final : public RawPlanningService {
 public:
  // `metrics` outlives the service.
  PlanningService(Metrics& metrics, PlanningOptions options);

  grpc::ServerUnaryReactor* PlanRun(grpc::CallbackServerContext* context,
                                    const grpc::ByteBuffer* request,
                                    grpc::ByteBuffer* response) override;
  grpc::ServerWriteReactor<grpc::ByteBuffer>* WatchPlanRun(
      grpc::CallbackServerContext* context, const grpc::ByteBuffer* request) override;
  grpc::ServerUnaryReactor* BatchPlanRuns(grpc::CallbackServerContext* context,
                                          const grpc::ByteBuffer* request,
                                          grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* SizeCluster(grpc::CallbackServerContext* context,
                                        const grpc::ByteBuffer* request,
                                        grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* SizeModel(grpc::CallbackServerContext* context,
                                      const grpc::ByteBuffer* request,
                                      grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* AllocateCompute(grpc::CallbackServerContext* context,
                                            const grpc::ByteBuffer* request,
                                            grpc::ByteBuffer* response) override;

 private:
  // Answers a call that plans many runs.
  template <typename Request, typename Response>
  using LongAnswer = absl::Status(const Request& request, const DeviceResolver& resolver,
                                  CallWork& work, Metrics& metrics, Response* out);

  // `watch`: see PlanQuestion.
  absl::Status Answer(const v1::PlanRunRequest& request, const grpc::CallbackServerContext& context,
                      const SearchWatch& watch, v1::PlanRunResponse* response);
  // Reads the request of WatchPlanRun and has it answered by `call`.
  void Watch(grpc::CallbackServerContext* context, StreamCall* call, const grpc::ByteBuffer& bytes);
  // Sends the progress of the search for `request` to `call`, now and then.
  SearchWatch SendingTo(StreamCall* call, const v1::PlanRunRequest& request) const;
  // The threads that answer `request`.
  WorkerPool& PoolOf(const v1::PlanRunRequest& request) const;
  // Answers on a thread of the searches, and stops where the call has ended.
  template <typename Request, typename Response>
  grpc::ServerUnaryReactor* AnswerOnWorker(Method& method, grpc::CallbackServerContext* context,
                                           const grpc::ByteBuffer* request,
                                           grpc::ByteBuffer* response,
                                           LongAnswer<Request, Response>* answer);
  absl::Status Allocate(const v1::AllocateComputeRequest& request,
                        v1::AllocateComputeResponse* response);
  DeviceFinder FinderOf(const CalibrationSnapshot& host) const;

  Metrics& metrics_;
  const PlanningOptions options_;
  Method plan_run_;
  Method watch_plan_run_;
  Method batch_plan_runs_;
  Method size_cluster_;
  Method size_model_;
  Method allocate_compute_;
};

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_HANDLER_PLANNING_SERVICE_H_
