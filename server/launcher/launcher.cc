#include "server/launcher/launcher.h"

#include <iterator>

#include "absl/algorithm/container.h"
#include "server/launcher/hugging_face.h"
#include "server/launcher/kubernetes.h"
#include "server/launcher/nemo.h"

namespace sextant::server {
namespace {

using Kinds = v1::FrameworkMemory;

// A launcher of --emit.
struct Launcher {
  const char* name;
  const char* title;  // as errors name it
  v1::FrameworkMemory::Kind framework;
  const char* file;  // the name that its file usually has
  absl::Span<const Setting> (*settings)();
  absl::StatusOr<LauncherFile> (*write)(const LaunchedRun& run);
  // It starts a training script on the nodes, of whatever framework; of Megatron-LM's runs with the
  // arguments that `settings` make.
  bool starts_processes = false;
};

constexpr Launcher kAll[] = {
    {"megatron", "Megatron-LM", Kinds::KIND_MEGATRON_LM, "arguments.txt", MegatronSettings,
     WriteMegatron},
    {"megatron-bridge", "Megatron-Bridge", Kinds::KIND_MEGATRON_BRIDGE, "recipe.py",
     MegatronSettings, WriteMegatronBridge},
    {"torchtitan", "torchtitan", Kinds::KIND_TORCHTITAN, "train.toml", TorchtitanSettings,
     WriteTorchtitan},
    {"torchtitan-python", "torchtitan", Kinds::KIND_TORCHTITAN, "config_registry.py",
     TorchtitanSettings, WriteTorchtitanPython},
    {"deepspeed", "DeepSpeed", Kinds::KIND_DEEPSPEED, "ds_config.json", DeepspeedSettings,
     WriteDeepspeed},
    {"accelerate", "accelerate", Kinds::KIND_HUGGING_FACE_TRAINER, "accelerate.yaml",
     AccelerateSettings, WriteAccelerate},
    {"axolotl", "axolotl", Kinds::KIND_HUGGING_FACE_TRAINER, "axolotl.yaml", AxolotlSettings,
     WriteAxolotl},
    {"slurm", "Megatron-LM", Kinds::KIND_MEGATRON_LM, "job.sbatch", MegatronSettings, WriteSlurm,
     true},
    {"pytorchjob", "Megatron-LM", Kinds::KIND_MEGATRON_LM, "job.yaml", MegatronSettings,
     [](const LaunchedRun& run) { return WriteKubernetes("PyTorchJob", run); }, true},
    {"trainjob", "Megatron-LM", Kinds::KIND_MEGATRON_LM, "job.yaml", MegatronSettings,
     [](const LaunchedRun& run) { return WriteKubernetes("TrainJob", run); }, true},
    {"jobset", "Megatron-LM", Kinds::KIND_MEGATRON_LM, "job.yaml", MegatronSettings,
     [](const LaunchedRun& run) { return WriteKubernetes("JobSet", run); }, true},
};

// The row of that name; the first where there is none.
const Launcher& Find(const std::string& name) {
  const auto* const row =
      absl::c_find_if(kAll, [&](const Launcher& each) { return name == each.name; });
  return row == std::end(kAll) ? kAll[0] : *row;
}

}  // namespace

std::vector<std::string> LauncherNames() {
  std::vector<std::string> out;
  for (const Launcher& each : kAll) out.emplace_back(each.name);
  return out;
}

v1::FrameworkMemory::Kind FrameworkOf(const std::string& launcher) {
  return Find(launcher).framework;
}

const char* FileNameOf(const std::string& launcher) { return Find(launcher).file; }

absl::Status CheckLauncher(const std::string& launcher, const v1::PlanRunRequest& request) {
  const Launcher& row = Find(launcher);
  if (row.starts_processes && !StartsMegatron(request)) return absl::OkStatus();
  Refusals refusals(row.title);
  CheckFields(row.settings(), request, refusals);
  return refusals.status();
}

absl::StatusOr<LauncherFile> WriteLauncher(const std::string& launcher, const LaunchedRun& run) {
  return Find(launcher).write(run);
}

}  // namespace sextant::server
