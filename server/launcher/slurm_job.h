// Options of Slurm's jobs: #SBATCH lines of a script, and srun's.
#ifndef SEXTANT_SERVER_LAUNCHER_SLURM_JOB_H_
#define SEXTANT_SERVER_LAUNCHER_SLURM_JOB_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "server/launcher/launched_run.h"
#include "server/launcher/setting.h"
#include "server/launcher/shell_script.h"

namespace sextant::server {

// The devices of a job and what starts on them; 0: not said.
struct JobDevices {
  int64_t nodes = 0;
  int64_t tasks = 0;
  int64_t tasks_per_node = 0;
  int64_t per_node = 0;      // devices
  int64_t count = 0;         // devices in all
  std::string product = {};  // as it is named there: "h100"
};

// The options of Slurm that are read, and those that change nothing that is planned.
absl::Span<const Setting> SlurmSettings();

// The words of the #SBATCH lines before the first command of `text`.
std::vector<std::string> SbatchWords(absl::string_view text);

// Reads options of `program`, "#SBATCH" or "srun", into `devices`, and what else they say into
// `out`.
absl::Status ReadSlurmOptions(const char* program, const std::vector<std::string>& words,
                              JobDevices& devices, LauncherRead& out);

// The variables that Slurm sets in a job.
ShellVariables SlurmVariables(const JobDevices& devices);

// Puts a product's name into `out` where the API knows which one it is; else it is open, as
// `setting` has it.
void ReadProduct(const std::string& product, const std::string& setting, LauncherRead& out);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_LAUNCHER_SLURM_JOB_H_
