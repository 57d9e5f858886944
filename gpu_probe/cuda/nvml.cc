#include "gpu_probe/cuda/nvml.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/reason.h"
#include "engine/base/status_macros.h"
#include "gpu_probe/cuda/cuda_fault.h"

namespace sextant::probe {
absl::StatusOr<Nvml> LoadNvml(const std::string& path) {
  SEXTANT_ASSIGN_OR_RETURN(LibrarySymbols symbols,
                           LibrarySymbols::Open("", {path.empty() ? "libnvidia-ml.so.1" : path}));
  Nvml nvml = {.symbols = std::move(symbols)};
  if (nvml.init && nvml.find) return nvml;
  return absl::NotFoundError(absl::StrCat(nvml.symbols.library(), " is not NVML"));
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
