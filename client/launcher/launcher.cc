#include "client/launcher/launcher.h"

namespace sextant::client {
namespace {

absl::Status CheckFields(const char* launcher, absl::Span<const Expressible> fields,
                         const v1::PlanRunRequest& request) {
  Refusals refusals(launcher);
  refusals.Check(request, fields);
  return refusals.status();
}

}  // namespace

v1::FrameworkMemory::Kind FrameworkOf(const std::string& launcher) {
  if (launcher == "torchtitan") return v1::FrameworkMemory::KIND_TORCHTITAN;
  if (launcher == "deepspeed") return v1::FrameworkMemory::KIND_DEEPSPEED;
  return v1::FrameworkMemory::KIND_MEGATRON_LM;
}

absl::Status CheckLauncher(const std::string& launcher, const v1::PlanRunRequest& request) {
  if (launcher == "torchtitan") return CheckFields("torchtitan", TorchtitanFields(), request);
  if (launcher == "deepspeed") return CheckFields("DeepSpeed", DeepspeedFields(), request);
  if (launcher == "slurm" && !StartsMegatron(request)) return absl::OkStatus();
  return CheckFields("Megatron-LM", MegatronFields(), request);
}

absl::StatusOr<LauncherFile> WriteLauncher(const std::string& launcher, const LaunchedRun& run) {
  if (launcher == "megatron") return WriteMegatron(run);
  if (launcher == "torchtitan") return WriteTorchtitan(run);
  if (launcher == "deepspeed") return WriteDeepspeed(run);
  return WriteSlurm(run);
}

}  // namespace sextant::client
