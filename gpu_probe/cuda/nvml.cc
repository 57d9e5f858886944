#include "gpu_probe/cuda/nvml.h"

#include "absl/strings/str_cat.h"
#include "engine/base/reason.h"
#include "engine/base/status_macros.h"
#include "gpu_probe/cuda/cuda_fault.h"
#include "gpu_probe/cuda/cuda_libraries.h"

namespace sextant::probe {
namespace {

// Finds the functions that identify a GPU and read its settings.
void FindFacts(const SharedLibrary& library, Nvml* out) {
  library.Find("nvmlDeviceGetHandleByIndex_v2", &out->device);
  library.Find("nvmlDeviceGetUUID", &out->uuid);
  library.Find("nvmlDeviceGetPciInfo_v3", &out->pci_info);
  library.Find("nvmlDeviceGetPowerManagementDefaultLimit", &out->default_power_limit);
  library.Find("nvmlDeviceGetPersistenceMode", &out->persistence);
  library.Find("nvmlDeviceGetApplicationsClock", &out->application_clock);
  library.Find("nvmlDeviceGetCurrPcieLinkGeneration", &out->pcie_generation);
  library.Find("nvmlDeviceGetCurrPcieLinkWidth", &out->pcie_width);
  library.Find("nvmlDeviceGetMaxPcieLinkGeneration", &out->maximum_pcie_generation);
  library.Find("nvmlDeviceGetMaxPcieLinkWidth", &out->maximum_pcie_width);
  library.Find("nvmlDeviceGetNvLinkState", &out->nvlink_state);
}

void FindDeviceFunctions(const SharedLibrary& library, Nvml* out) {
  library.Find("nvmlDeviceIsMigDeviceHandle", &out->is_mig_instance);
  library.Find("nvmlDeviceGetDeviceHandleFromMigDeviceHandle", &out->gpu_of_instance);
  library.Find("nvmlDeviceGetMemoryInfo_v2", &out->memory2);
  library.Find("nvmlDeviceGetMemoryInfo", &out->memory1);
  library.Find("nvmlDeviceGetUtilizationRates", &out->utilization);
  if (!library.Find("nvmlDeviceGetComputeRunningProcesses_v3", &out->processes)) {
    library.Find("nvmlDeviceGetComputeRunningProcesses_v2", &out->processes);
  }
  if (!library.Find("nvmlDeviceGetMPSComputeRunningProcesses_v3", &out->mps_processes)) {
    library.Find("nvmlDeviceGetMPSComputeRunningProcesses_v2", &out->mps_processes);
  }
  library.Find("nvmlDeviceGetTemperature", &out->temperature);
  library.Find("nvmlDeviceGetComputeMode", &out->compute_mode);
  library.Find("nvmlDeviceGetMigMode", &out->mig_mode);
  library.Find("nvmlDeviceGetEccMode", &out->ecc_mode);
  library.Find("nvmlDeviceGetEnforcedPowerLimit", &out->enforced_power_limit);
  library.Find("nvmlDeviceGetRetiredPagesPendingStatus", &out->retirement_pending);
  library.Find("nvmlDeviceGetTotalEccErrors", &out->ecc_errors);
  library.Find("nvmlDeviceGetRemappedRows", &out->remapped_rows);
  library.Find("nvmlDeviceGetClockInfo", &out->clock);
  library.Find("nvmlDeviceGetMaxClockInfo", &out->maximum_clock);
  library.Find("nvmlDeviceGetTotalEnergyConsumption", &out->energy);
  if (!library.Find("nvmlDeviceGetCurrentClocksEventReasons", &out->throttle_reasons)) {
    library.Find("nvmlDeviceGetCurrentClocksThrottleReasons", &out->throttle_reasons);
  }
}

}  // namespace

absl::StatusOr<Nvml> LoadNvml(const std::string& path) {
  SEXTANT_ASSIGN_OR_RETURN(const SharedLibrary library,
                           SharedLibrary::Open("", {path.empty() ? "libnvidia-ml.so.1" : path}));
  Nvml nvml;
  if (!library.Find("nvmlInit_v2", &nvml.init) ||
      !library.Find("nvmlDeviceGetHandleByUUID", &nvml.find)) {
    return absl::NotFoundError(absl::StrCat(library.name(), " is not NVML"));
  }
  library.Find("nvmlSystemGetDriverVersion", &nvml.driver_version);
  library.Find("nvmlDeviceGetCount_v2", &nvml.device_count);
  FindFacts(library, &nvml);
  FindDeviceFunctions(library, &nvml);
  return nvml;
}

absl::Status NvmlStatus(nvml::Return code, absl::string_view call) {
  const auto said = [&](absl::string_view what) {
    return absl::StrCat(what, " (", call, ": NVML's error ", code, ")");
  };
  const auto gone = [&](absl::string_view reason, absl::string_view what) {
    return WithMetadata(absl::UnavailableError(said(what)), "reason", reason);
  };
  switch (code) {
    case nvml::kSuccess:
      return absl::OkStatus();
    case nvml::kDriverNotLoaded:
    case nvml::kLibraryNotFound:
      return Absent(kNoDriver, said("the NVIDIA driver is not loaded; load it (modprobe nvidia), "
                                    "or pass the GPUs to this container"));
    case nvml::kNotFound:
      return Absent(kNoDevice, said("the GPU is not there any more"));
    case nvml::kOperatingSystem:
      return Absent(kNoDevice, said("the system does not let this process open the GPU's device "
                                    "files; see /dev/nvidia* and the container's device rules"));
    case nvml::kVersionsDiffer:
      return Absent(kVersionMismatch,
                    said("the driver in the kernel and its libraries are of different versions; "
                         "load the new module (reboot), or start the container anew"));
    case nvml::kGpuIsLost:
      return gone("lost", said("the GPU has fallen off its bus; drain the host and restart it"));
    case nvml::kResetRequired:
      return gone("reset", said("the GPU has to be reset before it can be used (nvidia-smi -r)"));
    default:
      return WithMetadata(absl::InternalError(said("NVML has no answer; run nvidia-smi")), "reason",
                          "nvml");
  }
}

}  // namespace sextant::probe
