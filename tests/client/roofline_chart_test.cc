#include "client/chart/roofline_chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "absl/strings/str_split.h"
#include "client/report/text.h"
#include "tests/client/sample_operation.h"

namespace sextant::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

TEST(RooflineChart, HasEveryPointAndRoof) {
  const absl::StatusOr<RooflineChart> chart = RooflineChartOf(SampleOperation());
  ASSERT_TRUE(chart.ok()) << chart.status();
  EXPECT_EQ(chart->title, "matmul of a [1000, 2000], b [2000, 500] in bf16 on toy");
  EXPECT_EQ(chart->memory_bytes_per_second, 1e10);
  EXPECT_EQ(chart->ridge, 100);
  ASSERT_THAT(chart->roofs, SizeIs(2));
  EXPECT_EQ(chart->roofs[0].name, "matrix products");
  EXPECT_EQ(chart->roofs[0].flops_per_second, 1e12);
  EXPECT_EQ(chart->roofs[1].name, "other arithmetic");
  EXPECT_EQ(chart->roofs[1].flops_per_second, 1e11);
  ASSERT_THAT(chart->points, SizeIs(4));
  const char letters[] = {'F', 'U', 'B', 'A'};
  const double intensities[] = {200, 20, 200, 200};
  const double rates[] = {8e11, 2e11, 8e11, 5e11};
  const double seconds[] = {0.0025, 0.01, 0.005, 0.004};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(chart->points[i].letter, letters[i]);
    EXPECT_DOUBLE_EQ(chart->points[i].intensity, intensities[i]);
    EXPECT_DOUBLE_EQ(chart->points[i].flops_per_second, rates[i]);
    EXPECT_DOUBLE_EQ(chart->points[i].seconds, seconds[i]);
  }
  EXPECT_THAT(chart->absent, IsEmpty());
  EXPECT_THAT(chart->sources,
              ElementsAre("matrix products 1.00 TFLOP/s, other arithmetic 100.00 GFLOP/s: "
                          "datasheet, sheet <A & B>",
                          "memory 10.00 GB/s: request"));
}

TEST(RooflineChart, LeavesOutWhatHasNoPlaceAndSaysWhy) {
  v1::AnalyzeOperationResponse response = SampleOperation();
  response.mutable_forward()->mutable_sum()->set_matrix_flops(0);
  response.mutable_forward()->mutable_sum()->set_arithmetic_intensity(0);
  response.mutable_unfused()->mutable_sum()->clear_arithmetic_intensity();
  response.mutable_time()->clear_utilisation();
  const absl::StatusOr<RooflineChart> chart = RooflineChartOf(response);
  ASSERT_TRUE(chart.ok()) << chart.status();
  ASSERT_THAT(chart->points, SizeIs(1));
  EXPECT_EQ(chart->points[0].name, "backward");
  EXPECT_THAT(chart->absent, ElementsAre("forward has no point: it does no arithmetic",
                                         "unfused has no point: it moves no bytes"));
}

TEST(RooflineChart, HasOneRoofWhereAllArithmeticIsAlike) {
  v1::AnalyzeOperationResponse same = SampleOperation();
  same.mutable_time()->mutable_rates(1)->set_value(1e12);
  v1::AnalyzeOperationResponse one = SampleOperation();
  one.mutable_time()->mutable_rates()->DeleteSubrange(1, 1);
  for (const auto& response : {same, one}) {
    const absl::StatusOr<RooflineChart> chart = RooflineChartOf(response);
    ASSERT_TRUE(chart.ok()) << chart.status();
    ASSERT_THAT(chart->roofs, SizeIs(1));
    EXPECT_EQ(chart->roofs[0].name, "all arithmetic");
  }
}

TEST(RooflineChart, IsRefusedWithoutRates) {
  EXPECT_EQ(RooflineChartOf(SampleWithoutDevice()).status().code(),
            absl::StatusCode::kFailedPrecondition);
  for (const int rate : {0, 2}) {
    for (const double value : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(),
                               std::numeric_limits<double>::infinity()}) {
      v1::AnalyzeOperationResponse response = SampleOperation();
      response.mutable_time()->mutable_rates(rate)->set_value(value);
      EXPECT_THAT(std::string(RooflineChartOf(response).status().message()),
                  HasSubstr("lacks the rates"))
          << rate << " " << value;
    }
  }
  v1::AnalyzeOperationResponse response = SampleOperation();
  response.mutable_time()->clear_rates();
  EXPECT_FALSE(RooflineChartOf(response).ok());
  response = SampleOperation();
  response.mutable_time()->mutable_forward()->clear_ridge_flops_per_byte();
  EXPECT_FALSE(RooflineChartOf(response).ok());
}

TEST(RooflineChart, ShortensALongTitle) {
  v1::AnalyzeOperationResponse response = SampleOperation();
  response.mutable_operands(1)->set_name(std::string(40, 'b'));
  EXPECT_EQ(RooflineChartOf(response)->title, "matmul of a [1000, 2000] in bf16 on toy");
  response.mutable_operands(0)->set_name(std::string(40, 'a'));
  EXPECT_EQ(RooflineChartOf(response)->title, "matmul in bf16 on toy");
}

TEST(RoofAt, IsTheLowerOfBoth) {
  const RooflineChart chart = *RooflineChartOf(SampleOperation());
  EXPECT_EQ(RoofAt(chart, 1e12, 10), 1e11);
  EXPECT_EQ(RoofAt(chart, 1e12, 100), 1e12);
  EXPECT_EQ(RoofAt(chart, 1e12, 1000), 1e12);
}

TEST(AxesOf, HoldAllThatIsDrawn) {
  RooflineChart chart;
  chart.memory_bytes_per_second = 1e10;
  chart.ridge = 100;
  chart.roofs = {{"matrix products", 1e12}, {"other arithmetic", 1e11}};
  chart.points = {
      {"forward", 'F', 200, 8e11, 1}, {"far", 'U', 1e-6, 1e-3, 1}, {"near", 'B', 1e9, 2e13, 1}};
  const ChartAxes axes = AxesOf(chart);
  for (const ChartPoint& point : chart.points) {
    EXPECT_GT(axes.intensity.Fraction(point.intensity), 0) << point.name;
    EXPECT_LT(axes.intensity.Fraction(point.intensity), 1) << point.name;
    EXPECT_GT(axes.flops_per_second.Fraction(point.flops_per_second), 0) << point.name;
    EXPECT_LT(axes.flops_per_second.Fraction(point.flops_per_second), 1) << point.name;
  }
}

// However few points, both axes can be read.
TEST(AxesOf, HoldTwoPowersOfTen) {
  for (double rate = 1e6; rate < 1e18; rate *= 1.7) {
    RooflineChart chart;
    chart.memory_bytes_per_second = 3.3e9;
    chart.roofs = {{"all arithmetic", rate}};
    chart.ridge = rate / chart.memory_bytes_per_second;
    const ChartAxes axes = AxesOf(chart);
    EXPECT_GE(axes.intensity.Ticks(9).size(), 2u) << rate;
    EXPECT_GE(axes.flops_per_second.Ticks(9).size(), 2u) << rate;
  }
}

constexpr size_t kFirstRow = 3;  // after an empty line, the title and "FLOP/s"
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

// 2e9 FLOP predicted in 4 ms, 3.2 to 5 ms.
TEST(RooflineChartOf, HasThePredictedPointWithItsInterval) {
  v1::AnalyzeOperationResponse response = SampleOperation();
  v1::Interval& duration =
      *response.mutable_time()->mutable_predicted_forward()->mutable_duration_seconds();
  const double roof = response.time().forward().total_seconds();
  duration.set_low(roof * 1.25);
  duration.set_expected(roof * 1.6);
  duration.set_high(roof * 2);
  const auto before = RooflineChartOf(SampleOperation());
  const auto chart = RooflineChartOf(response);
  ASSERT_TRUE(before.ok() && chart.ok());
  const double most = before->points[0].flops_per_second;
  const ChartPoint& point = chart->points[0];
  EXPECT_DOUBLE_EQ(point.flops_per_second, most / 1.6);
  ASSERT_TRUE(point.flops_per_second_range.has_value());
  EXPECT_DOUBLE_EQ(point.flops_per_second_range->low, most / 2);
  EXPECT_DOUBLE_EQ(point.flops_per_second_range->high, most / 1.25);
  EXPECT_FALSE(before->points[0].flops_per_second_range.has_value());
  EXPECT_THAT(RooflinePlot(*chart), HasSubstr("predicted, "));
}

TEST(RooflinePlot, NamesEverythingWithItsUnit) {
  const std::string plot = RooflinePlot(SampleChart());
  EXPECT_THAT(plot,
              HasSubstr("Roofline of matmul of a [1000, 2000], b [2000, 500] in bf16 on toy"));
  EXPECT_THAT(plot, HasSubstr("\n  FLOP/s\n"));
  EXPECT_THAT(plot, HasSubstr("  arithmetic intensity, FLOP/byte"));
  EXPECT_THAT(plot, HasSubstr("^ ridge 100.00 FLOP/byte\n"));
  EXPECT_THAT(plot,
              HasSubstr("  F  forward   200.00 FLOP/byte  800.00 GFLOP/s   2.50 ms  at most\n"
                        "  U  unfused    20.00 FLOP/byte  200.00 GFLOP/s  10.00 ms  at most\n"
                        "  B  backward  200.00 FLOP/byte  800.00 GFLOP/s   5.00 ms  at most\n"
                        "  A  achieved  200.00 FLOP/byte  500.00 GFLOP/s   4.00 ms  measured\n"));
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
}  // namespace sextant::client
