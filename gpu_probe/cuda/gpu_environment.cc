#include "gpu_probe/cuda/gpu_environment.h"

#include <functional>

#include "absl/types/optional.h"

namespace sextant {
namespace {

// Beyond these a value is an error of the driver's.
constexpr unsigned kMostPcieGenerations = 16;
constexpr unsigned kMostPcieLanes = 64;
constexpr unsigned kMostMegahertz = 100'000;
constexpr unsigned kMostMilliwatts = 10'000'000;

// What `function` writes after `arguments`, where that is from 1 to `most`.
template <typename... Parameters, typename... Arguments>
absl::optional<unsigned> Ask(const std::function<nvml::Return(Parameters...)>& function,
                             unsigned most, Arguments... arguments) {
  unsigned value = 0;
  if (CallNvml(function, arguments..., &value) != nvml::kSuccess) return absl::nullopt;
  if (value == 0 || value > most) return absl::nullopt;
  return value;
}

void DescribePcie(const Nvml& nvml, nvml::Device gpu, v1::MeasurementEnvironment* out) {
  const auto whole = [](unsigned value) { return static_cast<int32_t>(value); };
  if (const auto it = Ask(nvml.pcie_generation, kMostPcieGenerations, gpu)) {
    out->set_pcie_generation(whole(*it));
  }
  if (const auto it = Ask(nvml.pcie_width, kMostPcieLanes, gpu)) {
    out->set_pcie_lane_count(whole(*it));
  }
  if (const auto it = Ask(nvml.maximum_pcie_generation, kMostPcieGenerations, gpu)) {
    out->set_maximum_pcie_generation(whole(*it));
  }
  if (const auto it = Ask(nvml.maximum_pcie_width, kMostPcieLanes, gpu)) {
    out->set_maximum_pcie_lane_count(whole(*it));
  }
}

// A link that the GPU does not have gives no answer.
void DescribeNvLinks(const Nvml& nvml, nvml::Device gpu, v1::MeasurementEnvironment* out) {
  int count = 0;
  int active_count = 0;
  for (unsigned link = 0; link < nvml::kMostNvLinks; ++link) {
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
  if (const auto it = Ask(nvml.application_clock, kMostMegahertz, gpu, nvml::kSmClock)) {
    out->set_application_sm_clock_hertz(*it * 1e6);
  }
  if (const auto it = Ask(nvml.application_clock, kMostMegahertz, gpu, nvml::kMemoryClock)) {
    out->set_application_memory_clock_hertz(*it * 1e6);
  }
  if (const auto it = Ask(nvml.default_power_limit, kMostMilliwatts, gpu)) {
    out->set_default_power_limit_watts(*it / 1e3);
  }
}

}  // namespace sextant
