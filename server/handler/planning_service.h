// sextant.v1.PlanningService.
#ifndef SEXTANT_SERVER_HANDLER_PLANNING_SERVICE_H_
#define SEXTANT_SERVER_HANDLER_PLANNING_SERVICE_H_

#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "engine/base/call_work.h"
#include "engine/search/layout_search.h"
#include "server/base/alarms.h"
#include "server/call/service.h"
#include "server/call/stream_call.h"
#include "server/call/worker_pool.h"
#include "server/device/device_finder.h"
#include "server/handler/plan_answer.h"
#include "server/metrics/metrics.h"
#include "server/store/calibration_snapshot.h"
#include "server/store/supplied_calibrations.h"
#include "sextant/v1/planning_service.pb.h"

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
// published rates. Others evaluate every stage
// and, where none fits, many changes to it; or fit what was measured.
// Short calls are answered on gRPC's threads.
bool IsShort(const v1::PlanRunRequest& request);
// Not with measurements, which are read and checked first.
bool IsShort(const v1::AllocateComputeRequest& request);

class PlanningService final : public Service {
 public:
  // `metrics` outlives the service.
  PlanningService(Metrics& metrics, PlanningOptions options);

 private:
  // Answers a call that plans many runs.
  template <typename Request, typename Response>
  using LongAnswer = absl::Status(const Request& request, const DeviceResolver& resolver,
                                  const LongCall& call, Response* out);

  // `watch`: see PlanQuestion.
  absl::Status Answer(const v1::PlanRunRequest& request, const CallContext& context,
                      const SearchWatch& watch, v1::PlanRunResponse* response);
  // Reads the request of WatchPlanRun and has it answered by `call`.
  void Watch(StreamCall* call);
  // Sends the progress of the search for `request` to `call`, now and then.
  SearchWatch SendingTo(StreamCall* call, const v1::PlanRunRequest& request) const;
  // The threads that answer `request`.
  WorkerPool& PoolOf(const v1::PlanRunRequest& request) const;
  // Answers on a thread of the searches, and stops where the call has ended.
  template <typename Request, typename Response>
  Rpc OnSearches(LongAnswer<Request, Response>* answer);
  std::unique_ptr<StreamCall> WatchPlanRun(Method& method, StreamTransport& transport);
  void Admit(Method& method, UnaryTransport& transport);
  absl::Status Allocate(const CallContext& context, const v1::AllocateComputeRequest& request,
                        v1::AllocateComputeResponse* response);
  DeviceFinder FinderOf(const CalibrationSnapshot& host) const;

  Metrics& metrics_;
  const PlanningOptions options_;
  Alarms alarms_;  // of admissions
};

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_HANDLER_PLANNING_SERVICE_H_
