// The command line as CLI11 reads it. CLI11 throws; nothing leaves this module but values.
#ifndef SEXTANT_CLIENT_COMMAND_LINE_H_
#define SEXTANT_CLIENT_COMMAND_LINE_H_

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "client/connection.h"
#include "client/count_request.h"
#include "client/links_request.h"
#include "client/operation_request.h"
#include "client/plan_flags.h"
#include "client/probe_request.h"
#include "client/rates_request.h"
#include "sextant/v1/accounting_service.pb.h"
#include "sextant/v1/hardware_service.pb.h"

namespace CLI {
class App;
}

namespace sextant {

enum class Command {
  kPlan,
  kMemory,
  kAccelerators,
  kDevices,
  kProbe,
  kCalibration,
  kRates,
  kNodes,
  kLinks,
  kDataType,
  kTokens,
  kTensor,
  kOperation,
  kGraph,
  kCount,
  kVersion,
  kCompletion
};

struct CommandLine {
  Command command = Command::kPlan;
  ServerAddress server;
  std::string output = "text";  // or "json"

  std::vector<GivenFlag> plan_flags;
  std::string request_file;  // "" where none was given, "-" for standard input

  std::string memory_svg_file;  // "" for none

  std::string accelerator;  // "" for all
  bool sources = false;

  ProbeFlags probe;
  v1::RunProbeRequest probe_request;  // what they ask for

  std::string device_uuid;       // "" for the only GPU, or else the only device
  std::string calibration_mode;  // "" for the one in use
  std::string save_file;         // "" for none

  RatesCommand rates;

  std::string node_type;  // "" for all
  LinksCommand links;

  v1::DescribeDataTypeRequest data_type_request;  // unspecified: all types
  v1::DescribeTokensRequest tokens_request;
  v1::AnalyzeTensorRequest tensor_request;
  std::vector<std::string> tensor_steps;  // as they were written
  OperationCommand operation;
  std::string graph_file;                 // "-" for standard input
  v1::AnalyzeGraphRequest graph_request;  // what flags add to the file's graph

  CountCommand count;

  std::string shell;  // "bash" or "zsh"

  bool json() const { return output == "json"; }
};

// The command line asks for no command: help, the version, or it is wrong.
struct NoCommand {
  int exit_code = 0;
  bool json = false;         // whether the user asked for JSON
  std::string message = {};  // without a line end; an error where exit_code is not 0
  std::string command = {};  // whose --help would explain it, e.g. "sextant plan"
};

// The parser, filling `*line`, which has to outlive it. Completion is generated from it.
std::unique_ptr<CLI::App> NewApp(CommandLine* line);

// Reads `args`, the program's name left out.
std::variant<CommandLine, NoCommand> ParseCommandLine(const std::vector<std::string>& args);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_COMMAND_LINE_H_
