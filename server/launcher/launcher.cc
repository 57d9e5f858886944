#include "server/launcher/launcher.h"

#include "server/launcher/kubernetes.h"

namespace sextant::server {
namespace {

absl::Status CheckSettings(const char* launcher, absl::Span<const Setting> table,
                           const v1::PlanRunRequest& request) {
  Refusals refusals(launcher);
  CheckFields(table, request, refusals);
  return refusals.status();
}

}  // namespace

bool StartsProcesses(const std::string& launcher) {
  return launcher == "slurm" || launcher == "pytorchjob" || launcher == "trainjob" ||
         launcher == "jobset";
}

v1::FrameworkMemory::Kind FrameworkOf(const std::string& launcher) {
  if (launcher == "torchtitan") return v1::FrameworkMemory::KIND_TORCHTITAN;
  if (launcher == "deepspeed") return v1::FrameworkMemory::KIND_DEEPSPEED;
  return v1::FrameworkMemory::KIND_MEGATRON_LM;
}

absl::Status CheckLauncher(const std::string& launcher, const v1::PlanRunRequest& request) {
  if (launcher == "torchtitan") return CheckSettings("torchtitan", TorchtitanSettings(), request);
  if (launcher == "deepspeed") return CheckSettings("DeepSpeed", DeepspeedSettings(), request);
  if (StartsProcesses(launcher) && !StartsMegatron(request)) return absl::OkStatus();
  return CheckSettings("Megatron-LM", MegatronSettings(), request);
}

absl::StatusOr<LauncherFile> WriteLauncher(const std::string& launcher, const LaunchedRun& run) {
  if (launcher == "megatron") return WriteMegatron(run);
  if (launcher == "torchtitan") return WriteTorchtitan(run);
  if (launcher == "deepspeed") return WriteDeepspeed(run);
  if (launcher == "pytorchjob") return WriteKubernetes("PyTorchJob", run);
  if (launcher == "trainjob") return WriteKubernetes("TrainJob", run);
  if (launcher == "jobset") return WriteKubernetes("JobSet", run);
  return WriteSlurm(run);
}

}  // namespace sextant::server
