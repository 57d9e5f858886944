#include "gpu_probe/cuda/gpu_list.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "engine/base/status_macros.h"
#include "gpu_probe/cuda/cuda_fault.h"
#include "gpu_probe/host_environment.h"

namespace sextant::probe {
namespace {

// More than a host has: a count above it is invalid.
constexpr int kMaxGpus = 4096;

// Ampere's GA100: the first with bf16.
constexpr double kOldestComputeCapability = 8.0;

using Text = std::array<char, 256>;

// The last byte of a Text stays 0, whatever a library writes.
constexpr int kTextRoom = sizeof(Text) - 1;

absl::optional<int> Attribute(const CudaDriver& driver, int attribute, cuda::Device ordinal) {
  int value = 0;
  if (driver.attribute(&value, attribute, ordinal) != 0 || value < 0) return absl::nullopt;
  return value;
}

void DescribeByCuda(const CudaDriver& driver, cuda::Device ordinal, v1::Device* out) {
  // The memory that processes may use: NVML's total less what the driver reserves.
  std::size_t memory_bytes = 0;
  if (driver.memory_size(&memory_bytes, ordinal) == 0 &&
      memory_bytes <= static_cast<std::size_t>(std::numeric_limits<int64_t>::max())) {
    out->set_memory_bytes(static_cast<int64_t>(memory_bytes));
  }
  const auto multiprocessors = Attribute(driver, cuda::kMultiprocessorCount, ordinal);
  if (multiprocessors.value_or(0) > 0) out->set_compute_unit_count(*multiprocessors);
  const auto cache_bytes = Attribute(driver, cuda::kL2CacheSize, ordinal);
  if (cache_bytes.value_or(0) > 0) out->set_cache_bytes(*cache_bytes);
  const auto major = Attribute(driver, cuda::kComputeCapabilityMajor, ordinal);
  const auto minor = Attribute(driver, cuda::kComputeCapabilityMinor, ordinal);
  if (major && minor) out->set_compute_capability(absl::StrCat(*major, ".", *minor));
  Text bus_id = {};
  if (driver.pci_bus_id(bus_id.data(), kTextRoom, ordinal) == 0) {
    out->set_pci_bus_id(bus_id.data());
  }
}

void DescribeByNvml(const Nvml& nvml, nvml::Device gpu, v1::Device* out) {
  if (const auto milliwatts = AskNvml(nvml.enforced_power_limit, kMilliwatts, gpu)) {
    out->set_power_limit_watts(*milliwatts / 1e3);
  }
  int current = 0;
  int pending = 0;
  if (CallNvml(nvml.ecc_mode, gpu, &current, &pending) == nvml::kSuccess) {
    out->set_ecc_enabled(current == 1);
  }
}

// NVML's handle of the GPU named `uuid`.
absl::optional<nvml::Device> Handle(const Nvml& nvml, const std::string& uuid) {
  nvml::Device handle = nullptr;
  if (CallNvml(nvml.find, uuid.c_str(), &handle) != nvml::kSuccess) return absl::nullopt;
  return handle;
}

absl::StatusOr<Gpu> Describe(const CudaSystem& system, int index) {
  const CudaDriver& driver = *system.driver;
  Gpu gpu;
  SEXTANT_RETURN_IF_ERROR(driver.device.Checked(&gpu.ordinal, index));
  cuda::Uuid uuid = {};
  SEXTANT_RETURN_IF_ERROR(CudaStatus(driver.uuid(&uuid, gpu.ordinal), "cuDeviceGetUuid"));
  Text name = {};
  SEXTANT_RETURN_IF_ERROR(driver.name.Checked(name.data(), kTextRoom, gpu.ordinal));
  // "NVIDIA A100-SXM4-40GB MIG 1g.5gb". Where NVML is available, its answer is used instead.
  gpu.mig_instance = absl::StrContains(name.data(), " MIG ");
  if (system.nvml.ok()) {
    const auto whole = Handle(*system.nvml, UuidText(uuid, /*mig_instance=*/false));
    if (whole) DescribeByNvml(*system.nvml, *whole, &gpu.device);
    const bool slice = !whole && Handle(*system.nvml, UuidText(uuid, /*mig_instance=*/true));
    if (whole || slice) gpu.mig_instance = slice;
  }
  gpu.device.set_kind(v1::DEVICE_KIND_GPU);
  gpu.device.set_uuid(UuidText(uuid, gpu.mig_instance));
  gpu.device.set_product_name(name.data());
  gpu.device.set_hostname(HostName());
  DescribeByCuda(driver, gpu.ordinal, &gpu.device);
  const std::string driver_version = DriverVersion(system);
  if (!driver_version.empty()) gpu.device.set_driver_version(driver_version);
  const int cuda_version = SupportedCuda(driver);
  if (cuda_version > 0) gpu.device.set_cuda_version(CudaVersionText(cuda_version));
  return gpu;
}

// A GPU as NVML describes it.
struct NvmlGpu {
  std::string uuid;
  std::array<unsigned, 3> address = {};  // domain, bus, device
};

// Absent where NVML does not report it, or it is cut into instances.
absl::optional<NvmlGpu> NvmlGpuAt(const Nvml& nvml, unsigned index) {
  nvml::Device gpu = nullptr;
  if (CallNvml(nvml.device, index, &gpu) != nvml::kSuccess) return absl::nullopt;
  unsigned current = 0;
  unsigned pending = 0;
  if (CallNvml(nvml.mig_mode, gpu, &current, &pending) == nvml::kSuccess && current != 0) {
    return absl::nullopt;
  }
  std::array<char, nvml::kTextLength> uuid = {};
  nvml::PciInfo pci;
  if (CallNvml(nvml.uuid, gpu, uuid.data(), nvml::kTextLength - 1) != nvml::kSuccess ||
      CallNvml(nvml.pci_info, gpu, &pci) != nvml::kSuccess) {
    return absl::nullopt;
  }
  return NvmlGpu{.uuid = uuid.data(), .address = {pci.domain, pci.bus, pci.device}};
}

// Those of `uuids` that `visible_devices` names by UUID or by a prefix of it.
absl::optional<std::vector<std::string>> NamedUuids(const std::vector<std::string>& uuids,
                                                    const std::string& visible_devices) {
  std::vector<std::string> named;
  for (const absl::string_view name : absl::StrSplit(visible_devices, ',')) {
    if (!absl::StartsWith(name, "GPU-")) return absl::nullopt;
    const auto is_named = [name](const std::string& uuid) { return absl::StartsWith(uuid, name); };
    const auto found = std::find_if(uuids.begin(), uuids.end(), is_named);
    if (std::count_if(uuids.begin(), uuids.end(), is_named) != 1) return absl::nullopt;
    if (std::find(named.begin(), named.end(), *found) != named.end()) return absl::nullopt;
    named.push_back(*found);
  }
  return named;
}

}  // namespace

absl::optional<std::vector<std::string>> UuidsByNvml(const CudaSystem& system) {
  unsigned count = 0;
  if (!system.nvml.ok() || CallNvml(system.nvml->device_count, &count) != nvml::kSuccess ||
      count == 0 || count > kMaxGpus) {
    return absl::nullopt;
  }
  std::vector<NvmlGpu> gpus;
  for (unsigned i = 0; i < count; ++i) {
    absl::optional<NvmlGpu> gpu = NvmlGpuAt(*system.nvml, i);
    if (!gpu) return absl::nullopt;
    gpus.push_back(*std::move(gpu));
  }
  std::sort(gpus.begin(), gpus.end(),
            [](const NvmlGpu& a, const NvmlGpu& b) { return a.address < b.address; });
  std::vector<std::string> uuids;
  for (NvmlGpu& gpu : gpus) uuids.push_back(std::move(gpu.uuid));
  const auto& visible_devices = system.environment.visible_devices;
  return visible_devices ? NamedUuids(uuids, *visible_devices) : uuids;
}

absl::Status CheckComputeCapability(const v1::Device& device) {
  double capability = 0;
  if (absl::SimpleAtod(device.compute_capability(), &capability) &&
      capability >= kOldestComputeCapability) {
    return absl::OkStatus();
  }
  return absl::UnimplementedError(absl::StrCat(
      device.uuid(), " (", device.product_name(), ") has compute capability ",
      device.compute_capability(), ", and GPUs are measured from 8.0 on: A100 and later"));
}

absl::StatusOr<std::vector<Gpu>> ListGpus(const CudaSystem& system) {
  SEXTANT_RETURN_IF_ERROR(StartCuda(system));
  int count = 0;
  SEXTANT_RETURN_IF_ERROR(system.driver->device_count.Checked(&count));
  if (count > kMaxGpus) {
    return absl::InternalError(absl::StrCat("CUDA counts ", count, " GPUs; run nvidia-smi"));
  }
  std::vector<Gpu> gpus;
  absl::Status first_fault;
  for (int i = 0; i < count; ++i) {
    absl::StatusOr<Gpu> gpu = Describe(system, i);
    first_fault.Update(gpu.status());
    if (gpu.ok()) gpus.push_back(*std::move(gpu));
  }
  if (!system.environment.visible_devices) {
    std::stable_sort(gpus.begin(), gpus.end(), [](const Gpu& a, const Gpu& b) {
      return a.device.pci_bus_id() < b.device.pci_bus_id();
    });
  }
  if (!gpus.empty()) return gpus;
  if (!first_fault.ok()) return first_fault;
  return Absent(kNoDevice, "CUDA counts no GPU; pass one to this container or virtual machine");
}

absl::StatusOr<Gpu> FindGpu(const CudaSystem& system, const std::string& uuid) {
  SEXTANT_ASSIGN_OR_RETURN(std::vector<Gpu> gpus, ListGpus(system));
  const auto named = std::find_if(gpus.begin(), gpus.end(),
                                  [&](const Gpu& gpu) { return gpu.device.uuid() == uuid; });
  if (named == gpus.end()) {
    return absl::NotFoundError(
        absl::StrCat("CUDA sees no GPU ", uuid, " any more; see sextant-probe --list"));
  }
  SEXTANT_RETURN_IF_ERROR(CheckComputeCapability(named->device));
  return std::move(*named);
}

std::string UuidText(const cuda::Uuid& uuid, bool mig_instance) {
  const std::string digits = absl::BytesToHexString(
      absl::string_view(reinterpret_cast<const char*>(uuid.data()), uuid.size()));
  return absl::StrCat(mig_instance ? "MIG-" : "GPU-", digits.substr(0, 8), "-", digits.substr(8, 4),
                      "-", digits.substr(12, 4), "-", digits.substr(16, 4), "-", digits.substr(20));
}

}  // namespace sextant::probe
