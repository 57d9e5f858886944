// Drawing for charts: axes and, in a terminal, a canvas of braille dots, two by four a
// character cell, with letters over them.
#ifndef SEXTANT_CLIENT_PLOT_CANVAS_H_
#define SEXTANT_CLIENT_PLOT_CANVAS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace sextant::client {

// From 10^low to 10^high, low < high.
struct LogAxis {
  double low = 0;
  double high = 1;

  // 0 at the low end and 1 at the high end; below 0 or above 1 outside the axis. `value` is above
  // 0.
  double Fraction(double value) const;

  // The value at a fraction.
  double ValueAt(double fraction) const;

  // At most `most` (2 or more) evenly spaced powers of ten on the axis.
  std::vector<int> Ticks(int most) const;
};

// From `low` to `high`, low < high.
struct LinearAxis {
  double low = 0;
  double high = 1;

  // 0 at the low end and 1 at the high end; below 0 or above 1 outside the axis.
  double Fraction(double value) const { return (value - low) / (high - low); }

  // Multiples of 1, 2 or 5 times a power of ten, at most eight and the one at the low end.
  std::vector<double> Ticks() const;
};

// 10^exponent with an SI prefix, "100 T", where there is one; from 0.001 to 1 as a decimal, "0.01";
// else "1e27".
std::string PowerText(int exponent);

// Ticks of a linear axis from 0 to `end`, above 0.
std::vector<double> LinearTicks(double end);

// Columns of a canvas in a text: TextWidth() less those of an axis and its labels.
size_t PlotColumns();

class BrailleCanvas {
 public:
  // An empty canvas of `columns` x `rows` character cells.
  BrailleCanvas(int columns, int rows);

  // Sizes in dots. Dot (0, 0) is at the left and at the top.
  int dot_columns() const { return 2 * columns_; }
  int dot_rows() const { return 4 * rows_; }

  // Sets a dot. A dot outside the canvas is ignored.
  void Dot(int x, int y);

  // Sets the dots of a straight line between two dots, both included.
  void Line(int x0, int y0, int x1, int y1);

  // Puts `letter` into a cell, over its dots; where the cell has a letter already, into the nearest
  // free cell to the right, or else to the left.
  void Letter(int column, int row, char letter);

  // One text a row, of `columns` characters each.
  std::vector<std::string> Rows() const;

 private:
  size_t CellAt(int column, int row) const {
    return static_cast<size_t>(row) * static_cast<size_t>(columns_) + static_cast<size_t>(column);
  }

  int columns_;
  int rows_;
  std::vector<uint8_t> dots_;  // one bit a dot, numbered as in Unicode
  std::string letters_;        // ' ' for none
};

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_PLOT_CANVAS_H_
