// Runs that shell scripts start.
#include <algorithm>
#include <map>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "server/launcher/argument_words.h"
#include "server/launcher/command_line.h"
#include "server/launcher/hugging_face.h"
#include "server/launcher/launch_line.h"
#include "server/launcher/launcher.h"

namespace sextant::server {
namespace {

constexpr int64_t kMaxJobDevices = 1'000'000;  // the API's

// Arguments with literal values, and those that the text alone does not say.
struct SplitArguments {
  std::vector<std::string> literal = {};
  std::vector<std::string> open = {};
};

bool IsKnown(const std::string& name, const SettingFile::Names& known) {
  return absl::c_any_of(known, [&](const auto& each) { return each.first == name; });
}

// How many values an argument that is not known has: one, unless it is a variable that is named
// after arguments ("$EXTRA_ARGS").
size_t ValuesOf(const std::string& name, const SettingFile::Names& known, const ShellWord* next) {
  const auto row = absl::c_find_if(known, [&](const auto& each) { return each.first == name; });
  if (row == known.end()) {
    const bool more = next != nullptr && next->open &&
                      (absl::StrContains(next->text, "ARG") ||
                       absl::StrContains(next->text, "OPT") || absl::StrContains(next->text, "@"));
    return more ? 0 : 1;
  }
  switch (row->second) {
    case SettingValues::kNone:
      return 0;
    case SettingValues::kOne:
      return 1;
    case SettingValues::kSome:
      return SIZE_MAX;
  }
  return 0;
}

SplitArguments Split(const std::vector<ShellWord>& words, const SettingFile::Names& known) {
  SplitArguments out;
  for (size_t i = 0; i < words.size();) {
    const bool flag = absl::StartsWith(words[i].text, "-");
    const std::string name = words[i].text.substr(0, words[i].text.find('='));
    size_t end = i + 1;
    bool open = words[i].open;
    if (flag && name == words[i].text) {
      const ShellWord* const next = end < words.size() ? &words[end] : nullptr;
      for (size_t left = ValuesOf(name, known, next);
           left > 0 && end < words.size() && !absl::StartsWith(words[end].text, "--"); --left) {
        open = open || words[end].open;
        ++end;
      }
    }
    std::vector<std::string> texts;
    for (; i < end; ++i) texts.push_back(words[i].text);
    // The value of a flag that nobody reads does not matter.
    const bool unread = flag && !known.empty() && !IsKnown(name, known);
    if (open && !unread) {
      out.open.push_back(absl::StrJoin(texts, " "));
    } else {
      absl::c_move(texts, std::back_inserter(out.literal));
    }
  }
  return out;
}

// True of arguments in a branch that may ask for less memory.
bool MayLower(const std::string& assignment) {
  constexpr const char* kWords[] = {"recompute", "checkpoint", "offload", "zero", "shard"};
  return absl::StrContains(assignment, "--") &&
         absl::c_any_of(kWords, [&](auto* word) { return absl::StrContains(assignment, word); });
}

bool AnyStartsWith(const std::vector<ShellWord>& words, std::initializer_list<const char*> starts) {
  return absl::c_any_of(words, [&](const ShellWord& word) {
    return absl::c_any_of(starts,
                          [&](const char* start) { return absl::StartsWith(word.text, start); });
  });
}

bool StartsMegatronProgram(const LaunchLine& line) {
  // ms-swift's programs take words like these of their own.
  if (absl::EndsWith(line.program, "megatron") || absl::EndsWith(line.program, "swift")) {
    return false;
  }
  return absl::c_any_of(line.arguments,
                        [](const ShellWord& word) { return IsMegatronWord(word.text); });
}

bool StartsTorchtitan(const LaunchLine& line) {
  return absl::StrContains(line.program, "torchtitan") ||
         AnyStartsWith(line.arguments, {"--job.config_file", "--job.config-file"});
}

absl::StatusOr<LauncherRead> ReadMegatronProgram(const LaunchLine& line, bool with_model) {
  SplitArguments arguments = Split(line.arguments, MegatronNames());
  absl::StatusOr<LauncherRead> out = ReadMegatronWords(std::move(arguments.literal), with_model);
  if (!out.ok()) return out.status();
  absl::c_move(arguments.open, std::back_inserter(out->open));
  return out;
}

// A value as TOML has it: arguments have no quotes.
std::string TomlValue(const std::string& text) {
  double number = 0;
  std::string lower = absl::AsciiStrToLower(text);
  if (lower == "true" || lower == "false") return lower;
  if (absl::SimpleAtod(text, &number) &&
      text.find_first_not_of("0123456789.-+e") == std::string::npos) {
    return text;
  }
  return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"\"", "\\\""}}), "\"");
}

// "--training.seq_len 4096" is the setting training.seq_len; its file is to be given too.
absl::StatusOr<LauncherRead> ReadTorchtitanProgram(const LaunchLine& line, bool with_model) {
  const SplitArguments arguments = Split(line.arguments, {});
  std::map<std::string, std::string> settings;
  std::string file;
  for (size_t i = 0; i < arguments.literal.size(); ++i) {
    std::string name = arguments.literal[i];
    if (!absl::StartsWith(name, "--")) continue;
    std::string value = "true";
    if (const size_t equals = name.find('='); equals != std::string::npos) {
      value = name.substr(equals + 1);
      name = name.substr(0, equals);
    } else if (i + 1 < arguments.literal.size() &&
               !absl::StartsWith(arguments.literal[i + 1], "--")) {
      value = arguments.literal[++i];
    }
    name = absl::StrReplaceAll(name.substr(2), {{"-", "_"}});
    if (name == "job.config_file") {
      file = value;
    } else if (absl::c_all_of(name, [](unsigned char c) {
                 return absl::ascii_isalnum(c) || c == '_' || c == '.';
               })) {
      settings[name] = TomlValue(value);
    }
  }
  std::string toml;
  for (const auto& [name, value] : settings) absl::StrAppend(&toml, name, " = ", value, "\n");
  absl::StatusOr<LauncherRead> out = ReadTorchtitan(toml, with_model);
  if (!out.ok()) return out.status();
  if (!file.empty()) out->wants.push_back(file);
  absl::c_copy(arguments.open, std::back_inserter(out->open));
  return out;
}

// Another program, by the reader of commands; its settings are named as in a file. One that it does
// not know either is not modelled.
absl::StatusOr<LauncherRead> ReadOtherProgram(const LaunchLine& line, bool with_model) {
  SplitArguments words = Split(line.words, {});
  LauncherRead out;
  if (CommandOf(words.literal).has_value()) {
    absl::StatusOr<LauncherRead> read = ReadCommand(words.literal, with_model);
    if (!read.ok()) return read.status();
    out = *std::move(read);
  } else {
    for (const ShellWord& word : line.arguments) {
      const bool flag = absl::StartsWith(word.text, "-") && word.text.size() > 1;
      if (flag) out.ignored.push_back(word.text.substr(0, word.text.find('=')));
    }
  }
  absl::c_move(words.open, std::back_inserter(out.open));
  return out;
}

absl::StatusOr<LauncherRead> ReadProgramOf(const LaunchLine& line, bool with_model) {
  if (StartsMegatronProgram(line)) return ReadMegatronProgram(line, with_model);
  if (StartsTorchtitan(line)) return ReadTorchtitanProgram(line, with_model);
  return ReadOtherProgram(line, with_model);
}

// The line in the longest variable with arguments, which another script starts.
LaunchLine LineInVariable(const ShellScript& script) {
  const std::pair<const std::string, std::string>* longest = nullptr;
  for (const auto& text : script.texts) {
    const bool arguments = absl::StrContains(text.second, "--");
    const size_t size = longest == nullptr ? 0 : longest->second.size();
    if (arguments && text.second.size() > size) longest = &text;
  }
  LaunchLine out;
  if (longest == nullptr) return out;
  const absl::StatusOr<ShellScript> inner = ReadShellScript(longest->second, script.variables);
  if (!inner.ok()) return out;
  out = FindLaunchLine(inner->commands, script.variables);
  if (!out.program.empty()) return out;
  for (const ShellCommand& command : inner->commands) {
    absl::c_copy(command.words, std::back_inserter(out.arguments));
  }
  if (StartsMegatronProgram(out)) out.program = longest->first;
  return out;
}

// The devices in all; 0: not known.
int64_t CountDevices(const LaunchLine& line, const JobDevices& job) {
  const auto bounded = [](int64_t a, int64_t b) {
    const int64_t out = Product(a, b).value_or(0);
    return out <= kMaxJobDevices ? out : 0;
  };
  // One node unless several are said, as torchrun and Slurm have it.
  const int64_t nodes = line.nodes > 0 ? line.nodes : std::max(job.nodes, int64_t{1});
  if (line.per_node > 0) return bounded(nodes, line.per_node);
  if (line.processes > 0) return line.processes;
  if (job.count > 0) return job.count;
  const bool many = job.nodes == 0 && line.nodes == 0 && job.tasks > 0;  // on nodes not known
  return many ? 0 : bounded(nodes, job.per_node);
}

}  // namespace

absl::StatusOr<LauncherRead> ReadLaunchLine(const LaunchLine& line, JobDevices devices,
                                            bool with_model) {
  LauncherRead out;
  const absl::Status slurm = ReadSlurmOptions("srun", line.slurm, devices, out);
  if (!slurm.ok()) return slurm;
  const absl::StatusOr<LauncherRead> program = ReadProgramOf(line, with_model);
  if (!program.ok()) return program.status();
  Join(*program, "", &out);
  const int64_t count = CountDevices(line, devices);
  if (count > 0) {
    out.request.mutable_cluster()->set_device_count(count);
    // The launcher's own options left these to the job.
    for (const char* const name : {"nproc_per_node", "num_gpus"}) {
      out.open.erase(std::remove(out.open.begin(), out.open.end(), name), out.open.end());
    }
  }
  ReadProduct(devices.product, "the devices'", out);
  for (const std::string& file : line.wants) {
    if (!absl::c_linear_search(out.wants, file)) out.wants.push_back(file);
  }
  absl::c_copy(line.open, std::back_inserter(out.open));
  return out;
}

absl::StatusOr<LauncherRead> ReadJobScript(const std::string& text, bool with_model) {
  JobDevices devices;
  LauncherRead out;
  const absl::Status slurm = ReadSlurmOptions("#SBATCH", SbatchWords(text), devices, out);
  if (!slurm.ok()) return slurm;
  const absl::StatusOr<ShellScript> script = ReadShellScript(text, SlurmVariables(devices));
  if (!script.ok()) return script.status();
  LaunchLine line = FindLaunchLine(script->commands, script->variables);
  if (line.program.empty()) line = LineInVariable(*script);
  if (line.program.empty()) {
    return absl::InvalidArgumentError(
        "it has no line that starts a training program: write one with torchrun, python, "
        "deepspeed, accelerate launch or srun, with its arguments in this file");
  }
  const absl::StatusOr<LauncherRead> run = ReadLaunchLine(line, devices, with_model);
  if (!run.ok()) return run.status();
  Join(*run, "", &out);
  for (const std::string& assignment : script->conditional) {
    out.ignored.push_back(absl::StrCat(assignment, " (in a branch)"));
    if (MayLower(assignment)) out.lowering.push_back({out.ignored.back()});
  }
  if (line.conditional) {
    out.ignored.push_back(absl::StrCat("the branch that starts ", line.program));
  }
  return out;
}

}  // namespace sextant::server
