// Flags about the launchers of a run: those that name its launchers' files, which the server reads,
// and those that have it write one of what was planned.
#ifndef SEXTANT_CLIENT_COMMAND_LAUNCHER_FLAGS_H_
#define SEXTANT_CLIENT_COMMAND_LAUNCHER_FLAGS_H_

#include <grpcpp/support/status.h>

#include <istream>
#include <string>
#include <vector>

#include "client/command/command.h"
#include "client/flags/given_fields.h"
#include "sextant/v1/planning_service.pb.h"

namespace sextant::client {

// Adds --from-megatron, --from-torchtitan and --from-deepspeed.
void AddLauncherSources(GivenFields* given, CLI::App* command);

// Reads `files` into `*out`. A file by the bare name of a model that `server` knows is taken for
// that model.
//
// Errors: INVALID_ARGUMENT, reason REQUEST_MALFORMED naming the file, or REQUEST_TOO_LARGE.
grpc::Status ReadLaunchFiles(const std::vector<GivenFields::LaunchInput>& files,
                             const ServerAddress& server, std::istream& in,
                             v1::ImportRunRequest* out);

// Calls ImportRun, whether or not requests are printed. Errors: the server's; INVALID_ARGUMENT,
// reason REQUEST_MALFORMED naming each file that is wrong, and what to write instead.
grpc::Status CallImportRun(const ServerAddress& server, const v1::ImportRunRequest& request,
                           v1::ImportRunResponse* response);

// The account of `files`: "took run.yaml for an axolotl configuration", and, a line each, the
// settings that are not modelled and those that are open; with `verbose` also those without
// meaning. "" where there is nothing to say.
std::string ImportNotes(const std::vector<GivenFields::LaunchInput>& files,
                        const v1::ImportRunResponse& answer, bool verbose);

// The file that is written of a plan.
struct Emission {
  std::string launcher;  // "" for none
  std::string file;      // "": standard output, instead of the plan
  std::string script;    // the training script that a job script starts

  bool wanted() const { return !launcher.empty(); }
};

// A launcher's file, and what the user's own script has to say because the launcher cannot.
struct EmittedFile {
  std::string text = {};
  std::vector<std::string> left_out = {};
  std::string instead = {};  // why it is not the fastest layout that a search found; "" where it is
};

// Adds --emit, --emit-to and --script.
void AddEmission(Emission* emission, CLI::App* command);

// Checks that the flags and `request` go together, and plans for the launcher's framework, unless
// the request names one. Errors: INVALID_ARGUMENT, reason USAGE.
grpc::Status PrepareEmission(const Emission& emission, const CommandLine& line,
                             v1::PlanRunRequest* request);

// The launchers that can express the run, each by its own framework; job scripts left out. None
// where the server does not say.
std::vector<std::string> LaunchersOf(const ServerAddress& server, const v1::PlanRunRequest& run);

// Has the server write the launcher's file of the plan in `*response`, which `*request` asked for.
// Where a search found a layout that the launcher cannot express, takes the next that it can: puts
// it into `*request`, and its plan into `*response`.
//
// Errors: the server's; INVALID_ARGUMENT, reason USAGE, naming every flag that the launcher cannot
// express.
grpc::Status Emit(const Emission& emission, const CommandLine& line, v1::PlanRunRequest* request,
                  v1::PlanRunResponse* response, EmittedFile* out);

// Settings that the file leaves out, and a layout chosen instead, a line each; "" without any.
std::string EmissionNotes(const EmittedFile& file);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_COMMAND_LAUNCHER_FLAGS_H_
