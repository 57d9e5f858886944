#include "server/store/default_paths.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace sextant::server {
namespace {

constexpr char kProbe[] = "sextant-probe";

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// True for an executable file that is not a folder.
bool IsProgram(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored) && access(path.c_str(), X_OK) == 0;
}

}  // namespace

std::string ProgramFolder() {
  std::error_code unreadable;
  return std::filesystem::read_symlink("/proc/self/exe", unreadable).parent_path();
}

std::string FindProbeProgram(const std::string& program_folder) {
  std::string beside = absl::StrCat(program_folder, "/", kProbe);
  if (!program_folder.empty() && IsProgram(beside)) return beside;
  const std::string path = Variable("PATH");
  for (const absl::string_view folder : absl::StrSplit(path, ':', absl::SkipEmpty())) {
    if (std::string found = absl::StrCat(folder, "/", kProbe); IsProgram(found)) return found;
  }
  return kProbe;
}

std::string DefaultCalibrationDirectory() {
  const std::string state_directories = Variable("STATE_DIRECTORY");
  struct Candidate {
    std::string root;
    const char* below;
  };
  const Candidate candidates[] = {
      {state_directories.substr(0, state_directories.find(':')), "/calibrations"},
      {Variable("XDG_STATE_HOME"), "/sextant/calibrations"},
      {Variable("HOME"), "/.local/state/sextant/calibrations"}};
  for (const Candidate& candidate : candidates) {
    if (absl::StartsWith(candidate.root, "/")) return candidate.root + candidate.below;
  }
  return "";
}

}  // namespace sextant::server
