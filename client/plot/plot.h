// A plot as plain data, with one renderer for terminals and one for SVG documents.
#ifndef SEXTANT_CLIENT_PLOT_PLOT_H_
#define SEXTANT_CLIENT_PLOT_PLOT_H_

#include <optional>
#include <string>
#include <vector>

#include "client/text/text.h"

namespace sextant::client {

// In units of the axes, or in pixels from the left and from the top.
struct PlotPoint {
  double x = 0;
  double y = 0;
};

// An interval, or the ends of an axis.
struct PlotEnds {
  double low = 0;
  double high = 0;
};

struct Stroke {
  const char* color = "#222222";
  double width = 1;
  const char* dashes = "";  // a stroke-dasharray; "" for a solid line
};

// Shapes differ without colour, and of two that overlap both can be seen.
enum class Shape { kNone, kDisc, kSquare, kTriangle, kCross, kDot };

// The hatching of an area, in addition to its colour: hatches differ without colour.
enum class Hatch { kNone, kRising, kFalling, kCrossed, kGrid, kHorizontal, kVertical, kDots };

struct Fill {
  const char* color = "#ffffff";
  Hatch hatch = Hatch::kNone;
};

// How something is drawn.
struct PlotKey {
  std::string letter = {};        // in a terminal
  std::optional<Fill> area = {};  // the others in a picture
  std::optional<Stroke> line = {};
  std::optional<Stroke> cross = {};  // intervals of both coordinates
  Shape shape = Shape::kNone;
  const char* color = "#222222";  // of the shape
  bool whisker = false;

  bool IsDrawn() const { return area || line || cross || whisker || shape != Shape::kNone; }
};

struct PlotTick {
  double at = 0;
  std::string label = {};  // "" for a line of the grid alone
};

// From `low` to `high`, low < high; both are above 0 where it is logarithmic.
struct PlotAxis {
  double low = 0;
  double high = 1;
  bool log = false;
  std::string title = {};       // in a picture
  std::string text_title = {};  // in a terminal, on a line of its own; "" for none
  std::string unit = {};        // in a terminal, after the labels; of bars' notes in a picture
  std::vector<PlotTick> ticks = {};

  // 0 at the low end and 1 at the high end; below 0 or above 1 outside the axis. 0 of what
  // has no place, such as a value that is not a number.
  double Fraction(double value) const;
};

// Ticks of a linear axis: multiples of 1, 2 or 5 times a power of ten of `unit`, at most eight and
// the one at the low end, and their labels in that unit.
std::vector<PlotTick> LinearTicks(const PlotAxis& axis, double unit = 1);

// Ticks of a logarithmic axis: its powers of ten. At most `most` (2 or more), evenly spaced, have a
// label.
std::vector<PlotTick> PowerTicks(const PlotAxis& axis, int most);

// 10^exponent with an SI prefix, "100 T", where there is one; from 0.001 to 1 as a decimal, "0.01";
// else "1e27".
std::string PowerText(int exponent);

// A line from point to point.
struct PlotLine {
  std::vector<PlotPoint> points = {};  // one or more; two of a rule
  Stroke stroke = {};
  // In a picture near the line's last part. In a terminal an upright rule's is below the axis.
  std::string label = {};
  // True of one straight line that marks a limit: dotted in a terminal. A level one
  // above the axis is a label alone.
  bool rule = false;
  Shape shape = Shape::kNone;         // of all points, in a picture
  std::vector<PlotEnds> y_ends = {};  // of each point, in a picture
};

struct PlotMark {
  PlotPoint at = {};
  std::string letter = {};     // "" for none: then a terminal does not show it
  Shape shape = Shape::kNone;  // without one a picture does not show it
  const char* color = "#222222";
  std::optional<PlotEnds> x_ends = {};
  std::optional<PlotEnds> y_ends = {};
  std::string tooltip = {};  // of a picture; "" for none
};

struct PlotPart {
  double size = 0;
  PlotKey key = {};       // an area, and a letter
  std::string name = {};  // above the part in a picture, where there is room
};

// A level bar from 0 of the axis x; the first is at the top.
struct PlotBar {
  std::string name = {};
  std::vector<PlotPart> parts = {};
  PlotEnds ends = {};
  std::string note = {};  // right of it
  bool bold = false;
  std::string gap = {};  // a row before it says what is left out; "" for none
};

struct PlotEntry {
  PlotKey key = {};  // without a letter it is not in a terminal; with nothing else in no picture
  std::string name = {};
  std::string value = {};  // in a picture
};

struct PlotTable {
  struct Row {
    PlotKey key = {};
    std::vector<std::string> cells = {};
  };
  std::vector<Align> aligned = {};
  std::vector<std::string> heading = {};
  std::vector<Row> rows = {};
};

struct PlotNote {
  PlotKey key = {};
  std::string text = {};
};

struct Plot {
  std::string title = {};
  std::vector<std::string> words = {};  // sentences below the title
  PlotAxis x = {};
  PlotAxis y = {};         // of bars its title alone, of their names
  size_t text_margin = 8;  // columns left of a terminal's drawing of lines and marks
  int text_rows = 16;
  // Either bars or lines and marks. A bar's rule is upright and has no end.
  std::vector<PlotBar> bars = {};
  std::vector<PlotLine> lines = {};
  std::vector<PlotMark> marks = {};
  // Below it: what is drawn how, tables side by side, notes, and, in a picture alone, sources.
  std::string keys_title = {};  // in a picture
  std::vector<PlotEntry> keys = {};
  std::vector<PlotTable> tables = {};
  std::vector<PlotNote> notes = {};
  std::vector<std::string> sources = {};
};

// The drawing and what is below it, in at most TextWidth() columns and legible without colour,
// every line ended.
std::string RenderText(const Plot& plot);

// The same after an empty line, the title and the words.
std::string TextSection(const Plot& plot);

// An SVG document: the plots one below the other.
std::string RenderSvg(const std::vector<Plot>& plots);

// `text`, or as much of it as fits into `width` characters with "..." at its end.
std::string CutTo(size_t width, const std::string& text);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_PLOT_PLOT_H_
