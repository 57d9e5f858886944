#include "server/launcher/launcher.h"

namespace sextant::server {
namespace {

absl::Status CheckSettings(const char* launcher, absl::Span<const Setting> table,
                           const v1::PlanRunRequest& request) {
  Refusals refusals(launcher);
  CheckFields(table, request, refusals);
  return refusals.status();
}

}  // namespace

v1::FrameworkMemory::Kind FrameworkOf(const std::string& launcher) {
  if (launcher == "torchtitan") return v1::FrameworkMemory::KIND_TORCHTITAN;
  if (launcher == "deepspeed") return v1::FrameworkMemory::KIND_DEEPSPEED;
  if (launcher == "axolotl") return v1::FrameworkMemory::KIND_HUGGING_FACE_TRAINER;
  return v1::FrameworkMemory::KIND_MEGATRON_LM;
}

const char* FileNameOf(const std::string& launcher) {
  if (launcher == "torchtitan") return "train.toml";
  if (launcher == "deepspeed") return "ds_config.json";
  if (launcher == "slurm") return "job.sbatch";
  return "arguments.txt";
}

absl::Status CheckLauncher(const std::string& launcher, const v1::PlanRunRequest& request) {
  if (launcher == "torchtitan") return CheckSettings("torchtitan", TorchtitanSettings(), request);
  if (launcher == "deepspeed") return CheckSettings("DeepSpeed", DeepspeedSettings(), request);
  if (launcher == "axolotl") return CheckSettings("axolotl", AxolotlSettings(), request);
  if (launcher == "slurm" && !StartsMegatron(request)) return absl::OkStatus();
  return CheckSettings("Megatron-LM", MegatronSettings(), request);
}

absl::StatusOr<LauncherFile> WriteLauncher(const std::string& launcher, const LaunchedRun& run) {
  if (launcher == "megatron") return WriteMegatron(run);
  if (launcher == "torchtitan") return WriteTorchtitan(run);
  if (launcher == "deepspeed") return WriteDeepspeed(run);
  if (launcher == "axolotl") return WriteAxolotl(run);
  return WriteSlurm(run);
}

}  // namespace sextant::server
