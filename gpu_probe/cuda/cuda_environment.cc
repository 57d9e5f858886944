#include "gpu_probe/cuda/cuda_environment.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace sextant {
namespace {

absl::optional<std::string> Variable(const char* name) {
  const char* const value = std::getenv(name);
  if (value == nullptr) return absl::nullopt;
  return std::string(value);
}

// CUDA's programs go through MPS where its daemon's pipe is, by default in this folder.
constexpr char kDefaultMpsPipe[] = "/tmp/nvidia-mps/control";

std::string MpsSign(const std::string& root) {
  for (const char* name : {"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "CUDA_MPS_PIPE_DIRECTORY"}) {
    if (Variable(name)) return absl::StrCat(name, " is set");
  }
  const std::string pipe = absl::StrCat(root, kDefaultMpsPipe);
  struct stat found = {};
  if (stat(pipe.c_str(), &found) == 0) return absl::StrCat(kDefaultMpsPipe, " is there");
  return "";
}

// 535.104.05, but not x86_64, 12:07 or (GCC).
bool IsVersion(absl::string_view word) {
  return !word.empty() && absl::ascii_isdigit(static_cast<unsigned char>(word.front())) &&
         word.find('.') != absl::string_view::npos &&
         std::all_of(word.begin(), word.end(),
                     [](unsigned char c) { return c == '.' || absl::ascii_isdigit(c); });
}

}  // namespace

std::string KernelDriverVersion(const std::string& text) {
  const std::string first_line = text.substr(0, text.find('\n'));
  if (first_line.find("NVRM") == std::string::npos) return "";
  for (const absl::string_view word : absl::StrSplit(first_line, ' ')) {
    if (IsVersion(word)) return std::string(word);
  }
  return "";
}

CudaEnvironment ReadCudaEnvironment(const std::string& root) {
  std::ifstream file(absl::StrCat(root, "/proc/driver/nvidia/version"));
  std::ostringstream text;
  text << file.rdbuf();
  return {.visible_devices = Variable("CUDA_VISIBLE_DEVICES"),
          .mps_sign = MpsSign(root),
          .kernel_driver_version = KernelDriverVersion(text.str())};
}

}  // namespace sextant
