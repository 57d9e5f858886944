#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "client/plot/charts.h"
#include "client/text/amounts.h"
#include "client/text/layout_words.h"
#include "client/text/step_words.h"

namespace sextant::client {
namespace {

constexpr double kMaxShown = 1.5;  // times the step: an interval that is wider is cut

// By StepCause. Hues are Okabe and Ito's (2008), light; exchanges are hatched, and so is what only
// passes time. The first is of a cause that this client does not know.
constexpr std::array<Fill, v1::StepCause_ARRAYSIZE> kCauseFills = {{
    {"#ffffff", Hatch::kDots},
    {"#56b4e9", Hatch::kNone},
    {"#8fd6bd", Hatch::kNone},
    {"#f0e442", Hatch::kNone},
    {"#e0b3cb", Hatch::kDots},
    {"#efc066", Hatch::kRising},
    {"#f2aa80", Hatch::kFalling},
    {"#8fd6bd", Hatch::kRising},
    {"#efc066", Hatch::kCrossed},
    {"#d0d0d0", Hatch::kDots},
    {"#f2aa80", Hatch::kHorizontal},
    {"#ffffff", Hatch::kNone},
    {"#e0b3cb", Hatch::kVertical},
    {"#d0d0d0", Hatch::kNone},
    {"#ffffff", Hatch::kGrid},
    {"#d0d0d0", Hatch::kRising},
    {"#e0b3cb", Hatch::kFalling},
}};

PlotKey CauseKey(v1::StepCause cause) {
  return {.area = kCauseFills[v1::StepCause_IsValid(cause) ? static_cast<size_t>(cause) : 0]};
}

// A BASIC view has no sensitivities.
void AddTables(const v1::StepTime& step, Plot* plot) {
  PlotTable causes = {{Align::kLeft, Align::kRight, Align::kRight}, {"cause", "time", "%"}};
  for (const v1::StepPart& part : PartsByTime(step)) {
    causes.rows.push_back(
        {CauseKey(part.cause()),
         {CauseWords(part.cause()), TimeToThreeDigits(part.seconds()), ShareText(part.share())}});
  }
  plot->tables.push_back(std::move(causes));
  PlotTable savings = {{Align::kLeft, Align::kRight}, {"a tenth more", "saves, %"}};
  for (const v1::StepSensitivity& each : ShownSensitivities(step)) {
    savings.rows.push_back({{}, {RateWords(each.rate()), ShareText(each.saved_share())}});
  }
  if (!savings.rows.empty()) plot->tables.push_back(std::move(savings));
}

}  // namespace

Plot StepPlot(const v1::PlanRunRequest& request, const v1::Plan& plan) {
  const v1::StepTime& step = plan.step_time();
  const v1::Interval& seconds = step.seconds();
  const double expected = seconds.expected();
  const double end = 1.02 * std::clamp(seconds.high(), expected, kMaxShown * expected);
  const double unit = expected < 1 ? 1e-3 : 1;
  Plot plot = {
      .title = absl::StrCat("One step: ", plan.model_name(), ", ", Grouped(plan.device_count()),
                            " x ", plan.device()),
      .words = {LayoutWords(PlannedLayout(request, plan), plan.memory()),
                absl::StrCat(Grouped(step.token_count()), " tokens in ", TimeIntervalText(seconds),
                             ": ",
                             TokensPerSecond(static_cast<double>(step.token_count()) / expected),
                             ", software ", step.software_stack())},
      .x = {.high = end, .title = unit < 1 ? "time of a step (ms)" : "time of a step (s)"},
      .keys = {{{.whisker = true},
                absl::StrCat("80 % interval of ", TimeToThreeDigits(expected)),
                TimeEndsText(seconds)}}};
  plot.x.ticks = LinearTicks(plot.x, unit);
  PlotBar bar = {
      .ends = {seconds.low(), seconds.high()},
      .note = seconds.high() > end ? absl::StrCat("to ", TimeToThreeDigits(seconds.high())) : ""};
  for (const v1::StepPart& part : PartsByTime(step)) {
    bar.parts.push_back({part.seconds(), CauseKey(part.cause()), CauseWords(part.cause())});
  }
  plot.bars.push_back(std::move(bar));
  AddTables(step, &plot);
  return plot;
}

}  // namespace sextant::client
