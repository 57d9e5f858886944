// Memory by pipeline stage, as an SVG document.
#include <algorithm>
#include <array>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "client/plot/memory_chart.h"
#include "client/plot/pictures.h"
#include "client/plot/svg.h"
#include "client/text/text.h"

namespace sextant::client {
namespace {

constexpr double kBarWidth = 900;
constexpr double kBarLeft = 104;  // of the axis
constexpr double kBarRight = 800;
constexpr double kBarTop = 92;
constexpr double kBarLegendLine = 22;
constexpr double kLegendColumn = 348;
constexpr size_t kBarTitleWidth = 84;  // characters that fit

constexpr SvgStroke kBarFrame = {"#222222", 1.2, ""};
constexpr SvgStroke kGridLine = {"#e2e2e2", 1, ""};
constexpr SvgStroke kUsableLine = {"#c00000", 2, "7 4"};

// In the order of kMemoryKinds. Light, so that hatching shows on them; colour-blind readers tell
// each hue from its neighbours' (Okabe, Ito 2008).
constexpr std::array<SvgFill, kMemoryKinds.size()> kFills = {{
    {"#56b4e9", SvgHatch::kNone},
    {"#8fd6bd", SvgHatch::kRising},
    {"#f0e442", SvgHatch::kFalling},
    {"#efc066", SvgHatch::kCrossed},
    {"#e0b3cb", SvgHatch::kDots},
    {"#f2aa80", SvgHatch::kHorizontal},
    {"#d0d0d0", SvgHatch::kVertical},
    {"#ffffff", SvgHatch::kGrid},
}};

// Heights of a row and of the bar in it: many rows have to fit on a page.
struct RowSize {
  double row;
  double bar;
};

RowSize RowSizeFor(size_t bars) {
  if (bars <= 8) return {34, 24};
  return bars <= 24 ? RowSize{24, 17} : RowSize{17, 13};
}

class MemoryDrawing {
 public:
  explicit MemoryDrawing(const v1::Plan& plan)
      : plan_(plan),
        chart_(MemoryChartOf(plan.memory())),
        size_(RowSizeFor(chart_.bars.size())),
        bottom_(kBarTop + size_.row * static_cast<double>(RowCount())),
        svg_(kBarWidth, bottom_ + 90 + 5 * kBarLegendLine) {}

  std::string Document() {
    DrawTitle();
    DrawAxis();
    DrawBars();
    DrawUsable();
    DrawLegend();
    return svg_.Document();
  }

 private:
  // One row a bar, and one for each gap of stages left out.
  size_t RowCount() const {
    size_t rows = chart_.bars.size();
    for (const MemoryBar& bar : chart_.bars) rows += bar.stages_left_out_before > 0 ? 1 : 0;
    return rows;
  }

  double X(double gib) const { return kBarLeft + gib / chart_.end * (kBarRight - kBarLeft); }

  void DrawTitle() {
    svg_.Text({.at = {16, 28},
               .text = CutTo(kBarTitleWidth,
                             absl::StrCat("Memory of each GPU: ", plan_.model_name(), ", ",
                                          Grouped(plan_.device_count()), " x ", plan_.device())),
               .size = 16,
               .bold = true});
    svg_.Text(
        {.at = {16, 50},
         .text = absl::StrCat(VerdictWords(plan_.verdict()), ": ",
                              plan_.memory().host().decides_verdict() ? HostNeedText(plan_.memory())
                                                                      : PeakText(plan_.memory())),
         .size = 13});
  }

  void DrawAxis() {
    for (const double tick : chart_.ticks) {
      svg_.Line({X(tick), kBarTop}, {X(tick), bottom_}, kGridLine);
      svg_.Text(
          {.at = {X(tick), bottom_ + 18}, .text = TickText(tick), .anchor = SvgAnchor::kMiddle});
    }
    svg_.Line({kBarLeft, kBarTop}, {kBarLeft, bottom_}, kBarFrame);
    svg_.Line({kBarLeft, bottom_}, {kBarRight, bottom_}, kBarFrame);
    svg_.Text({.at = {(kBarLeft + kBarRight) / 2, bottom_ + 40},
               .text = "memory at the stage's peak (GiB)",
               .size = 13,
               .anchor = SvgAnchor::kMiddle});
    svg_.Text({.at = {kBarLeft - 10, kBarTop - 8}, .text = "stage", .anchor = SvgAnchor::kEnd});
    svg_.Text({.at = {kBarRight + 10, kBarTop - 8}, .text = "GiB"});
  }

  void DrawBars() {
    double top = kBarTop;
    for (const MemoryBar& bar : chart_.bars) {
      if (bar.stages_left_out_before > 0) {
        svg_.Text({.at = {kBarLeft + 8, top + size_.row / 2 + 4},
                   .text = absl::StrCat("... ", bar.stages_left_out_before, " more stages")});
        top += size_.row;
      }
      DrawBar(bar, top + (size_.row - size_.bar) / 2);
      top += size_.row;
    }
  }

  void DrawBar(const MemoryBar& bar, double top) {
    double edge = 0;
    for (size_t i = 0; i < kMemoryKinds.size(); ++i) {
      const double left = X(edge);
      edge += bar.sizes[i];
      if (bar.sizes[i] <= 0) continue;
      svg_.Rectangle({{left, top}, X(edge) - left, size_.bar}, kFills[i]);
    }
    const double middle = top + size_.bar / 2;
    svg_.Whisker(X(bar.low), X(bar.high), middle);
    const double baseline = middle + 4;
    svg_.Text({.at = {kBarLeft - 10, baseline},
               .text = bar.name,
               .anchor = SvgAnchor::kEnd,
               .bold = bar.peak});
    svg_.Text({.at = {kBarRight + 10, baseline}, .text = Grouped(bar.total, 2), .bold = bar.peak});
  }

  void DrawUsable() {
    const double x = X(chart_.usable);
    svg_.Line({x, kBarTop - 4}, {x, bottom_}, kUsableLine);
    SvgText label = {.at = {x, kBarTop - 10},
                     .text = absl::StrCat("usable ", Grouped(chart_.usable, 2), " GiB"),
                     .anchor = SvgAnchor::kMiddle,
                     .color = kUsableLine.color};
    if (BoxOf(label).right > kBarRight)
      label = {.at = {kBarRight, kBarTop - 10},
               .text = label.text,
               .anchor = SvgAnchor::kEnd,
               .color = label.color};
    if (BoxOf(label).left < kBarLeft) {
      label.anchor = SvgAnchor::kStart;
      label.at.x = kBarLeft;
    }
    svg_.Text(label);
  }

  // The kinds of memory of the bar with the peak.
  void DrawLegend() {
    const auto is_peak = [](const MemoryBar& bar) { return bar.peak; };
    const MemoryBar& peak = *std::find_if(chart_.bars.begin(), chart_.bars.end(), is_peak);
    svg_.Text({.at = {kBarLeft, bottom_ + 68},
               .text = absl::StrCat("Stage ", peak.name, " holds:"),
               .bold = true});
    const double top = bottom_ + 78;
    for (size_t i = 0; i < kMemoryKinds.size(); ++i) {
      const double x = kBarLeft + kLegendColumn * static_cast<double>(i / 4);
      const double y = top + kBarLegendLine * static_cast<double>(i % 4);
      svg_.Rectangle({{x, y}, 30, 14}, kFills[i]);
      svg_.Text(
          {.at = {x + 40, y + 12},
           .text = absl::StrCat(kMemoryKinds[i].name, ": ", Grouped(peak.sizes[i], 2), " GiB")});
    }
    const double y = top + 4 * kBarLegendLine;
    svg_.Whisker(kBarLeft, kBarLeft + 30, y + 7);
    svg_.Text({.at = {kBarLeft + 40, y + 12},
               .text = absl::StrCat("from the low to the high end of what is estimated: ",
                                    Grouped(peak.low, 2), " to ", Grouped(peak.high, 2), " GiB")});
  }

  const v1::Plan& plan_;
  const MemoryChart chart_;
  const RowSize size_;
  const double bottom_;
  SvgWriter svg_;
};

}  // namespace

std::string MemorySvg(const v1::Plan& plan) { return MemoryDrawing(plan).Document(); }

}  // namespace sextant::client
