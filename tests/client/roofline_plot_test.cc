#include "client/roofline_plot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_split.h"
#include "client/format.h"
#include "client/log_axis.h"
#include "client/table.h"
#include "tests/client/sample_operation.h"

namespace sextant {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr size_t kFirstRow = 3;  // behind an empty line, the title and "FLOP/s"
constexpr int kRows = 20;
constexpr int kColumns = 84;

std::vector<std::string> PlotLines(const RooflineChart& chart) {
  return absl::StrSplit(RooflinePlot(chart), '\n');
}

// The character cells of a line of the canvas, each a text.
std::vector<std::string> Cells(const std::string& line) {
  std::vector<std::string> cells;
  for (const char c : line) {
    if ((c & 0xC0) != 0x80) cells.emplace_back();
    cells.back() += c;
  }
  cells.erase(cells.begin(), cells.begin() + std::min<ptrdiff_t>(12, std::ssize(cells)));
  return cells;
}

RooflineChart SampleChart() { return *RooflineChartOf(SampleOperation()); }

TEST(RooflinePlot, PutsPointsWhereTheyBelong) {
  RooflineChart chart = SampleChart();
  chart.points.resize(2);  // forward and unfused: no two in one place
  const ChartAxes axes = AxesOf(chart);
  const std::vector<std::string> lines = PlotLines(chart);
  for (const ChartPoint& point : chart.points) {
    const double down = 1 - axes.flops_per_second.Fraction(point.flops_per_second);
    const int row = static_cast<int>(std::lround(down * (4 * kRows - 1))) / 4;
    const double right = axes.intensity.Fraction(point.intensity);
    const int column = static_cast<int>(std::lround(right * (2 * kColumns - 1))) / 2;
    const auto cells = Cells(lines[kFirstRow + static_cast<size_t>(row)]);
    ASSERT_LT(static_cast<size_t>(column), cells.size()) << point.name;
    EXPECT_EQ(cells[static_cast<size_t>(column)], std::string(1, point.letter));
  }
}

// The roof's flat part is a whole line from the ridge to the right, the slope rises to it.
TEST(RooflinePlot, DrawsTheRoof) {
  RooflineChart chart = SampleChart();
  chart.points.clear();
  chart.roofs.resize(1);
  const ChartAxes axes = AxesOf(chart);
  const std::vector<std::string> lines = PlotLines(chart);
  const double down = 1 - axes.flops_per_second.Fraction(1e12);
  const int row = static_cast<int>(std::lround(down * (4 * kRows - 1))) / 4;
  const auto flat = Cells(lines[kFirstRow + static_cast<size_t>(row)]);
  ASSERT_EQ(flat.size(), static_cast<size_t>(kColumns));
  const int corner = static_cast<int>(axes.intensity.Fraction(100) * kColumns) + 1;
  for (int i = corner; i < kColumns; ++i) EXPECT_NE(flat[static_cast<size_t>(i)], " ") << i;
  const auto lowest = Cells(lines[kFirstRow + kRows - 1]);
  ASSERT_FALSE(lowest.empty());
  size_t last = 0;  // of the first drawn cell of each row, from the lowest up
  for (int i = kRows - 1; i > row; --i) {
    const auto cells = Cells(lines[kFirstRow + static_cast<size_t>(i)]);
    size_t first = 0;
    while (first < cells.size() && cells[first] == " ") ++first;
    ASSERT_LT(first, cells.size()) << "row " << i << " shows no slope";
    EXPECT_GE(first, last) << i;
    last = first;
  }
}

TEST(RooflinePlot, NamesEverythingWithItsUnit) {
  const std::string plot = RooflinePlot(SampleChart());
  EXPECT_THAT(plot,
              HasSubstr("Roofline of matmul of a [1000, 2000], b [2000, 500] in bf16 on toy"));
  EXPECT_THAT(plot, HasSubstr("\n  FLOP/s\n"));
  EXPECT_THAT(plot, HasSubstr("  arithmetic intensity, FLOP/byte"));
  EXPECT_THAT(plot, HasSubstr("^ ridge 100.00 FLOP/byte\n"));
  EXPECT_THAT(plot, HasSubstr("  F  forward   200.00 FLOP/byte  800.00 GFLOP/s   2.50 ms\n"
                              "  U  unfused    20.00 FLOP/byte  200.00 GFLOP/s  10.00 ms\n"
                              "  B  backward  200.00 FLOP/byte  800.00 GFLOP/s   5.00 ms\n"
                              "  A  achieved  200.00 FLOP/byte  500.00 GFLOP/s   4.00 ms\n"));
  EXPECT_THAT(plot, HasSubstr("  roofs: memory 10.00 GB/s (the slope), matrix products 1.00 "
                              "TFLOP/s, other arithmetic 100.00\n    GFLOP/s\n"));
  EXPECT_THAT(plot, HasSubstr("1 T ┤"));
}

// Wherever points, ridge and roofs are, every line fits and nothing is lost.
TEST(RooflinePlot, FitsWhereverPointsAre) {
  for (const double intensity : {1e-12, 1e-3, 1.0, 99.0, 1e6, 1e15}) {
    for (const double rate : {1e-6, 1.0, 1e9, 1e12, 1e21}) {
      for (const double ridge : {1e-9, 1.0, 1e9}) {
        RooflineChart chart = SampleChart();
        chart.ridge = ridge;
        chart.memory_bytes_per_second = chart.roofs[0].flops_per_second / ridge;
        chart.points = {{"forward", 'F', intensity, rate, 1}};
        const std::string plot = RooflinePlot(chart);
        EXPECT_THAT(plot, Not(HasSubstr("nan")));
        const std::vector<std::string> lines = absl::StrSplit(plot, '\n');
        for (const std::string& line : lines) {
          EXPECT_LE(DisplayWidth(line), static_cast<int64_t>(kTextWidth)) << line;
        }
        int64_t letters = 0;
        for (size_t i = kFirstRow; i < kFirstRow + kRows; ++i) {
          const auto cells = Cells(lines[i]);
          letters += std::count(cells.begin(), cells.end(), "F");
        }
        EXPECT_EQ(letters, 1) << plot;
        EXPECT_THAT(plot, HasSubstr("^")) << plot;
      }
    }
  }
}

TEST(RooflinePlot, SaysWhatHasNoPoint) {
  RooflineChart chart = SampleChart();
  chart.points.clear();
  chart.absent = {"forward has no point: it does no arithmetic"};
  EXPECT_THAT(RooflinePlot(chart), HasSubstr("\n  forward has no point: it does no arithmetic\n"));
}

}  // namespace
}  // namespace sextant
