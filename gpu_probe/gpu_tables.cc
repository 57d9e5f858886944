#include "gpu_probe/gpu_tables.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "gpu_probe/enum_text.h"
#include "gpu_probe/figure_text.h"
#include "gpu_probe/measurement_cells.h"
#include "gpu_probe/text_table.h"

namespace sextant {
namespace {

std::string SumsText(const v1::MatmulMeasurement& matmul) {
  if (!matmul.has_fast_accumulation()) return "-";
  return matmul.fast_accumulation() ? "fast" : "fp32";
}

std::string OtherMatmulTable(const v1::Calibration& calibration) {
  TextTable table(
      {"type", ">m", ">n", ">k", ">batch", "layout", "sums", ">rate", ">time", ">spread", ""});
  for (const v1::MatmulMeasurement& m : calibration.other_matmuls()) {
    table.AddRow({EnumText(m.data_type()), absl::StrCat(m.m()), absl::StrCat(m.n()),
                  absl::StrCat(m.k()), absl::StrCat(std::max(m.batch_count(), int64_t{1})),
                  EnumText(m.layout()), SumsText(m), RateText(m.flops_per_second(), "FLOP/s"),
                  SecondsText(m.time().median_seconds()), SpreadText(m.time()),
                  StableText(m.time())});
  }
  return Section("Multiplications in batches and other layouts: no points of the grid", table);
}

std::string LaunchTable(const v1::Calibration& calibration) {
  TextTable table({"started by", ">time", ">spread", ">samples", ""});
  for (const v1::LaunchMeasurement& m : calibration.launches()) {
    table.AddRow({EnumText(m.kind()), SecondsText(m.time().median_seconds()), SpreadText(m.time()),
                  absl::StrCat(m.time().sample_count()), StableText(m.time())});
  }
  return Section("Kernels that do nothing: a call each (stream), or recorded once (graph)", table);
}

// One line for each sustained multiplication of which the device told something.
std::string SustainedText(const v1::Calibration& calibration) {
  std::string text;
  for (const v1::MatmulMeasurement& m : calibration.sustained_matmuls()) {
    std::string line;
    if (m.has_sm_clock_hertz()) {
      absl::StrAppendFormat(&line, ", clock %.0f MHz", m.sm_clock_hertz() / 1e6);
    }
    if (m.has_counted_sm_clock_hertz()) {
      absl::StrAppendFormat(&line, ", counted %.0f MHz", m.counted_sm_clock_hertz() / 1e6);
    }
    if (m.has_power_watts()) absl::StrAppendFormat(&line, ", %.0f W", m.power_watts());
    if (m.has_clock_limit_ratio()) {
      absl::StrAppend(&line, ", ", PercentText(m.clock_limit_ratio()),
                      " of the limit at that clock");
    }
    if (!line.empty()) absl::StrAppend(&text, "  ", EnumText(m.data_type()), line, "\n");
  }
  return text.empty() ? "" : absl::StrCat("\nDuring the multiplications without a pause\n", text);
}

std::string ConditionsText(const v1::Calibration& calibration) {
  if (!calibration.has_conditions()) return "";
  const v1::OperatingConditions& c = calibration.conditions();
  std::string text = absl::StrCat("  ", c.reading_count(), " readings");
  if (c.has_sm_clock_hertz()) {
    absl::StrAppendFormat(&text, ", sustained clock %.0f MHz", c.sm_clock_hertz() / 1e6);
  }
  if (c.has_maximum_sm_clock_hertz()) {
    absl::StrAppendFormat(&text, " of %.0f", c.maximum_sm_clock_hertz() / 1e6);
  }
  if (c.has_power_watts()) absl::StrAppendFormat(&text, ", %.0f W", c.power_watts());
  if (c.has_maximum_temperature_celsius()) {
    absl::StrAppendFormat(&text, ", at most %.0f C", c.maximum_temperature_celsius());
  }
  const auto held_down = [&](const char* by, bool told, double share) {
    if (told) absl::StrAppend(&text, ", held down by ", by, " in ", PercentText(share));
  };
  held_down("the power limit", c.has_power_throttle_ratio(), c.power_throttle_ratio());
  held_down("heat", c.has_thermal_throttle_ratio(), c.thermal_throttle_ratio());
  held_down("the hardware", c.has_hardware_throttle_ratio(), c.hardware_throttle_ratio());
  if (c.has_peak_allocated_bytes()) {
    absl::StrAppend(&text, ", ", BytesText(c.peak_allocated_bytes()), " allocated");
  }
  return absl::StrCat("\nConditions: what the device told of itself\n",
                      WrapText(text, /*hanging=*/2));
}

}  // namespace

std::string GpuTables(const v1::Calibration& calibration) {
  return absl::StrCat(SustainedText(calibration), OtherMatmulTable(calibration),
                      LaunchTable(calibration), ConditionsText(calibration));
}

}  // namespace sextant
