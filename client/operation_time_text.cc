#include "client/operation_time_text.h"

#include <functional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/amounts.h"
#include "client/enum_names.h"
#include "client/format.h"
#include "client/table.h"

namespace sextant {
namespace {

struct Column {
  std::string title;
  const v1::Roofline& roofline;
};

std::vector<Column> ColumnsOf(const v1::OperationTime& time) {
  std::vector<Column> columns = {{"forward", time.forward()}};
  if (time.has_unfused()) columns.push_back({"unfused", time.unfused()});
  if (time.has_backward()) columns.push_back({"backward", time.backward()});
  return columns;
}

std::string BoundOf(const v1::Roofline& roofline) {
  return EnumName(*v1::RooflineBound_descriptor(), roofline.bound());
}

std::string TimesTable(const std::vector<Column>& columns) {
  std::vector<Align> aligned(columns.size() + 1, Align::kRight);
  aligned.front() = Align::kLeft;
  Table table(2, std::move(aligned));
  const auto add = [&](const char* label,
                       const std::function<std::string(const v1::Roofline&)>& cell) {
    std::vector<std::string> cells = {label};
    for (const Column& column : columns) cells.push_back(cell(column.roofline));
    table.AddRow(std::move(cells));
  };
  std::vector<std::string> titles = {""};
  for (const Column& column : columns) titles.push_back(column.title);
  table.AddRow(std::move(titles));
  add("bound by", BoundOf);
  add("intensity", [](const v1::Roofline& r) -> std::string {
    return r.has_arithmetic_intensity() ? IntensityText(r.arithmetic_intensity()) : "-";
  });
  add("ridge", [](const v1::Roofline& r) { return IntensityText(r.ridge_flops_per_byte()); });
  add("arithmetic", [](const v1::Roofline& r) { return TimeText(r.compute_seconds()); });
  add("memory", [](const v1::Roofline& r) { return TimeText(r.memory_seconds()); });
  add("launches", [](const v1::Roofline& r) { return TimeText(r.launch_seconds()); });
  add("time", [](const v1::Roofline& r) { return TimeText(r.total_seconds()); });
  add("at least (classical)", [](const v1::Roofline& r) { return TimeText(r.least_seconds()); });
  add("of peak", [](const v1::Roofline& r) { return Percent(r.fraction_of_peak()); });
  return table.Text();
}

std::string RowsAtRidge(const v1::AnalyzeOperationResponse& response) {
  if (!response.time().has_rows_at_ridge()) return "";
  return Wrap(
      "  ",
      absl::StrCat("Arithmetic takes longer from ", Grouped(response.time().rows_at_ridge()),
                   " rows on, the other sizes as they are."),
      2);
}

}  // namespace

std::string DeviceOf(const v1::OperationTime& time) {
  for (const v1::RateUsed& rate : time.rates()) {
    if (!rate.device().empty()) return rate.device();
  }
  return "a device of the given rates";
}

std::string TimeSummary(const v1::OperationTime& time) {
  const v1::Roofline& forward = time.forward();
  return absl::StrCat(TimeText(forward.total_seconds()), " on ", DeviceOf(time), ", ",
                      BoundOf(forward), "-bound, ", Percent(forward.fraction_of_peak()),
                      " of peak");
}

std::string TimeSection(const v1::AnalyzeOperationResponse& response) {
  if (!response.has_time()) return "";
  return absl::StrCat("\n", Wrap("", absl::StrCat("On ", DeviceOf(response.time())), 2),
                      TimesTable(ColumnsOf(response.time())), RowsAtRidge(response));
}

std::string UtilisationSection(const v1::AnalyzeOperationResponse& response) {
  if (!response.time().has_utilisation()) return "";
  const v1::Utilisation& use = response.time().utilisation();
  const std::string figures =
      absl::StrCat(ShortFlops(use.flops()), " in ", TimeText(use.achieved_seconds()), " is ",
                   Scaled(use.flops_per_second(), "FLOP/s"), ", ", Percent(use.ratio()), " of ",
                   Scaled(use.peak_flops_per_second(), "FLOP/s"), " (MFU)");
  return absl::StrCat("\nAchieved\n", Wrap("  ", figures, 2), Wrap("  ", use.explanation(), 2));
}

}  // namespace sextant
