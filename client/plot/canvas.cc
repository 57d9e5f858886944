#include "client/plot/canvas.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "client/text/text.h"

namespace sextant::client {
namespace {

constexpr const char* kAxisPrefixes[] = {"", " k", " M", " G", " T", " P", " E"};  // powers of 1000
constexpr int kPrefixedPowers = 21;                                                // 10^0 to 10^20

// Unicode's braille patterns, U+2800 to U+28FF: the bit of each dot, by row and column.
constexpr uint8_t kBits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};

// U+2800 + `dots` in UTF-8.
std::string Pattern(uint8_t dots) {
  return {static_cast<char>(0xE2), static_cast<char>(0xA0 | (dots >> 6)),
          static_cast<char>(0x80 | (dots & 0x3F))};
}

constexpr double kMaxLinearTicks = 8;

double LinearTickStep(double span) {
  const double power = std::pow(10.0, std::floor(std::log10(span / kMaxLinearTicks)));
  for (const double step : {1.0, 2.0, 5.0}) {
    if (span / (step * power) <= kMaxLinearTicks) return step * power;
  }
  return 10 * power;
}

}  // namespace

double LogAxis::Fraction(double value) const { return (std::log10(value) - low) / (high - low); }

double LogAxis::ValueAt(double fraction) const {
  return std::pow(10.0, low + fraction * (high - low));
}

std::vector<int> LogAxis::Ticks(int most) const {
  const int first = static_cast<int>(std::ceil(low));
  const int last = static_cast<int>(std::floor(high));
  const int step = std::max(1, (last - first + most - 2) / (most - 1));
  std::vector<int> ticks;
  for (int power = first; power <= last; power += step) ticks.push_back(power);
  return ticks;
}

std::string PowerText(int exponent) {
  if (exponent >= kPrefixedPowers || exponent < -3) return absl::StrCat("1e", exponent);
  if (exponent < 0)
    return absl::StrCat("0.", std::string(static_cast<size_t>(-exponent - 1), '0'), 1);
  return absl::StrCat("1", std::string(static_cast<size_t>(exponent % 3), '0'),
                      kAxisPrefixes[exponent / 3]);
}

std::vector<double> LinearAxis::Ticks() const {
  const double step = LinearTickStep(high - low);
  std::vector<double> ticks;
  for (double i = std::ceil(low / step); i * step <= high; ++i) ticks.push_back(i * step);
  return ticks;
}

std::vector<double> LinearTicks(double end) { return LinearAxis{0, end}.Ticks(); }

size_t PlotColumns() {
  constexpr size_t kAxisColumns = 15;
  return TextWidth() - kAxisColumns;
}

BrailleCanvas::BrailleCanvas(int columns, int rows)
    : columns_(columns),
      rows_(rows),
      dots_(static_cast<size_t>(columns) * static_cast<size_t>(rows), 0),
      letters_(dots_.size(), ' ') {}

void BrailleCanvas::Dot(int x, int y) {
  if (x < 0 || y < 0 || x >= dot_columns() || y >= dot_rows()) return;
  dots_[CellAt(x / 2, y / 4)] |= kBits[y % 4][x % 2];
}

void BrailleCanvas::Line(int x0, int y0, int x1, int y1) {
  const int steps = std::max({std::abs(x1 - x0), std::abs(y1 - y0), 1});
  for (int i = 0; i <= steps; ++i) {
    const double part = static_cast<double>(i) / steps;
    Dot(static_cast<int>(std::lround(x0 + part * (x1 - x0))),
        static_cast<int>(std::lround(y0 + part * (y1 - y0))));
  }
}

void BrailleCanvas::Letter(int column, int row, char letter) {
  column = std::clamp(column, 0, columns_ - 1);
  row = std::clamp(row, 0, rows_ - 1);
  int free = column;
  while (free < columns_ && letters_[CellAt(free, row)] != ' ') ++free;
  if (free == columns_) {
    free = column;
    while (free > 0 && letters_[CellAt(free, row)] != ' ') --free;
  }
  letters_[CellAt(free, row)] = letter;
}

std::vector<std::string> BrailleCanvas::Rows() const {
  std::vector<std::string> texts(static_cast<size_t>(rows_));
  for (int row = 0; row < rows_; ++row) {
    std::string& text = texts[static_cast<size_t>(row)];
    for (int column = 0; column < columns_; ++column) {
      const size_t cell = CellAt(column, row);
      if (letters_[cell] != ' ') {
        text += letters_[cell];
      } else {
        text += dots_[cell] == 0 ? " " : Pattern(dots_[cell]);
      }
    }
  }
  return texts;
}

}  // namespace sextant::client
