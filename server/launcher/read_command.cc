// Runs that a command line starts.
#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "server/launcher/argument_words.h"
#include "server/launcher/command_line.h"
#include "server/launcher/hugging_face.h"
#include "server/launcher/launcher.h"

namespace sextant::server {
namespace {

using CommandJson = nlohmann::json;

// Where accelerate's options are in its configuration.
struct OptionPlace {
  const char* start;
  const char* place;
};
constexpr OptionPlace kOptionPlaces[] = {
    {"fsdp_", "fsdp_config"},
    {"deepspeed_", "deepspeed_config"},
    {"zero_stage", "deepspeed_config"},
    {"zero3_", "deepspeed_config"},
    {"offload_", "deepspeed_config"},
    {"gradient_", "deepspeed_config"},
    {"megatron_lm_", "megatron_lm_config"},
    {"parallelism_config_", "parallelism_config"},
    {"fp8_", "fp8_config"},
    {"dynamo_", "dynamo_config"},
};

// The options of a command as the configuration that they stand for.
CommandJson AccelerateOptions(const CommandJson& options) {
  constexpr std::pair<const char*, const char*> kLauncherTypes[] = {
      {"multi_gpu", "MULTI_GPU"},
      {"use_fsdp", "FSDP"},
      {"use_deepspeed", "DEEPSPEED"},
      {"use_megatron_lm", "MEGATRON_LM"}};
  CommandJson out = CommandJson::object();
  for (const auto& [name, type] : kLauncherTypes) {
    if (options.contains(name)) out["distributed_type"] = type;
  }
  for (const auto& [name, value] : options.items()) {
    const std::string& option = name;
    if (absl::c_any_of(kLauncherTypes, [&](const auto& each) { return each.first == option; }))
      continue;
    const auto place = absl::c_find_if(kOptionPlaces, [&](const OptionPlace& each) {
      return absl::StartsWith(option, each.start);
    });
    if (place != std::end(kOptionPlaces)) {
      out[place->place][option] = value;
    } else {
      out[option] = value;
    }
  }
  return out;
}

// The part that the launcher says: devices, and accelerate's settings.
absl::StatusOr<LauncherRead> ReadLauncher(LaunchCommand command) {
  LauncherRead out;
  for (const char* const name : {"config_file", "accelerate_config"}) {
    if (!command.options.contains(name)) continue;
    if (command.options[name].is_string()) out.wants.push_back(command.options[name]);
    command.options.erase(name);
  }
  for (const char* const name : {"m", "module"}) command.options.erase(name);  // of the script
  const bool accelerate = command.launcher == "accelerate" || command.launcher == "trl";
  if (accelerate) {
    absl::StatusOr<LauncherRead> read = ReadAccelerate(AccelerateOptions(command.options));
    if (!read.ok()) return read.status();
    Join(*read, "", &out);
  } else {
    for (const auto& [name, value] : command.options.items()) out.passed.push_back("--" + name);
  }
  const int64_t devices = DevicesOf(command);
  if (devices > 0) out.request.mutable_cluster()->set_device_count(devices);
  if (devices == 0 && (command.launcher == "torchrun" || command.launcher == "deepspeed")) {
    out.open.emplace_back(command.launcher == "torchrun" ? "nproc_per_node" : "num_gpus");
  }
  return out;
}

// Moves trl's options of accelerate out of its arguments.
void SplitTrl(CommandJson* arguments, LaunchCommand* command) {
  constexpr const char* kNames[] = {"accelerate_config", "config_file", "num_processes",
                                    "num_machines", "mixed_precision"};
  if (command->launcher != "trl") return;
  for (const char* const name : kNames) {
    if (!arguments->contains(name)) continue;
    command->options[name] = (*arguments)[name];
    arguments->erase(name);
  }
}

// As one text again, for a reader that splits it.
std::string QuotedArguments(const std::vector<std::string>& arguments) {
  return absl::StrJoin(arguments, " ", [](std::string* out, const std::string& word) {
    const bool plain = word.find_first_of(" \t\n\"'") == std::string::npos;
    const char* const quote = plain ? "" : absl::StrContains(word, '"') ? "'" : "\"";
    absl::StrAppend(out, quote, word, quote);
  });
}

// Files that scripts of TRL and transformers take in place of arguments, or before them.
void TakeFiles(const std::vector<std::string>& positional, CommandJson* arguments,
               LauncherRead* out) {
  for (const std::string& word : positional) {
    const bool file = absl::EndsWith(word, ".yaml") || absl::EndsWith(word, ".yml") ||
                      absl::EndsWith(word, ".json");
    (file ? out->wants : out->ignored).push_back(word);
  }
  if (!arguments->contains("config") || !(*arguments)["config"].is_string()) return;
  out->wants.push_back((*arguments)["config"]);
  arguments->erase("config");
}

// Programs that tune models.
bool IsTuner(const LaunchCommand& command, const CommandJson& arguments) {
  return command.launcher == "llamafactory-cli" || command.launcher == "swift" ||
         command.launcher == "megatron" || IsLlamaFactory(arguments) || IsSwift(arguments);
}
absl::StatusOr<LauncherRead> ReadTuner(const LaunchCommand& command, CommandJson arguments,
                                       bool with_model) {
  if (!arguments.contains("model") && !arguments.contains("model_name_or_path")) {
    // A file has the rest, whose defaults these must not replace.
    LauncherRead out;
    for (const auto& [name, value] : arguments.items()) out.ignored.push_back(name);
    return out;
  }
  if (command.launcher == "megatron") return ReadSwiftMegatron(std::move(arguments), with_model);
  const bool swift = command.launcher == "swift" || IsSwift(arguments);
  return swift ? ReadSwift(std::move(arguments), with_model)
               : ReadLlamaFactory(std::move(arguments), with_model);
}

// Variables before a command, by their names.
std::map<std::string, std::string> VariablesOf(absl::Span<const std::string> words) {
  std::map<std::string, std::string> out;
  for (const std::string& word : words) {
    const size_t equals = word.find('=');
    if (equals == std::string::npos ||
        !absl::ascii_isupper(static_cast<unsigned char>(word.front())))
      break;
    out[word.substr(0, equals)] = word.substr(equals + 1);
  }
  return out;
}

// Those that say how many devices torchrun starts, as ms-swift names them.
void TakeVariables(const std::map<std::string, std::string>& variables, CommandJson* arguments) {
  for (const char* const name : {"NPROC_PER_NODE", "NNODES"}) {
    const auto found = variables.find(name);
    if (found != variables.end()) (*arguments)["ENV"][name] = found->second;
  }
}

// The devices of a command that says no number of processes, by the GPUs that it sees: all of them
// under llamafactory-cli (launch() of its launcher.py starts torchrun on them), the one where it is
// one alone; 0: not known. Several may also share a model in one process.
int64_t VisibleDevices(const std::map<std::string, std::string>& variables,
                       const std::string& launcher) {
  const auto found = variables.find("CUDA_VISIBLE_DEVICES");
  if (found == variables.end() || found->second.empty()) return 0;
  const std::string& list = found->second;
  if (list.find_first_not_of("0123456789,") != std::string::npos) return 0;
  const int64_t count = absl::c_count(list, ',') + 1;
  return count == 1 || launcher == "llamafactory-cli" ? count : 0;
}

// "learning_rate=1e-5" after a file, which LLaMA-Factory takes in its place.
void TakeOverrides(std::vector<std::string>* positional, CommandJson* arguments) {
  const auto first =
      std::stable_partition(positional->begin(), positional->end(),
                            [](const std::string& word) { return !absl::StrContains(word, '='); });
  for (auto each = first; each != positional->end(); ++each) {
    std::vector<std::string> none;
    arguments->update(ArgumentsOf({absl::StrCat("--", *each)}, &none));
  }
  positional->erase(first, positional->end());
}

absl::StatusOr<LauncherRead> ReadArguments(const LaunchCommand& command, CommandJson arguments,
                                           bool with_model) {
  // A script named after its trainer: TRL's, those of alignment-handbook, or trl's own command.
  std::string script = command.script.substr(command.script.rfind('/') + 1);
  script = script.substr(0, script.find(".py"));
  absl::string_view name = script;
  absl::ConsumePrefix(&name, "run_");
  constexpr const char* kPreference[] = {"dpo",  "kto", "grpo",   "ppo", "rloo",
                                         "orpo", "cpo", "reward", "rlhf"};
  if (absl::c_linear_search(kPreference, name)) {
    return absl::InvalidArgumentError(kPreferenceTrainer);
  }
  if (IsTuner(command, arguments)) return ReadTuner(command, std::move(arguments), with_model);
  const bool trl = name == "sft";
  if (trl || IsTrainer(arguments)) return ReadTrainer(std::move(arguments), with_model, trl);
  LauncherRead out;
  for (const auto& [key, value] : arguments.items()) out.ignored.push_back(key);
  return out;
}

}  // namespace

absl::StatusOr<LauncherRead> ReadCommand(absl::Span<const std::string> words, bool with_model) {
  std::optional<LaunchCommand> command = CommandOf(words);
  if (!command.has_value()) {
    return absl::InvalidArgumentError(
        "it starts no training script: write torchrun, accelerate launch, deepspeed, trl or python "
        "before it");
  }
  LauncherRead out;
  std::vector<std::string> positional;
  CommandJson arguments = ArgumentsOf(command->arguments, &positional);
  SplitTrl(&arguments, &*command);
  absl::StatusOr<LauncherRead> run;
  const bool swift = command->launcher == "swift" || command->launcher == "megatron";
  const std::map<std::string, std::string> variables = VariablesOf(words);
  if (swift) TakeVariables(variables, &arguments);
  const int64_t visible = VisibleDevices(variables, command->launcher);
  if (command->launcher == "llamafactory-cli") TakeOverrides(&positional, &arguments);
  const bool own = swift || command->launcher == "axolotl";  // words like Megatron-LM's are its own
  if (!own && absl::c_any_of(command->arguments, IsMegatronWord)) {
    run = ReadMegatron(QuotedArguments(command->arguments), with_model);
  } else {
    TakeFiles(positional, &arguments, &out);
    run = ReadArguments(*command, std::move(arguments), with_model);
  }
  if (!run.ok()) return run.status();
  // A file of arguments says what these leave open.
  if (!out.wants.empty()) {
    run->defaults.Clear();
    run->open.clear();
    if (!run->request.layout().has_micro_batch_size()) run->sequences_per_rank = 0;
  }
  const absl::StatusOr<LauncherRead> launcher = ReadLauncher(*std::move(command));
  if (!launcher.ok()) return launcher.status();
  if (visible > 0) out.request.mutable_cluster()->set_device_count(visible);
  Join(*launcher, "", &out);  // the script's own words go first
  Join(*run, "", &out);
  return out;
}

}  // namespace sextant::server
