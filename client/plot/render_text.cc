// Plots in a terminal: bars of letters, or lines of braille dots, two by four a character cell,
// with letters over them.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/plot/plot.h"

namespace sextant::client {
namespace {

// Unicode's braille patterns, U+2800 to U+28FF: the bit of each dot, by row and column.
constexpr uint8_t kBits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};

// U+2800 + `dots` in UTF-8.
std::string Pattern(uint8_t dots) {
  return {static_cast<char>(0xE2), static_cast<char>(0xA0 | (dots >> 6)),
          static_cast<char>(0x80 | (dots & 0x3F))};
}

std::string WithoutBlanksAtEnd(const std::string& text) {
  return text.substr(0, text.find_last_not_of(' ') + 1);
}

std::string RightAligned(const std::string& text, size_t width) {
  return std::string(width - std::min(width, text.size()), ' ') + text;
}

bool IsUpright(const PlotLine& line) { return line.points[0].x == line.points[1].x; }

// Lines and marks on `columns` x `rows` character cells. Dot (0, 0) is at the left and at the top.
class Canvas {
 public:
  Canvas(const Plot& plot, int columns)
      : plot_(plot),
        columns_(columns),
        rows_(plot.text_rows),
        dots_(static_cast<size_t>(columns * rows_), 0),
        letters_(dots_.size()) {
    for (const PlotLine& line : plot.lines) Draw(line);
    for (const PlotMark& mark : plot.marks) {
      if (mark.letter.empty() || !mark.y_ends.has_value()) continue;
      const int x = X(mark.at.x);
      Connect({x, Y(mark.y_ends->low)}, {x, Y(mark.y_ends->high)});
    }
    for (const PlotMark& mark : plot.marks) {
      if (!mark.letter.empty()) Write(mark.letter, X(mark.at.x) / 2, Y(mark.at.y) / 4);
    }
  }

  size_t RowOf(double y) const { return static_cast<size_t>(Y(y) / 4); }

  std::vector<std::string> Rows() const {
    std::vector<std::string> texts(static_cast<size_t>(rows_));
    for (size_t cell = 0; cell < dots_.size(); ++cell) {
      texts[cell / static_cast<size_t>(columns_)] += !letters_[cell].empty() ? letters_[cell]
                                                     : dots_[cell] == 0      ? " "
                                                                             : Pattern(dots_[cell]);
    }
    return texts;
  }

 private:
  struct DotAt {
    int x;
    int y;
  };

  static int DotOf(double fraction, int dots) {
    return static_cast<int>(std::lround(std::clamp(fraction, 0.0, 1.0) * (dots - 1)));
  }
  int X(double x) const { return DotOf(plot_.x.Fraction(x), 2 * columns_); }
  int Y(double y) const { return DotOf(1 - plot_.y.Fraction(y), 4 * rows_); }
  size_t CellAt(int column, int row) const { return static_cast<size_t>(row * columns_ + column); }

  void Dot(const DotAt& at) { dots_[CellAt(at.x / 2, at.y / 4)] |= kBits[at.y % 4][at.x % 2]; }

  void Draw(const PlotLine& line) {
    if (line.rule) return DrawRule(line);
    for (size_t i = 1; i < line.points.size(); ++i) {
      const PlotPoint& from = line.points[i - 1];
      const PlotPoint& to = line.points[i];
      Connect({X(from.x), Y(from.y)}, {X(to.x), Y(to.y)});
    }
  }

  // One dot a cell, from its upper or left end.
  void DrawRule(const PlotLine& rule) {
    const PlotPoint& from = rule.points[0];
    if (IsUpright(rule)) {
      for (int y = Y(std::max(from.y, rule.points[1].y)); y < 4 * rows_; y += 4) {
        Dot({X(from.x), y});
      }
    } else if (plot_.y.Fraction(from.y) <= 1) {
      for (int x = 0; x < 2 * columns_; x += 2) Dot({x, Y(from.y)});
    }
  }

  // A straight line between two dots, both included.
  void Connect(const DotAt& from, const DotAt& to) {
    const int steps = std::max({std::abs(to.x - from.x), std::abs(to.y - from.y), 1});
    for (int i = 0; i <= steps; ++i) {
      const double part = static_cast<double>(i) / steps;
      Dot({static_cast<int>(std::lround(from.x + part * (to.x - from.x))),
           static_cast<int>(std::lround(from.y + part * (to.y - from.y)))});
    }
  }

  // Over the cell's dots; where it has a letter already, in the nearest free cell to the right, or
  // else to the left.
  void Write(const std::string& letter, int column, int row) {
    int free = column;
    while (free < columns_ && !letters_[CellAt(free, row)].empty()) ++free;
    if (free == columns_) {
      free = column;
      while (free > 0 && !letters_[CellAt(free, row)].empty()) --free;
    }
    letters_[CellAt(free, row)] = letter;
  }

  const Plot& plot_;
  const int columns_;
  const int rows_;
  std::vector<uint8_t> dots_;  // one bit a dot, numbered as in Unicode
  std::vector<std::string> letters_;
};

class TextRenderer {
 public:
  explicit TextRenderer(const Plot& plot) : plot_(plot) {
    if (plot.bars.empty()) {
      constexpr size_t kFree = 15;  // columns of margins on both sides, at most
      margin_ = plot.text_margin;
      columns_ = TextWidth() - kFree;
      return;
    }
    size_t name_width = 1;
    for (const PlotBar& bar : plot.bars) {
      name_width = std::max(name_width, bar.name.size());
      note_width_ = std::max(note_width_, bar.note.size());
    }
    margin_ = 2 + name_width + 2;
    columns_ = TextWidth() - margin_ - 2 - note_width_;
  }

  std::string Text() const {
    return absl::StrCat(plot_.bars.empty() ? Lines() : Bars(), Axis(), XTitle(), Keys(), Tables(),
                        Notes());
  }

 private:
  std::string Lines() const {
    const Canvas canvas(plot_, static_cast<int>(columns_));
    const std::vector<std::string> rows = canvas.Rows();
    std::vector<std::string> labels(rows.size());
    for (const PlotTick& tick : plot_.y.ticks) {
      if (!tick.label.empty()) labels[canvas.RowOf(tick.at)] = tick.label;
    }
    std::string out = absl::StrCat("  ", plot_.y.text_title, "\n");
    for (size_t i = 0; i < rows.size(); ++i) {
      absl::StrAppend(&out, RightAligned(labels[i], margin_ - 2), labels[i].empty() ? " │" : " ┤",
                      WithoutBlanksAtEnd(rows[i]), "\n");
    }
    return out;
  }

  std::string Bars() const {
    std::string out;
    for (const PlotBar& bar : plot_.bars) {
      if (!bar.gap.empty()) absl::StrAppend(&out, std::string(margin_, ' '), bar.gap, "\n");
      absl::StrAppend(&out, RightAligned(bar.name, margin_ - 2), "  ", CellsOf(bar), "  ",
                      RightAligned(bar.note, note_width_), "\n");
    }
    return out;
  }

  // Edges are rounded, not lengths, so that a bar's length matches its total.
  std::string CellsOf(const PlotBar& bar) const {
    std::vector<std::string> cells(columns_, " ");
    const auto fill = [&](double from, double to, const std::string& cell) {
      for (size_t i = Column(from); i < Column(to); ++i) cells[i] = cell;
    };
    double edge = 0;
    for (const PlotPart& part : bar.parts) {
      fill(edge, edge + part.size, part.key.letter);
      edge += part.size;
    }
    fill(edge, bar.ends.high, "~");
    for (const PlotLine& rule : plot_.lines) cells[Column(rule.points[0].x)] = "│";
    return absl::StrJoin(cells, "");
  }

  // The last column of bars is kept for rules.
  size_t Column(double x) const {
    const double fraction = std::clamp(plot_.x.Fraction(x), 0.0, 1.0);
    const double columns = static_cast<double>(columns_);
    if (!plot_.bars.empty()) return static_cast<size_t>(std::lround(fraction * (columns - 1)));
    return static_cast<size_t>(std::lround(fraction * (2 * columns - 1)) / 2);
  }

  // The axis x and its labels; one that would touch the label before is left out.
  std::string Axis() const {
    std::vector<std::string> cells(columns_, "─");
    const std::string unit = plot_.x.unit.empty() ? "" : absl::StrCat(" ", plot_.x.unit);
    std::string labels(TextWidth() - unit.size(), ' ');
    size_t free_from = 0;
    for (const PlotTick& tick : plot_.x.ticks) {
      const size_t column = margin_ + Column(tick.at);
      const size_t width = tick.label.size();
      const size_t at = std::min(column - std::min(column, width / 2), labels.size() - width);
      if (width == 0 || at < free_from) continue;
      cells[column - margin_] = "┴";
      labels.replace(at, width, tick.label);
      free_from = at + width + 1;
    }
    const std::string blanks(margin_ - (plot_.bars.empty() ? 1 : 0), ' ');
    if (!plot_.bars.empty()) cells[0] = "";
    return absl::StrCat(blanks, "└", absl::StrJoin(cells, ""), "\n", WithoutBlanksAtEnd(labels),
                        unit, "\n");
  }

  // The title of the axis, with the label of an upright rule, or above it.
  std::string XTitle() const {
    if (plot_.x.text_title.empty()) return "";
    const std::string title = absl::StrCat("  ", plot_.x.text_title);
    for (const PlotLine& line : plot_.lines) {
      if (!line.rule || !IsUpright(line)) continue;
      const size_t column = margin_ + Column(line.points[0].x);
      const std::string label = CutTo(TextWidth() / 2 - 2, line.label);  // fits on either side
      const bool fits_right = column + 2 + label.size() <= TextWidth();
      const size_t start = fits_right ? column : column - label.size() - 1;
      const std::string mark = fits_right ? absl::StrCat("^ ", label) : absl::StrCat(label, " ^");
      if (start < title.size() + 2) {
        return absl::StrCat(std::string(start, ' '), mark, "\n", title, "\n");
      }
      return absl::StrCat(title, std::string(start - title.size(), ' '), mark, "\n");
    }
    return absl::StrCat(title, "\n");
  }

  // As many a line as fit, none broken.
  std::string Keys() const {
    std::string out;
    size_t width = TextWidth();
    for (const PlotEntry& entry : plot_.keys) {
      if (entry.key.letter.empty()) continue;
      const std::string text = absl::StrCat("  ", entry.key.letter, " ", entry.name);
      const auto own = static_cast<size_t>(DisplayWidth(text));
      width = width + own <= TextWidth() ? width + own : own;
      absl::StrAppend(&out, width == own && !out.empty() ? "\n" : "", text);
    }
    return out.empty() ? "" : absl::StrCat(out, "\n");
  }

  std::string Tables() const {
    std::string out;
    for (const PlotTable& each : plot_.tables) {
      Table table(2, each.aligned);
      if (!each.heading.empty()) table.AddRow(each.heading);
      for (const PlotTable::Row& row : each.rows) table.AddRow(row.cells);
      out += table.Text();
    }
    return out;
  }

  std::string Notes() const {
    std::string out;
    for (const PlotNote& note : plot_.notes) {
      out += note.key.letter.empty()
                 ? Wrap("  ", note.text, 4)
                 : Wrap(absl::StrCat("  ", note.key.letter, "  "), note.text, 5);
    }
    return out;
  }

  const Plot& plot_;
  size_t margin_ = 0;   // columns left of the drawing
  size_t columns_ = 0;  // of the drawing
  size_t note_width_ = 1;
};

}  // namespace

std::string RenderText(const Plot& plot) { return TextRenderer(plot).Text(); }

std::string TextSection(const Plot& plot) {
  std::string out = absl::StrCat("\n", Wrap("", plot.title, 2));
  for (const std::string& words : plot.words) out += Wrap("  ", words, 2);
  return out + RenderText(plot);
}

}  // namespace sextant::client
