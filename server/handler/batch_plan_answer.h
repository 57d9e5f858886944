// The answer to BatchPlanRuns.
#ifndef SEXTANT_SERVER_HANDLER_BATCH_PLAN_ANSWER_H_
#define SEXTANT_SERVER_HANDLER_BATCH_PLAN_ANSWER_H_

#include "absl/status/status.h"
#include "engine/base/call_work.h"
#include "server/convert/device_resolver.h"
#include "server/metrics/metrics.h"
#include "sextant/v1/planning_service.pb.h"

namespace sextant::server {

// The most runs of a batch.
inline constexpr int kMaxBatchedRuns = 256;
// The most runs of a batch that may search exhaustively: each takes up to seconds of a core.
inline constexpr int kMaxExhaustiveRuns = 16;

// Plans each run of `request`, in order, or says why it has no plan. A run's end costs no others
// theirs; that of `work` ends the call.
//
// Errors: kInvalidArgument "runs" for none and for too many; those of `work`.
absl::Status AnswerBatch(const v1::BatchPlanRunsRequest& request, const DeviceResolver& resolver,
                         CallWork& work, Metrics& metrics, v1::BatchPlanRunsResponse* out);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_HANDLER_BATCH_PLAN_ANSWER_H_
