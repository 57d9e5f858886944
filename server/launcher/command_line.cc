#include "server/launcher/command_line.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "server/launcher/setting_file.h"

namespace sextant::server {
namespace {

using CommandJson = nlohmann::json;
using WordSpan = absl::Span<const std::string>;

// Options of launchers that take no value.
constexpr const char* kBareOptions[] = {
    // torchrun
    "standalone", "m", "module", "no_python", "use_env",
    // accelerate launch
    "quiet", "q", "cpu", "multi_gpu", "tpu", "enable_cpu_affinity", "dynamo_use_fullgraph",
    "dynamo_use_dynamic", "dynamo_use_regional_compilation", "use_deepspeed", "use_fsdp",
    "use_parallelism_config", "use_megatron_lm", "tpu_cluster", "tpu_use_sudo",
    "fp8_use_autocast_during_eval", "debug",
    // deepspeed
    "no_local_rank", "no_ssh", "no_ssh_check", "force_multi", "save_pid", "elastic_training",
    "bind_cores_to_rank"};

// Modules that are launchers, and what they are started by otherwise.
struct LauncherModule {
  const char* module;
  const char* launcher;
};
constexpr LauncherModule kLauncherModules[] = {
    {"torch.distributed.run", "torchrun"},
    {"torch.distributed.launch", "torchrun"},
    {"accelerate.commands.launch", "accelerate"},
    {"deepspeed.launcher.runner", "deepspeed"},
    {"deepspeed", "deepspeed"},
};

std::string NameOf(absl::string_view word) {
  while (absl::ConsumePrefix(&word, "-")) {
  }
  return absl::StrReplaceAll(word.substr(0, word.find('=')), {{"-", "_"}});
}

// "--name" or "-m", and no number.
bool IsName(absl::string_view word) {
  if (word.size() < 2 || word[0] != '-') return false;
  return word[1] == '-' ? word.size() > 2 : absl::ascii_isalpha(word[1]);
}

// A shell's word after a command: a pipe, another command, or where its output goes.
bool EndsCommand(absl::string_view word) {
  constexpr const char* kEnds[] = {"|", "||", "&", "&&", ";"};
  if (absl::c_linear_search(kEnds, word)) return true;
  const size_t start = word.find_first_not_of("0123456789&");
  return start != absl::string_view::npos && word[start] == '>';
}

std::string ProgramOf(absl::string_view word) {
  const size_t slash = word.rfind('/');
  return std::string(slash == absl::string_view::npos ? word : word.substr(slash + 1));
}

bool IsPythonProgram(absl::string_view program) {
  if (!absl::ConsumePrefix(&program, "python")) return false;
  return absl::c_all_of(program, [](char c) { return absl::ascii_isdigit(c) || c == '.'; });
}

// A word as the value that it stands for.
CommandJson ValueOf(const std::string& word) {
  const std::string lower = absl::AsciiStrToLower(word);
  if (lower == "true" || lower == "false") return lower == "true";
  if (lower == "none" || lower == "null") return nullptr;
  const bool number =
      !word.empty() && (absl::ascii_isdigit(word[0]) || (word[0] == '-' && word.size() > 1));
  int64_t whole = 0;
  double real = 0;
  if (number && absl::SimpleAtoi(word, &whole)) return whole;
  if (number && absl::SimpleAtod(word, &real)) return real;
  if (word.empty() || word.front() != '{') return word;
  const absl::StatusOr<SettingFile> object = SettingFile::FromJson(word);
  return object.ok() ? object->document() : CommandJson(word);
}

// The launcher that `words` start with, and how many words name it; 0: none.
size_t LauncherAt(WordSpan words, std::string* launcher) {
  const std::string program = ProgramOf(words.front());
  const bool second = words.size() > 1;
  constexpr absl::string_view kFirst[] = {"torchrun", "deepspeed", "llamafactory-cli",
                                          "swift",    "megatron",  "axolotl"};
  if (absl::c_linear_search(kFirst, program)) {
    *launcher = program;
    return 1;
  }
  if ((program == "accelerate" && second && words[1] == "launch") || (program == "trl" && second)) {
    *launcher = program;
    return program == "trl" ? 1 : 2;
  }
  if (!IsPythonProgram(program)) return 0;
  *launcher = "python";
  size_t taken = 1;
  while (taken < words.size() && (words[taken] == "-u" || words[taken] == "-O")) ++taken;
  if (taken + 1 >= words.size() || words[taken] != "-m") return taken;
  for (const LauncherModule& each : kLauncherModules) {
    if (words[taken + 1] != each.module) continue;
    *launcher = each.launcher;
    return taken + 2;
  }
  return taken;
}

// Reads the launcher's options from words[at] on, up to the script. Returns where that is.
size_t TakeOptions(WordSpan words, size_t at, CommandJson* options) {
  while (at < words.size() && IsName(words[at])) {
    const std::string& word = words[at++];
    const std::string name = NameOf(word);
    const size_t equals = word.find('=');
    if (equals != std::string::npos) {
      (*options)[name] = ValueOf(word.substr(equals + 1));
    } else if (absl::c_linear_search(kBareOptions, name) || at == words.size()) {
      (*options)[name] = true;
    } else {
      (*options)[name] = ValueOf(words[at++]);
    }
  }
  return at;
}

// The whole number in an option; 0 where it is none: "gpu", "1:4".
int64_t CountIn(const CommandJson& options, const char* name, int64_t absent) {
  if (!options.contains(name)) return absent;
  const CommandJson& value = options[name];
  if (value.is_number_integer()) return value.get<int64_t>() > 0 ? value.get<int64_t>() : 0;
  if (!value.is_string()) return 0;
  const std::vector<std::string> ends = absl::StrSplit(value.get<std::string>(), ':');
  int64_t count = 0;
  const bool fixed = ends.size() == 2 && ends[0] == ends[1];  // 2:2
  return fixed && absl::SimpleAtoi(ends[0], &count) && count > 0 ? count : 0;
}

// "worker-0:0,1@worker-1:0,2": 0 where a host has no list.
int64_t IncludedDevices(const std::string& include) {
  int64_t out = 0;
  for (const absl::string_view host : absl::StrSplit(include, '@')) {
    const size_t colon = host.find(':');
    if (colon == absl::string_view::npos || colon + 1 == host.size()) return 0;
    out += absl::c_count(host, ',') + 1;
  }
  return out;
}

}  // namespace

std::optional<LaunchCommand> CommandOf(WordSpan words) {
  LaunchCommand out;
  if (!words.empty() && IsName(words.front())) {
    out.arguments.assign(words.begin(), words.end());
    return out;
  }
  for (size_t at = 0; at < words.size(); ++at) {
    const size_t taken = LauncherAt(words.subspan(at), &out.launcher);
    if (taken == 0) continue;
    at = TakeOptions(words, at + taken, &out.options);
    if (at >= words.size()) return std::nullopt;
    out.script = words[at];
    const WordSpan rest = words.subspan(at + 1);
    out.arguments.assign(rest.begin(), absl::c_find_if(rest, EndsCommand));
    return out;
  }
  return std::nullopt;
}

CommandJson ArgumentsOf(WordSpan words, std::vector<std::string>* positional) {
  CommandJson out = CommandJson::object();
  for (size_t at = 0; at < words.size();) {
    const std::string& word = words[at++];
    if (!IsName(word)) {
      positional->push_back(word);
      continue;
    }
    std::string name = NameOf(word);
    std::vector<CommandJson> values;
    const size_t equals = word.find('=');
    if (equals != std::string::npos) values.push_back(ValueOf(word.substr(equals + 1)));
    while (equals == std::string::npos && at < words.size() && !IsName(words[at])) {
      values.push_back(ValueOf(words[at++]));
    }
    const bool negated = values.empty() && absl::StartsWith(name, "no_") && name != "no_cuda";
    if (negated) name = name.substr(3);
    out[name] = values.empty()       ? CommandJson(!negated)
                : values.size() == 1 ? values.front()
                                     : CommandJson(values);
  }
  return out;
}

int64_t DevicesOf(const LaunchCommand& command) {
  const CommandJson& options = command.options;
  if (command.launcher == "torchrun") {
    return Product(CountIn(options, "nproc_per_node", 1), CountIn(options, "nnodes", 1))
        .value_or(0);
  }
  if (command.launcher != "deepspeed") return CountIn(options, "num_processes", 0);
  if (options.contains("include") && options["include"].is_string()) {
    return IncludedDevices(options["include"].get<std::string>());
  }
  const int64_t nodes = CountIn(options, "num_nodes", options.contains("hostfile") ? 0 : 1);
  const char* const devices = options.contains("num_gpus") ? "num_gpus" : "num_accelerators";
  return Product(CountIn(options, devices, 0), nodes).value_or(0);
}

std::optional<std::vector<std::string>> WordsOfCommand(const std::string& text) {
  std::vector<std::string> out;
  std::string word;
  bool in_word = false;
  char quote = '\0';
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool last = i + 1 == text.size();
    if (c == '\\' && quote != '\'' && !last) {
      const char next = text[++i];
      if (next == '\n') continue;
      if (quote == '"' && next != '"' && next != '\\' && next != '$') word.push_back(c);
      word.push_back(next);
      in_word = true;
    } else if (quote != '\0') {
      c == quote ? void(quote = '\0') : word.push_back(c);
    } else if (c == '"' || c == '\'') {
      quote = c;
      in_word = true;
    } else if (absl::ascii_isspace(c)) {
      if (c == '\n' && (in_word || !out.empty()) &&
          text.find_first_not_of(" \t\r\n", i) != std::string::npos) {
        return std::nullopt;
      }
      if (in_word) out.push_back(std::exchange(word, ""));
      in_word = false;
    } else {
      word.push_back(c);
      in_word = true;
    }
  }
  if (in_word) out.push_back(word);
  return quote == '\0' ? std::optional(std::move(out)) : std::nullopt;
}

}  // namespace sextant::server
