#include "gpu_probe/cuda/cuda_system.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "engine/base/reason.h"
#include "engine/base/status_macros.h"
#include "gpu_probe/cuda/cuda_fault.h"

namespace sextant::probe {
namespace {

absl::optional<std::string> Variable(const char* name) {
  const char* const value = std::getenv(name);
  if (value == nullptr) return absl::nullopt;
  return std::string(value);
}

constexpr char kVisibleDevices[] = "CUDA_VISIBLE_DEVICES";

// True where a program listens on the socket `path`. Connects with another socket type than the
// daemon's: the system then reports a listener (EPROTOTYPE) without the daemon noticing.
bool SocketIsServed(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) return false;  // too long for a daemon, too
  path.copy(address.sun_path, path.size());
  const int descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return true;  // not known
  const bool connected =
      connect(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  const bool nobody = !connected && errno == ECONNREFUSED;
  close(descriptor);
  return !nobody;
}

// True where a program reads from the named pipe `path`.
bool PipeIsServed(const std::string& path) {
  const int descriptor = open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) return errno != ENXIO;
  close(descriptor);
  return true;
}

// CUDA programs use MPS where its daemon listens in this folder. The daemon leaves its socket there
// when it ends.
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
    text.resize(std::min(text.size(), kMaxVariableBytes));
    std::replace_if(
        text.begin(), text.end(), [](unsigned char c) { return !absl::ascii_isprint(c); }, '?');
  }
  std::sort(cleared.begin(), cleared.end());
  cleared.resize(std::min(cleared.size(), kMaxVariables));
  return cleared;
}

// True for 535.104.05, but not for x86_64, 12:07 or (GCC).
bool IsVersion(absl::string_view word) {
  return !word.empty() && absl::ascii_isdigit(static_cast<unsigned char>(word.front())) &&
         word.find('.') != absl::string_view::npos &&
         std::all_of(word.begin(), word.end(),
                     [](unsigned char c) { return c == '.' || absl::ascii_isdigit(c); });
}

// The oldest CUDA whose libraries the probe loads (cuda_libraries.h). Libraries of every CUDA 12
// run on the drivers of 12.0 ("minor version compatibility" of NVIDIA's CUDA Compatibility guide).
constexpr int kLibraryCuda = 12000;

// The first driver of each CUDA: NVIDIA's release notes of CUDA 13.0, table "CUDA Toolkit and
// Corresponding Driver Versions".
struct FirstDriver {
  int cuda;
  const char* driver;
};
constexpr FirstDriver kFirstDrivers[] = {{12000, "525.60.13"}, {13000, "580.65.06"}};

// "driver 525.60.13 or later"; without a number for a CUDA that is newer than the table.
std::string DriverOf(int cuda) {
  for (const FirstDriver& first : kFirstDrivers) {
    if (cuda <= first.cuda) return absl::StrCat("driver ", first.driver, " or later");
  }
  return "a newer driver";
}

constexpr int kNoDeviceCode = 100;

// True where `status` gives one of cuda_fault.h's words as the reason.
bool HasWord(const absl::Status& status) {
  return absl::IsNotFound(status) && !MetadataOf(status).empty();
}

absl::Status WithoutLibrary(const CudaSystem& system) {
  const absl::Status& fault = system.driver.status();
  if (HasWord(fault)) return fault;
  if (HasWord(system.nvml.status())) return system.nvml.status();
  const std::string version = DriverVersion(system);
  if (!version.empty()) {
    return AbsentDespiteDriver(
        kNoDriver,
        absl::StrCat("the NVIDIA driver ", version,
                     " runs, but its library for CUDA could not be loaded (", fault.message(),
                     "); give this container the driver's capability \"compute\" "
                     "(NVIDIA_DRIVER_CAPABILITIES=compute,utility)"),
        version);
  }
  return Absent(kNoDriver,
                absl::StrCat("this host has no NVIDIA driver that can be seen (", fault.message(),
                             "); install one, or pass the GPUs to this container"));
}

absl::Status TooOld(const CudaSystem& system, int supported) {
  const std::string version = DriverVersion(system);
  return Absent(kDriverTooOld,
                absl::StrCat("the NVIDIA driver", version.empty() ? "" : " ", version,
                             " supports CUDA ", CudaVersionText(supported),
                             ", and the probe needs CUDA ", CudaVersionText(system.oldest_cuda),
                             "; install ", DriverOf(system.oldest_cuda)));
}

std::string GpuCountText(const CudaSystem& system) {
  unsigned count = 0;
  if (!system.nvml.ok()) return "";
  if (CallNvml(system.nvml->device_count, &count) != nvml::kSuccess || count == 0) return "";
  return absl::StrCat(" of the ", count, " that this host has");
}

absl::Status NoDevice(const CudaSystem& system) {
  const auto& visible = system.environment.visible_devices;
  if (!visible) return CudaStatus(kNoDeviceCode, "cuInit");
  return Absent(kNoDevice, absl::StrCat("CUDA_VISIBLE_DEVICES=\"", *visible, "\" leaves no GPU",
                                        GpuCountText(system),
                                        " to CUDA; unset it, or name one as nvidia-smi -L does"));
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
  // Otherwise a driver before R535 loads every kernel of a library at once.
  setenv("CUDA_MODULE_LOADING", "LAZY", /*overwrite=*/1);
  return environment;
}

void ShowOnlyGpu(const std::string& uuid) {
  setenv(kVisibleDevices, uuid.c_str(), /*overwrite=*/1);
}

int OldestCuda(const std::vector<KernelImage>& images) {
  // For each file the least version that loads one of its images; the result is the largest of
  // these.
  std::map<absl::string_view, int> of_file;
  for (const KernelImage& image : images) {
    const auto [known, added] = of_file.emplace(image.name, image.oldest_cuda);
    if (!added) known->second = std::min(known->second, image.oldest_cuda);
  }
  int oldest = kLibraryCuda;
  for (const auto& [name, cuda] : of_file) oldest = std::max(oldest, cuda);
  return oldest;
}

CudaSystem OpenCudaSystem(CudaEnvironment environment) {
  absl::StatusOr<Nvml> nvml = LoadNvml("");
  return {.driver = LoadCudaDriver(""),
          .nvml = nvml.ok() ? StartNvml(*std::move(nvml)) : std::move(nvml),
          .environment = std::move(environment)};
}

absl::StatusOr<Nvml> StartNvml(Nvml nvml) {
  SEXTANT_RETURN_IF_ERROR(NvmlStatus(CallNvml(nvml.init), "nvmlInit_v2"));
  return nvml;
}

absl::Status CheckCuda(const CudaSystem& system) {
  if (!system.driver.ok()) return WithoutLibrary(system);
  const int supported = SupportedCuda(*system.driver);
  if (supported > 0 && supported < system.oldest_cuda) return TooOld(system, supported);
  return absl::OkStatus();
}

absl::Status StartCuda(const CudaSystem& system) {
  SEXTANT_RETURN_IF_ERROR(CheckCuda(system));
  const int code = system.driver->init(0);
  if (code == kNoDeviceCode) return NoDevice(system);
  const absl::Status started = CudaStatus(code, "cuInit");
  // NVML has more details on CUDA's unknown error (999).
  return absl::IsInternal(started) && HasWord(system.nvml.status()) ? system.nvml.status()
                                                                    : started;
}

int SupportedCuda(const CudaDriver& driver) {
  int version = 0;
  return driver.driver_version(&version) == 0 ? version : 0;
}

std::string CudaVersionText(int version) {
  return absl::StrCat(version / 1000, ".", version % 1000 / 10);
}

std::string DriverVersion(const CudaSystem& system) {
  std::array<char, nvml::kTextLength> text = {};
  // The last byte stays 0, whatever the library writes.
  const auto length = static_cast<unsigned>(text.size() - 1);
  if (system.nvml.ok() &&
      CallNvml(system.nvml->driver_version, text.data(), length) == nvml::kSuccess) {
    return text.data();
  }
  return system.environment.kernel_driver_version;
}

}  // namespace sextant::probe
