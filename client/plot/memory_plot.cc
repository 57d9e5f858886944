#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "client/plot/charts.h"
#include "client/text/memory_stages.h"

namespace sextant::client {
namespace {

// In the order of kMemoryKinds. Light, so that hatching shows on them; colour-blind readers tell
// each hue from its neighbours' (Okabe, Ito 2008).
constexpr std::array<Fill, kMemoryKinds.size()> kKindFills = {{
    {"#56b4e9", Hatch::kNone},
    {"#8fd6bd", Hatch::kRising},
    {"#f0e442", Hatch::kFalling},
    {"#efc066", Hatch::kCrossed},
    {"#e0b3cb", Hatch::kDots},
    {"#f2aa80", Hatch::kHorizontal},
    {"#d0d0d0", Hatch::kVertical},
    {"#ffffff", Hatch::kGrid},
}};

PlotKey KindKey(size_t kind) {
  return {.letter = std::string(1, kMemoryKinds[kind].letter), .area = kKindFills[kind]};
}

PlotBar BarOf(const v1::Memory& memory, const StageRun& run) {
  const v1::StageMemory& stage = memory.stages(run.first);
  PlotBar bar = {
      .name = StageRunName(memory, run),
      .ends = {GibOf(stage.process_bytes().low()), GibOf(stage.process_bytes().high())},
      .note = Grouped(GibOf(stage.total_bytes()), 2),
      .bold = HoldsThePeak(memory, run),
      .gap = run.left_out_before > 0 ? absl::StrCat("... ", run.left_out_before, " more") : ""};
  for (size_t i = 0; i < kMemoryKinds.size(); ++i) {
    bar.parts.push_back({GibOf(BytesOf(stage, kMemoryKinds[i].kind)), KindKey(i)});
  }
  return bar;
}

// The kinds of memory of the bar with the peak, or of the first, as far as any bar has them.
void AddKeys(Plot* plot) {
  if (plot->bars.empty()) return;
  const auto bold = std::find_if(plot->bars.begin(), plot->bars.end(),
                                 [](const PlotBar& bar) { return bar.bold; });
  const PlotBar& peak = bold == plot->bars.end() ? plot->bars.front() : *bold;
  plot->keys_title = absl::StrCat("Stage ", peak.name, " holds:");
  for (size_t i = 0; i < kMemoryKinds.size(); ++i) {
    const auto has = [i](const PlotBar& bar) { return bar.parts[i].size > 0; };
    if (std::none_of(plot->bars.begin(), plot->bars.end(), has)) continue;
    plot->keys.push_back(
        {KindKey(i), kMemoryKinds[i].name, absl::StrCat(Grouped(peak.parts[i].size, 2), " GiB")});
  }
  plot->keys.push_back({{.letter = "~"}, "up to the high end"});
  plot->keys.push_back(
      {{.whisker = true},
       "low to high end",
       absl::StrCat(Grouped(peak.ends.low, 2), " to ", Grouped(peak.ends.high, 2), " GiB")});
  plot->keys.push_back({{.letter = "│"}, plot->lines[0].label});
}

}  // namespace

Plot MemoryPlot(const v1::Plan& plan) {
  const v1::Memory& memory = plan.memory();
  const double usable = GibOf(memory.capacity().usable_bytes());
  Plot plot = {.title = absl::StrCat("Memory of each GPU: ", plan.model_name(), ", ",
                                     Grouped(plan.device_count()), " x ", plan.device()),
               .words = {absl::StrCat(
                   VerdictWords(plan.verdict()), ": ",
                   memory.host().decides_verdict() ? HostNeedText(memory) : PeakText(memory))},
               .x = {.title = "memory at the stage's peak (GiB)", .unit = "GiB"},
               .y = {.title = "stage"},
               .lines = {{.points = {{usable, 0}, {usable, 1}},
                          .stroke = {"#c00000", 2, "7 4"},
                          .label = absl::StrCat("usable: ", Grouped(usable, 2), " GiB"),
                          .rule = true}}};
  double most = usable;
  for (const StageRun& run : ShownStageRuns(memory)) {
    plot.bars.push_back(BarOf(memory, run));
    const PlotBar& bar = plot.bars.back();
    most = std::max({most, GibOf(memory.stages(run.first).total_bytes()), bar.ends.high});
  }
  plot.x.high = most > 0 ? most : 1;
  if (most > usable) plot.x.high *= 1.02;  // room after the longest
  plot.x.ticks = LinearTicks(plot.x);
  AddKeys(&plot);
  return plot;
}

}  // namespace sextant::client
