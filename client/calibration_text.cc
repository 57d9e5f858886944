#include "client/calibration_text.h"

#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/best_rates.h"
#include "client/device_text.h"
#include "client/enum_names.h"
#include "client/environment_text.h"
#include "client/format.h"
#include "client/gpu_tables.h"
#include "client/kernel_tables.h"
#include "client/matmul_tables.h"
#include "client/measured_time.h"
#include "client/memory_tables.h"
#include "client/table.h"

namespace sextant {
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
  const std::string mode = EnumName(*v1::ProbeMode_descriptor(), calibration.mode());
  if (!mode.empty()) parts.push_back(absl::StrCat("mode ", mode));
  parts.push_back(absl::StrCat("in ", ShortTime(calibration.duration_seconds())));
  return absl::StrJoin(parts, ", ");
}

// "All right" of no result at all would sound like a check.
std::string CheckedText(int64_t count) {
  return count == 0 ? "no result" : absl::StrCat(Grouped(count), " results, all of them right");
}

std::string HowSection(const v1::Calibration& calibration, std::optional<double> age_seconds) {
  Table table(2, {Align::kLeft, Align::kLeft});
  AddDeviceRows(calibration.device(), &table);
  table.AddRow({"measured", WhenText(calibration, age_seconds)});
  table.AddRow({"by", ProbeText(calibration)});
  table.AddRow({"coverage", CoverageText(calibration.coverage_ratio())});
  if (calibration.has_drift_ratio()) {
    table.AddRow({"drift", absl::StrFormat("%+.2f %% time from the first pass to the third",
                                           100 * calibration.drift_ratio())});
  }
  table.AddRow({"checked", CheckedText(calibration.checked_result_count())});
  return absl::StrCat(Wrap("", DeviceTitle(calibration.device()), 2), table.Text());
}

std::string NotesSection(const v1::Calibration& calibration) {
  if (calibration.notes().empty()) return "";
  std::string out = "\nNotes\n";
  for (const std::string& note : calibration.notes()) out += Wrap("  - ", note, 4);
  return out;
}

std::string Ending(const std::string& engine_version, const std::string& fingerprint) {
  return Wrap("", absl::StrCat("engine ", engine_version, ", calibration ", fingerprint), 0);
}

std::string UseText(const v1::RunProbeResponse::Result& result) {
  if (result.in_use()) return "In use: plans on this device stand on it from now on.";
  if (result.unused_text().empty()) return "Not in use: plans on this device go on as before.";
  return absl::StrCat("Not in use. ", result.unused_text());
}

}  // namespace

std::string CalibrationText(const v1::Calibration& calibration, std::optional<double> age_seconds) {
  return absl::StrCat(
      HowSection(calibration, age_seconds), BestSection(calibration),
      RequestedMatmulSection(calibration), MatmulSection(calibration),
      SustainedMatmulSection(calibration), SustainedConditionsSection(calibration),
      OtherMatmulSection(calibration), KernelSection(calibration), RegisterSection(calibration),
      StreamSection(calibration), ElementwiseSection(calibration), FusionSection(calibration),
      AttentionSection(calibration), ExpertsSection(calibration), CollectiveSection(calibration),
      HostCopySection(calibration), LaunchSection(calibration), ConditionsSection(calibration),
      EnvironmentSection(calibration), NotesSection(calibration));
}

std::string HeldCalibrationText(const v1::GetCalibrationResponse& response) {
  return absl::StrCat(CalibrationText(response.calibration(), response.age_seconds()), "\n",
                      Ending(response.engine_version(), response.fingerprint()));
}

std::string ProbeResultText(const v1::RunProbeResponse::Result& result) {
  return absl::StrCat(
      CalibrationText(result.calibration(), std::nullopt), "\n", Wrap("", UseText(result), 0),
      result.storage_warning().empty() ? "" : Wrap("Warning: ", result.storage_warning(), 2),
      Ending(result.engine_version(), result.fingerprint()));
}

}  // namespace sextant
