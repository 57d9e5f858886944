#include "client/flags/given_fields.h"

#include <google/protobuf/util/field_mask_util.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "client/flags/words.h"
#include "client/io/call_error.h"
#include "client/io/message_file.h"
#include "client/io/text_file.h"
#include "sextant/v1/calibration.pb.h"

namespace sextant::client {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

constexpr absl::string_view kPreset = "model.preset";
constexpr absl::string_view kConfig = "model.hugging_face_config";

// The way in which a field names devices, of which a request has one; empty where it names none.
absl::string_view WayToDevices(absl::string_view field) {
  if (!absl::ConsumePrefix(&field, "cluster.device.")) return "";
  return field.substr(0, field.find('.'));
}

// The message that holds the field at `path`, which it sets if it has to.
Message* HolderOf(absl::string_view path, Message* message) {
  for (size_t end = path.find('.'); end != absl::string_view::npos; end = path.find('.')) {
    const FieldDescriptor* const field =
        message->GetDescriptor()->FindFieldByName(std::string(path.substr(0, end)));
    message = message->GetReflection()->MutableMessage(message, field);
    path.remove_prefix(end + 1);
  }
  return message;
}

// Reads a flag's file into its field.
grpc::Status ReadFile(const GivenFields::File& file, std::istream& in, Message* request) {
  const FieldDescriptor& field = *FindField(*request->GetDescriptor(), file.flag->field);
  Message* const holder = HolderOf(file.flag->field, request);
  const auto& reflection = *holder->GetReflection();
  if (FormOf(field) == FieldForm::kTextFile) {
    const std::string where =
        file.name == "-" ? "standard input" : absl::StrCat(file.flag->word, "=", file.name);
    std::string text;
    grpc::Status read = ReadConfig(file.name, where, in, &text);
    if (read.ok()) reflection.SetString(holder, &field, text);
    return read;
  }
  if (field.message_type() == v1::Calibration::descriptor()) {
    auto* const out = static_cast<v1::Calibration*>(reflection.AddMessage(holder, &field));
    return ReadCalibrationFile(file.name, in, out);
  }
  return ReadMessage(file.name, in, reflection.MutableMessage(holder, &field));
}

// The error for a file or input; "" where it can be read.
std::string CheckInput(const std::string& name) { return name == "-" ? "" : CheckFile(name); }

// Checks that the file of a MODEL that is one can be read. A name is the server's to check.
std::string CheckModel(const std::string& model) {
  if (absl::StrContains(model, "/") && ConfigFileAt(model) == model &&
      WhyUnreadable(model) == std::strerror(EISDIR)) {
    return absl::StrCat("folder \"", model, "\" holds neither a config.json nor a params.json");
  }
  return IsConfigFile(model) ? CheckInput(ConfigFileAt(model)) : "";
}

// Adds MODEL: the name of a model, or the file of a config.json.
void AddModelFlag(const FieldFlag& preset, const FieldFlag& config, GivenFields* given,
                  Message* values, CLI::App* app) {
  const auto give = [&preset, &config, given, values](const std::string& model) -> absl::Status {
    if (given->imports != nullptr && IsLaunchFile(model)) {
      const std::string unreadable = CheckInput(LaunchFilePath(model));
      if (!unreadable.empty()) return absl::InvalidArgumentError(unreadable);
      given->AddLaunchFile({.name = model});
      return absl::OkStatus();
    }
    // The last of several counts, whether those before it were names or files.
    auto& paths = *given->fields.mutable_paths();
    paths.erase(std::remove(paths.begin(), paths.end(), preset.field), paths.end());
    given->files.erase(
        std::remove_if(given->files.begin(), given->files.end(),
                       [&config](const GivenFields::File& f) { return f.flag == &config; }),
        given->files.end());
    const std::string wrong = CheckModel(model);
    if (!wrong.empty()) return absl::InvalidArgumentError(wrong);
    if (IsConfigFile(model)) {
      given->files.push_back({&config, model});
      return absl::OkStatus();
    }
    given->fields.add_paths(preset.field);
    return SetField(preset.field, model, values);
  };
  AddText(preset.names, preset.help, give, app)->group(preset.group)->type_name("MODEL");
  if (given->imports == nullptr) return;
  const auto give_file = [give, given](const std::string& word) -> absl::Status {
    if (!IsLaunchFile(word) && given->GivesModel()) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", word, "\" is a second model: write ./", word, " for a file"));
    }
    return give(word);
  };
  AddTexts("FILE", "what starts the run, in files that add up; - is stdin", give_file, app)
      ->group(preset.group)
      ->type_name("FILE");
}

// Adds a flag that names a file of its field's content.
void AddFileFlag(const FieldFlag& flag, const FieldDescriptor& field, GivenFields* given,
                 CLI::App* app) {
  const auto give = [&flag, given](const std::string& name) {
    given->files.push_back({&flag, name});
  };
  CLI::Option* const option =
      app->add_option_function<std::string>(flag.names, give, flag.help)
          ->group(flag.group)
          ->check(CheckInput)
          ->trigger_on_parse(field.is_repeated());  // each time that it is given
  ShowValues(flag.names, ValueName(field), option);
}

}  // namespace

bool NamesModel(absl::string_view path) {
  return absl::StartsWith(path, "model.") && !absl::StartsWith(path, "model.changes.") &&
         path != "model.allow_unread_fields";
}

bool GivenFields::Sets(absl::string_view path) const {
  return absl::c_linear_search(fields.paths(), path);
}

std::vector<std::string> GivenFields::Paths() const {
  std::vector<std::string> paths(fields.paths().begin(), fields.paths().end());
  for (const File& file : files) paths.push_back(file.flag->field);
  return paths;
}

void GivenFields::AddLaunchFile(LaunchInput input) {
  launch_files.push_back(std::move(input));
  if (imports != nullptr) *imports = true;
}

std::string LaunchFilePath(const std::string& word) {
  const std::string python = ".py:";
  const size_t at = word.rfind(python);
  return at == std::string::npos ? word : word.substr(0, at + python.size() - 1);
}

bool IsLaunchFileName(absl::string_view word) {
  constexpr absl::string_view kEnds[] = {".json",   ".yaml",  ".yml", ".toml", ".sh",
                                         ".sbatch", ".slurm", ".py",  ".txt",  ".args",
                                         ".conf",   ".cfg",   ".env", ".ini"};
  const std::string path = LaunchFilePath(std::string(word));
  return absl::c_any_of(kEnds, [&](absl::string_view end) { return absl::EndsWith(path, end); });
}

bool IsLaunchFile(const std::string& word) {
  constexpr absl::string_view kStarts[] = {"./", "../", "/"};
  if (word == "-") return true;
  const std::string config = ConfigFileAt(word);
  if (config != word) return false;  // a folder with one
  const absl::string_view name = absl::string_view(word).substr(word.rfind('/') + 1);
  if (name == "config.json" || name == "params.json") return false;
  const bool starts = absl::c_any_of(
      kStarts, [&](absl::string_view start) { return absl::StartsWith(word, start); });
  return starts || IsLaunchFileName(word) || WhyUnreadable(word).empty();
}

bool GivenFields::GivesModel() const { return absl::c_any_of(Paths(), NamesModel); }

void AddRequestFile(const Message& type, GivenFields* given, CLI::App* app) {
  const std::string& name = type.GetDescriptor()->name();
  const std::string help =
      absl::StrCat(absl::StartsWith(name, "A") ? "an " : "a ", name, " in proto JSON; - is stdin");
  AddInput("--request", &given->request_file, help.c_str(), app);
}

void AddFlags(absl::Span<const FieldFlag> flags, GivenFields* given, Message* values,
              CLI::App* app) {
  for (const FieldFlag& flag : flags) {
    if (flag.names.empty()) continue;
    const FieldDescriptor& field = *FindField(*values->GetDescriptor(), flag.field);
    if (flag.field == kPreset) {
      const auto config =
          absl::c_find_if(flags, [](const FieldFlag& other) { return other.field == kConfig; });
      AddModelFlag(flag, *config, given, values, app);
    } else if (IsFile(FormOf(field))) {
      AddFileFlag(flag, field, given, app);
    } else {
      AddFieldFlag(flag, values, app, given == nullptr ? nullptr : &given->fields);
    }
  }
}

std::string ConflictOfDevices(const GivenFields& given) {
  std::set<absl::string_view> ways;
  const std::vector<std::string> paths = given.Paths();
  for (const std::string& path : paths) {
    if (const absl::string_view way = WayToDevices(path); !way.empty()) ways.insert(way);
  }
  return ways.size() < 2 ? ""
                         : "--accelerator, --device, --calibration and --fleet each name the "
                           "devices: give one of them";
}

grpc::Status ReadRequestFile(const GivenFields& given, std::istream& in, Message* request) {
  return given.request_file.empty() ? grpc::Status::OK
                                    : ReadMessage(given.request_file, in, request);
}

grpc::Status Override(const GivenFields& given, const Message& values, std::istream& in,
                      Message* request) {
  const auto clear = [request](absl::string_view message) {
    if (FindField(*request->GetDescriptor(), message) == nullptr) return;
    Message* const holder = HolderOf(message, request);
    const std::string name(message.substr(message.rfind('.') + 1));
    holder->GetReflection()->ClearField(holder, holder->GetDescriptor()->FindFieldByName(name));
  };
  const std::vector<std::string> paths = given.Paths();
  if (given.GivesModel()) clear("model");
  if (absl::c_any_of(paths, [](const auto& path) { return !WayToDevices(path).empty(); })) {
    clear("cluster.device");
  }
  google::protobuf::util::FieldMaskUtil::MergeOptions options;
  options.set_replace_message_fields(true);
  options.set_replace_repeated_fields(true);
  google::protobuf::util::FieldMaskUtil::MergeMessageTo(values, given.fields, options, request);
  for (const GivenFields::File& file : given.files) {
    grpc::Status read = ReadFile(file, in, request);
    if (!read.ok()) return read;
  }
  return grpc::Status::OK;
}

}  // namespace sextant::client
