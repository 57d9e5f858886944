#include "client/launcher/launcher.h"

#include "client/launcher/deepspeed.h"
#include "client/launcher/megatron.h"
#include "client/launcher/slurm.h"
#include "client/launcher/torchtitan.h"

namespace sextant::client {

v1::FrameworkMemory::Kind FrameworkOf(const std::string& launcher) {
  if (launcher == "megatron") return v1::FrameworkMemory::KIND_MEGATRON_LM;
  if (launcher == "torchtitan") return v1::FrameworkMemory::KIND_TORCHTITAN;
  if (launcher == "deepspeed") return v1::FrameworkMemory::KIND_DEEPSPEED;
  return v1::FrameworkMemory::KIND_UNSPECIFIED;
}

absl::StatusOr<LauncherFile> WriteLauncher(const std::string& launcher, const LaunchedRun& run) {
  if (launcher == "megatron") return WriteMegatron(run);
  if (launcher == "torchtitan") return WriteTorchtitan(run);
  if (launcher == "deepspeed") return WriteDeepspeed(run);
  return WriteSlurm(run);
}

}  // namespace sextant::client
