// Their settings are Megatron-Core's under other names, so that each becomes an argument of
// Megatron-LM, which is read as such.
#include "server/launcher/nemo.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/launcher/nemo_arguments.h"
#include "server/launcher/python_settings.h"

namespace sextant::server {
namespace {

using Json = nlohmann::json;

const Json& MemberOf(const Json& object, const char* name) {
  static const auto* const none = new Json();
  return object.is_object() && object.contains(name) ? object[name] : *none;
}

// Adapters, under the names of Megatron-Core's matrices. All four are adapted by default.
// Source: Megatron-Bridge's peft/lora.py and NeMo's collections/llm/peft/lora.py.
void TakeAdapters(const Json& peft, LauncherRead& out) {
  if (!peft.is_object()) return;
  v1::ModelChanges& changes = *out.request.mutable_model()->mutable_changes();
  constexpr int64_t kUsualRank = 32;
  const Json rank = peft.value("dim", peft.value("adapter_dim", Json(kUsualRank)));
  changes.mutable_adapters()->set_rank(rank.is_number_integer() ? rank.get<int64_t>() : kUsualRank);
  changes.set_base_frozen(true);
  constexpr std::pair<const char*, const char*> kMatrices[] = {
      {"linear_qkv", "attention.query+key+value"},
      {"linear_proj", "attention.output"},
      {"linear_fc1", "feed_forward.gate+up"},
      {"linear_fc2", "feed_forward.down"},
  };
  const Json targets = peft.value("target_modules", Json::array());
  if (!targets.is_array() || targets.empty() || targets.size() == std::size(kMatrices)) {
    return changes.mutable_adapters()->add_targets("all-fused");
  }
  for (const auto& [name, matrices] : kMatrices) {
    if (!absl::c_linear_search(targets, Json(name))) continue;
    changes.mutable_adapters()->add_targets(matrices);
  }
  for (const Json& target : targets) {
    const bool known =
        absl::c_any_of(kMatrices, [&](const auto& each) { return target == each.first; });
    if (!known) out.ignored.push_back(absl::StrCat("target_modules ", target.dump()));
  }
}

// The repository that a model is taken from, "meta-llama/Llama-3.1-8B"; "" where none is named.
std::string RepositoryOf(const Json& model) {
  if (!model.is_object()) return "";
  for (const char* key : {"hf_model_id", "hf_path", "pretrained_model_name_or_path"}) {
    if (model.contains(key) && model[key].is_string()) return model[key].get<std::string>();
  }
  if (!model.contains(kPythonArguments)) return "";
  for (const Json& each : model[kPythonArguments]) {
    if (each.is_string() && absl::StrContains(each.get<std::string>(), '/')) {
      return each.get<std::string>();
    }
  }
  return "";
}

// Models that NeMo has a class or a recipe of, and their presets, by a start of its name.
constexpr std::pair<const char*, const char*> kNemoModels[] = {
    {"Llama2Config7B", "llama-2-7b"},
    {"Llama2Config13B", "llama-2-13b"},
    {"Llama2Config70B", "llama-2-70b"},
    {"Llama3Config8B", "llama-3-8b"},
    {"Llama3Config70B", "llama-3-70b"},
    {"Llama31Config8B", "llama-3.1-8b"},
    {"Llama31Config70B", "llama-3.1-70b"},
    {"Llama31Config405B", "llama-3.1-405b"},
    {"Llama3ModelProvider8B", "llama-3-8b"},
    {"Llama3ModelProvider70B", "llama-3-70b"},
    {"Llama31ModelProvider8B", "llama-3.1-8b"},
    {"Llama31ModelProvider70B", "llama-3.1-70b"},
    {"Llama31ModelProvider405B", "llama-3.1-405b"},
    {"MixtralConfig8x7B", "mixtral-8x7b"},
    {"MixtralConfig8x22B", "mixtral-8x22b"},
    {"Qwen3Config8B", "qwen3-8b"},
    {"Qwen3Config30B_A3B", "qwen3-30b-a3b"},
    {"Qwen3Config235B_A22B", "qwen3-235b-a22b"},
    {"DeepSeekV3Config", "deepseek-v3"},
};

// Recipes to pretrain with, "llm.llama3_8b.pretrain_recipe" and "llama3_8b_pretrain_config", by
// their models. Sources: NVIDIA/NeMo nemo/collections/llm/recipes; Megatron-Bridge recipes.
constexpr std::pair<const char*, const char*> kRecipeModels[] = {
    {"llama2_7b", "llama-2-7b"},
    {"llama2_13b", "llama-2-13b"},
    {"llama2_70b", "llama-2-70b"},
    {"llama3_8b", "llama-3-8b"},
    {"llama3_70b", "llama-3-70b"},
    {"llama31_8b", "llama-3.1-8b"},
    {"llama31_70b", "llama-3.1-70b"},
    {"llama31_405b", "llama-3.1-405b"},
    {"mixtral_8x7b", "mixtral-8x7b"},
    {"mixtral_8x22b", "mixtral-8x22b"},
    {"qwen3_8b", "qwen3-8b"},
    {"qwen3_30b_a3b", "qwen3-30b-a3b"},
    {"qwen3_235b_a22b", "qwen3-235b-a22b"},
    {"deepseek_v3", "deepseek-v3"},
    {"gpt3_175b", "gpt3-175b"},
    {"moonlight_16b", ""},  // no preset of its shape
    {"olmoe_7b", "olmoe-1b-7b"},
};

// Types that a configuration leaves to the recipe that it starts from are the plan's to take.
void LeaveTypes(const Json& document, LauncherRead& out) {
  const Json& mixed = MemberOf(document, "mixed_precision");
  const Json& optimizer = MemberOf(document, "optimizer");
  const bool replaced = mixed.is_string() || !MemberOf(mixed, kPythonCallee).is_null();
  v1::PrecisionPolicy& precision = *out.request.mutable_training()->mutable_precision();
  if (!replaced && MemberOf(mixed, "grad_reduce_in_fp32").is_null() &&
      MemberOf(optimizer, "main_grads_dtype").is_null()) {
    precision.clear_gradient_data_type();
  }
  if (MemberOf(optimizer, "exp_avg_dtype").is_null()) precision.clear_optimizer_data_type();
}

// The recipe that a configuration starts from: what it does not change is the recipe's, and open.
// True where there is one.
bool TakeRecipe(const Json& document, bool with_model, LauncherRead& out) {
  const Json& callee = MemberOf(document, kPythonCallee);
  if (!callee.is_string()) return false;
  bool found = false;
  const std::string name = absl::StrCat(".", callee.get<std::string>());
  for (const auto& [model, preset] : kRecipeModels) {
    const bool of_model = absl::StrContains(name, absl::StrCat(".", model, ".pretrain")) ||
                          absl::StrContains(name, absl::StrCat(".", model, "_pretrain"));
    if (!of_model) continue;
    out.open.push_back(absl::StrCat("what ", name.substr(1), "() sets"));
    found = true;
    if (with_model && *preset != '\0' && out.request.model().preset().empty() &&
        !out.request.model().has_architecture()) {
      out.request.mutable_model()->set_preset(preset);
    }
  }
  return found;
}

std::string PresetOfClass(const Json& model) {
  std::vector<std::string> names;  // of what is called, or given to run.Config() to call
  for (const char* key : {kPythonCallee, "_target_", kPythonArguments}) {
    const Json& value = MemberOf(model, key);
    for (const Json& each : value.is_array() ? value : Json::array({value})) {
      if (each.is_string()) names.push_back(absl::StrCat(each.get<std::string>(), "."));
    }
  }
  for (const std::string& name : names) {
    for (const auto& [known, preset] : kNemoModels) {
      if (absl::StrContains(name, absl::StrCat(known, "."))) return preset;
    }
  }
  return "";
}

// Takes the model that the document names, if any.
void TakeModel(const Json& model, bool with_model, LauncherRead& out) {
  if (!with_model || out.request.model().has_architecture()) return;
  std::string name = PresetOfClass(model);
  if (name.empty()) name = RepositoryOf(model);
  if (!name.empty()) out.request.mutable_model()->set_preset(name);
}

// The document of a text: the only function's of a Python configuration, or the one that the
// file's name ends in, "recipes.py:llama3_8b".
absl::StatusOr<Json> DocumentOf(const LaunchText& text) {
  if (text.language != Language::kPython) return text.Document();
  absl::StatusOr<PythonSettings> settings = ChosenPythonSettings(text.name, text.text);
  if (!settings.ok()) return settings.status();
  return std::move(settings->values);
}

// The devices, of a trainer's nodes.
absl::StatusOr<LauncherRead> WithNodes(const Json& trainer, absl::StatusOr<LauncherRead> read) {
  if (!read.ok()) return read;
  const Json& devices = MemberOf(trainer, "devices");
  const Json& nodes = MemberOf(trainer, "num_nodes");
  if (devices.is_number_integer() && devices > 0) {
    const int64_t count = nodes.is_number_integer() && nodes > 0 ? nodes.get<int64_t>() : 1;
    if (const auto all = Product(devices.get<int64_t>(), count)) {
      read->request.mutable_cluster()->set_device_count(*all);
    }
  }
  return read;
}

}  // namespace

bool IsMegatronBridge(const LaunchText& text) {
  if (text.language == Language::kPython) {
    return absl::StrContains(text.text, "megatron.bridge") ||
           absl::StrContains(text.text, "ConfigContainer");
  }
  return text.language == Language::kYaml && text.HasAny({"train", "ddp", "mixed_precision"}) &&
         text.HasAny({"train.micro_batch_size", "train.global_batch_size", "train.train_iters",
                      "ddp.use_distributed_optimizer", "model._target_",
                      "model.tensor_model_parallel_size"});
}

absl::StatusOr<LauncherRead> ReadMegatronBridge(const LaunchText& text, bool with_model) {
  const absl::StatusOr<Json> document = DocumentOf(text);
  if (!document.ok()) return document.status();
  NemoArguments arguments;
  TakeSection(*document, "",
              {"model", "train", "ddp", "optimizer", "dataset", "dist", "comm_overlap",
               "mixed_precision", "peft"},
              arguments);
  // The recipe of mixed precision sets the type that gradients are reduced in.
  const std::string overridden = "ddp.grad_reduce_in_fp32";
  for (const char* section : {"dataset", "train", "model", "ddp", "dist", "comm_overlap"}) {
    TakeSection(*document, section, {"model.hf_model_id", overridden}, arguments);
  }
  if (document->contains("ddp") && !MemberOf((*document)["ddp"], "grad_reduce_in_fp32").is_null()) {
    arguments.passed.push_back(overridden);
  }
  TakeSection(*document, "optimizer", {}, arguments);
  const Json& precision = MemberOf(*document, "mixed_precision");
  TakePrecision("mixed_precision", precision, arguments);
  // Recipes start from _pretrain_common(), which sets this.
  const Json& ddp = MemberOf(*document, "ddp");
  if (MemberOf(ddp, "use_distributed_optimizer") != false) {
    arguments.PutDefault("--use-distributed-optimizer");
  }
  absl::StatusOr<LauncherRead> read = ReadNemoArguments(std::move(arguments), with_model);
  if (!read.ok()) return read;
  TakeModel(MemberOf(*document, "model"), with_model, *read);
  if (TakeRecipe(*document, with_model, *read)) LeaveTypes(*document, *read);
  TakeAdapters(MemberOf(*document, "peft"), *read);
  return read;
}

bool IsNemo2(const LaunchText& text) {
  if (text.language == Language::kPython) {
    return absl::StrContains(text.text, "nemo.collections") ||
           absl::StrContains(text.text, "nemo_run");
  }
  return text.language == Language::kYaml && text.HasAll({"trainer.strategy", "data"});
}

absl::StatusOr<LauncherRead> ReadNemo2(const LaunchText& text, bool with_model) {
  const absl::StatusOr<Json> document = DocumentOf(text);
  if (!document.ok()) return document.status();
  Json trainer = MemberOf(*document, "trainer");
  if (!trainer.is_object()) trainer = Json::object();
  // Arguments of a recipe that become its trainer's.
  for (const auto& [from, to] :
       {std::pair("num_nodes", "num_nodes"), std::pair("num_gpus_per_node", "devices")}) {
    const Json& value = MemberOf(*document, from);
    if (value.is_number_integer() && MemberOf(trainer, to).is_null()) trainer[to] = value;
  }
  NemoArguments arguments;
  TakeSection(
      *document, "",
      {"model", "trainer", "data", "optim", "peft", "dir", "num_nodes", "num_gpus_per_node"},
      arguments);
  TakeSection(*document, "data", {}, arguments);
  TakeSection(*document, "model.config", {}, arguments);
  TakeSection(*document, "trainer.strategy", {"trainer.strategy.ddp"}, arguments);
  TakeSection(*document, "trainer.strategy.ddp", {}, arguments);
  TakeSection(*document, "optim.config", {}, arguments);
  TakeSection(*document, "trainer",
              {"trainer.strategy", "trainer.devices", "trainer.num_nodes", "trainer.plugins"},
              arguments);
  TakePrecision("trainer.plugins", MemberOf(trainer, "plugins"), arguments);
  absl::StatusOr<LauncherRead> read = ReadNemoArguments(std::move(arguments), with_model);
  if (!read.ok()) return read;
  TakeModel(MemberOf(MemberOf(*document, "model"), "config"), with_model, *read);
  (void)TakeRecipe(*document, with_model, *read);
  TakeAdapters(MemberOf(*document, "peft"), *read);
  return WithNodes(trainer, std::move(read));
}

bool IsNemo1(const LaunchText& text) {
  return text.language == Language::kYaml && text.Has("trainer") &&
         text.HasAny({"model.micro_batch_size", "model.encoder_seq_length",
                      "model.tensor_model_parallel_size"});
}

absl::StatusOr<LauncherRead> ReadNemo1(const LaunchText& text, bool with_model) {
  const Json& document = text.Document();
  const Json& trainer = MemberOf(document, "trainer");
  const Json& model = MemberOf(document, "model");
  NemoArguments arguments;
  TakeSection(document, "", {"model", "trainer", "restore_from_path"}, arguments);
  TakeSection(document, "trainer", {"trainer.devices", "trainer.num_nodes", "trainer.precision"},
              arguments);
  TakeSection(document, "model",
              {"model.optim", "model.peft", "model.activation", "model.restore_from_path",
               "model.tokenizer", "model.data"},
              arguments);
  TakeSection(document, "model.optim", {"model.optim.name"}, arguments);
  const Json& precision = MemberOf(trainer, "precision");
  if (precision != 32 && precision != "32") {
    TakePrecision("trainer.precision", precision, arguments);
  }
  const Json& activation = MemberOf(model, "activation");
  if (activation.is_string() && absl::StrContains(activation.get<std::string>(), "swiglu")) {
    arguments.Put("--swiglu", "model.activation");
  }
  const Json& optimizer = MemberOf(MemberOf(model, "optim"), "name");
  if (optimizer.is_string() && absl::StrContains(optimizer.get<std::string>(), "distributed")) {
    arguments.Put("--use-distributed-optimizer", "model.optim.name");
  }
  absl::StatusOr<LauncherRead> read = ReadNemoArguments(std::move(arguments), with_model);
  if (!read.ok()) return read;
  for (const Json* owner : {&document, &model}) {
    const Json& path = MemberOf(*owner, "restore_from_path");
    if (path.is_string()) read->wants.push_back(path.get<std::string>());
  }
  const Json& peft = MemberOf(model, "peft");
  if (MemberOf(peft, "peft_scheme") == "lora") {
    TakeAdapters(MemberOf(peft, "lora_tuning"), *read);
  } else if (MemberOf(peft, "peft_scheme").is_string()) {
    read->ignored.emplace_back("model.peft.peft_scheme");
  }
  return WithNodes(trainer, std::move(read));
}

}  // namespace sextant::server
