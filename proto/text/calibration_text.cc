#include "proto/text/calibration_text.h"

#include <cstdint>
#include <map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "proto/matmul_kind.h"
#include "proto/stable_points.h"
#include "proto/text/device_text.h"
#include "proto/text/enum_names.h"
#include "proto/text/format.h"
#include "proto/text/kernel_sections.h"
#include "proto/text/matmul_sections.h"
#include "proto/text/table.h"

namespace sextant::text {
namespace {

std::string WhenText(const v1::Calibration& calibration, std::optional<double> age_seconds) {
  if (!calibration.has_measured_time()) return "at a time not known";
  const std::string when = InstantText(calibration.measured_time());
  return age_seconds.has_value() ? absl::StrCat(when, ", ", AgeText(*age_seconds)) : when;
}

std::string CoverageText(double ratio) {
  return absl::StrCat(Percent(ratio), " of the planned points",
                      ratio < 1 ? ": partial, the time was up before the rest" : "");
}

// The program, its mode, and how long it took.
std::string ProbeText(const v1::Calibration& calibration) {
  std::vector<std::string> parts;
  if (!calibration.probe_version().empty()) parts.push_back(calibration.probe_version());
  const std::string mode = EnumName(calibration.mode());
  if (!mode.empty()) parts.push_back(absl::StrCat("mode ", mode));
  parts.push_back(absl::StrCat("in ", ShortTime(calibration.duration_seconds())));
  return absl::StrJoin(parts, ", ");
}

// "all of them right" for no result at all would read like a check.
std::string CheckedText(int64_t count) {
  return count == 0 ? "no result" : absl::StrCat(Grouped(count), " results, all of them right");
}

std::string HowSection(const v1::Calibration& calibration, std::optional<double> age_seconds) {
  Table table(2, {Align::kLeft, Align::kLeft});
  AddDeviceRows(calibration.device(), &table);
  table.AddRow({"measured", WhenText(calibration, age_seconds)});
  table.AddRow({"by", ProbeText(calibration)});
  table.AddRow({"coverage", CoverageText(calibration.coverage_ratio())});
  if (const PointCounts points = CountPoints(calibration); points.all > 0) {
    table.AddRow({"stable", absl::StrCat(Grouped(points.stable), " of ", Grouped(points.all),
                                         " measured times")});
  }
  if (calibration.has_drift_ratio()) {
    table.AddRow({"drift", absl::StrFormat("%+.2f %% time from the first pass to the third",
                                           100 * calibration.drift_ratio())});
  }
  table.AddRow({"checked", CheckedText(calibration.checked_result_count())});
  return absl::StrCat(Wrap("", DeviceTitle(calibration.device()), 2), table.Text());
}

// Prefers a rate with stable samples to a faster unstable one, unless it is more than 10 % slower.
// Plans choose by the same rule.
constexpr double kStableShareOfFastest = 0.9;

template <typename Measurement, typename RateOf>
bool IsBetter(const Measurement& x, const Measurement& y, RateOf rate_of) {
  const bool stable = x.time().stable();
  if (stable == y.time().stable()) return rate_of(x) > rate_of(y);
  return stable ? rate_of(x) >= rate_of(y) * kStableShareOfFastest
                : rate_of(y) < rate_of(x) * kStableShareOfFastest;
}

// The best for each key of those `measurements` for which `counts` is true. A value that is not a
// rate (NaN, 0) is ignored.
template <typename Measurements, typename Counts, typename KeyOf, typename RateOf>
auto Best(const Measurements& measurements, Counts counts, KeyOf key_of, RateOf rate_of) {
  std::map<std::string, const typename Measurements::value_type*> best;
  for (const auto& measurement : measurements) {
    if (!counts(measurement) || !(rate_of(measurement) > 0)) continue;
    const auto*& held = best[key_of(measurement)];
    if (held == nullptr || IsBetter(measurement, *held, rate_of)) held = &measurement;
  }
  return best;
}

std::string SpreadText(const v1::TimeStatistics& time) {
  if (time.sample_count() == 1) return "a single sample";
  return absl::StrCat("spread ", Percent(time.relative_spread()),
                      time.stable() ? "" : ", unstable");
}

std::string MatmulNote(const v1::MatmulMeasurement& matmul) {
  std::string note = ShapeText(matmul);
  if (matmul.has_register_ratio()) {
    absl::StrAppend(&note, ", ", Percent(matmul.register_ratio()), " of registers");
  }
  if (matmul.has_datasheet_mfu()) {
    absl::StrAppend(&note, ", ", Percent(matmul.datasheet_mfu()), " MFU");
  }
  if (matmul.has_time()) absl::StrAppend(&note, ", ", SpreadText(matmul.time()));
  return note;
}

template <typename IsKind>
void AddMatmuls(const std::string& label, const v1::Calibration& calibration, IsKind is_kind,
                Table* table) {
  const auto type = [](const auto& matmul) { return DataTypeName(matmul.data_type()); };
  const auto rate = [](const auto& matmul) { return matmul.flops_per_second(); };
  for (const auto& [name, matmul] : Best(calibration.matmuls(), is_kind, type, rate)) {
    table->AddRow({absl::StrCat(label, " ", name),
                   Scaled(matmul->flops_per_second(), UnitOfWork(matmul->data_type())),
                   MatmulNote(*matmul)});
  }
}

void AddStreams(const v1::Calibration& calibration, Table* table) {
  const auto of_memory = [](const v1::StreamMeasurement& stream) { return stream.main_memory(); };
  const auto operation = [](const v1::StreamMeasurement& stream) {
    return EnumName(stream.operation());
  };
  const auto rate = [](const v1::StreamMeasurement& stream) { return stream.bytes_per_second(); };
  for (const auto& [name, stream] : Best(calibration.streams(), of_memory, operation, rate)) {
    table->AddRow({absl::StrCat("memory ", name), Scaled(stream->bytes_per_second(), "B/s"),
                   stream->has_time() ? SpreadText(stream->time()) : ""});
  }
}

// The best rate of each kind: the highest, but a stable one before an unstable one that is at most
// 10 % faster. For matrix multiplications, shapes that a user asked for are left out.
std::string BestSection(const v1::Calibration& calibration) {
  Table table(2, {Align::kLeft, Align::kRight, Align::kLeft});
  AddMatmuls("matmul", calibration, IsGridBurst, &table);
  AddMatmuls("sustained", calibration, IsSustained, &table);
  AddStreams(calibration, &table);
  if (calibration.has_ridge_flops_per_byte()) {
    table.AddRow({"ridge", absl::StrFormat("%.2f FLOP/byte", calibration.ridge_flops_per_byte()),
                  "elementwise work below it waits for memory"});
  }
  if (calibration.has_fusion()) {
    table.AddRow({"fusion", absl::StrFormat("%.2f x", calibration.fusion().speedup_ratio()),
                  absl::StrCat("as fast, ", calibration.fusion().operation_count(),
                               " operations in one pass")});
  }
  const std::string rows = table.Text();
  return rows.empty() ? "" : absl::StrCat("\nBest of each kind\n", rows);
}

std::string ClockText(const v1::OperatingConditions& conditions) {
  constexpr double kMegahertz = 1e6;
  const std::string highest =
      conditions.has_maximum_sm_clock_hertz()
          ? absl::StrFormat(" of %.4g", conditions.maximum_sm_clock_hertz() / kMegahertz)
          : "";
  return absl::StrFormat("%.4g%s MHz, the median while it multiplied without a pause",
                         conditions.sm_clock_hertz() / kMegahertz, highest);
}

// The device's conditions during the measurement.
std::string ConditionsSection(const v1::Calibration& calibration) {
  if (!calibration.has_conditions()) return "";
  const v1::OperatingConditions& c = calibration.conditions();
  Table table(2, {Align::kLeft, Align::kLeft});
  if (c.has_sm_clock_hertz()) table.AddRow({"clock", ClockText(c)});
  if (c.has_power_watts()) {
    table.AddRow(
        {"power", absl::StrFormat("%.4g W while it multiplied without a pause", c.power_watts())});
  }
  if (c.has_maximum_temperature_celsius()) {
    table.AddRow(
        {"temperature", absl::StrFormat("%.4g C at most", c.maximum_temperature_celsius())});
  }
  const auto held_down = [&](const char* what, bool reported, double share) {
    if (reported) table.AddRow({what, absl::StrCat(Percent(share), " of the readings")});
  };
  held_down("power limit", c.has_power_throttle_ratio(), c.power_throttle_ratio());
  held_down("heat", c.has_thermal_throttle_ratio(), c.thermal_throttle_ratio());
  held_down("hardware", c.has_hardware_throttle_ratio(), c.hardware_throttle_ratio());
  if (c.has_peak_allocated_bytes()) {
    table.AddRow({"memory", absl::StrCat(Gib(c.peak_allocated_bytes()), " held by the probe")});
  }
  table.AddRow({"readings", Grouped(c.reading_count())});
  return absl::StrCat("\nConditions (as the device reported them)\n", table.Text(),
                      Wrap("  ", "power limit, heat, hardware: what held its clock down", 2));
}

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

// The host, software and settings.
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

std::string NotesSection(const v1::Calibration& calibration) {
  if (calibration.notes().empty()) return "";
  std::string out = "\nNotes\n";
  for (const std::string& note : calibration.notes()) out += Wrap("  - ", note, 4);
  return out;
}

}  // namespace

std::string CalibrationText(const v1::Calibration& calibration, std::optional<double> age_seconds,
                            absl::string_view json_flag) {
  return absl::StrCat(
      HowSection(calibration, age_seconds), BestSection(calibration),
      RequestedMatmulSection(calibration, json_flag), MatmulSection(calibration, json_flag),
      SustainedMatmulSection(calibration, json_flag), SustainedConditionsSection(calibration),
      OtherMatmulSection(calibration), KernelSection(calibration), RegisterSection(calibration),
      StreamSection(calibration), ElementwiseSection(calibration), FusionSection(calibration),
      AttentionSection(calibration), ExpertsSection(calibration), CollectiveSection(calibration),
      HostCopySection(calibration), LaunchSection(calibration), ConditionsSection(calibration),
      EnvironmentSection(calibration), NotesSection(calibration));
}

}  // namespace sextant::text
