// Sharded and offloaded state as arguments of Megatron-LM, and of Megatron-DeepSpeed.
#include <optional>
#include <string>

#include "absl/algorithm/container.h"
#include "server/launcher/megatron.h"

namespace sextant::server {
namespace {

// Megatron-DeepSpeed is Megatron-LM on DeepSpeed's engine, which divides and holds the state.
// Source: bigscience-workshop/Megatron-DeepSpeed megatron/arguments.py.
bool IsOnDeepspeed(const SettingFile& file) {
  constexpr const char* kOwn[] = {
      "--deepspeed",           "--deepspeed_config",  "--deepspeed-config", "--zero-stage",
      "--pp-partition-method", "--pad-vocab-size-to", "--embed-layernorm"};
  return absl::c_any_of(kOwn, [&](const char* name) { return file.Has(name); });
}

void ReadDeepspeedStage(const Setting& setting, Reading& reading) {
  constexpr char kStage[] = "--zero-stage";
  SettingFile& file = reading.file;
  if (file.Has("--cpu-optimizer")) {
    reading.layout().mutable_sharding()->set_offload_optimizer(true);
  }
  const std::optional<int64_t> stage = file.Count(kStage, 0);
  if (!stage.has_value()) {
    // The configuration says it; in a pipeline it is 0 or 1, of which Complete() takes what bf16
    // has.
    const bool pipeline = reading.layout().parallel().pipeline_parallel_size() > 1;
    if (pipeline) reading.Set(setting.field, "none");
    return;
  }
  if (*stage > 3) return file.Refuse(kStage, "write 0, 1, 2 or 3");
  constexpr const char* kStages[] = {"none", "optimizer", "gradients", "parameters"};
  reading.Set(setting.field, kStages[*stage]);
}

}  // namespace

void ReadFrameworkKind(const Setting& setting, Reading& reading) {
  SettingFile& file = reading.file;
  reading.Set(setting.field, IsOnDeepspeed(file) ? "deepspeed" : setting.absent);
  for (const char* const name : {"--deepspeed_config", "--deepspeed-config"}) {
    if (file.Has(name)) reading.out.wants.push_back(*file.Text(name));
  }
}

void ReadSharding(const Setting& setting, Reading& reading) {
  SettingFile& file = reading.file;
  if (IsOnDeepspeed(file)) return ReadDeepspeedStage(setting, reading);
  std::string stage = file.Has(setting.name) ? "optimizer" : "none";
  if (file.Has("--use-megatron-fsdp")) {
    stage = file.Choose("--data-parallel-sharding-strategy",
                        "no_shard=none|optim=optimizer|optim_grads=gradients|"
                        "optim_grads_params=parameters",
                        "none");
  }
  reading.Set(setting.field, stage);
  v1::StateSharding& out = *reading.layout().mutable_sharding();
  if (file.Has("--optimizer-cpu-offload")) {
    const double share = file.Number("--optimizer-offload-fraction").value_or(1);
    out.set_offload_optimizer(share >= 1);  // of a part the verdict is open
    if (share > 0 && share < 1) file.Ignore("--optimizer-offload-fraction");
  }
  reading.out.state_copies = file.Count("--num-distributed-optimizer-instances").value_or(0);
}
void WriteSharding(const Setting& setting, Writing& writing) {
  const v1::StateSharding& sharding = writing.layout().sharding();
  const LaunchSizes& sizes = writing.sizes;
  if (sizes.zero == v1::ZERO_STAGE_NONE) {
    if (!sharding.offload_optimizer()) return;
    return writing.refusals.Add("layout.sharding.offload_optimizer",
                                "it takes the distributed optimizer, --zero=1");
  }
  writing.list.Add(setting.name, true);
  const bool fsdp = sizes.zero != v1::ZERO_STAGE_OPTIMIZER;
  if (fsdp) {
    const bool gradients = sizes.zero == v1::ZERO_STAGE_GRADIENTS;
    writing.list.Add("--use-megatron-fsdp", true);
    writing.list.Add("--data-parallel-sharding-strategy",
                     gradients ? "optim_grads" : "optim_grads_params");
    writing.list.Add("--ckpt-format", "fsdp_dtensor");
  }
  const int64_t ranks = sizes.data * sizes.context;
  const int64_t group = sharding.has_shard_group_size() ? sharding.shard_group_size() : ranks;
  if (group <= 0 || group == ranks) return;
  if (fsdp) return writing.refusals.Add("layout.sharding.shard_group_size", "it takes --zero=1");
  writing.list.Add("--num-distributed-optimizer-instances", ranks / group);
}

// One type for all layers, or one of each layer.
void ReadContextKind(const Setting& setting, Reading& reading) {
  const std::vector<std::string> types = reading.file.Texts(setting.name);
  if (types.empty()) return;
  const std::string& type = types.front();
  const bool known = type == "p2p" || type == "a2a";
  if (!known || absl::c_any_of(types, [&](auto& each) { return each != type; })) {
    return reading.file.Refuse(setting.name, "write p2p or a2a, one for all layers");
  }
  reading.layout().set_context_parallel_kind(type == "p2p" ? v1::CONTEXT_PARALLEL_KIND_RING
                                                           : v1::CONTEXT_PARALLEL_KIND_ALL_TO_ALL);
}
void WriteContextKind(const Setting& setting, Writing& writing) {
  if (writing.sizes.context > 1) WriteFields({&setting, 1}, writing.run.request, writing.list);
}

}  // namespace sextant::server
