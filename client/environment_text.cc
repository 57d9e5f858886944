#include "client/environment_text.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/format.h"
#include "client/table.h"

namespace sextant {
namespace {

std::string SystemText(const v1::MeasurementEnvironment& e) {
  std::vector<std::string> facts;
  if (!e.operating_system().empty()) facts.push_back(e.operating_system());
  if (!e.kernel_release().empty()) facts.push_back(absl::StrCat("kernel ", e.kernel_release()));
  if (!e.c_library().empty()) facts.push_back(e.c_library());
  return absl::StrJoin(facts, ", ");
}

std::string PcieText(const v1::MeasurementEnvironment& e) {
  if (!e.has_pcie_generation() || !e.has_pcie_lane_count()) return "";
  std::string text = absl::StrCat(e.pcie_generation(), ".0 x", e.pcie_lane_count());
  if (e.has_maximum_pcie_generation() && e.has_maximum_pcie_lane_count()) {
    absl::StrAppend(&text, " (at most ", e.maximum_pcie_generation(), ".0 x",
                    e.maximum_pcie_lane_count(), ")");
  }
  return text;
}

std::string SettingsText(const v1::MeasurementEnvironment& e) {
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
  return absl::StrJoin(facts, ", ");
}

}  // namespace

std::string EnvironmentSection(const v1::Calibration& calibration) {
  if (!calibration.has_environment()) return "";
  const v1::MeasurementEnvironment& e = calibration.environment();
  Table table(2, {Align::kLeft, Align::kLeft});
  const auto row = [&table](const char* name, const std::string& text) {
    if (!text.empty()) table.AddRow({name, text});
  };
  row("system", SystemText(e));
  row("libraries", absl::StrJoin(e.libraries(), ", "));
  row("PCIe", PcieText(e));
  if (e.has_nvlink_count()) {
    row("NVLink", absl::StrCat(e.active_nvlink_count(), " of ", e.nvlink_count(), " NVLinks up"));
  }
  row("settings", SettingsText(e));
  if (e.has_guard_cost()) {
    row("guard", absl::StrCat(e.guard_cost().reading_count(), " readings took ",
                              ShortTime(e.guard_cost().total_seconds()), ", the longest ",
                              ShortTime(e.guard_cost().longest_seconds())));
  }
  for (const std::string& variable : e.cleared_variables()) row("cleared", variable);
  return absl::StrCat("\nEnvironment (the host, its software and the device's settings)\n",
                      table.Text());
}

}  // namespace sextant
