// The program `sextant` without main(): its commands, and running one of them.
//
// To add a command, write its unit, NAME_command.cc, and name it here, twice.
#ifndef SEXTANT_CLIENT_COMMAND_RUN_CLIENT_H_
#define SEXTANT_CLIENT_COMMAND_RUN_CLIENT_H_

#include <string>
#include <vector>

#include "client/command/command.h"

namespace CLI {
class App;
}

namespace sextant::client {

// Adds a command to `app`. Where the command line selects it, it sets `line->run`.
using AddsCommand = void(CLI::App* app, CommandLine* line);

AddsCommand AddPlan;
AddsCommand AddAdmit;
AddsCommand AddSearch;
AddsCommand AddAllocate;
AddsCommand AddCompare;
AddsCommand AddFinetune;
AddsCommand AddSizeCluster;
AddsCommand AddSizeModel;
AddsCommand AddMemory;
AddsCommand AddModels;
AddsCommand AddCount;
AddsCommand AddAccelerators;
AddsCommand AddDevices;
AddsCommand AddProbe;
AddsCommand AddCalibration;
AddsCommand AddRates;
AddsCommand AddNodes;
AddsCommand AddLinks;
AddsCommand AddOperation;
AddsCommand AddGraph;
AddsCommand AddTensor;
AddsCommand AddTokens;
AddsCommand AddDataType;
AddsCommand AddVersion;
AddsCommand AddCompletion;

// All of them, in the order of --help.
inline constexpr AddsCommand* kCommands[] = {
    AddPlan,      AddSearch,       AddCompare,  AddFinetune,  AddSizeCluster,
    AddSizeModel, AddAllocate,     AddMemory,   AddAdmit,     AddCount,
    AddModels,    AddAccelerators, AddDevices,  AddProbe,     AddCalibration,
    AddRates,     AddNodes,        AddLinks,    AddOperation, AddGraph,
    AddTensor,    AddTokens,       AddDataType, AddVersion,   AddCompletion};

// Runs the command of `args` (without the program's name), and returns the process's exit code; see
// ExitCode. Throws nothing.
int RunClient(const std::vector<std::string>& args, const Streams& streams);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_COMMAND_RUN_CLIENT_H_
