// Plans a run, and shows how far its search has come.
#ifndef SEXTANT_CLIENT_COMMAND_WATCHED_PLAN_H_
#define SEXTANT_CLIENT_COMMAND_WATCHED_PLAN_H_

#include <grpcpp/support/status.h>

#include "client/command/command.h"
#include "sextant/v1/planning_service.pb.h"

namespace sextant::client {

// Calls PlanRun. Where streams.err is a terminal, it shows the progress of a search that takes
// long, and erases it at the end.
//
// Errors: Call()'s, and Interrupted() with how far the search came.
grpc::Status PlanWatched(const ServerAddress& server, const Streams& streams,
                         const v1::PlanRunRequest& request, v1::PlanRunResponse* response);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_COMMAND_WATCHED_PLAN_H_
