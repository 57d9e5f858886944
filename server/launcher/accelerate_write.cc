// Runs as accelerate's configuration, written: its FSDP and its DeepSpeed plugin.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "proto/words/field_names.h"
#include "server/launcher/hugging_face.h"
#include "server/launcher/launcher.h"
#include "server/launcher/software.h"

namespace sextant::server {
namespace {

constexpr char kParallelism[] = "parallelism_config.parallelism_config_";

bool UsesDeepspeed(const Writing& writing) {
  return writing.layout().framework().kind() == v1::FrameworkMemory::KIND_DEEPSPEED;
}

bool UsesFsdp(const Writing& writing) {
  return !UsesDeepspeed(writing) && writing.sizes.zero != v1::ZERO_STAGE_NONE;
}

// The word of the type that a run computes in.
std::string ComputeWord(const Writing& writing) {
  return FieldOf(writing.training().precision(), "compute_data_type").value_or("bf16");
}

void WriteAccelerateMachines(Writing& writing) {
  const int64_t devices = writing.run.request.cluster().device_count();
  if (writing.run.devices_per_node <= 0) return writing.out.left_out.push_back("num_machines");
  const int64_t per_node = DevicesOfNode(writing.run, "a machine's", writing.refusals);
  writing.list.Add("num_machines", devices / per_node);
  if (devices == per_node) return;
  writing.out.left_out.insert(writing.out.left_out.end(), {"machine_rank", "main_process_ip"});
  // Each machine starts its own processes, as without DeepSpeed.
  if (UsesDeepspeed(writing)) {
    writing.list.Add("deepspeed_config.deepspeed_multinode_launcher", "standard");
  }
}

// The value that the run's engine holds of `field`; "" where it is as the script loads the model.
// FSDP under mixed precision widens weights to fp32 (LoadWeights() of launched_run.cc).
std::string HeldByEngine(absl::string_view field, const Writing& writing) {
  const std::string compute = ComputeWord(writing);
  const bool whole = compute == "fp32";
  const bool adapters = writing.run.request.model().changes().has_adapters();
  const bool deepspeed = UsesDeepspeed(writing);
  if (!deepspeed && (!UsesFsdp(writing) || whole || adapters)) return "";
  if (field == "training.precision.optimizer_data_type") return "fp32";
  if (field == "training.precision.master_weights") return deepspeed && !whole ? "true" : "false";
  return deepspeed ? compute : "fp32";  // weights and gradients
}

// Stages 1 and 2 exchange after the passes where no file of DeepSpeed's own says otherwise.
void CheckStage(Writing& writing) {
  const v1::ZeroStage stage = writing.sizes.zero;
  if (stage == v1::ZERO_STAGE_NONE) return;
  const SoftwareConstants constants = ConstantsOfRun(writing.run.request, writing.sizes);
  const bool shards = stage == v1::ZERO_STAGE_PARAMETERS;
  const bool hides = shards ? constants.of(StackConstant::kOverlapContention) < kAllExposed
                            : constants.of(StackConstant::kDataExchangeOverlap) > kNothingHidden;
  if (hides == shards) return;
  writing.refusals.Add(
      shards ? "layout.software.overlap_contention" : "layout.software.data_exchange_overlap",
      "its DeepSpeed plugin overlaps at stage 3 alone: give 0 below it, and emit "
      "deepspeed for others");
}

void WriteFsdpPlugin(Writing& writing) {
  const v1::StateSharding& sharding = writing.layout().sharding();
  if (!CheckFsdpState(writing)) return;
  const bool reshards = !sharding.has_reshard_after_forward() || sharding.reshard_after_forward();
  writing.list.Add("fsdp_config.fsdp_version", 2);
  writing.list.Add("fsdp_config.fsdp_auto_wrap_policy", "TRANSFORMER_BASED_WRAP");
  writing.list.Add("fsdp_config.fsdp_state_dict_type", "SHARDED_STATE_DICT");
  writing.list.Add("fsdp_config.fsdp_reshard_after_forward", reshards);
  writing.list.Add("fsdp_config.fsdp_offload_params", sharding.offload_parameters());
}

// FSDP's mesh: its sizes make up all processes.
void WriteMesh(const StateMesh& mesh, Writing& writing) {
  const LaunchSizes& sizes = writing.sizes;
  const auto add = [&](const char* name, int64_t size) {
    writing.list.Add(absl::StrCat(kParallelism, name), size);
  };
  add("dp_replicate_size", mesh.copies);
  add("dp_shard_size", mesh.shards);
  if (sizes.tensor > 1) add("tp_size", sizes.tensor);
  if (sizes.context > 1) add("cp_size", sizes.context);
}

void WriteDeepspeedGroups(Writing& writing) {
  const LaunchSizes& sizes = writing.sizes;
  const v1::ContextParallelKind kind = writing.layout().context_parallel_kind();
  if (sizes.tensor > 1)
    writing.refusals.Add("layout.parallel.tensor_parallel_size",
                         "its DeepSpeed plugin has no setting for it");
  if (sizes.context == 1) return;
  writing.list.Add(absl::StrCat(kParallelism, "sp_size"), sizes.context);
  if (kind != v1::CONTEXT_PARALLEL_KIND_UNSPECIFIED &&
      kind != v1::CONTEXT_PARALLEL_KIND_ALL_TO_ALL) {
    writing.refusals.Add("layout.context_parallel_kind", "with DeepSpeed it takes all-to-all");
  }
}

void CheckFsdpGroups(Writing& writing) {
  const LaunchSizes& sizes = writing.sizes;
  const v1::ContextParallelKind kind = writing.layout().context_parallel_kind();
  if (sizes.tensor > 1) RefuseSharedSequences(writing);
  if (sizes.context > 1 && kind == v1::CONTEXT_PARALLEL_KIND_ALL_TO_ALL) {
    writing.refusals.Add("layout.context_parallel_kind", "with FSDP it takes ring");
  }
  if (!UsesFsdp(writing)) {
    if (sizes.tensor > 1)
      writing.refusals.Add("layout.parallel.tensor_parallel_size", "it takes --zero=3");
    if (sizes.context > 1)
      writing.refusals.Add("layout.context_parallel_size", "it takes --zero=3");
  }
}

}  // namespace

void LeaveToScript(const Setting& setting, Writing& writing) {
  if (!FieldOf(writing.run.request, setting.field).has_value()) return;
  writing.out.left_out.push_back(words::PlanFieldWord(setting.field));
}

void WriteAccelerateEngine(const Setting& setting, Writing& writing) {
  const int64_t devices = writing.run.request.cluster().device_count();
  writing.out.left_out.emplace_back("the model");
  writing.list.Add("compute_environment", "LOCAL_MACHINE");
  writing.list.Add(setting.name, UsesDeepspeed(writing) ? "DEEPSPEED"
                                 : UsesFsdp(writing)    ? "FSDP"
                                 : devices > 1          ? "MULTI_GPU"
                                                        : "NO");
  WriteAccelerateMachines(writing);
}

void WriteAcceleratePrecision(const Setting& setting, Writing& writing) {
  const std::string compute = ComputeWord(writing);
  writing.list.Add(setting.name, compute == "fp32" ? "no" : compute);
  if (compute == "fp8" && UsesDeepspeed(writing)) {
    writing.refusals.Add("training.precision.compute_data_type",
                         "with DeepSpeed it takes fp32, fp16 or bf16", "fp8");
  }
}

void WriteAccelerateState(const Setting& setting, Writing& writing) {
  const std::optional<std::string> given = FieldOf(writing.run.request, setting.field);
  if (!given.has_value()) return;
  const std::string held = HeldByEngine(setting.field, writing);
  if (held.empty()) return LeaveToScript(setting, writing);
  if (*given == held) return;
  writing.refusals.Add(setting.field, absl::StrCat("its engine holds ", held), *given);
}

void WriteAccelerateZero(const Setting& setting, Writing& writing) {
  if (UsesFsdp(writing)) return WriteFsdpPlugin(writing);
  if (!UsesDeepspeed(writing)) return;
  writing.list.Add(setting.name, writing.sizes.zero - v1::ZERO_STAGE_NONE);
  CheckStage(writing);
  if (writing.layout().kernels().loss() == v1::KernelChoices::LOSS_UNSPECIFIED) {
    writing.refusals.Add("layout.kernels.loss", "give plain, fused or chunked");
  }
}

void WriteAccelerateOffload(const Setting& setting, Writing& writing) {
  const bool on = FieldOf(writing.run.request, setting.field) == "true";
  if (!on || UsesFsdp(writing)) return;
  if (UsesDeepspeed(writing)) return writing.list.Add(setting.name, "cpu");
  writing.refusals.Add(setting.field, "it takes --zero=3");
}

void WriteAccelerateGroups(const Setting&, Writing& writing) {
  if (UsesDeepspeed(writing)) {
    WriteDeepspeedGroups(writing);
  } else {
    CheckFsdpGroups(writing);
  }
  const std::optional<StateMesh> mesh = StateMeshOf(UsesFsdp(writing), writing);
  const bool plain = writing.sizes.tensor * writing.sizes.context == 1;
  if (!mesh.has_value() || !UsesFsdp(writing) || (mesh->copies == 1 && plain)) return;
  WriteMesh(*mesh, writing);
}

void WriteAccelerateRecompute(const Setting& setting, Writing& writing) {
  const bool full = writing.training().recompute() == v1::RECOMPUTE_POLICY_FULL;
  if (UsesFsdp(writing)) return writing.list.Add(setting.name, full);
  if (full) writing.out.left_out.emplace_back("--recompute=full");
}

absl::StatusOr<LauncherFile> WriteAccelerate(const LaunchedRun& run) {
  absl::StatusOr<Writing> written = WriteSettings("accelerate", AccelerateSettings(), run);
  if (!written.ok()) return written.status();
  written->out.text = written->list.Yaml();
  return std::move(written->out);
}

}  // namespace sextant::server
