#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "client/plot/charts.h"
#include "client/text/amounts.h"
#include "client/text/sources.h"

namespace sextant::client {
namespace {

constexpr int64_t kRooflineTitleWidth = 66;  // characters of a title that fit above a drawing
constexpr double kAxisMargin = 1.6;          // factor between a point and the edge: no mark is cut
constexpr double kSlope = 50;  // least factor of the slope that is shown below the ridge

// A rate that arithmetic can't exceed.
struct Roof {
  std::string name;
  double flops_per_second = 0;
};

struct Roofs {
  double memory_bytes_per_second = 0;
  double ridge = 0;         // of the forward pass, FLOP a byte
  std::vector<Roof> roofs;  // matrix products, and other arithmetic where it has its own
};

// True where a logarithmic axis can hold the value, ten times it and a tenth of it.
bool IsDrawable(double value) { return value > 1e-100 && value < 1e100; }

bool CanBeDrawn(const Roofs& roofs) {
  return IsDrawable(roofs.memory_bytes_per_second) && IsDrawable(roofs.ridge) &&
         !roofs.roofs.empty() &&
         std::all_of(roofs.roofs.begin(), roofs.roofs.end(),
                     [](const Roof& roof) { return IsDrawable(roof.flops_per_second); });
}

// Adds a rate to the line of its source.
void AddSource(const std::string& what, const v1::RateUsed& rate, const v1::OperationTime& time,
               std::vector<std::pair<std::string, std::string>>* figures) {
  const std::string figure = absl::StrCat(what, " ", WithUnit(rate.value(), rate.unit()));
  const std::string source = SourceText(rate.source(), time.sources(), rate.source_number());
  for (auto& [earlier, text] : *figures) {
    if (earlier == source) return absl::StrAppend(&text, ", ", figure);
  }
  figures->emplace_back(source, figure);
}

// The roofs, and their sources, a line each.
Roofs RoofsOf(const v1::OperationTime& time, std::vector<std::string>* sources) {
  Roofs out;
  out.ridge = time.forward().ridge_flops_per_byte();
  double general = 0;
  std::vector<std::pair<std::string, std::string>> figures;  // by source
  for (const v1::RateUsed& rate : time.rates()) {
    if (rate.unit() == "byte/s") {
      out.memory_bytes_per_second = rate.value();
      AddSource("memory", rate, time, &figures);
    } else if (absl::StrContains(rate.quantity(), "general")) {
      general = rate.value();
      AddSource("other arithmetic", rate, time, &figures);
    } else if (absl::EndsWith(rate.unit(), "OP/s") && out.roofs.empty()) {
      out.roofs.push_back({"matrix products", rate.value()});
      AddSource("matrix products", rate, time, &figures);
    }
  }
  for (const auto& [source, text] : figures) sources->push_back(absl::StrCat(text, ": ", source));
  if (out.roofs.empty()) return out;
  if (general == 0 || general == out.roofs[0].flops_per_second) {
    out.roofs[0].name = "all arithmetic";
  } else {
    out.roofs.push_back({"other arithmetic", general});
  }
  return out;
}

// Colours that colour-blind readers tell apart (Okabe, Ito 2008).
PlotKey PointKey(const std::string& letter) {
  if (letter == "F") return {.shape = Shape::kDisc, .color = "#0072b2"};
  if (letter == "B") return {.shape = Shape::kSquare, .color = "#d55e00"};
  if (letter == "U") return {.shape = Shape::kTriangle, .color = "#009e73"};
  return {.shape = Shape::kCross, .color = "#8e3a80"};
}

// A point of `sum` in `seconds`, or as predicted, where there is a prediction.
void AddPoint(const std::string& name, const v1::CostSum& sum, double seconds,
              const v1::KernelPrediction* prediction, Plot* plot) {
  const double flops = TotalFlops(sum);
  if (prediction != nullptr) seconds = prediction->duration_seconds().expected();
  const double rate = seconds > 0 ? flops / seconds : 0;
  if (!IsDrawable(sum.arithmetic_intensity()) || !IsDrawable(rate)) {
    plot->notes.push_back({{},
                           absl::StrCat(name, " has no point: it ",
                                        flops > 0 ? "moves no bytes" : "does no arithmetic")});
    return;
  }
  const std::string letter(1, static_cast<char>(name[0] - 'a' + 'A'));
  const PlotKey key = PointKey(letter);
  PlotMark mark = {.at = {sum.arithmetic_intensity(), rate},
                   .letter = letter,
                   .shape = key.shape,
                   .color = key.color};
  std::string basis = name == "achieved" ? "measured" : "at most";
  if (prediction != nullptr) {
    const PlotEnds ends = {flops / prediction->duration_seconds().high(),
                           flops / prediction->duration_seconds().low()};
    if (IsDrawable(ends.low) && IsDrawable(ends.high)) {
      mark.y_ends = ends;
      basis = absl::StrCat("predicted, ", Scaled(ends.low, "FLOP/s"), " to ",
                           Scaled(ends.high, "FLOP/s"), " (80 %)");
    }
  }
  plot->tables[0].rows.push_back(
      {key,
       {letter, name, IntensityText(mark.at.x), Scaled(rate, "FLOP/s"), TimeText(seconds), basis}});
  plot->marks.push_back(std::move(mark));
}

void AddPoints(const v1::AnalyzeOperationResponse& response, Plot* plot) {
  const v1::OperationTime& time = response.time();
  AddPoint("forward", response.forward().sum(), time.forward().total_seconds(),
           time.has_predicted_forward() ? &time.predicted_forward() : nullptr, plot);
  if (time.has_unfused()) {
    AddPoint("unfused", response.unfused().sum(), time.unfused().total_seconds(),
             time.has_predicted_unfused() ? &time.predicted_unfused() : nullptr, plot);
  }
  if (time.has_backward()) {
    AddPoint("backward", response.backward().cost().sum(), time.backward().total_seconds(),
             time.has_predicted_backward() ? &time.predicted_backward() : nullptr, plot);
  }
  if (time.has_utilisation()) {
    AddPoint("achieved", response.forward().sum(), time.utilisation().achieved_seconds(), nullptr,
             plot);
  }
}

// The title, with the operands' shapes, or the first one's, where there is room.
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

PlotAxis AxisAround(double smallest, double largest, int most_labels) {
  PlotAxis axis = {.low = smallest / kAxisMargin, .high = largest * kAxisMargin, .log = true};
  axis.ticks = PowerTicks(axis, most_labels);
  return axis;
}

void SetAxes(const Roofs& roofs, Plot* plot) {
  double smallest = roofs.ridge / kSlope;
  double largest = roofs.ridge * 10;
  double slowest = roofs.roofs[0].flops_per_second;
  double fastest = slowest;
  for (const Roof& roof : roofs.roofs) {
    const double corner = roof.flops_per_second / roofs.memory_bytes_per_second;
    smallest = std::min(smallest, corner);
    largest = std::max(largest, corner);
    fastest = std::max(fastest, roof.flops_per_second);
  }
  for (const PlotMark& mark : plot->marks) {
    smallest = std::min(smallest, mark.at.x);
    largest = std::max(largest, mark.at.x);
    const PlotEnds ends = mark.y_ends.value_or(PlotEnds{mark.at.y, mark.at.y});
    slowest = std::min({slowest, mark.at.y, ends.low});
    fastest = std::max({fastest, mark.at.y, ends.high});
  }
  plot->x = AxisAround(smallest, largest, 8);
  plot->x.title = "arithmetic intensity (FLOP/byte)";
  plot->x.text_title = "arithmetic intensity, FLOP/byte";
  plot->y = AxisAround(std::min(slowest, roofs.memory_bytes_per_second * smallest), fastest, 6);
  plot->y.title = "attained (FLOP/s)";
  plot->y.text_title = "FLOP/s";
}

// The ridge, the roofs, the highest last in view, and the slope that leads up to it.
void AddLines(const Roofs& roofs, Plot* plot) {
  const double memory = roofs.memory_bytes_per_second;
  double highest = 0;
  std::string words = absl::StrCat("roofs: memory ", Scaled(memory, "B/s"), " (the slope)");
  for (const Roof& roof : roofs.roofs) {
    highest = std::max(highest, roof.flops_per_second);
    absl::StrAppend(&words, ", ", roof.name, " ", Scaled(roof.flops_per_second, "FLOP/s"));
  }
  plot->notes.insert(plot->notes.begin(), {{}, words});
  plot->lines.push_back(
      {.points = {{plot->x.low, memory * plot->x.low}, {highest / memory, highest}},
       .stroke = {"#222222", 2.4, ""},
       .label = absl::StrCat("memory ", Scaled(memory, "B/s"))});
  for (const Roof& roof : roofs.roofs) {
    const bool first = &roof == &roofs.roofs[0];
    plot->lines.push_back(
        {.points = {{roof.flops_per_second / memory, roof.flops_per_second},
                    {plot->x.high, roof.flops_per_second}},
         .stroke = first ? Stroke{"#222222", 2.4, ""} : Stroke{"#777777", 2, ""},
         .label = absl::StrCat(roof.name, " ", Scaled(roof.flops_per_second, "FLOP/s"))});
  }
  plot->lines.push_back(
      {.points = {{roofs.ridge, memory * roofs.ridge}, {roofs.ridge, plot->y.low}},
       .stroke = {"#555555", 1.2, "4 4"},
       .label = absl::StrCat("ridge ", IntensityText(roofs.ridge)),
       .rule = true});
}

}  // namespace

absl::StatusOr<Plot> RooflinePlot(const v1::AnalyzeOperationResponse& response) {
  if (!response.has_time()) {
    return absl::FailedPreconditionError("there is no roofline: the answer is of no device");
  }
  using enum Align;
  Plot plot = {.title = absl::StrCat("Roofline of ", TitleOf(response)),
               .text_margin = 12,
               .text_rows = 20,
               .tables = {{{kLeft, kLeft, kRight, kRight, kRight, kLeft}}}};
  const Roofs roofs = RoofsOf(response.time(), &plot.sources);
  if (!CanBeDrawn(roofs)) {
    return absl::FailedPreconditionError(
        "there is no roofline: the answer lacks the rates of matrix products or of memory");
  }
  AddPoints(response, &plot);
  SetAxes(roofs, &plot);
  AddLines(roofs, &plot);
  return plot;
}

}  // namespace sextant::client
