// Asks for plans of runs whose layout may be open: all commands have one searched for alike.
#ifndef SEXTANT_CLIENT_COMMAND_OPEN_LAYOUT_H_
#define SEXTANT_CLIENT_COMMAND_OPEN_LAYOUT_H_

#include <grpcpp/support/status.h>

#include "client/command/command.h"
#include "client/io/call.h"
#include "sextant/v1/planning_service.pb.h"

namespace sextant::client {

// True where `request` gives a global batch and nothing of how devices share the run, or of a
// search.
bool LeavesLayoutOpen(const v1::PlanRunRequest& request);

// Calls PlanRun. An open layout is searched for exhaustively; where none of its layouts can be
// timed, asks again with the search `otherwise`. Where streams.err is a terminal, it shows the
// progress of a search that takes long, and erases it at the end.
//
// Errors: Call()'s, and Interrupted() with how far the search came.
grpc::Status AskForPlan(const ServerAddress& server, const Streams& streams,
                        v1::LayoutSearch otherwise, v1::PlanRunRequest* request,
                        v1::PlanRunResponse* response);

// Calls BatchPlanRuns. Open layouts are searched for in the same way, if there are at most as many
// runs as the server searches exhaustively; where none of a run can be timed, its state alone is
// planned.
grpc::Status AskForPlans(const ServerAddress& server, v1::BatchPlanRunsRequest* batch,
                         v1::BatchPlanRunsResponse* response);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_COMMAND_OPEN_LAYOUT_H_
