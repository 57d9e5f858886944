#include "client/run_client.h"

#include <variant>

#include "absl/strings/str_cat.h"
#include "client/accounting_commands.h"
#include "client/call_error.h"
#include "client/command_line.h"
#include "client/commands.h"
#include "client/exit_code.h"
#include "client/hardware_commands.h"

namespace sextant {
namespace {

int Explain(const NoCommand& no_command, const Streams& streams) {
  if (no_command.exit_code == kExitFits) {
    streams.out << no_command.message << "\n";
  } else if (no_command.json) {
    streams.err << CallErrorJson({.code = grpc::StatusCode::INVALID_ARGUMENT,
                                  .reason = "USAGE",
                                  .message = no_command.message});
  } else {
    streams.err << "sextant: " << no_command.message << "\n  try: " << no_command.command
                << " --help\n";
  }
  return no_command.exit_code;
}

int Run(const CommandLine& line, const Streams& streams) {
  switch (line.command) {
    case Command::kPlan:
      return RunPlan(line, streams);
    case Command::kMemory:
      return RunMemory(line, streams);
    case Command::kAccelerators:
      return RunAccelerators(line, streams);
    case Command::kDevices:
      return RunDevices(line, streams);
    case Command::kProbe:
      return RunProbe(line, streams);
    case Command::kCalibration:
      return RunCalibration(line, streams);
    case Command::kRates:
      return RunRates(line, streams);
    case Command::kNodes:
      return RunNodes(line, streams);
    case Command::kLinks:
      return RunLinks(line, streams);
    case Command::kDataType:
      return RunDataType(line, streams);
    case Command::kTokens:
      return RunTokens(line, streams);
    case Command::kTensor:
      return RunTensor(line, streams);
    case Command::kOperation:
      return RunOperation(line, streams);
    case Command::kGraph:
      return RunGraph(line, streams);
    case Command::kCount:
      return RunCount(line, streams);
    case Command::kVersion:
      return RunVersion(line, streams);
    case Command::kCompletion:
      return RunCompletion(line, streams);
  }
  return kExitInternal;
}

}  // namespace

int RunClient(const std::vector<std::string>& args, const Streams& streams) {
  const std::variant<CommandLine, NoCommand> parsed = ParseCommandLine(args);
  const CommandLine* line = std::get_if<CommandLine>(&parsed);
  const int exit_code =
      line != nullptr ? Run(*line, streams) : Explain(std::get<NoCommand>(parsed), streams);
  // An answer that was not written (a full disk) must not read as "fits".
  if (!streams.out.flush()) {
    streams.err << "sextant: cannot write the answer\n";
    return kExitInternal;
  }
  return exit_code;
}

}  // namespace sextant
