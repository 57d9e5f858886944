// torchtitan's configurations in Python, read and written by the settings of those in TOML.
// Source: torchtitan/models/llama3/config_registry.py and torchtitan/config of 2026.
#include <set>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/launcher/launcher.h"
#include "server/launcher/python_file.h"
#include "server/launcher/python_settings.h"

namespace sextant::server {
namespace {

using Json = nlohmann::json;

const Json& At(const Json& object, const char* name) {
  static const auto* const none = new Json();
  return object.is_object() && object.contains(name) ? object[name] : *none;
}

std::string CalleeOf(const Json& value) {
  const Json& callee = At(value, kPythonCallee);
  return callee.is_string() ? callee.get<std::string>() : "";
}

// The folder of the model, "llama3": what the registry is imported from, or else the start of the
// function's name.
std::string FolderOfModel(absl::string_view text, absl::string_view function) {
  constexpr absl::string_view kFolder = "torchtitan.models.";
  for (size_t at = text.find(kFolder); at != absl::string_view::npos;
       at = text.find(kFolder, at + 1)) {
    const absl::string_view rest = text.substr(at + kFolder.size());
    const absl::string_view name = rest.substr(0, rest.find_first_of(" .\n"));
    const absl::string_view line = rest.substr(0, rest.find('\n'));
    if (absl::StrContains(line, "model_registry")) return std::string(name);
  }
  return std::string(function.substr(0, function.find('_')));
}

// A section to add to: an empty one in place of a value that is none.
Json& SectionIn(Json& root, const char* name) {
  Json& out = root[name];
  if (!out.is_object()) out = Json::object();
  return out;
}

// The sections of a configuration in TOML.
Json SectionsOf(const PythonSettings& settings, const std::string& text) {
  Json out = Json::object();
  for (const auto& [key, value] : settings.values.items()) {
    if (key == kPythonCallee || key == kPythonArguments) continue;
    out[key] = value;
    if (!value.is_object()) continue;
    out[key].erase(kPythonCallee);
    out[key].erase(kPythonArguments);
  }
  const Json& arguments = At(At(settings.values, "model_spec"), kPythonArguments);
  out.erase("model_spec");
  if (arguments.is_array() && !arguments.empty()) {
    Json& model = SectionIn(out, "model");
    model["name"] = FolderOfModel(text, settings.function);
    model["flavor"] = arguments.back();
  }
  const Json& converters = At(At(settings.values, "model_converters"), "converters");
  out.erase("model_converters");
  if (converters.is_array()) {
    Json names = Json::array();
    for (const Json& each : converters) {
      const std::string callee = CalleeOf(each);
      names.push_back(absl::StrContains(callee, "Float8") ? "quantize.linear.float8"
                      : absl::StrContains(callee, "MX")   ? "quantize.linear.mx"
                                                          : callee);
      if (At(each, "enable_fsdp_float8_all_gather") == true) {
        Json& linear = SectionIn(SectionIn(out, "quantize"), "linear");
        SectionIn(linear, "float8")["enable_fsdp_float8_all_gather"] = true;
      }
    }
    SectionIn(out, "model")["converters"] = std::move(names);
  }
  if (absl::StrContains(CalleeOf(At(settings.values, "optimizer")), "InBackward")) {
    SectionIn(out, "optimizer")["early_step_in_backward"] = true;
  }
  return out;
}

// The class of each section. Sources: torchtitan/config/configs.py and components/optimizer.py.
struct PythonSection {
  const char* section;
  const char* callee;
  const char* module;
};
constexpr PythonSection kPythonSections[] = {
    {"optimizer", "OptimizersContainer.Config", "torchtitan.components.optimizer"},
    {"training", "TrainingConfig", "torchtitan.config"},
    {"parallelism", "ParallelismConfig", "torchtitan.config"},
    {"activation_checkpoint", "ActivationCheckpointConfig", "torchtitan.config"},
    {"compile", "CompileConfig", "torchtitan.config"},
    {"debug", "DebugConfig", "torchtitan.config"},
};

// "OptimizersContainer" of "OptimizersContainer.Config": what is imported.
absl::string_view ImportOf(absl::string_view callee) { return callee.substr(0, callee.find('.')); }

// The converters of a list of their names.
SettingList::Value ConvertersOf(const SettingList::Value& names, std::set<std::string>* imports) {
  SettingList::Value out = SettingList::Value::array();
  for (const auto& name : names) {
    const bool blocks = absl::StrContains(name.get<std::string>(), ".mx");
    const char* const callee = blocks ? "MXFP8LinearConverter" : "Float8LinearConverter";
    imports->insert(absl::StrCat("from torchtitan.components.quantization.",
                                 blocks ? "mx" : "float8", " import ", callee));
    out.push_back(absl::StrCat(kPythonName, callee, ".Config()"));
  }
  return out;
}

}  // namespace

bool IsTorchtitanPython(const LaunchText& text) {
  return text.language == Language::kPython && absl::StrContains(text.text, "torchtitan") &&
         absl::StrContains(text.text, "TrainingConfig");
}

absl::StatusOr<LauncherRead> ReadTorchtitanPython(const LaunchText& text, bool with_model) {
  const absl::StatusOr<PythonSettings> settings = ChosenPythonSettings(text.name, text.text);
  if (!settings.ok()) return settings.status();
  return ReadTorchtitan(SettingFile::FromDocument(SectionsOf(*settings, text.text)), with_model);
}

absl::StatusOr<LauncherFile> WriteTorchtitanPython(const LaunchedRun& run) {
  absl::StatusOr<Writing> written = WriteSettings("torchtitan", TorchtitanSettings(), run);
  if (!written.ok()) return written.status();
  SettingList::Value sections = SettingList::Value::object();
  for (const auto& [name, value] : written->list.all()) {
    const size_t dot = name.find('.');
    sections[name.substr(0, dot)][name.substr(dot + 1)] = value;
  }
  std::set<std::string> imports = {"from torchtitan.trainer import Trainer"};
  SettingList::Value config = SettingList::Value::object();
  const auto& model = sections["model"];
  if (model.contains("flavor")) {
    imports.insert(absl::StrCat("from torchtitan.models.", model["name"].get<std::string>(),
                                " import model_registry"));
    config["model_spec"] =
        absl::StrCat(kPythonName, "model_registry(", PythonText(model["flavor"]), ")");
  }
  if (model.contains("converters")) {
    imports.insert("from torchtitan.protocols.model_converter import ModelConvertersContainer");
    const SettingList::Value all = {{"converters", ConvertersOf(model["converters"], &imports)}};
    config["model_converters"] =
        absl::StrCat(kPythonName, PythonCall("ModelConvertersContainer.Config", all, 8));
  }
  for (const PythonSection& each : kPythonSections) {
    if (!sections.contains(each.section)) continue;
    imports.insert(absl::StrCat("from ", each.module, " import ", ImportOf(each.callee)));
    config[each.section] =
        absl::StrCat(kPythonName, PythonCall(each.callee, sections[each.section], 8));
  }
  LauncherFile out = std::move(written->out);
  out.text = absl::StrCat(absl::StrJoin(imports, "\n"), "\n\n\ndef planned() -> Trainer.Config:\n",
                          "    return ", PythonCall("Trainer.Config", config, 4), "\n");
  return out;
}

}  // namespace sextant::server
