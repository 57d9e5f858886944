// The PlanRunRequest of a command line: from files that start a run, a request's and flags.
// `sextant plan`, `memory` and all commands about runs share it.
#ifndef SEXTANT_CLIENT_COMMAND_PLAN_REQUEST_H_
#define SEXTANT_CLIENT_COMMAND_PLAN_REQUEST_H_

#include <google/protobuf/field_mask.pb.h>
#include <grpcpp/support/status.h>

#include <cstdint>

#include "absl/time/time.h"
#include "client/command/command.h"
#include "client/command/launcher_flags.h"
#include "client/flags/field_flag.h"
#include "client/flags/given_fields.h"
#include "sextant/v1/planning_service.pb.h"

namespace sextant::client {

struct PlanRequestFlags : GivenFields {
  v1::PlanRunRequest request;      // the values of flags
  int64_t data_parallel_size = 0;  // 0: not given
  bool verbose = false;            // all sections, and what files say that changes nothing
  // The devices where neither flags nor files say how many: the command fills them in afterwards.
  // What follows from them is counted with these. Null: nothing is.
  int64_t (*usual_devices)(const v1::RunLayout& layout) = nullptr;
};

// The words of flags for errors about `request`, which has to outlive them.
FailureWords WordsOfPlan(const v1::PlanRunRequest& request);

// Asks for a full view, unless the request says how much to return.
void ShowAll(v1::PlanRunRequest* request);

// A run with a deadline starts at `now`, unless the request says when.
void StartNow(absl::Time now, v1::EconomicsSpec* economics);
void StartNow(absl::Time now, v1::PlanRunRequest* request);

// Adds to `command`, which `*flags` has to outlive, --request and the files that start a run, and
// the flags of all fields: what a command does not take, its server refuses.
void AddRunSources(PlanRequestFlags* flags, CommandLine* line, CLI::App* command);
void AddRunFlags(PlanRequestFlags* flags, CLI::App* command);

// False for a flag of what only one plan by itself answers.
bool SuitsManyRuns(const FieldFlag& flag);

// Clears options that only a plan by itself takes, where a request's file has them; the server
// refuses them where flags do, which `given` names.
void ClearOptionsOfOne(const google::protobuf::FieldMask& given, v1::PlanOptions* options);

// Fills `*request` from the files that start the run, which `server` reads, from --request's file
// (or streams.in, where that is "-") and then from the flags; each overrides those before. Says on
// streams.err what was made of the files.
//
// Errors: those of ReadRequestFile(), Override() and ImportFiles().
grpc::Status BuildPlanRequest(const PlanRequestFlags& flags, const ServerAddress& server,
                              const Streams& streams, v1::PlanRunRequest* request);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_COMMAND_PLAN_REQUEST_H_
