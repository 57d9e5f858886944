// Command lines that start a training script: torchrun, accelerate, deepspeed, trl and python.
#ifndef SEXTANT_SERVER_LAUNCHER_COMMAND_LINE_H_
#define SEXTANT_SERVER_LAUNCHER_COMMAND_LINE_H_

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/launcher/launched_run.h"

namespace sextant::server {

struct LaunchCommand {
  // "torchrun", "accelerate", "deepspeed", "trl" or "python"; "llamafactory-cli", "axolotl",
  // or ms-swift's "swift" or "megatron"; "" for arguments alone.
  std::string launcher = {};
  // The launcher's own: {"nproc_per_node": 8, "standalone": true}.
  nlohmann::json options = nlohmann::json::object();
  std::string script = {};                  // "train.py", or a module; of trl "sft"
  std::vector<std::string> arguments = {};  // the script's
};

// The command in the words of one line of a shell, quotes resolved. What stands before the launcher
// is passed over: variables, srun and its options. Absent where the words start no script, and are
// no arguments.
//
// Source: torch/distributed/run.py of pytorch/pytorch; src/accelerate/commands/launch.py of
// huggingface/accelerate @16cb6eb8; deepspeed/launcher/runner.py of deepspeedai/DeepSpeed 0.19.6.
std::optional<LaunchCommand> CommandOf(absl::Span<const std::string> words);

// A script's arguments by their names, as HfArgumentParser reads them: dashes are underscores, a
// name alone is true, "--no_x" is false, several values are a list. Words before the first name are
// appended to `positional`.
nlohmann::json ArgumentsOf(absl::Span<const std::string> words,
                           std::vector<std::string>* positional);

// The devices that the launcher starts a process for each of; 0 where the command does not say it.
int64_t DevicesOf(const LaunchCommand& command);

// Reads the run that a command starts: of Megatron-LM's arguments, or of TrainingArguments. Of
// other scripts the devices alone are known, and all arguments are ignored. Settings are named as
// in a file, "per_device_train_batch_size".
//
// Errors: kInvalidArgument where the words start no script, and as ReadTrainer() and
// ReadMegatron().
absl::StatusOr<LauncherRead> ReadCommand(absl::Span<const std::string> words, bool with_model);

// The words of one command, as a shell splits it: quotes are resolved, and a backslash at the end
// of a line joins the next one. Absent where a quote has no end, or there are several commands.
std::optional<std::vector<std::string>> WordsOfCommand(const std::string& text);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_LAUNCHER_COMMAND_LINE_H_
