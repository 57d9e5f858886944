// The legend below a picture's axes.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/plot/plot.h"
#include "client/plot/svg.h"

namespace sextant::client {
namespace {

constexpr size_t kNoteWidth = 100;  // characters that fit
constexpr size_t kSourceWidth = 112;
constexpr double kLegendLine = 20;
constexpr double kSourceLine = 15;
constexpr double kKeyWidth = 38;  // with the space before its text
constexpr char kSourceColor[] = "#555555";

class SvgLegend {
 public:
  SvgLegend(const Plot& plot, const PlotPoint& at, SvgWriter& svg)
      : plot_(plot), left_(at.x), y_(at.y), svg_(svg) {}

  // Returns the bottom.
  double Draw() {
    DrawEntries();
    double x = left_;
    double bottom = y_;
    for (const PlotTable& table : plot_.tables) {
      const double top = y_;
      x = DrawTable(table, x) + 60;
      bottom = std::max(bottom, y_);
      y_ = top;
    }
    y_ = bottom;
    for (const PlotNote& note : plot_.notes) {
      const bool drawn = DrawKey(note.key, left_);
      for (const std::string& line : SvgLines(note.text, kNoteWidth)) {
        svg_.Text({.at = {left_ + (drawn ? kKeyWidth : 0), y_}, .text = line});
        y_ += kLegendLine;
      }
    }
    for (const std::string& source : plot_.sources) {
      for (const std::string& line : SvgLines(source, kSourceWidth)) {
        svg_.Text({.at = {left_, y_}, .text = line, .size = 11, .color = kSourceColor});
        y_ += kSourceLine;
      }
    }
    return y_;
  }

 private:
  // In columns as wide as the widest, filled one after the other.
  void DrawEntries() {
    std::vector<std::pair<PlotKey, std::string>> entries;
    double width = 1;
    for (const PlotEntry& entry : plot_.keys) {
      if (!entry.key.IsDrawn()) continue;
      entries.emplace_back(entry.key, entry.value.empty()
                                          ? entry.name
                                          : absl::StrCat(entry.name, ": ", entry.value));
      width = std::max(width, kKeyWidth + WidthOf(entries.back().second) + 24);
    }
    if (entries.empty()) return;
    if (!plot_.keys_title.empty()) {
      svg_.Text({.at = {left_, y_}, .text = plot_.keys_title, .bold = true});
      y_ += kLegendLine + 2;
    }
    const auto columns = static_cast<size_t>(std::max(1.0, (kSvgWidth - left_) / width));
    const size_t rows = (entries.size() + columns - 1) / columns;
    const double top = y_;
    for (size_t i = 0; i < entries.size(); ++i) {
      const double x = left_ + width * static_cast<double>(i / rows);
      y_ = top + kLegendLine * static_cast<double>(i % rows);
      DrawKey(entries[i].first, x);
      svg_.Text({.at = {x + kKeyWidth, y_}, .text = entries[i].second});
    }
    y_ = top + kLegendLine * static_cast<double>(rows) + 12;
  }

  // Draws at the baseline; false where there is nothing to draw.
  bool DrawKey(const PlotKey& key, double x) {
    const double y = y_ - 4;
    const PlotPoint middle = {x + 15, y};
    if (key.area.has_value()) svg_.Rectangle({x, y - 7, x + 30, y + 7}, *key.area);
    if (key.line.has_value()) svg_.Line({x, y}, {x + 30, y}, *key.line);
    if (key.cross.has_value()) {
      svg_.Line({middle.x - 9, y}, {middle.x + 9, y}, *key.cross);
      svg_.Line({middle.x, y - 9}, {middle.x, y + 9}, *key.cross);
    }
    if (key.whisker) svg_.Whisker({x, x + 30}, y);
    svg_.Mark(key.shape, middle, key.color);
    return key.IsDrawn();
  }

  // Returns its right edge.
  double DrawTable(const PlotTable& table, double left) {
    std::vector<double> widths(table.aligned.size(), 0);
    const auto measure = [&](const std::vector<std::string>& cells) {
      for (size_t i = 0; i < cells.size(); ++i) widths[i] = std::max(widths[i], WidthOf(cells[i]));
    };
    measure(table.heading);
    bool keys = false;
    for (const PlotTable::Row& row : table.rows) {
      measure(row.cells);
      keys = keys || row.key.IsDrawn();
    }
    const double first = left + (keys ? kKeyWidth : 0);
    double right = left;
    if (!table.heading.empty()) DrawRow(table.heading, first, table, widths);
    for (const PlotTable::Row& row : table.rows) {
      DrawKey(row.key, left);
      right = std::max(right, DrawRow(row.cells, first, table, widths));
    }
    return right;
  }

  // Returns its right edge. The last column wraps within itself.
  double DrawRow(const std::vector<std::string>& cells, double x, const PlotTable& table,
                 const std::vector<double>& widths) {
    constexpr double kGap = 20;
    double y = y_;
    for (size_t i = 0; i < cells.size(); ++i) {
      const bool right = table.aligned[i] == Align::kRight;
      const double room = std::max(20 * WidthOf("x"), kSvgWidth - 16 - x);
      y = y_;
      for (const std::string& line : SvgLines(cells[i], static_cast<size_t>(room / WidthOf("x")))) {
        svg_.Text({.at = {right ? x + widths[i] : x, y},
                   .text = line,
                   .anchor = right ? SvgAnchor::kEnd : SvgAnchor::kStart,
                   .bold = &cells == &table.heading});
        y += kLegendLine;
      }
      x += widths[i] + kGap;
    }
    y_ = std::max(y, y_ + kLegendLine);
    return x - kGap;
  }

  const Plot& plot_;
  const double left_;
  double y_;  // the baseline of what is drawn next
  SvgWriter& svg_;
};

}  // namespace

std::vector<std::string> SvgLines(const std::string& text, size_t width) {
  return absl::StrSplit(Wrap("", text, 0, width), '\n', absl::SkipEmpty());
}

double DrawSvgLegend(const Plot& plot, const PlotPoint& at, SvgWriter& svg) {
  return SvgLegend(plot, at, svg).Draw();
}

}  // namespace sextant::client
