#include "client/plot/memory_chart.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/plot/canvas.h"
#include "client/text/memory_stages.h"
#include "client/text/text.h"

namespace sextant::client {
namespace {

MemoryBar BarOf(const v1::Memory& memory, const StageRun& run) {
  const v1::StageMemory& stage = memory.stages(run.first);
  MemoryBar bar = {.name = StageRunName(memory, run),
                   .sizes = {},
                   .total = GibOf(stage.total_bytes()),
                   .low = GibOf(stage.process_bytes().low()),
                   .high = GibOf(stage.process_bytes().high()),
                   .stages_left_out_before = run.left_out_before,
                   .peak = HoldsThePeak(memory, run)};
  for (size_t i = 0; i < kMemoryKinds.size(); ++i) {
    bar.sizes[i] = GibOf(BytesOf(stage, kMemoryKinds[i].kind));
  }
  return bar;
}

constexpr char kUsableMark[] = "│";
constexpr char kEstimateMark[] = "~";  // from the expected size to the high end

std::string Padded(const std::string& text, size_t width) {
  return std::string(width - std::min(width, text.size()), ' ') + text;
}

class BarDrawing {
 public:
  explicit BarDrawing(const MemoryChart& chart) : chart_(chart) {
    for (const MemoryBar& bar : chart.bars) {
      name_width_ = std::max(name_width_, bar.name.size());
      total_width_ = std::max(total_width_, Grouped(bar.total, 2).size());
    }
    width_ = TextWidth() - 2 - name_width_ - 2 - 2 - total_width_;
  }

  std::string Text() const {
    std::string out;
    for (const MemoryBar& bar : chart_.bars) {
      if (bar.stages_left_out_before > 0) {
        absl::StrAppend(&out, Margin(""), "... ", bar.stages_left_out_before, " more\n");
      }
      absl::StrAppend(&out, Margin(bar.name), BarText(bar), "  ",
                      Padded(Grouped(bar.total, 2), total_width_), "\n");
    }
    return absl::StrCat(out, Axis(), Labels(), Legend());
  }

 private:
  std::string Margin(const std::string& name) const {
    return absl::StrCat("  ", Padded(name, name_width_), "  ");
  }

  // The column of a bar's edge; the last column is kept for the mark.
  size_t Column(double gib) const {
    const double columns = static_cast<double>(width_ - 1);
    return static_cast<size_t>(std::lround(std::clamp(gib / chart_.end, 0.0, 1.0) * columns));
  }

  // Edges are rounded, not lengths, so that a bar's length matches its total.
  std::string BarText(const MemoryBar& bar) const {
    std::vector<std::string> cells(width_, " ");
    double edge = 0;
    for (size_t i = 0; i < kMemoryKinds.size(); ++i) {
      const size_t begin = Column(edge);
      edge += bar.sizes[i];
      Fill(begin, Column(edge), std::string(1, kMemoryKinds[i].letter), &cells);
    }
    Fill(Column(edge), Column(bar.high), kEstimateMark, &cells);
    cells[Column(chart_.usable)] = kUsableMark;
    return absl::StrJoin(cells, "");
  }

  static void Fill(size_t begin, size_t end, const std::string& cell,
                   std::vector<std::string>* cells) {
    for (size_t i = begin; i < end; ++i) (*cells)[i] = cell;
  }

  std::string Axis() const {
    std::vector<std::string> cells(width_, "─");
    for (const double tick : chart_.ticks) cells[Column(tick)] = "┴";
    cells[0] = "└";
    return absl::StrCat(Margin(""), absl::StrJoin(cells, ""), "\n");
  }

  std::string Labels() const {
    const size_t margin = Margin("").size();
    std::string out(margin + width_ + 8, ' ');
    for (const double tick : chart_.ticks) {
      const std::string label = TickText(tick);
      const size_t at = margin + Column(tick);
      const size_t start = at - std::min(at, label.size() / 2);
      if (start > 0 && out[start - 1] != ' ') continue;  // no room
      out.replace(start, label.size(), label);
    }
    return absl::StrCat(out.substr(0, std::min(TextWidth(), out.find_last_not_of(' ') + 1)),
                        " GiB\n");
  }

  std::string Legend() const {
    std::vector<std::string> parts;
    for (size_t i = 0; i < kMemoryKinds.size(); ++i) {
      const auto has = [i](const MemoryBar& bar) { return bar.sizes[i] > 0; };
      if (std::none_of(chart_.bars.begin(), chart_.bars.end(), has)) continue;
      parts.push_back(
          absl::StrCat(std::string(1, kMemoryKinds[i].letter), " ", kMemoryKinds[i].name));
    }
    parts.push_back(absl::StrCat(kEstimateMark, " up to the high end"));
    parts.push_back(absl::StrCat(kUsableMark, " usable: ", Grouped(chart_.usable, 2), " GiB"));
    return LinesOf(parts);
  }

  // Joins parts into lines, as many a line as fit, none broken.
  static std::string LinesOf(const std::vector<std::string>& parts) {
    std::vector<std::string> lines;
    for (const std::string& part : parts) {
      const bool fits = !lines.empty() && DisplayWidth(lines.back()) + 2 + DisplayWidth(part) <=
                                              static_cast<int64_t>(TextWidth());
      if (fits) {
        absl::StrAppend(&lines.back(), "  ", part);
      } else {
        lines.push_back(absl::StrCat("  ", part));
      }
    }
    return absl::StrCat(absl::StrJoin(lines, "\n"), "\n");
  }

  const MemoryChart& chart_;
  size_t name_width_ = 1;
  size_t total_width_ = 1;
  size_t width_ = 0;  // of a bar with its mark
};

}  // namespace

MemoryChart MemoryChartOf(const v1::Memory& memory) {
  MemoryChart chart;
  chart.usable = GibOf(memory.capacity().usable_bytes());
  double most = chart.usable;
  for (const StageRun& run : ShownStageRuns(memory)) {
    chart.bars.push_back(BarOf(memory, run));
    most = std::max({most, chart.bars.back().total, chart.bars.back().high});
  }
  chart.end = most > 0 ? most : 1;
  if (most > chart.usable) chart.end *= 1.02;  // room after the longest
  chart.ticks = LinearTicks(chart.end);
  return chart;
}

std::string TickText(double gib) {
  return gib >= 1000 ? Grouped(gib, 0) : absl::StrFormat("%g", gib);
}

std::string MemoryBars(const MemoryChart& chart) { return BarDrawing(chart).Text(); }

}  // namespace sextant::client
