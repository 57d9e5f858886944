// A command line that starts the processes of a training run.
#ifndef SEXTANT_SERVER_LAUNCHER_LAUNCH_LINE_H_
#define SEXTANT_SERVER_LAUNCHER_LAUNCH_LINE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/launcher/launched_run.h"
#include "server/launcher/shell_script.h"
#include "server/launcher/slurm_job.h"

namespace sextant::server {

// The program that is started, and on how many devices as its launcher's options say; 0: they
// don't.
struct LaunchLine {
  std::string launcher = {};  // "torchrun"; "" of a program that is started alone
  std::string program = {};   // its script or module: "pretrain_gpt.py"
  std::vector<ShellWord> arguments = {};
  std::vector<ShellWord> words = {};    // the whole line
  std::vector<std::string> slurm = {};  // srun's options
  int64_t nodes = 0;
  int64_t per_node = 0;
  int64_t processes = 0;
  std::vector<std::string> wants = {};  // files that the launcher reads
  std::vector<std::string> open = {};   // its settings that the text alone does not say
  bool conditional = false;
};

// The line of `commands` that starts the training: of several the one whose launcher and arguments
// say most, the last of equal ones. Its program is "" where none does.
LaunchLine FindLaunchLine(const std::vector<ShellCommand>& commands,
                          const ShellVariables& variables);

// Reads it: the devices, which `devices` completes, and the program's arguments by the reader of
// its kind. Where `with_model` is false the model is passed over.
absl::StatusOr<LauncherRead> ReadLaunchLine(const LaunchLine& line, JobDevices devices,
                                            bool with_model);

// Reads a shell script: what Slurm is asked for, and the line that starts the training.
absl::StatusOr<LauncherRead> ReadJobScript(const std::string& text, bool with_model);

// True of a script: not of arguments alone, "--num-layers 32 ...", which end no line.
bool IsJobScript(const std::string& text);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_LAUNCHER_LAUNCH_LINE_H_
