// Finds the command line that starts a training run.
#include "server/launcher/launch_line.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace sextant::server {
namespace {

constexpr int64_t kMaxProcesses = 1'000'000;
constexpr int kMaxInnerScripts = 8;  // "bash -c" texts of a script that are read

// Options without a value, by their launcher. Sources: get_args_parser() of
// torch/distributed/run.py and parse_args() of torch/distributed/launch.py in pytorch v2.7;
// parse_args() of deepspeed/launcher/runner.py in DeepSpeed 0.17; launch_command_parser() of
// accelerate/commands/launch.py in accelerate 1.7; python's own of its documentation, "Command
// line".
struct LauncherOptions {
  const char* launcher;
  const char* flags;  // separated by blanks
};
constexpr LauncherOptions kLauncherOptions[] = {
    {"torchrun",
     " --standalone --no-python --run-path --use-env --virtual-local-rank -m --module "},
    {"deepspeed",
     " --module --no-python --no-local-rank --no-ssh --no-ssh-check --force-multi "
     "--save-pid --enable-each-rank-log --bind-cores-to-rank --elastic-training "},
    {"accelerate",
     " -m --module --multi-gpu --cpu --use-cpu --tpu --use-deepspeed --use-fsdp --use-megatron-lm "
     "--use-xpu --no-python --debug -q --quiet --enable-cpu-affinity --use-parallelism-config "},
    {"python", " -u -O -OO -B -E -I -s -S -v -b -d -i -q "},
    {"mpirun", " --allow-run-as-root --oversubscribe -v --tag-output --display-map "},
};

// Programs that train by themselves, with their subcommand.
constexpr const char* kTrainers[] = {"llamafactory-cli", "axolotl", "swift", "tune", "trl",
                                     "megatron"};

// Commands that mention a launcher without starting it.
constexpr const char* kSpeakers[] = {"echo",   "printf", "pip",    "pip3", "cat",  "which", "cp",
                                     "rm",     "mkdir",  "export", "[",    "test", "[[",    "git",
                                     "source", ".",      "conda",  "ls",   "cd",   "pkill", "set"};

std::string BaseName(const std::string& path) {
  return path.substr(path.rfind('/') == std::string::npos ? 0 : path.rfind('/') + 1);
}

bool IsPythonProgram(const std::string& name) {
  return absl::StartsWith(name, "python") &&
         absl::c_all_of(name.substr(6), [](char c) { return c == '.' || (c >= '0' && c <= '9'); });
}

bool IsScript(const std::string& word) {
  return absl::EndsWith(word, ".py") || absl::EndsWith(word, ".pyz");
}

// "--nproc_per_node" as "--nproc-per-node": both forms are taken.
std::string Dashed(absl::string_view name) { return absl::StrReplaceAll(name, {{"_", "-"}}); }

// Follows the words of a command to the program that it starts.
class LineReader {
 public:
  explicit LineReader(const std::vector<ShellWord>& words) : words_(words) {}

  LaunchLine Read() {
    for (; at_ < words_.size() && out_.program.empty(); ++at_) ReadWord();
    out_.words = words_;
    return std::move(out_);
  }

  // The text that a shell is given ("bash -c TEXT", "eval WORDS"), if that is what runs.
  const std::optional<std::string>& inner() const { return inner_; }

 private:
  const std::string& word() const { return words_[at_].text; }

  void ReadWord() {
    const std::string name = BaseName(word());
    if (name == "srun" && out_.launcher.empty()) return ReadSrun();
    if (name == "mpirun" || name == "mpiexec") return ReadOptions("mpirun");
    if (name == "torchrun") return ReadProgram("torchrun");
    if (name == "deepspeed") return ReadProgram("deepspeed");
    if (name == "accelerate" && Next() == "launch") {
      ++at_;
      return ReadProgram("accelerate");
    }
    if (IsPythonProgram(name)) return ReadPython();
    if (name == "bash" || name == "sh") return ReadShell();
    if (at_ == 0 && name == "eval") return ReadEval();
    if (absl::c_linear_search(kTrainers, name) && at_ + 1 < words_.size()) Start(at_);
    if (IsScript(name)) Start(at_);  // one that is executable, or follows srun's options
  }

  std::string Next() const { return at_ + 1 < words_.size() ? words_[at_ + 1].text : ""; }

  // The program is at `place`, what follows its arguments.
  void Start(size_t place) {
    if (place >= words_.size()) return;
    out_.program = words_[place].text;
    out_.arguments.assign(words_.begin() + static_cast<std::ptrdiff_t>(place) + 1, words_.end());
    at_ = words_.size() - 1;
  }

  void ReadSrun() {
    out_.launcher = "srun";
    for (size_t i = at_ + 1; i < words_.size(); ++i) {
      const std::string name = BaseName(words_[i].text);
      if (IsPythonProgram(name) || IsScript(name) || name == "torchrun" || name == "bash" ||
          name == "deepspeed" || name == "accelerate" || absl::c_linear_search(kTrainers, name)) {
        break;
      }
      if (!words_[i].open) out_.slurm.push_back(words_[i].text);
    }
  }

  void ReadShell() {
    size_t at = at_ + 1;  // "bash -x -c", "bash -lc"
    while (at < words_.size() && absl::StartsWith(words_[at].text, "-") &&
           words_[at].text.back() != 'c') {
      ++at;
    }
    if (at + 1 >= words_.size() || !absl::StartsWith(words_[at].text, "-")) return;
    inner_ = words_[at + 1].text;
    at_ = words_.size() - 1;
  }

  void ReadEval() {
    inner_ = "";
    for (size_t i = 1; i < words_.size(); ++i) absl::StrAppend(&*inner_, words_[i].text, " ");
    at_ = words_.size() - 1;
  }

  void ReadPython() {
    ReadOptions("python");
    if (Next() == "-m" && at_ + 2 < words_.size()) {
      at_ += 2;
      const std::string& module = word();
      if (module == "torch.distributed.run" || module == "torch.distributed.launch") {
        return ReadProgram("torchrun");
      }
      if (module == "accelerate.commands.launch") return ReadProgram("accelerate");
      if (module == "deepspeed.launcher.runner") return ReadProgram("deepspeed");
      return Start(at_);
    }
    Start(at_ + 1);
  }

  void ReadProgram(const char* launcher) {
    out_.launcher = launcher;
    ReadOptions(launcher);
    if (IsPythonProgram(BaseName(Next()))) ++at_;  // with --no-python
    Start(at_ + 1);
  }

  // The options from the next word on. Stops before the first word that is none.
  void ReadOptions(const char* launcher) {
    const auto* const row = absl::c_find_if(
        kLauncherOptions, [&](auto& each) { return absl::string_view(each.launcher) == launcher; });
    while (at_ + 1 < words_.size() && absl::StartsWith(words_[at_ + 1].text, "-")) {
      if (absl::string_view(launcher) == "python" && Next() == "-m") return;
      ++at_;
      const bool open = words_[at_].open;
      const size_t equals = word().find('=');
      const std::string name = Dashed(absl::string_view(word()).substr(0, equals));
      if (absl::StrContains(row->flags, absl::StrCat(" ", name, " "))) continue;
      if (equals != std::string::npos) {
        ReadOption(name, {.text = word().substr(equals + 1), .open = open});
      } else if (at_ + 1 < words_.size()) {
        ++at_;
        ReadOption(name, words_[at_]);
      }
    }
  }

  void ReadOption(const std::string& name, const ShellWord& value) {
    const bool nodes = name == "--nnodes" || name == "--num-nodes" || name == "--num-machines";
    const bool each = name == "--nproc-per-node" || name == "--num-gpus" || name == "--npernode";
    const bool all = name == "--num-processes" || name == "-np" || name == "--np" || name == "-n";
    if (name == "--config-file") out_.wants.push_back(value.text);
    if (!nodes && !each && !all) return;
    int64_t count = 0;
    if (absl::SimpleAtoi(value.text, &count) && count > 0 && count <= kMaxProcesses) {
      (nodes ? out_.nodes : each ? out_.per_node : out_.processes) = count;
    } else if (value.text != "auto" && value.text != "gpu") {
      out_.open.push_back(absl::StrCat(name, " ", value.text));
    }
  }

  const std::vector<ShellWord>& words_;
  size_t at_ = 0;
  LaunchLine out_;
  std::optional<std::string> inner_;
};

// How much a line says: a launcher of processes, and arguments.
int WeightOf(const LaunchLine& line) {
  if (line.program.empty()) return 0;
  const bool flags = absl::c_any_of(
      line.arguments, [](const ShellWord& each) { return absl::StartsWith(each.text, "--"); });
  return 1 + (flags ? 2 : 0) + (line.launcher.empty() ? 0 : 4) + (line.conditional ? 0 : 8);
}

void Consider(const std::vector<ShellCommand>& commands, const ShellVariables& variables,
              bool conditional, int* scripts, LaunchLine* out) {
  for (const ShellCommand& command : commands) {
    if (command.words.empty() || absl::c_linear_search(kSpeakers, command.words.front().text)) {
      continue;
    }
    LineReader reader(command.words);
    LaunchLine line = reader.Read();
    line.conditional = conditional || command.conditional;
    if (reader.inner().has_value() && (*scripts)++ < kMaxInnerScripts) {
      LaunchLine inner;
      const absl::StatusOr<ShellScript> script = ReadShellScript(*reader.inner(), variables);
      if (script.ok()) {
        Consider(script->commands, variables, line.conditional, scripts, &inner);
        if (inner.launcher.empty()) inner.launcher = line.launcher;
        if (inner.slurm.empty()) inner.slurm = line.slurm;
        if (inner.processes == 0) inner.processes = line.processes;
        line = std::move(inner);
      }
    }
    if (WeightOf(line) > 0 && WeightOf(line) >= WeightOf(*out)) *out = std::move(line);
  }
}

}  // namespace

LaunchLine FindLaunchLine(const std::vector<ShellCommand>& commands,
                          const ShellVariables& variables) {
  LaunchLine out;
  int scripts = 0;
  Consider(commands, variables, false, &scripts, &out);
  // Before the command or earlier, they say how many devices it starts on.
  for (const char* const name : {"NNODES", "NPROC_PER_NODE", "CUDA_VISIBLE_DEVICES"}) {
    const auto found = variables.find(name);
    if (found == variables.end() || out.words.empty()) continue;
    if (found->second.find_first_not_of("0123456789,") != std::string::npos) continue;
    out.words.insert(out.words.begin(), {.text = absl::StrCat(name, "=", found->second)});
  }
  return out;
}

bool IsJobScript(const std::string& text) {
  if (absl::StartsWith(absl::StripAsciiWhitespace(text), "-")) return false;
  if (absl::StartsWith(text, "#!")) return true;
  constexpr const char* kSigns[] = {
      "#SBATCH",           "srun ",  "torchrun", "deepspeed ", "mpirun ",
      "mpiexec ",          "swift ", "axolotl ", "python",     "accelerate launch",
      "llamafactory-cli ", "trl ",   "export ",  "=(",         "=\"",
      "tune run",          ".py "};
  return absl::c_any_of(kSigns, [&](const char* sign) { return absl::StrContains(text, sign); });
}

}  // namespace sextant::server
