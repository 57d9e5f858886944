#include "gpu_probe/cuda/cuda_system.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "engine/base/reason.h"
#include "engine/base/status_macros.h"
#include "gpu_probe/cuda/absence.h"
#include "gpu_probe/cuda/cuda_fault.h"

namespace sextant {
namespace {

// The oldest CUDA whose libraries the probe loads (cuda_libraries.h). Libraries of all of CUDA 12
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

// Whether `status` says by one of our words why nothing is there.
bool HasWord(const absl::Status& status) {
  return absl::IsNotFound(status) && !MetadataOf(status).empty();
}

absl::Status WithoutLibrary(const CudaSystem& system) {
  const absl::Status& fault = system.driver.status();
  if (HasWord(fault)) return fault;
  if (HasWord(system.nvml.status())) return system.nvml.status();
  const std::string version = DriverVersion(system);
  if (!version.empty()) {
    return AbsentBesideDriver(
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

int OldestCuda(const std::vector<KernelImage>& images) {
  // The least that loads one image of each file, and the most that a file asks for.
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
  // NVML can say more of what CUDA calls unknown (999).
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
  // The last byte stays 0 whatever the library writes.
  const auto length = static_cast<unsigned>(text.size() - 1);
  if (system.nvml.ok() &&
      CallNvml(system.nvml->driver_version, text.data(), length) == nvml::kSuccess) {
    return text.data();
  }
  return system.environment.kernel_driver_version;
}

}  // namespace sextant
