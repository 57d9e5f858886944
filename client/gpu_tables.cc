#include "client/gpu_tables.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/enum_names.h"
#include "client/format.h"
#include "client/matmul_tables.h"
#include "client/table.h"
#include "client/time_cells.h"

namespace sextant {
namespace {

std::string NameOrNone(const std::string& name) { return name.empty() ? kNoValue : name; }

std::string LayoutText(v1::MatmulMeasurement::Layout layout) {
  const std::string name = EnumName(*v1::MatmulMeasurement::Layout_descriptor(), layout);
  return name.empty() ? "row-by-column" : name;
}

std::string SumsText(const v1::MatmulMeasurement& matmul) {
  if (!matmul.has_fast_accumulation()) return kNoValue;
  return matmul.fast_accumulation() ? "fast" : "fp32";
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

}  // namespace

std::string OtherMatmulSection(const v1::Calibration& calibration) {
  if (calibration.other_matmuls().empty()) return "";
  const Align left = Align::kLeft;
  Table table(2, Joined({left, left, Align::kRight, left, left, Align::kRight}, TimeAligns()));
  table.AddRow(Joined({"type", "m x n x k", "batch", "layout", "sums", "rate"}, TimeHeadings()));
  for (const v1::MatmulMeasurement& m : calibration.other_matmuls()) {
    table.AddRow(Joined({NameOrNone(DataTypeName(m.data_type())), ShapeText(m),
                         Grouped(std::max(m.batch_count(), int64_t{1})), LayoutText(m.layout()),
                         SumsText(m), Scaled(m.flops_per_second(), UnitOfWork(m.data_type()))},
                        TimeCells(m.has_time(), m.time())));
  }
  return absl::StrCat("\nOther matrix multiplications (plans pass over them)\n", table.Text(),
                      Wrap("  ",
                           "layout: how A and B lie, row-by-column is a linear layer's forward "
                           "pass; sums: fast ones of 8-bit floats have fewer bits than fp32",
                           2));
}

std::string SustainedConditionsSection(const v1::Calibration& calibration) {
  Table table(2, {Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kRight});
  table.AddRow({"type", "clock", "counted clock", "power", "of the limit"});
  bool told = false;
  const auto cell = [&told](bool present, const std::string& text) {
    told |= present;
    return present ? text : std::string(kNoValue);
  };
  for (const v1::MatmulMeasurement& m : calibration.sustained_matmuls()) {
    table.AddRow(
        {NameOrNone(DataTypeName(m.data_type())),
         cell(m.has_sm_clock_hertz(), absl::StrFormat("%.4g MHz", m.sm_clock_hertz() / 1e6)),
         cell(m.has_counted_sm_clock_hertz(),
              absl::StrFormat("%.4g MHz", m.counted_sm_clock_hertz() / 1e6)),
         cell(m.has_power_watts(), absl::StrFormat("%.4g W", m.power_watts())),
         cell(m.has_clock_limit_ratio(), Percent(m.clock_limit_ratio()))});
  }
  if (!told) return "";
  return absl::StrCat("\nDuring sustained matrix multiplication\n", table.Text(),
                      Wrap("  ",
                           "counted clock: by a multiprocessor's own cycles; of the limit: the "
                           "rate over what the matrix units can do at that clock",
                           2));
}

std::string LaunchSection(const v1::Calibration& calibration) {
  if (calibration.launches().empty()) return "";
  Table table(2, Joined({Align::kLeft}, TimeAligns()));
  table.AddRow(Joined({"started by"}, TimeHeadings()));
  for (const v1::LaunchMeasurement& m : calibration.launches()) {
    table.AddRow(Joined({NameOrNone(EnumName(*v1::LaunchMeasurement::Kind_descriptor(), m.kind()))},
                        TimeCells(m.has_time(), m.time())));
  }
  return absl::StrCat("\nKernels that do nothing (stream: a call each; graph: recorded once)\n",
                      table.Text());
}

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
  const auto held_down = [&](const char* what, bool told, double share) {
    if (told) table.AddRow({what, absl::StrCat(Percent(share), " of the readings")});
  };
  held_down("power limit", c.has_power_throttle_ratio(), c.power_throttle_ratio());
  held_down("heat", c.has_thermal_throttle_ratio(), c.thermal_throttle_ratio());
  held_down("hardware", c.has_hardware_throttle_ratio(), c.hardware_throttle_ratio());
  if (c.has_peak_allocated_bytes()) {
    table.AddRow({"memory", absl::StrCat(Gib(c.peak_allocated_bytes()), " held by the probe")});
  }
  table.AddRow({"readings", Grouped(c.reading_count())});
  return absl::StrCat("\nConditions (what the device told of itself meanwhile)\n", table.Text(),
                      Wrap("  ", "power limit, heat, hardware: what held its clock down", 2));
}

}  // namespace sextant
