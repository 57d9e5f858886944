// Runs as axolotl's configuration in YAML, written.
#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/launcher/axolotl.h"
#include "server/launcher/hugging_face.h"
#include "server/launcher/launcher.h"
#include "server/launcher/setting_file.h"

namespace sextant::server {
namespace {

using Value = SettingList::Value;

// Names of transformers' OptimizerNames, and the first of axolotl's own.
constexpr char kWrittenOptimizers[] =
    "adamw_torch_fused=adamw|adamw_torch_8bit=adam-8bit|adafactor|sgd|adagrad|rmsprop|"
    "lion_32bit=lion|muon";

bool IsDeepspeed(const v1::PlanRunRequest& request) {
  return request.layout().framework().kind() == v1::FrameworkMemory::KIND_DEEPSPEED;
}

// The precision of a run, with the API's defaults under its framework filled in.
v1::PrecisionPolicy WholePrecision(const v1::PlanRunRequest& request) {
  v1::PrecisionPolicy out = request.training().precision();
  const v1::DataType compute = out.compute_data_type();
  if (compute == v1::DATA_TYPE_UNSPECIFIED) out.set_compute_data_type(v1::DATA_TYPE_BF16);
  if (out.weight_data_type() == v1::DATA_TYPE_UNSPECIFIED) {
    out.set_weight_data_type(IsDeepspeed(request) ? out.compute_data_type() : v1::DATA_TYPE_FP32);
  }
  const bool wide = out.weight_data_type() == v1::DATA_TYPE_FP32;
  if (!out.has_master_weights()) out.set_master_weights(!wide);
  if (out.optimizer_data_type() == v1::DATA_TYPE_UNSPECIFIED) {
    out.set_optimizer_data_type(v1::DATA_TYPE_FP32);
  }
  if (out.gradient_data_type() == out.weight_data_type()) out.clear_gradient_data_type();
  return out;
}

// Refuses each type that is not the one that axolotl trains with.
void RefuseTypes(const v1::PrecisionPolicy& planned, const v1::PrecisionPolicy& trained,
                 Refusals& refusals) {
  for (const char* const field :
       {"weight_data_type", "master_weights", "optimizer_data_type", "gradient_data_type"}) {
    const std::string given = FieldOf(planned, field).value_or("");
    const std::string taken = FieldOf(trained, field).value_or("");
    if (given == taken) continue;
    refusals.Add(absl::StrCat("training.precision.", field),
                 absl::StrCat("it trains with ", taken.empty() ? "the weights' type" : taken),
                 given);
  }
}

void WriteFsdp(Writing& writing) {
  const v1::StateSharding& sharding = writing.layout().sharding();
  if (!CheckFsdpState(writing)) return;
  writing.list.Add("fsdp_version", 2);
  writing.list.Add("fsdp_config.auto_wrap_policy", "TRANSFORMER_BASED_WRAP");
  writing.list.Add("fsdp_config.state_dict_type", "SHARDED_STATE_DICT");
  writing.list.Add("fsdp_config.offload_params", sharding.offload_parameters());
  if (!sharding.has_reshard_after_forward()) return;
  writing.list.Add("fsdp_config.reshard_after_forward", sharding.reshard_after_forward());
}

void WriteDeepspeedName(const Setting& setting, Writing& writing) {
  const v1::StateSharding& sharding = writing.layout().sharding();
  const auto found = absl::c_find_if(kAxolotlDeepspeed, [&](const DeepspeedPreset& each) {
    return each.stage == writing.sizes.zero - v1::ZERO_STAGE_NONE &&
           each.offloads_optimizer == sharding.offload_optimizer() &&
           each.offloads_parameters == sharding.offload_parameters();
  });
  if (found == std::end(kAxolotlDeepspeed)) {
    return writing.refusals.Add(
        "layout.sharding.zero_stage",
        "its deepspeed_configs/ have stage 1, 2 with --offload-optimizer, and 3");
  }
  const v1::FrameworkMemory& framework = writing.layout().framework();
  if (framework.fused_projections()) {
    writing.refusals.Add("layout.framework.fused_projections",
                         "transformers' are apart: give =false");
  }
  if (framework.model_code() != v1::FrameworkMemory::MODEL_CODE_UNSPECIFIED &&
      framework.model_code() != v1::FrameworkMemory::MODEL_CODE_TRANSFORMERS) {
    writing.refusals.Add("layout.framework.model_code", "it trains those of transformers alone");
  }
  writing.list.Add(setting.name, absl::StrCat("deepspeed_configs/", found->name));
}

}  // namespace

// A model of a hub; presets' own names are none's.
void WriteAxolotlModel(const Setting& setting, Writing& writing) {
  const std::string& name = writing.run.request.model().preset();
  if (absl::StrContains(name, '/')) {
    writing.list.Add(setting.name, name);
  } else {
    writing.out.left_out.emplace_back(setting.name);
  }
  writing.out.left_out.insert(writing.out.left_out.end(), {"datasets", "learning_rate"});
}

void WriteAxolotlAdapter(const Setting& setting, Writing& writing) {
  const v1::ModelChanges& changes = writing.run.request.model().changes();
  if (!changes.has_adapters()) return;
  if (!changes.base_frozen())
    writing.refusals.Add("model.changes.adapters.rank", "it takes --base-frozen");
  const v1::WeightStorage& storage = writing.layout().storage();
  const bool four = storage.frozen_data_type() == v1::DATA_TYPE_FP4;
  writing.list.Add(setting.name, four ? "qlora" : "lora");
  writing.list.Add("lora_r", changes.adapters().rank());
  const auto& targets = changes.adapters().targets();
  const std::vector<std::string> modules = ModulesOf(changes.adapters());
  if (targets.size() == 1 && targets[0] == "all-linear") {
    writing.list.Add("lora_target_linear", true);
  } else if (modules.empty()) {
    writing.refusals.Add("model.changes.adapters.targets",
                         "transformers' models name one of them otherwise");
  } else {
    writing.list.Add("lora_target_modules", modules);
  }
  if (four) writing.list.Add("load_in_4bit", true);
  if (four && !storage.double_quantization()) {
    writing.list.Add("bnb_config_kwargs.bnb_4bit_use_double_quant", false);
  }
  if (storage.frozen_data_type() == v1::DATA_TYPE_INT8) writing.list.Add("load_in_8bit", true);
  writing.out.left_out.emplace_back("lora_alpha");
}

void WriteAxolotlAccumulation(const Setting& setting, Writing& writing) {
  const LaunchSizes& sizes = writing.sizes;
  const int64_t ranks = sizes.data * sizes.micro_batch;
  if (sizes.global_batch % ranks != 0) {
    writing.refusals.Add("layout.global_batch_size",
                         absl::StrCat("it takes a multiple of ", ranks));
  }
  writing.list.Add(setting.name, std::max<int64_t>(sizes.global_batch / ranks, 1));
}

void WriteAxolotlSteps(const Setting& setting, Writing& writing) {
  const int64_t sequences = SequenceCount(writing.training());
  const int64_t batch = std::max<int64_t>(writing.sizes.global_batch, 1);
  if (sequences == 0) return writing.out.left_out.push_back("num_epochs");
  writing.list.Add(setting.name, sequences / batch + (sequences % batch > 0 ? 1 : 0));
}

void WriteAxolotlOptimizer(const Setting& setting, Writing& writing) {
  const v1::OptimizerSpec& optimizer = writing.training().optimizer();
  if (optimizer.kind() == v1::OptimizerSpec::KIND_ADAM_8BIT &&
      optimizer.quantization_block_size() != 256) {
    writing.refusals.Add("training.optimizer.quantization_block_size", "it takes 256");
  }
  const std::string kind = FieldOf(optimizer, "kind").value_or("adamw");
  if (kind == "adamw" && optimizer.paged())
    return writing.list.Add(setting.name, "paged_adamw_32bit");
  if (kind == "adamw" && optimizer.implementation() == v1::OptimizerSpec::IMPLEMENTATION_FOREACH) {
    return writing.list.Add(setting.name, "adamw_torch");
  }
  for (const SettingWord& word : WordsOf(kWrittenOptimizers)) {
    if (word.value == kind) return writing.list.Add(setting.name, std::string(word.name));
  }
}

void WriteAxolotlTypes(const Setting& setting, Writing& writing) {
  const v1::DataType compute = WholePrecision(writing.run.request).compute_data_type();
  writing.list.Add(setting.name, compute == v1::DATA_TYPE_BF16 || IsNarrow(compute));
  if (compute == v1::DATA_TYPE_FP16) writing.list.Add("fp16", true);
  if (IsNarrow(compute)) writing.list.Add("fp8", true);
}

void WriteAxolotlRecompute(const Setting& setting, Writing& writing) {
  writing.list.Add(setting.name, writing.training().recompute() == v1::RECOMPUTE_POLICY_FULL);
}

void WriteAxolotlLoss(const Setting& setting, Writing& writing) {
  const v1::KernelChoices& kernels = writing.layout().kernels();
  Value plugins = Value::array();
  if (writing.sizes.expert > 1) plugins.push_back(kExpertPlugin);
  const bool chunks = kernels.loss() == v1::KernelChoices::LOSS_CHUNKED;
  const bool fused = kernels.loss() == v1::KernelChoices::LOSS_FUSED;
  if (chunks || fused) plugins.push_back(kLigerPlugin);
  if (!plugins.empty()) writing.list.Add("plugins", plugins);
  if (fused) writing.list.Add(setting.name, true);
  if (chunks) writing.list.Add("liger_fused_linear_cross_entropy", true);
  const int64_t tokens = LigerChunkTokens(writing.run.request);
  if (chunks && kernels.loss_chunk_tokens() != tokens) {
    writing.refusals.Add("layout.kernels.loss_chunk_tokens", absl::StrCat("Liger's take ", tokens));
  }
  if (kernels.loss() == v1::KernelChoices::LOSS_UNSPECIFIED && IsDeepspeed(writing.run.request)) {
    writing.refusals.Add("layout.kernels.loss", "give plain, fused or chunked");
  }
}

void WriteAxolotlEngine(const Setting& setting, Writing& writing) {
  if (IsDeepspeed(writing.run.request)) return WriteDeepspeedName(setting, writing);
  if (writing.sizes.zero != v1::ZERO_STAGE_NONE) WriteFsdp(writing);
}

void WriteAxolotlGroup(const Setting& setting, Writing& writing) {
  const bool sharded =
      !IsDeepspeed(writing.run.request) && writing.sizes.zero != v1::ZERO_STAGE_NONE;
  const std::optional<StateMesh> mesh = StateMeshOf(sharded, writing);
  if (!mesh.has_value() || mesh->copies == 1) return;
  writing.list.Add(setting.name, mesh->shards);
  writing.list.Add("dp_replicate_size", mesh->copies);
}

void WriteAxolotlTensor(const Setting& setting, Writing& writing) {
  if (writing.sizes.tensor == 1) return;
  writing.list.Add(setting.name, writing.sizes.tensor);
  RefuseSharedSequences(writing);
}

// The types of weights follow from the engine: what is written has to be read as it was planned.
absl::StatusOr<LauncherFile> WriteAxolotl(const LaunchedRun& run) {
  absl::StatusOr<Writing> written = WriteSettings("axolotl", AxolotlSettings(), run);
  if (!written.ok()) return written.status();
  written->out.text = written->list.Yaml();
  const absl::StatusOr<LaunchText> text = ParseLaunchText("", written->out.text);
  if (!text.ok()) return text.status();
  const absl::StatusOr<LauncherRead> read = ReadAxolotl(*text, true);
  if (!read.ok()) return read.status();
  v1::PlanRunRequest made = read->request;
  *made.mutable_cluster() = run.request.cluster();
  Complete(*read, &made);
  RefuseTypes(WholePrecision(run.request), WholePrecision(made), written->refusals);
  if (!written->refusals.status().ok()) return written->refusals.status();
  return std::move(written->out);
}

}  // namespace sextant::server
