// Launchers of training runs: their files are written from a plan, and read into a request.
#ifndef SEXTANT_CLIENT_LAUNCHER_LAUNCHER_H_
#define SEXTANT_CLIENT_LAUNCHER_LAUNCHER_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/launcher/launched_run.h"

namespace sextant::client {

// The names of --emit.
inline constexpr char kLaunchers[] = "megatron|torchtitan|deepspeed|slurm";

// The framework that a launcher of that name runs; of slurm, unless a request names another.
v1::FrameworkMemory::Kind FrameworkOf(const std::string& launcher);

// Checks what is known before the plan. Errors: as WriteLauncher().
absl::Status CheckLauncher(const std::string& launcher, const v1::PlanRunRequest& request);

// Writes the launcher's file. Errors: kInvalidArgument naming every flag of the request that it
// cannot express.
absl::StatusOr<LauncherFile> WriteLauncher(const std::string& launcher, const LaunchedRun& run);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_LAUNCHER_LAUNCHER_H_
