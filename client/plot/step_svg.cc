// The time of a step by cause, as an SVG document.
#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/plot/canvas.h"
#include "client/plot/pictures.h"
#include "client/plot/svg.h"
#include "client/text/amounts.h"
#include "client/text/layout_words.h"
#include "client/text/step_words.h"
#include "client/text/text.h"

namespace sextant::client {
namespace {

constexpr double kStepWidth = 900;
constexpr double kStepLeft = 40;  // of the axis
constexpr double kStepRight = 800;
constexpr double kStepTop = 124;  // of the bar
constexpr double kStepBottom = kStepTop + 64;
constexpr double kStepAxis = kStepBottom + 12;
constexpr double kStepLegend = kStepAxis + 76;  // the baseline of its heading
constexpr double kStepLegendLine = 22;
constexpr double kTimeColumn = 370;  // where its numbers end
constexpr double kShareColumn = 430;
constexpr double kSavingLeft = 520;
constexpr double kSavingColumn = 780;
constexpr size_t kStepTitleWidth = 84;  // characters that fit
constexpr size_t kStepLineWidth = 104;
constexpr double kMaxShown = 1.5;  // times the step: an interval that is wider is cut

constexpr SvgStroke kStepFrame = {"#222222", 1.2, ""};
constexpr SvgStroke kStepGrid = {"#e2e2e2", 1, ""};

// By StepCause. Hues are Okabe and Ito's (2008), light; exchanges are hatched, and so is what only
// passes time. The first is of a cause that this client does not know.
constexpr std::array<SvgFill, v1::StepCause_ARRAYSIZE> kCauseFills = {{
    {"#ffffff", SvgHatch::kDots},
    {"#56b4e9", SvgHatch::kNone},
    {"#8fd6bd", SvgHatch::kNone},
    {"#f0e442", SvgHatch::kNone},
    {"#e0b3cb", SvgHatch::kDots},
    {"#efc066", SvgHatch::kRising},
    {"#f2aa80", SvgHatch::kFalling},
    {"#8fd6bd", SvgHatch::kRising},
    {"#efc066", SvgHatch::kCrossed},
    {"#d0d0d0", SvgHatch::kDots},
    {"#f2aa80", SvgHatch::kHorizontal},
    {"#ffffff", SvgHatch::kNone},
    {"#e0b3cb", SvgHatch::kVertical},
    {"#d0d0d0", SvgHatch::kNone},
    {"#ffffff", SvgHatch::kGrid},
    {"#d0d0d0", SvgHatch::kRising},
    {"#e0b3cb", SvgHatch::kFalling},
}};

const SvgFill& FillOf(v1::StepCause cause) {
  const bool known = v1::StepCause_IsValid(cause);
  return kCauseFills[known ? static_cast<size_t>(cause) : 0];
}

class StepDrawing {
 public:
  StepDrawing(const v1::PlanRunRequest& request, const v1::Plan& plan)
      : request_(request),
        plan_(plan),
        step_(plan.step_time()),
        parts_(PartsByTime(step_)),
        savings_(ShownSensitivities(step_)),
        unit_(step_.seconds().expected() < 1 ? 1e-3 : 1),
        end_(EndOfAxis(step_.seconds())),
        svg_(kStepWidth, kStepLegend + kStepLegendLine * static_cast<double>(Rows()) + 16) {}

  std::string Document() {
    DrawTitle();
    DrawAxis();
    DrawBar();
    DrawInterval();
    DrawLegend();
    DrawSavings();
    return svg_.Document();
  }

 private:
  static double EndOfAxis(const v1::Interval& seconds) {
    return 1.02 * std::clamp(seconds.high(), seconds.expected(), kMaxShown * seconds.expected());
  }

  // Rows of the legend: the parts and the interval, or the savings.
  size_t Rows() const { return std::max(parts_.size() + 1, savings_.size()); }

  double X(double seconds) const { return kStepLeft + seconds / end_ * (kStepRight - kStepLeft); }

  void DrawTitle() {
    svg_.Text({.at = {16, 28},
               .text = CutTo(kStepTitleWidth,
                             absl::StrCat("One step: ", plan_.model_name(), ", ",
                                          Grouped(plan_.device_count()), " x ", plan_.device())),
               .size = 16,
               .bold = true});
    const double rate = static_cast<double>(step_.token_count()) / step_.seconds().expected();
    const std::string lines[] = {
        LayoutWords(PlannedLayout(request_, plan_), plan_.memory()),
        absl::StrCat(Grouped(step_.token_count()), " tokens in ", TimeIntervalText(step_.seconds()),
                     ": ", TokensPerSecond(rate), ", software ", step_.software_stack())};
    double baseline = 50;
    for (const std::string& line : lines) {
      svg_.Text({.at = {16, baseline}, .text = CutTo(kStepLineWidth, line), .size = 13});
      baseline += 20;
    }
  }

  void DrawAxis() {
    for (const double tick : LinearTicks(end_ / unit_)) {
      const double x = X(tick * unit_);
      svg_.Line({x, kStepTop - 6}, {x, kStepAxis}, kStepGrid);
      svg_.Text({.at = {x, kStepAxis + 18},
                 .text = absl::StrFormat("%g", tick),
                 .anchor = SvgAnchor::kMiddle});
    }
    svg_.Line({kStepLeft, kStepAxis}, {kStepRight, kStepAxis}, kStepFrame);
    svg_.Text({.at = {(kStepLeft + kStepRight) / 2, kStepAxis + 40},
               .text = unit_ < 1 ? "time of a step (ms)" : "time of a step (s)",
               .size = 13,
               .anchor = SvgAnchor::kMiddle});
  }

  // Parts that are wide enough have their names over them.
  void DrawBar() {
    double edge = 0;
    for (const v1::StepPart& part : parts_) {
      const double left = X(edge);
      edge += part.seconds();
      const double width = X(edge) - left;
      svg_.Rectangle({{left, kStepTop}, width, kStepBottom - kStepTop}, FillOf(part.cause()));
      const SvgText name = {.at = {left + width / 2, kStepTop - 10},
                            .text = CauseWords(part.cause()),
                            .anchor = SvgAnchor::kMiddle};
      const Box box = BoxOf(name);
      if (box.right - box.left + 8 <= width) svg_.Text(name);
    }
  }

  void DrawInterval() {
    const v1::Interval& seconds = step_.seconds();
    const double middle = (kStepTop + kStepBottom) / 2;
    const bool cut = seconds.high() > end_;
    svg_.Whisker(X(seconds.low()), cut ? kStepRight : X(seconds.high()), middle,
                 cut ? SvgEnd::kArrow : SvgEnd::kCap);
    if (!cut) return;
    svg_.Text({.at = {kStepRight + 6, middle + 4},
               .text = absl::StrCat("to ", TimeToThreeDigits(seconds.high()))});
  }

  void LegendRow(double baseline, const std::array<std::string, 3>& cells, bool bold) {
    svg_.Text({.at = {kStepLeft + 40, baseline}, .text = cells[0], .bold = bold});
    svg_.Text(
        {.at = {kTimeColumn, baseline}, .text = cells[1], .anchor = SvgAnchor::kEnd, .bold = bold});
    svg_.Text({.at = {kShareColumn, baseline},
               .text = cells[2],
               .anchor = SvgAnchor::kEnd,
               .bold = bold});
  }

  void DrawLegend() {
    double baseline = kStepLegend;
    LegendRow(baseline, {"cause", "time", "%"}, true);
    for (const v1::StepPart& part : parts_) {
      baseline += kStepLegendLine;
      svg_.Rectangle({{kStepLeft, baseline - 12}, 30, 14}, FillOf(part.cause()));
      LegendRow(
          baseline,
          {CauseWords(part.cause()), TimeToThreeDigits(part.seconds()), ShareText(part.share())},
          false);
    }
    baseline += kStepLegendLine;
    svg_.Whisker(kStepLeft, kStepLeft + 30, baseline - 5, SvgEnd::kCap);
    svg_.Text(
        {.at = {kStepLeft + 40, baseline},
         .text = absl::StrCat("80 % interval of ", TimeToThreeDigits(step_.seconds().expected()),
                              ": ", TimeEndsText(step_.seconds()))});
  }

  // A BASIC view has none.
  void DrawSavings() {
    if (savings_.empty()) return;
    double baseline = kStepLegend;
    svg_.Text({.at = {kSavingLeft, baseline}, .text = "a tenth more", .bold = true});
    svg_.Text({.at = {kSavingColumn, baseline},
               .text = "saves, %",
               .anchor = SvgAnchor::kEnd,
               .bold = true});
    for (const v1::StepSensitivity& each : savings_) {
      baseline += kStepLegendLine;
      svg_.Text({.at = {kSavingLeft, baseline}, .text = RateWords(each.rate())});
      svg_.Text({.at = {kSavingColumn, baseline},
                 .text = ShareText(each.saved_share()),
                 .anchor = SvgAnchor::kEnd});
    }
  }

  const v1::PlanRunRequest& request_;
  const v1::Plan& plan_;
  const v1::StepTime& step_;
  const std::vector<v1::StepPart> parts_;
  const std::vector<v1::StepSensitivity> savings_;
  const double unit_;  // of the axis, in seconds
  const double end_;   // of the axis, in seconds
  SvgWriter svg_;
};

}  // namespace

std::string StepSvg(const v1::PlanRunRequest& request, const v1::Plan& plan) {
  return StepDrawing(request, plan).Document();
}

}  // namespace sextant::client
