// The PlanRunRequest of a command line: from a file, a launcher's file and flags. `sextant plan`,
// `memory` and all commands about runs share it.
#ifndef SEXTANT_CLIENT_COMMAND_PLAN_REQUEST_H_
#define SEXTANT_CLIENT_COMMAND_PLAN_REQUEST_H_

#include <google/protobuf/field_mask.pb.h>
#include <grpcpp/support/status.h>

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "client/command/command.h"
#include "client/command/launcher_flags.h"
#include "client/flags/field_flag.h"
#include "sextant/v1/planning_service.pb.h"

namespace sextant::client {

struct PlanRequestFlags {
  // A flag whose value names the file that holds its field.
  struct File {
    const FieldFlag* flag;
    std::string name;
  };

  std::string request_file;           // "" where none was given, "-" for standard input
  LauncherSource launcher;            // a launcher's file, which overrides that one
  v1::PlanRunRequest request;         // the values of all other flags but `files`
  google::protobuf::FieldMask given;  // the fields that they set
  std::vector<File> files;
  int64_t data_parallel_size = 0;  // 0: not given
};

// Asks for a full view, unless the request says how much to return.
void ShowAll(v1::PlanRunRequest* request);

// A run with a deadline starts at `now`, unless the request says when.
void StartNow(absl::Time now, v1::EconomicsSpec* economics);
void StartNow(absl::Time now, v1::PlanRunRequest* request);

// Adds to `command`, which `*flags` has to outlive, --request and the launchers' files, and the
// flags of all fields: what a command does not take, its server refuses.
void AddRequestFile(PlanRequestFlags* flags, CLI::App* command);
void AddPlanFlags(PlanRequestFlags* flags, CLI::App* command);

// False for a flag of what only one plan by itself answers.
bool SuitsManyRuns(const FieldFlag& flag);

// Clears options that only a plan by itself takes, where a request's file has them; the server
// refuses them where flags do, which `given` names.
void ClearOptionsOfOne(const google::protobuf::FieldMask& given, v1::PlanOptions* options);

// Fills `*request` from --request's file (or streams.in, where that is "-"), from a launcher's file
// and then from the flags; each overrides those before. Sets only what was given: defaults and
// ranges are the server's. Says on streams.err what it ignored of the launcher's file.
//
// The ways to give a model exclude each other, so a model flag replaces the whole model of the
// file. Two model flags are both sent, and the server reports the conflict. The same holds for the
// ways to name devices.
//
// Errors: INVALID_ARGUMENT, reason REQUEST_MALFORMED where a file is not proto JSON of
// its message, or no launcher's, REQUEST_TOO_LARGE where it holds more than kMaxRequestBytes, or a
// config.json more than kMaxConfigBytes.
grpc::Status BuildPlanRequest(const PlanRequestFlags& flags, const Streams& streams,
                              v1::PlanRunRequest* request);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_COMMAND_PLAN_REQUEST_H_
