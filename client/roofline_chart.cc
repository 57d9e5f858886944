#include "client/roofline_chart.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "client/enum_names.h"
#include "client/format.h"
#include "client/operation_cost_text.h"
#include "client/operation_time_text.h"
#include "client/sizes.h"

namespace sextant {
namespace {

constexpr int64_t kRooflineTitleWidth = 66;  // characters of a title that fit above a drawing

// Whether a logarithmic axis has a place for it, and for ten times and a tenth of it.
bool IsDrawable(double value) { return value > 1e-100 && value < 1e100; }

bool IsMemory(const v1::RateUsed& rate) { return rate.unit() == "byte/s"; }

bool IsGeneral(const v1::RateUsed& rate) { return absl::StrContains(rate.quantity(), "general"); }

// Figures of one source share a line.
class Sources {
 public:
  void Add(const std::string& what, const v1::RateUsed& rate) {
    const std::string figure = absl::StrCat(what, " ", WithUnit(rate.value(), rate.unit()));
    const std::string source = absl::StrCat(EnumName(*v1::RateSource_descriptor(), rate.source()),
                                            rate.citation().empty() ? "" : ", ", rate.citation());
    for (auto& [known, figures] : figures_) {
      if (known != source) continue;
      absl::StrAppend(&figures, ", ", figure);
      return;
    }
    figures_.push_back({source, figure});
  }

  std::vector<std::string> Lines() const {
    std::vector<std::string> lines;
    for (const auto& [source, figures] : figures_) {
      lines.push_back(absl::StrCat(figures, ": ", source));
    }
    return lines;
  }

 private:
  std::vector<std::pair<std::string, std::string>> figures_;  // by source, in order
};

// The roofs with their sources.
void AddRates(const v1::OperationTime& time, RooflineChart* chart) {
  std::optional<Roof> general;
  Sources sources;
  for (const v1::RateUsed& rate : time.rates()) {
    if (IsMemory(rate)) {
      chart->memory_bytes_per_second = rate.value();
      sources.Add("memory", rate);
    } else if (IsGeneral(rate)) {
      general = Roof{"other arithmetic", rate.value()};
      sources.Add("other arithmetic", rate);
    } else if (absl::EndsWith(rate.unit(), "OP/s") && chart->roofs.empty()) {
      chart->roofs.push_back({"matrix products", rate.value()});
      sources.Add("matrix products", rate);
    }
  }
  chart->sources = sources.Lines();
  if (chart->roofs.empty()) return;
  if (general.value_or(chart->roofs[0]).flops_per_second == chart->roofs[0].flops_per_second) {
    chart->roofs[0].name = "all arithmetic";
  } else {
    chart->roofs.push_back(*general);
  }
}

void AddPoint(const std::string& name, const v1::CostSum& sum, double seconds,
              RooflineChart* chart) {
  const double flops = TotalFlops(sum);
  const auto letter = static_cast<char>(name[0] - 'a' + 'A');
  const ChartPoint point = {.name = name,
                            .letter = letter,
                            .intensity = sum.arithmetic_intensity(),
                            .flops_per_second = seconds > 0 ? flops / seconds : 0,
                            .seconds = seconds};
  if (IsDrawable(point.intensity) && IsDrawable(point.flops_per_second)) {
    chart->points.push_back(point);
  } else {
    chart->absent.push_back(absl::StrCat(name, " has no point: it ",
                                         flops > 0 ? "moves no bytes" : "does no arithmetic"));
  }
}

void AddPoints(const v1::AnalyzeOperationResponse& response, RooflineChart* chart) {
  const v1::OperationTime& time = response.time();
  AddPoint("forward", response.forward().sum(), time.forward().total_seconds(), chart);
  if (time.has_unfused()) {
    AddPoint("unfused", response.unfused().sum(), time.unfused().total_seconds(), chart);
  }
  if (time.has_backward()) {
    AddPoint("backward", response.backward().cost().sum(), time.backward().total_seconds(), chart);
  }
  if (time.has_utilisation()) {
    AddPoint("achieved", response.forward().sum(), time.utilisation().achieved_seconds(), chart);
  }
}

// With the operands' shapes, or the first one's, where there is room for them.
std::string TitleOf(const v1::AnalyzeOperationResponse& response) {
  const std::string name = absl::StrReplaceAll(response.name(), {{"_", "-"}});
  const std::string place = absl::StrCat(" in ", DataTypeName(response.data_types().input()),
                                         " on ", DeviceOf(response.time()));
  std::vector<std::string> operands;
  for (const v1::OperationArray& operand : response.operands()) {
    operands.push_back(absl::StrCat(operand.name(), " ", SizesText(operand.shape())));
  }
  for (; !operands.empty(); operands.resize(operands.size() > 1 ? 1 : 0)) {
    std::string title = absl::StrCat(name, " of ", absl::StrJoin(operands, ", "), place);
    if (DisplayWidth(title) <= kRooflineTitleWidth) return title;
  }
  return absl::StrCat(name, place);
}

}  // namespace

absl::StatusOr<RooflineChart> RooflineChartOf(const v1::AnalyzeOperationResponse& response) {
  if (!response.has_time()) {
    return absl::FailedPreconditionError("there is no roofline: the answer is of no device");
  }
  RooflineChart chart;
  chart.title = TitleOf(response);
  chart.ridge = response.time().forward().ridge_flops_per_byte();
  AddRates(response.time(), &chart);
  AddPoints(response, &chart);
  const bool drawable = IsDrawable(chart.memory_bytes_per_second) && IsDrawable(chart.ridge) &&
                        !chart.roofs.empty() &&
                        std::all_of(chart.roofs.begin(), chart.roofs.end(), [](const Roof& roof) {
                          return IsDrawable(roof.flops_per_second);
                        });
  if (drawable) return chart;
  return absl::FailedPreconditionError(
      "there is no roofline: the answer lacks the rates of matrix products or of memory");
}

double RoofAt(const RooflineChart& chart, double roof_flops_per_second, double intensity) {
  return std::min(roof_flops_per_second, chart.memory_bytes_per_second * intensity);
}

}  // namespace sextant
