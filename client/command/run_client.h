// The program `sextant` without main(): its commands, and running one of them.
//
// To add a command, write its unit, NAME_command.cc, and name it here, twice.
#ifndef SEXTANT_CLIENT_COMMAND_RUN_CLIENT_H_
#define SEXTANT_CLIENT_COMMAND_RUN_CLIENT_H_

#include <string>
#include <vector>

#include "client/command/command.h"

namespace sextant::client {

extern const Command kPlanCommand;
extern const Command kSearchCommand;
extern const Command kCompareCommand;
extern const Command kFinetuneCommand;
extern const Command kSizeClusterCommand;
extern const Command kSizeModelCommand;
extern const Command kAllocateCommand;
extern const Command kMemoryCommand;
extern const Command kAdmitCommand;
extern const Command kKubernetesControllerCommand;
extern const Command kKubernetesCertificateCommand;
extern const Command kCountCommand;
extern const Command kModelsCommand;
extern const Command kAcceleratorsCommand;
extern const Command kDevicesCommand;
extern const Command kProbeCommand;
extern const Command kCalibrationCommand;
extern const Command kRatesCommand;
extern const Command kNodesCommand;
extern const Command kLinksCommand;
extern const Command kOperationCommand;
extern const Command kGraphCommand;
extern const Command kTensorCommand;
extern const Command kTokensCommand;
extern const Command kDataTypeCommand;
extern const Command kVersionCommand;
extern const Command kCompletionCommand;

// All of them, in the order of --help.
inline constexpr const Command* kCommands[] = {&kPlanCommand,
                                               &kSearchCommand,
                                               &kCompareCommand,
                                               &kFinetuneCommand,
                                               &kSizeClusterCommand,
                                               &kSizeModelCommand,
                                               &kAllocateCommand,
                                               &kMemoryCommand,
                                               &kAdmitCommand,
                                               &kKubernetesControllerCommand,
                                               &kKubernetesCertificateCommand,
                                               &kCountCommand,
                                               &kModelsCommand,
                                               &kAcceleratorsCommand,
                                               &kDevicesCommand,
                                               &kProbeCommand,
                                               &kCalibrationCommand,
                                               &kRatesCommand,
                                               &kNodesCommand,
                                               &kLinksCommand,
                                               &kOperationCommand,
                                               &kGraphCommand,
                                               &kTensorCommand,
                                               &kTokensCommand,
                                               &kDataTypeCommand,
                                               &kVersionCommand,
                                               &kCompletionCommand};

// Runs the command of `args` (without the program's name), and returns the process's exit code; see
// ExitCode. Throws nothing.
int RunClient(const std::vector<std::string>& args, const Streams& streams);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_COMMAND_RUN_CLIENT_H_
