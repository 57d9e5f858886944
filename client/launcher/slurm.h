// A job script for Slurm that starts a run by torchrun.
#ifndef SEXTANT_CLIENT_LAUNCHER_SLURM_H_
#define SEXTANT_CLIENT_LAUNCHER_SLURM_H_

#include <string>

#include "absl/status/statusor.h"
#include "client/launcher/launched_run.h"

namespace sextant::client {

// The script. It runs run.script, or else the script that it is given as its first argument, with
// the arguments that follow; of a run of Megatron-LM also with its arguments.
//
// Errors: kInvalidArgument where the devices of a node are not known, or don't divide those of the
// run; and those of MegatronLines().
absl::StatusOr<LauncherFile> WriteSlurm(const LaunchedRun& run);

// True where the script carries Megatron-LM's arguments: of its runs.
bool StartsMegatron(const v1::PlanRunRequest& request);

// Slurm's form of a time, rounded up to a minute: "2-03:04:00".
std::string SlurmTime(double seconds);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_LAUNCHER_SLURM_H_
