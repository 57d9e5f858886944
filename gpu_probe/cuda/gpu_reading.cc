#include "gpu_probe/cuda/gpu_reading.h"

#include <algorithm>
#include <functional>
#include <limits>

#include "engine/base/status_macros.h"

namespace sextant::probe {
namespace {

// A count above it is a driver error.
constexpr unsigned kMaxProcesses = 100'000;

// Room for a GPU's processes in the first attempt.
constexpr unsigned kUsualProcesses = 64;

// Queries one GPU's values in turn, until the GPU turns out to be gone.
class Questions {
 public:
  Questions(const Nvml& nvml, nvml::Device gpu) : nvml_(nvml), gpu_(gpu) {}

  // The error that showed that the GPU is gone; OK while it is there.
  const absl::Status& gone() const { return gone_; }

  void AskMemory(GpuReading* out) {
    nvml::Memory2 memory = {.version = nvml::kMemoryVersion2};
    if (!Ask("nvmlDeviceGetMemoryInfo_v2", nvml_.memory2, &memory)) {
      // Before driver R510. The driver's reserved memory then counts as taken.
      nvml::Memory1 older;
      if (!Ask("nvmlDeviceGetMemoryInfo", nvml_.memory1, &older)) return;
      memory = {.total = older.total, .free = older.free};
    }
    // Computed from the free bytes, since NVML versions differ in counting `reserved` as `used`.
    constexpr unsigned long long kMax = std::numeric_limits<int64_t>::max();
    if (memory.total == 0 || memory.total > kMax || memory.free > memory.total ||
        memory.reserved > memory.total - memory.free) {
      return;
    }
    out->free_bytes = static_cast<int64_t>(memory.free);
    out->taken_bytes = static_cast<int64_t>(memory.total - memory.free - memory.reserved);
  }

  void AskLoad(GpuReading* out) {
    nvml::Utilization utilization;
    if (Ask("nvmlDeviceGetUtilizationRates", nvml_.utilization, &utilization) &&
        utilization.gpu <= 100) {
      out->utilization_percent = utilization.gpu;
    }
    out->process_ids = List("nvmlDeviceGetComputeRunningProcesses", nvml_.processes);
    const auto mps_ids = List("nvmlDeviceGetMPSComputeRunningProcesses", nvml_.mps_processes);
    if (mps_ids) out->mps_process_count = static_cast<int64_t>(mps_ids->size());
    unsigned celsius = 0;
    if (Ask("nvmlDeviceGetTemperature", nvml_.temperature, nvml::kChipSensor, &celsius) &&
        celsius <= kCelsius.most) {
      out->temperature_celsius = celsius;
    }
  }

  void AskModes(GpuModes* out) {
    int mode = 0;
    if (Ask("nvmlDeviceGetComputeMode", nvml_.compute_mode, &mode)) out->compute_mode = mode;
    unsigned current = 0;
    unsigned pending = 0;
    if (Ask("nvmlDeviceGetMigMode", nvml_.mig_mode, &current, &pending) && current != 0) {
      out->mig_enabled = true;
    }
  }

  void AskHealth(GpuReading* out) {
    unsigned long long error_count = 0;
    if (Ask("nvmlDeviceGetTotalEccErrors", nvml_.ecc_errors, nvml::kUncorrectedErrors,
            nvml::kSinceReset, &error_count) &&
        error_count <= static_cast<unsigned long long>(std::numeric_limits<int64_t>::max())) {
      out->uncorrected_error_count = static_cast<int64_t>(error_count);
    }
    // Pages up to GV100, rows since GA100.
    int retirement_pending = 0;
    if (Ask("nvmlDeviceGetRetiredPagesPendingStatus", nvml_.retirement_pending,
            &retirement_pending) &&
        retirement_pending != 0) {
      out->repair_pending = true;
    }
    unsigned corrected = 0;
    unsigned uncorrected = 0;
    unsigned pending = 0;
    unsigned failed = 0;
    if (Ask("nvmlDeviceGetRemappedRows", nvml_.remapped_rows, &corrected, &uncorrected, &pending,
            &failed)) {
      out->repair_pending = out->repair_pending || pending != 0;
      out->repair_failed = failed != 0;
    }
  }

 private:
  nvml::Return Note(const char* call, nvml::Return code) {
    if (IsGone(code)) gone_.Update(NvmlStatus(code, call));
    return code;
  }

  // Returns true where there was an answer.
  template <typename... Parameters, typename... Arguments>
  bool Ask(const char* call, const std::function<nvml::Return(Parameters...)>& function,
           Arguments... arguments) {
    return gone_.ok() && Note(call, CallNvml(function, gpu_, arguments...)) == nvml::kSuccess;
  }

  using ListFunction = Nvml::Function<nvml::Device, unsigned*, nvml::ProcessInfo*>;

  // The process numbers of a list. The buffer has room for a driver whose entries have another size
  // than nvml::ProcessInfo; all numbers but the first are then meaningless, but their count is
  // right.
  absl::optional<std::vector<int64_t>> List(const char* call, const ListFunction& function) {
    if (!gone_.ok()) return absl::nullopt;
    unsigned room = kUsualProcesses;
    for (int attempt = 0; attempt < 2; ++attempt) {
      std::vector<nvml::ProcessInfo> entries(
          room * nvml::kLargestProcessInfo / sizeof(nvml::ProcessInfo) + 1);
      unsigned count = room;
      const nvml::Return code = Note(call, CallNvml(function, gpu_, &count, entries.data()));
      if (count > kMaxProcesses) return absl::nullopt;
      if (code == nvml::kSuccess) {
        std::vector<int64_t> ids;
        for (unsigned i = 0; i < std::min(count, room); ++i) ids.push_back(entries[i].pid);
        return ids;
      }
      if (code != nvml::kInsufficientSize) return absl::nullopt;
      room = count + kUsualProcesses;
    }
    return absl::nullopt;
  }

  const Nvml& nvml_;
  nvml::Device gpu_;
  absl::Status gone_;
};

constexpr NvmlRange<unsigned> kPcieGenerations = {1, 16};
constexpr NvmlRange<unsigned> kPcieLanes = {1, 64};
constexpr NvmlRange<unsigned> kApplicationMegahertz = {1, 100'000};

void DescribePcie(const Nvml& nvml, nvml::Device gpu, v1::MeasurementEnvironment* out) {
  const auto whole = [](unsigned value) { return static_cast<int32_t>(value); };
  if (const auto it = AskNvml(nvml.pcie_generation, kPcieGenerations, gpu)) {
    out->set_pcie_generation(whole(*it));
  }
  if (const auto it = AskNvml(nvml.pcie_width, kPcieLanes, gpu)) {
    out->set_pcie_lane_count(whole(*it));
  }
  if (const auto it = AskNvml(nvml.maximum_pcie_generation, kPcieGenerations, gpu)) {
    out->set_maximum_pcie_generation(whole(*it));
  }
  if (const auto it = AskNvml(nvml.maximum_pcie_width, kPcieLanes, gpu)) {
    out->set_maximum_pcie_lane_count(whole(*it));
  }
}

// A link that the GPU does not have returns an error.
void DescribeNvLinks(const Nvml& nvml, nvml::Device gpu, v1::MeasurementEnvironment* out) {
  int count = 0;
  int active_count = 0;
  for (unsigned link = 0; link < nvml::kMaxNvLinks; ++link) {
    int state = 0;
    if (CallNvml(nvml.nvlink_state, gpu, link, &state) != nvml::kSuccess) continue;
    ++count;
    if (state == nvml::kEnabled) ++active_count;
  }
  if (count == 0) return;
  out->set_nvlink_count(count);
  out->set_active_nvlink_count(active_count);
}

}  // namespace

absl::StatusOr<GpuReader> GpuReader::Find(Nvml nvml, const std::string& uuid) {
  nvml::Device gpu = nullptr;
  SEXTANT_RETURN_IF_ERROR(
      NvmlStatus(CallNvml(nvml.find, uuid.c_str(), &gpu), "nvmlDeviceGetHandleByUUID"));
  unsigned is_instance = 0;
  if (CallNvml(nvml.is_mig_instance, gpu, &is_instance) == nvml::kSuccess && is_instance != 0) {
    nvml::Device whole = nullptr;
    SEXTANT_RETURN_IF_ERROR(NvmlStatus(CallNvml(nvml.gpu_of_instance, gpu, &whole),
                                       "nvmlDeviceGetDeviceHandleFromMigDeviceHandle"));
    gpu = whole;
  }
  return GpuReader(std::move(nvml), gpu, is_instance != 0);
}

absl::StatusOr<GpuModes> GpuReader::ReadModes() const {
  GpuModes modes = {.mig_enabled = is_instance_};
  Questions questions(nvml_, gpu_);
  questions.AskModes(&modes);
  if (!questions.gone().ok()) return questions.gone();
  return modes;
}

absl::StatusOr<GpuReading> GpuReader::Read() const {
  GpuReading reading;
  Questions questions(nvml_, gpu_);
  questions.AskMemory(&reading);
  questions.AskLoad(&reading);
  questions.AskHealth(&reading);
  if (!questions.gone().ok()) return questions.gone();
  return reading;
}

void DescribeLinksAndLimits(const Nvml& nvml, const std::string& uuid,
                            v1::MeasurementEnvironment* out) {
  nvml::Device gpu = nullptr;
  if (CallNvml(nvml.find, uuid.c_str(), &gpu) != nvml::kSuccess) return;
  DescribePcie(nvml, gpu, out);
  DescribeNvLinks(nvml, gpu, out);
  int persistence = 0;
  if (CallNvml(nvml.persistence, gpu, &persistence) == nvml::kSuccess) {
    out->set_persistence_mode(persistence == nvml::kEnabled);
  }
  if (const auto it = AskNvml(nvml.application_clock, kApplicationMegahertz, gpu, nvml::kSmClock)) {
    out->set_application_sm_clock_hertz(*it * 1e6);
  }
  if (const auto it =
          AskNvml(nvml.application_clock, kApplicationMegahertz, gpu, nvml::kMemoryClock)) {
    out->set_application_memory_clock_hertz(*it * 1e6);
  }
  if (const auto it = AskNvml(nvml.default_power_limit, kMilliwatts, gpu)) {
    out->set_default_power_limit_watts(*it / 1e3);
  }
}

}  // namespace sextant::probe
