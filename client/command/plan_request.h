// The PlanRunRequest of a command line: from a file, a launcher's file and flags. `sextant plan`,
// `memory` and all commands about runs share it.
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
  LauncherSource launcher;         // a launcher's file, which overrides the request's
  v1::PlanRunRequest request;      // the values of flags
  int64_t data_parallel_size = 0;  // 0: not given
};

// The words of flags for errors about `request`, which has to outlive them.
FailureWords WordsOfPlan(const v1::PlanRunRequest& request);

// Asks for a full view, unless the request says how much to return.
void ShowAll(v1::PlanRunRequest* request);

// A run with a deadline starts at `now`, unless the request says when.
void StartNow(absl::Time now, v1::EconomicsSpec* economics);
void StartNow(absl::Time now, v1::PlanRunRequest* request);

// Adds to `command`, which `*flags` has to outlive, --request and the launchers' files, and the
// flags of all fields: what a command does not take, its server refuses.
void AddRunSources(PlanRequestFlags* flags, CLI::App* command);
void AddRunFlags(PlanRequestFlags* flags, CLI::App* command);

// False for a flag of what only one plan by itself answers.
bool SuitsManyRuns(const FieldFlag& flag);

// Clears options that only a plan by itself takes, where a request's file has them; the server
// refuses them where flags do, which `given` names.
void ClearOptionsOfOne(const google::protobuf::FieldMask& given, v1::PlanOptions* options);

// Fills `*request` from --request's file (or streams.in, where that is "-"), from a launcher's file
// and then from the flags; each overrides those before. Says on streams.err what it ignored of the
// launcher's file.
//
// Errors: those of ReadRequestFile(), Override() and ReadLauncherSource().
grpc::Status BuildPlanRequest(const PlanRequestFlags& flags, const Streams& streams,
                              v1::PlanRunRequest* request);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_COMMAND_PLAN_REQUEST_H_
