// Sources: NVIDIA-NeMo/Megatron-Bridge src/megatron/bridge/training/config.py and
// training/mixed_precision.py of 0.3; NVIDIA/NeMo 2.x nemo/collections/llm/recipes and 1.x
// examples/nlp/language_modeling/conf/megatron_gpt_config.yaml. What they share are the names of
// Megatron-Core's TransformerConfig, which Megatron-LM's arguments are made of.
#include "server/launcher/nemo_arguments.h"

#include <iterator>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "server/launcher/launcher.h"
#include "server/launcher/megatron.h"
#include "server/launcher/python_settings.h"
#include "server/launcher/unknown_setting.h"

namespace sextant::server {
namespace {

using Json = nlohmann::json;

constexpr char kOpenValue[] = "auto";

// A setting whose argument has another name, or says the opposite. Of several settings of an
// argument the first is written.
struct NemoName {
  const char* key;
  const char* argument;
  const char* unless = "";  // the argument where the setting is false: "" for none
};
constexpr NemoName kNemoNames[] = {
    {"num_moe_experts", "--num-experts"},
    {"virtual_pipeline_model_parallel_size", "--num-virtual-stages-per-pipeline-rank"},
    {"seq_length", "--seq-length"},
    {"encoder_seq_length", "--seq-length"},
    {"sequence_length", "--seq-length"},
    {"train_iters", "--train-iters"},
    {"max_steps", "--train-iters"},
    {"recompute_granularity", "--recompute-granularity"},
    {"recompute_method", "--recompute-method"},
    {"recompute_num_layers", "--recompute-num-layers"},
    {"activations_checkpoint_granularity", "--recompute-granularity"},
    {"activations_checkpoint_method", "--recompute-method"},
    {"activations_checkpoint_num_layers", "--recompute-num-layers"},
    {"num_layers_in_first_pipeline_stage", "--decoder-first-pipeline-num-layers"},
    {"num_layers_in_last_pipeline_stage", "--decoder-last-pipeline-num-layers"},
    {"fp8", "--fp8-format"},
    {"fp4", "--fp4-format"},
    {"tp_comm_overlap", "--tp-comm-overlap"},
    {"ub_tp_comm_overlap", "--tp-comm-overlap"},
    {"gated_linear_unit", "--swiglu"},
    {"add_bias_linear", "", "--disable-bias-linear"},
    {"bias", "", "--disable-bias-linear"},
    {"share_embeddings_and_output_weights", "", "--untie-embeddings-and-output-weights"},
    {"gradient_accumulation_fusion", "", "--no-gradient-accumulation-fusion"},
    {"overlap_p2p_comm", "", "--no-overlap-p2p-communication"},
    {"grad_reduce_in_fp32", "--accumulate-allreduce-grads-in-fp32", "--grad-reduce-in-bf16"},
};

// A value as an argument has it: "torch.float32" is "fp32", "AttnBackend.flash" its last word.
std::string NemoText(const Json& value) {
  if (!value.is_string()) return value.dump();
  std::string text = value.get<std::string>();
  const size_t dot = text.rfind('.');
  if (dot != std::string::npos) text = text.substr(dot + 1);
  const std::string lower = absl::AsciiStrToLower(text);
  if (lower == "float32") return "fp32";
  if (lower == "bfloat16") return "bf16";
  if (lower == "float16" || lower == "half") return "fp16";
  return text;
}

// "rmsnorm" and "layernorm1p" of NeMo 1 as Megatron-LM has them.
std::string NormText(const Json& value) {
  const std::string lower = absl::AsciiStrToLower(NemoText(value));
  return lower == "rmsnorm" ? "RMSNorm" : "LayerNorm";
}

const std::map<std::string, SettingValues>& KnownArguments() {
  static const auto* const known = [] {
    auto* out = new std::map<std::string, SettingValues>();
    for (const auto& [name, values] : MegatronNames()) (*out)[name] = values;
    return out;
  }();
  return *known;
}

// "model.moe_router_dtype" as "--moe-router-dtype".
std::string ArgumentOfKey(const std::string& setting) {
  const std::string key = setting.substr(setting.rfind('.') + 1);
  return absl::StrCat("--", absl::StrReplaceAll(key, {{"_", "-"}}));
}

const Setting* OpenRowOf(const std::string& argument) {
  for (const Setting& each : MegatronSettings()) {
    if ((each.open || each.lowers) && IsNameOfRow(argument, each)) return &each;
  }
  return nullptr;
}

// Refuses keys that are nearly those of Megatron-Core. Others are fields of what a recipe calls, or
// of NeMo, which takes any key.
absl::Status RefuseUnknownKeys(const std::vector<std::string>& settings) {
  std::vector<std::string> faults;
  for (const std::string& setting : settings) {
    const absl::Status known =
        RefuseUnknown({ArgumentOfKey(setting)}, AllMegatronSettings(), Unknown::kRefusedNearName);
    if (known.ok()) continue;
    const absl::string_view why = known.message();
    faults.push_back(absl::StrCat(
        setting, absl::StrReplaceAll(why.substr(why.find(':')), {{"--", ""}, {"-", "_"}})));
  }
  return faults.empty() ? absl::OkStatus()
                        : absl::InvalidArgumentError(absl::StrJoin(faults, "; "));
}

bool IsOpenValue(const Json& value) {
  if (!value.is_string()) return false;
  const auto& text = value.get_ref<const std::string&>();
  return text == kOpenValue || text == "???" || absl::StartsWith(text, "${");
}

bool IsPassed(const std::string& key) {
  const std::string argument = absl::StrCat("--", absl::StrReplaceAll(key, {{"_", "-"}}));
  return absl::c_any_of(MegatronSettings(), [&](const Setting& each) {
    return each.passes && IsNameOfRow(argument, each);
  });
}

// Takes a setting for an argument. False where it is none.
bool TakeArgument(const std::string& key, const std::string& setting, const Json& value,
                  NemoArguments& out) {
  const auto row =
      absl::c_find_if(kNemoNames, [&](const NemoName& each) { return key == each.key; });
  std::string argument = absl::StrCat("--", absl::StrReplaceAll(key, {{"_", "-"}}));
  if (row != std::end(kNemoNames)) {
    argument = value == false ? row->unless : row->argument;
    if (argument.empty()) return true;
    if (value == false) {
      out.Put(argument, setting);
      return true;
    }
  }
  const auto known = KnownArguments().find(argument);
  if (known == KnownArguments().end()) return false;
  switch (known->second) {
    case SettingValues::kNone:
      if (value != false) out.Put(argument, setting);
      return true;
    case SettingValues::kOne:
      if (value == false) return true;
      out.Put(argument, setting, argument == "--normalization" ? NormText(value) : NemoText(value));
      return true;
    case SettingValues::kSome:
      out.Put(argument, setting, Json::array());
      for (const Json& each : value.is_array() ? value : Json::array({value})) {
        out.values[argument].push_back(NemoText(each));
      }
      return true;
  }
  return false;
}

// Recipes by a word of their names. Source: Megatron-Bridge's training/mixed_precision.py, and
// NeMo's recipes/precision/mixed_precision.py.
struct NemoRecipe {
  const char* word;
  const char* format;
  const char* recipe;
};
constexpr NemoRecipe kNemoRecipes[] = {
    {"mxfp8", "e4m3", "mxfp8"},
    {"current_scaling", "hybrid", "tensorwise"},
    {"subchannel", "hybrid", "blockwise"},
    {"fp8", "hybrid", "delayed"},
};

// The settings of a recipe that a configuration changes.
void TakeChanges(const std::string& setting, const Json& recipe, NemoArguments& out) {
  for (const auto& [key, value] : recipe.items()) {
    const std::string name = absl::StrCat(setting, ".", key);
    if (value.is_null() || IsNemoPassed(key)) continue;
    if (!TakeArgument(key, name, value, out) && !IsPassed(key)) out.ignored.push_back(name);
  }
}

}  // namespace

void TakeSection(const Json& root, const std::string& section,
                 const std::set<std::string>& elsewhere, NemoArguments& out) {
  const Json* node = &root;
  std::string rest = section;
  while (!rest.empty()) {
    const size_t dot = rest.find('.');
    if (!node->is_object() || !node->contains(rest.substr(0, dot))) return;
    node = &(*node)[rest.substr(0, dot)];
    rest = dot == std::string::npos ? "" : rest.substr(dot + 1);
  }
  if (!node->is_object()) return;
  for (const auto& [key, value] : node->items()) {
    const std::string setting = section.empty() ? key : absl::StrCat(section, ".", key);
    if (value.is_null() || elsewhere.count(setting) > 0) continue;
    if (IsOpenValue(value)) {
      out.open.push_back(setting);
    } else if (IsNemoPassed(key)) {
      out.passed.push_back(setting);
    } else if (!TakeArgument(key, setting, value, out)) {
      (IsPassed(key) ? out.passed : out.ignored).push_back(setting);
    }
  }
}

void TakePrecision(const std::string& setting, const Json& recipe, NemoArguments& out) {
  std::string name;
  bool half = false;
  if (recipe.is_object()) {
    const Json callee = recipe.value(kPythonCallee, recipe.value("_target_", Json("")));
    name = callee.is_string() ? callee.get<std::string>() : "";
    half = recipe.value("fp16", Json(false)) == true;
  } else if (!recipe.is_null()) {
    name = NemoText(recipe);
  }
  half = half || absl::StrContains(name, "fp16") || name == "16" || name == "16-mixed";
  out.Put(half ? "--fp16" : "--bf16", setting);
  const auto row = absl::c_find_if(
      kNemoRecipes, [&](const NemoRecipe& each) { return absl::StrContains(name, each.word); });
  if (absl::StrContains(name, "nvfp4")) {
    out.Put("--fp4-format", setting, "e2m1");
  } else if (row != std::end(kNemoRecipes)) {
    out.Put("--fp8-format", setting, row->format);
    out.Put("--fp8-recipe", setting, row->recipe);
  }
  if (recipe.is_object()) TakeChanges(setting, recipe, out);
}

NemoSetting NemoSettingOf(const std::string& argument) {
  for (const NemoName& each : kNemoNames) {
    if (argument == each.argument) return {.key = each.key};
    if (argument == each.unless) return {.key = each.key, .is_on = false};
  }
  return {.key = absl::StrReplaceAll(argument.substr(2), {{"-", "_"}})};
}

absl::StatusOr<LauncherRead> ReadNemoArguments(NemoArguments arguments, bool with_model) {
  const absl::Status known = RefuseUnknownKeys(arguments.ignored);
  if (!known.ok()) return known;
  if (arguments.values.contains("--num-query-groups")) {
    arguments.values["--group-query-attention"] = "";
  }
  SettingFile file =
      SettingFile::FromNamedArguments(std::move(arguments.values), std::move(arguments.names));
  absl::StatusOr<LauncherRead> read = ReadMegatron(std::move(file), with_model);
  if (!read.ok()) return read;
  for (const std::string& setting : arguments.ignored) {
    read->ignored.push_back(setting);
    const Setting* const row = OpenRowOf(ArgumentOfKey(setting));
    if (row != nullptr) AddEffect(setting, row->effect, row->field, *read);
  }
  read->passed.insert(read->passed.end(), arguments.passed.begin(), arguments.passed.end());
  read->open.insert(read->open.end(), arguments.open.begin(), arguments.open.end());
  read->request.mutable_layout()->mutable_framework()->set_kind(
      v1::FrameworkMemory::KIND_MEGATRON_BRIDGE);
  // A file says its types: what it leaves out is Megatron-Core's default, and no recipe's.
  v1::PrecisionPolicy& precision = *read->request.mutable_training()->mutable_precision();
  const bool adam = read->request.training().optimizer().kind() == v1::OptimizerSpec::KIND_ADAMW;
  if (adam && precision.optimizer_data_type() == v1::DATA_TYPE_UNSPECIFIED) {
    precision.set_optimizer_data_type(v1::DATA_TYPE_FP32);
  }
  return read;
}

}  // namespace sextant::server
