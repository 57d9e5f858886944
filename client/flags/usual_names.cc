#include "client/flags/usual_names.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/flags/field_flag.h"

namespace sextant::client {
namespace {

struct UsualName {
  absl::string_view name;
  absl::string_view own;
};

// Sources: the arguments of Megatron-LM and DeepSpeed, and the keys of torchtitan's file
// (docs/launchers.md); sbatch; papers' abbreviations.
constexpr UsualName kUsualNames[] = {
    {"--seq-length", "--sequence-length"},
    {"--seq-len", "--sequence-length"},
    {"--seqlen", "--sequence-length"},
    {"--seq", "--sequence-length"},
    {"--max-seq-len", "--sequence-length"},
    {"--context-length", "--sequence-length"},
    {"--tensor-model-parallel-size", "--tensor-parallel-size"},
    {"--tensor-parallel-degree", "--tensor-parallel-size"},
    {"--pipeline-model-parallel-size", "--pipeline-parallel-size"},
    {"--pipeline-parallel-degree", "--pipeline-parallel-size"},
    {"--expert-model-parallel-size", "--expert-parallel-size"},
    {"--expert-parallel-degree", "--expert-parallel-size"},
    {"--context-parallel-degree", "--context-parallel-size"},
    {"--virtual-pipeline-model-parallel-size", "--virtual-stage-count"},
    {"--train-micro-batch-size-per-gpu", "--micro-batch-size"},
    {"--local-batch-size", "--micro-batch-size"},
    {"--micro-batch", "--micro-batch-size"},
    {"--train-batch-size", "--global-batch-size"},
    {"--global-batch", "--global-batch-size"},
    {"--train-tokens", "--token-count"},
    {"--gpus", "--device-count"},
    {"--num-gpus", "--device-count"},
    {"--world-size", "--device-count"},
    {"--gpu", "--accelerator"},
    {"--gpu-type", "--accelerator"},
    {"--data-parallel-size", "--dp"},
    {"--dtype", "--compute-data-type"},
    {"--precision", "--compute-data-type"},
    {"--price", "--device-hour-price-usd"},
    {"--optimizer-cpu-offload", "--offload-optimizer"},
};

const CLI::Option* OptionOf(const CLI::App& command, absl::string_view name) {
  return command.get_option_no_throw(std::string(name));
}

// The command that `args` name, "op matmul"; the program where they name none.
const CLI::App& CommandOf(const std::vector<std::string>& args, const CLI::App& app) {
  const CLI::App* found = &app;
  for (const std::string& arg : args) {
    for (const CLI::App* command : found->get_subcommands({})) {
      if (command->get_name() == arg) {
        found = command;
        break;
      }
    }
  }
  return *found;
}

// "--tp" of "--tp=8".
absl::string_view NameIn(const std::string& arg) {
  return absl::string_view(arg).substr(0, arg.find('='));
}

// Sextant's name for a launcher's; `name` itself where it is none, or the command has it.
absl::string_view OwnName(absl::string_view name, const CLI::App& command) {
  for (const UsualName& usual : kUsualNames) {
    if (name != usual.name || OptionOf(command, usual.name) != nullptr) continue;
    if (OptionOf(command, usual.own) != nullptr) return usual.own;
  }
  return name;
}

bool IsOfAFlag(unsigned char c) { return absl::ascii_isalnum(c) || c == '-'; }

// The fewest insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`
// (optimal string alignment).
size_t Distance(absl::string_view a, absl::string_view b) {
  std::vector<size_t> before;  // two rows of the table back
  std::vector<size_t> last(b.size() + 1);
  std::iota(last.begin(), last.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    std::vector<size_t> row(b.size() + 1, i + 1);
    for (size_t j = 0; j < b.size(); ++j) {
      row[j + 1] = std::min({last[j] + (a[i] == b[j] ? 0 : 1), last[j + 1] + 1, row[j] + 1});
      const bool swapped = i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j];
      if (swapped) row[j + 1] = std::min(row[j + 1], before[j - 1] + 1);
    }
    before = std::exchange(last, std::move(row));
  }
  return last[b.size()];
}

}  // namespace

std::vector<std::string> WithOwnNames(std::vector<std::string> args, const CLI::App& app) {
  const CLI::App& command = CommandOf(args, app);
  for (std::string& arg : args) {
    if (arg == "--") break;  // what follows is not the command's
    const absl::string_view name = NameIn(arg);
    arg = absl::StrCat(OwnName(name, command), arg.substr(name.size()));
  }
  return args;
}

TypedNames TypedNamesOf(const std::vector<std::string>& args, const CLI::App& app) {
  const CLI::App& command = CommandOf(args, app);
  TypedNames typed;
  const auto add = [&typed](const CLI::Option& option, absl::string_view name) {
    for (const std::string& own : option.get_lnames()) {
      typed[absl::StrCat("--", own)] = std::string(name);
    }
  };
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_positional() || option->count() == 0) continue;
    add(*option, option->get_name(true));
    // MODEL may be a config.json.
    const CLI::Option* const config = OptionOf(command, "--config");
    const bool is_config =
        config != nullptr && option->check_lname("model") && IsConfigFile(option->results().back());
    if (is_config) add(*config, option->get_name(true));
  }
  for (const std::string& arg : args) {
    const absl::string_view name = NameIn(arg);
    if (!absl::StartsWith(name, "--")) continue;
    const CLI::Option* const option = OptionOf(command, OwnName(name, command));
    if (option != nullptr) add(*option, name);
  }
  return typed;
}

std::string WithTypedNames(absl::string_view text, const TypedNames& typed) {
  std::string out;
  while (!text.empty()) {
    const size_t word = static_cast<size_t>(absl::c_find_if(text, IsOfAFlag) - text.begin());
    absl::StrAppend(&out, text.substr(0, word));
    text.remove_prefix(word);
    const size_t length = static_cast<size_t>(absl::c_find_if_not(text, IsOfAFlag) - text.begin());
    const auto found = typed.find(text.substr(0, length));
    absl::StrAppend(
        &out, found == typed.end() ? text.substr(0, length) : absl::string_view(found->second));
    text.remove_prefix(length);
  }
  return out;
}

std::vector<std::string> NearestNames(absl::string_view given,
                                      const std::vector<std::string>& names) {
  constexpr size_t kMax = 3;
  constexpr size_t kMaxBytes = 64;  // bounds the time for a long text
  given = given.substr(0, kMaxBytes);
  std::vector<std::pair<size_t, std::string>> near;
  for (const std::string& name : names) {
    const bool prefix = absl::StartsWith(name, given) || absl::StartsWith(given, name);
    const size_t distance = prefix ? 0 : Distance(given, name);
    if (3 * distance <= given.size()) near.push_back({distance, name});
  }
  std::stable_sort(near.begin(), near.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> out;
  for (const auto& [distance, name] : near) {
    if (out.size() < kMax) out.push_back(name);
  }
  return out;
}

std::vector<std::string> FlagsOf(const CLI::App& command) {
  std::vector<std::string> out;
  for (const CLI::App* app = &command; app != nullptr; app = app->get_parent()) {
    for (const CLI::Option* option : app->get_options()) {
      for (const std::string& name : option->get_lnames()) out.push_back(absl::StrCat("--", name));
    }
  }
  return out;
}

}  // namespace sextant::client
