#include "client/kernel_chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "client/format.h"
#include "client/kernel_chart_plot.h"
#include "client/kernel_chart_svg.h"
#include "client/table.h"
#include "tests/client/sample_kernel_rates.h"
#include "tests/client/svg_texts.h"

namespace sextant {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(KernelCharts, AreOnePerKindWithALinePerType) {
  const std::vector<KernelChart> charts = KernelChartsOf(SampleKernelRates());
  ASSERT_THAT(charts, SizeIs(2));
  EXPECT_EQ(charts[0].title, "toy: square matmul");
  EXPECT_EQ(charts[0].share_label, "of the datasheet's dense peak");
  ASSERT_THAT(charts[0].lines, SizeIs(2));
  EXPECT_EQ(charts[0].lines[0].letter, 'A');
  EXPECT_EQ(charts[0].lines[1].name, "fp8");
  EXPECT_NEAR(charts[0].lines[0].points[2].share, 0.8, 1e-12);
  EXPECT_NEAR(charts[0].lines[0].points[2].low, 0.64, 1e-12);  // 0.8 x 1 / 1.25
  EXPECT_NEAR(charts[0].lines[0].points[2].high, 1.0, 1e-12);  // 0.8 / 0.8
  EXPECT_EQ(charts[1].share_label, "of the fastest size");
  EXPECT_NEAR(charts[1].lines[0].points[0].share, 0.5, 1e-12);
}

// What can't be drawn is left out rather than drawn wrongly.
TEST(KernelCharts, LeaveOutWhatIsNoSizeOrRate) {
  v1::GetKernelRatesResponse rates = SampleKernelRates();
  rates.mutable_curves(0)->mutable_points(1)->set_flops_per_second(
      std::numeric_limits<double>::quiet_NaN());
  rates.mutable_curves(1)->mutable_points(0)->set_size(0);
  const std::vector<KernelChart> charts = KernelChartsOf(rates);
  ASSERT_THAT(charts[0].lines, SizeIs(1));
  EXPECT_THAT(charts[0].lines[0].points, SizeIs(2));
  EXPECT_THAT(KernelChartsOf({}), IsEmpty());
}

// The character cells of a line of the canvas, each a text.
std::vector<std::string> ChartCells(const std::string& line) {
  std::vector<std::string> cells;
  for (const char c : line) {
    if ((c & 0xC0) != 0x80) cells.emplace_back();
    cells.back() += c;
  }
  cells.erase(cells.begin(), cells.begin() + std::min<ptrdiff_t>(8, std::ssize(cells)));
  return cells;
}

TEST(KernelChartPlot, PutsEachLettersLineWhereItsShareIs) {
  constexpr size_t kFirstRow = 3;  // behind an empty line, the title and the label
  const KernelChart chart = KernelChartsOf(SampleKernelRates())[0];
  const std::vector<std::string> lines = absl::StrSplit(KernelChartPlot(chart), '\n');
  for (const KernelChartLine& line : chart.lines) {
    const KernelChartPoint& last = line.points.back();
    const int row = static_cast<int>(std::lround((1 - last.share / chart.top) * 63)) / 4;
    const int column = static_cast<int>(std::lround(chart.size.Fraction(last.size) * 167)) / 2;
    const auto cells = ChartCells(lines[kFirstRow + static_cast<size_t>(row)]);
    ASSERT_LT(static_cast<size_t>(column), cells.size());
    EXPECT_EQ(cells[static_cast<size_t>(column)], std::string(1, line.letter));
  }
}

TEST(KernelChartPlot, StaysWithinTheWidthAndNamesItsSources) {
  for (const KernelChart& chart : KernelChartsOf(SampleKernelRates())) {
    const std::string plot = KernelChartPlot(chart);
    for (const std::string& line : std::vector<std::string>(absl::StrSplit(plot, '\n'))) {
      EXPECT_LE(DisplayWidth(line), static_cast<int64_t>(kTextWidth)) << line;
    }
    for (const std::string& source : chart.sources) EXPECT_THAT(plot, HasSubstr(source));
  }
}

TEST(KernelChartsSvg, CanBeReadAndNamesUnitsAndSources) {
  const std::string svg = KernelChartsSvg(KernelChartsOf(SampleKernelRates()));
  ExpectLegible(svg, "kernels", 800);
  for (const char* text : {">toy: square matmul<", ">toy: causal attention<", ">n of n x n x n<",
                           ">of the datasheet&apos;s dense peak<", ">1,024<", ">100 %<",
                           "a table &lt;A &amp; B&gt;", "80 % intervals"}) {
    EXPECT_THAT(svg, HasSubstr(text));
  }
}

}  // namespace
}  // namespace sextant
