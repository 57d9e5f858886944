#include "gpu_probe/cuda/cuda_environment.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace sextant {
namespace {

absl::optional<std::string> Variable(const char* name) {
  const char* const value = std::getenv(name);
  if (value == nullptr) return absl::nullopt;
  return std::string(value);
}

constexpr char kVisibleDevices[] = "CUDA_VISIBLE_DEVICES";

// Whether a program waits for connections at the socket `path`. Asked by a socket of another type
// than the daemon's: the system then says whether there is one (EPROTOTYPE) without its noticing.
bool SocketIsServed(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) return false;  // nor can a daemon have bound it
  path.copy(address.sun_path, path.size());
  const int descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return true;  // not known
  const bool connected =
      connect(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  const bool nobody = !connected && errno == ECONNREFUSED;
  close(descriptor);
  return !nobody;
}

// Whether a program reads from the named pipe `path`.
bool PipeIsServed(const std::string& path) {
  const int descriptor = open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) return errno != ENXIO;
  close(descriptor);
  return true;
}

// CUDA's programs go through MPS where its daemon listens in this folder. The daemon leaves its
// socket there when it ends.
std::string MpsSign(const std::string& root) {
  std::string folder = Variable("CUDA_MPS_PIPE_DIRECTORY").value_or("");
  if (folder.empty()) folder = "/tmp/nvidia-mps";
  const std::string path = absl::StrCat(root, folder, "/control");
  struct stat found = {};
  if (stat(path.c_str(), &found) != 0) return "";
  const bool served = S_ISSOCK(found.st_mode)   ? SocketIsServed(path)
                      : S_ISFIFO(found.st_mode) ? PipeIsServed(path)
                                                : false;
  return served ? absl::StrCat("a daemon listens on ", folder, "/control") : "";
}

// Variables of NVIDIA's libraries that change which kernels run, when, or at which clock. From the
// CUDA Programming Guide, "CUDA Environment Variables", and the manuals of MPS, cuBLAS, cuDNN and
// NCCL. docs/gpu_probe.md has the reasons.
constexpr const char* kClearedNames[] = {
    "CUDA_DEVICE_DEFAULT_PERSISTING_L2_CACHE_PERCENTAGE_LIMIT",
    "CUDA_DEVICE_MAX_CONNECTIONS",
    "CUDA_DEVICE_MAX_COPY_CONNECTIONS",
    "CUDA_DISABLE_JIT",
    "CUDA_DISABLE_PERF_BOOST",
    "CUDA_DISABLE_PTX_JIT",
    "CUDA_FORCE_JIT",
    "CUDA_FORCE_PTX_JIT",
    "CUDA_INJECTION64_PATH",
    "CUDA_LAUNCH_BLOCKING",
    "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE",
    "CUDA_SCALE_LAUNCH_QUEUES",
    "NVIDIA_TF32_OVERRIDE",
    "NVTX_INJECTION64_PATH",
};
constexpr const char* kClearedPrefixes[] = {"CUBLAS_", "CUBLASLT_", "CUDNN_", "NCCL_"};

bool IsCleared(absl::string_view name) {
  const auto is_name = [name](const char* cleared) { return name == cleared; };
  const auto is_prefix = [name](const char* prefix) { return absl::StartsWith(name, prefix); };
  return std::any_of(std::begin(kClearedNames), std::end(kClearedNames), is_name) ||
         std::any_of(std::begin(kClearedPrefixes), std::end(kClearedPrefixes), is_prefix);
}

std::vector<std::string> ClearVariables() {
  std::vector<std::string> cleared;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const absl::string_view text = *variable;
    if (IsCleared(text.substr(0, text.find('=')))) cleared.emplace_back(text);
  }
  for (std::string& text : cleared) {
    unsetenv(text.substr(0, text.find('=')).c_str());
    text.resize(std::min(text.size(), kMostVariableBytes));
    std::replace_if(
        text.begin(), text.end(), [](unsigned char c) { return !absl::ascii_isprint(c); }, '?');
  }
  std::sort(cleared.begin(), cleared.end());
  cleared.resize(std::min(cleared.size(), kMostVariables));
  return cleared;
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

CudaEnvironment TakeCudaEnvironment(const std::string& root) {
  std::ifstream file(absl::StrCat(root, "/proc/driver/nvidia/version"));
  std::ostringstream text;
  text << file.rdbuf();
  CudaEnvironment environment = {.visible_devices = Variable(kVisibleDevices),
                                 .mps_sign = MpsSign(root),
                                 .kernel_driver_version = KernelDriverVersion(text.str())};
  environment.cleared_variables = ClearVariables();
  // Without it a driver before R535 loads every kernel of a library at once.
  setenv("CUDA_MODULE_LOADING", "LAZY", /*overwrite=*/1);
  return environment;
}

void ShowOnlyGpu(const std::string& uuid) {
  setenv(kVisibleDevices, uuid.c_str(), /*overwrite=*/1);
}

}  // namespace sextant
