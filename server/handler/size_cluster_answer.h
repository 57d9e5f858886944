// The answer to SizeCluster.
#ifndef SEXTANT_SERVER_HANDLER_SIZE_CLUSTER_ANSWER_H_
#define SEXTANT_SERVER_HANDLER_SIZE_CLUSTER_ANSWER_H_

#include "absl/status/status.h"
#include "server/convert/device_resolver.h"
#include "server/handler/plan_answer.h"
#include "sextant/v1/planning_service.pb.h"

namespace sextant::server {

// The most products of a request.
inline constexpr int kMaxProducts = 16;

// Sizes the cluster of each product that `request` lists, side by side, or else of its run's
// devices. A product that can't be planned on costs no others their answers.
//
// Errors: kInvalidArgument for the list itself, and, where there is none, for the run; those of
// `call.work`.
absl::Status AnswerSizeCluster(const v1::SizeClusterRequest& request,
                               const DeviceResolver& resolver, const LongCall& call,
                               v1::SizeClusterResponse* out);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_HANDLER_SIZE_CLUSTER_ANSWER_H_
