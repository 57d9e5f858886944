#include "gpu_probe/environment_text.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "gpu_probe/figure_text.h"
#include "gpu_probe/text_table.h"

namespace sextant {
namespace {

// "  a, b, c", over as many lines as it takes; "" for no facts.
std::string FactsText(const std::vector<std::string>& facts) {
  if (facts.empty()) return "";
  return WrapText(PrintableText(absl::StrCat("  ", absl::StrJoin(facts, ", "))), /*hanging=*/2);
}

std::vector<std::string> Software(const v1::MeasurementEnvironment& e) {
  std::vector<std::string> facts;
  if (!e.operating_system().empty()) facts.push_back(e.operating_system());
  if (!e.kernel_release().empty()) facts.push_back(absl::StrCat("kernel ", e.kernel_release()));
  if (!e.c_library().empty()) facts.push_back(e.c_library());
  facts.insert(facts.end(), e.libraries().begin(), e.libraries().end());
  return facts;
}

std::vector<std::string> Links(const v1::MeasurementEnvironment& e) {
  std::vector<std::string> facts;
  if (e.has_pcie_generation() && e.has_pcie_lane_count()) {
    facts.push_back(absl::StrCat("PCIe ", e.pcie_generation(), ".0 x", e.pcie_lane_count()));
    if (e.has_maximum_pcie_generation() && e.has_maximum_pcie_lane_count()) {
      absl::StrAppend(&facts.back(), " (at most ", e.maximum_pcie_generation(), ".0 x",
                      e.maximum_pcie_lane_count(), ")");
    }
  }
  if (e.has_nvlink_count()) {
    facts.push_back(absl::StrCat(e.active_nvlink_count(), " of ", e.nvlink_count(), " NVLinks up"));
  }
  return facts;
}

std::vector<std::string> Settings(const v1::MeasurementEnvironment& e) {
  std::vector<std::string> facts;
  if (e.has_persistence_mode()) {
    facts.push_back(absl::StrCat("persistence ", e.persistence_mode() ? "on" : "off"));
  }
  if (e.has_application_sm_clock_hertz()) {
    facts.push_back(
        absl::StrFormat("application clock %.0f MHz", e.application_sm_clock_hertz() / 1e6));
  }
  if (e.has_application_memory_clock_hertz()) {
    facts.push_back(absl::StrFormat("memory's %.0f MHz", e.application_memory_clock_hertz() / 1e6));
  }
  if (e.has_default_power_limit_watts()) {
    facts.push_back(absl::StrFormat("default limit %.0f W", e.default_power_limit_watts()));
  }
  if (e.has_visible_device_count()) {
    facts.push_back(absl::StrCat("devices visible: ", e.visible_device_count()));
  }
  return facts;
}

std::string GuardText(const v1::MeasurementEnvironment& e) {
  if (!e.has_guard_cost()) return "";
  return FactsText({absl::StrCat("guard: ", e.guard_cost().reading_count(), " readings took ",
                                 SecondsText(e.guard_cost().total_seconds()), ", the longest ",
                                 SecondsText(e.guard_cost().longest_seconds()))});
}

std::string ClearedText(const v1::MeasurementEnvironment& e) {
  if (e.cleared_variables().empty()) return "";
  return FactsText({absl::StrCat("cleared: ", absl::StrJoin(e.cleared_variables(), " "))});
}

}  // namespace

std::string EnvironmentText(const v1::Calibration& calibration) {
  if (!calibration.has_environment()) return "";
  const v1::MeasurementEnvironment& e = calibration.environment();
  std::vector<std::string> device = Links(e);
  for (std::string& fact : Settings(e)) device.push_back(std::move(fact));
  return absl::StrCat("\nEnvironment: the host, its software and the device's settings\n",
                      FactsText(Software(e)), FactsText(device), GuardText(e), ClearedText(e));
}

}  // namespace sextant
