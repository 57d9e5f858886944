// Flags about the launchers of a run: those that read a run from one's file, and those that write
// one of what was planned.
#ifndef SEXTANT_CLIENT_COMMAND_LAUNCHER_FLAGS_H_
#define SEXTANT_CLIENT_COMMAND_LAUNCHER_FLAGS_H_

#include <grpcpp/support/status.h>

#include <istream>
#include <optional>
#include <string>

#include "client/command/command.h"
#include "server/launcher/launched_run.h"
#include "sextant/v1/planning_service.pb.h"

namespace sextant::client {

using namespace server;  // NOLINT

// Where a run is read from: at most one of these.
struct LauncherSource {
  std::optional<std::string> megatron;  // arguments
  std::string torchtitan_file;          // "" for none, "-" for standard input
  std::string deepspeed_file;
};

// Adds --from-megatron, --from-torchtitan and --from-deepspeed.
void AddLauncherSource(LauncherSource* source, CLI::App* command);

// Reads the run, an empty one where no flag gives any. Where `with_model` is false its model is
// passed over.
//
// Errors: INVALID_ARGUMENT, reason USAGE where two flags give one, else REQUEST_MALFORMED naming
// the file and what to write instead, or REQUEST_TOO_LARGE.
grpc::Status ReadLauncherSource(const LauncherSource& source, bool with_model, std::istream& in,
                                LauncherRead* out);

// "ignored: --lr, --data-path" and "open: train_batch_size", a line each; "" without any.
std::string LauncherNotes(const LauncherRead& read);

// The file that is written of a plan.
struct Emission {
  std::string launcher;  // "" for none
  std::string file;      // "": standard output, instead of the plan
  std::string script;    // the training script that a job script starts

  bool wanted() const { return !launcher.empty(); }
};

// Adds --emit, --emit-to and --script.
void AddEmission(Emission* emission, CLI::App* command);

// Checks that the flags and `request` go together, and plans for the launcher's framework, unless
// the request names one. Errors: INVALID_ARGUMENT, reason USAGE.
grpc::Status PrepareEmission(const Emission& emission, const CommandLine& line,
                             v1::PlanRunRequest* request);

// Writes the launcher's file of the plan in `*response`, which `*request` asked for. Asks the
// server for the model's shape and, of a job script, for the devices of a node. Where a search
// found a layout that the launcher cannot express, takes the next that it can: puts it into
// `*request`, and its plan into `*response`.
//
// Errors: the server's; INVALID_ARGUMENT, reason USAGE, naming every flag that the launcher cannot
// express.
grpc::Status Emit(const Emission& emission, const CommandLine& line, v1::PlanRunRequest* request,
                  v1::PlanRunResponse* response, LauncherFile* out);

// Settings that the file leaves out, and a layout chosen instead, a line each; "" without any.
std::string EmissionNotes(const LauncherFile& file);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_COMMAND_LAUNCHER_FLAGS_H_
