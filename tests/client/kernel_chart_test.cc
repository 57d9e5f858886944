#include "client/chart/kernel_chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "client/chart/kernel_svg.h"
#include "client/report/text.h"
#include "tests/client/sample_kernel_rates.h"
#include "tests/client/sample_links.h"
#include "tests/client/svg_texts.h"

namespace sextant::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
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

// Values that can't be drawn are left out rather than drawn wrongly.
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
  constexpr size_t kFirstRow = 3;  // after an empty line, the title and the label
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

TEST(LinkChart, HasALineAnOperationInGigabytes) {
  const KernelChart chart = LinkChartOf(SampleLinkTimes());
  EXPECT_EQ(chart.title, "Bus bandwidth: 2 nodes of 8 ranks, toy-8");
  ASSERT_THAT(chart.lines, SizeIs(2));
  EXPECT_EQ(chart.lines[0].name, "all-reduce");
  EXPECT_EQ(chart.lines[1].letter, 'B');
  ASSERT_THAT(chart.lines[0].points, SizeIs(3));
  const KernelChartPoint& point = chart.lines[0].points[1];
  EXPECT_EQ(point.size, 16777216);
  EXPECT_NEAR(point.share, 35, 1e-9);
  EXPECT_NEAR(point.low, 17.5, 1e-9);  // 2 ms instead of 4
  EXPECT_NEAR(point.high, 70, 1e-9);   // of 1
  // 150 GB/s x 12.5 ms / 10 ms are 187.5: the next number of short quarters.
  EXPECT_EQ(chart.top, 200);
  EXPECT_EQ(chart.tick, 50);
  EXPECT_THAT(chart.sources, ElementsAre("all-reduce: datasheet, network: <N & M>",
                                         "broadcast: reference, a table"));
}

TEST(LinkChart, IsSortedAndLeavesOutWhatHasNoRate) {
  v1::GetLinkTimesResponse links = SampleLinkTimes();
  auto& times = *links.mutable_exchanges(0)->mutable_times();
  times.SwapElements(0, 2);
  *times.Add() = times[1];  // the same size again
  times[1].set_bus_bytes_per_second(std::numeric_limits<double>::quiet_NaN());
  links.mutable_exchanges(1)->mutable_times(0)->clear_bus_bytes_per_second();
  const KernelChart chart = LinkChartOf(links);
  ASSERT_THAT(chart.lines, SizeIs(1));
  std::vector<double> sizes;
  for (const KernelChartPoint& point : chart.lines[0].points) sizes.push_back(point.size);
  EXPECT_THAT(sizes, ElementsAre(1048576, 16777216, 1073741824));
  EXPECT_THAT(LinkChartOf({}).lines, IsEmpty());
}

TEST(LinkChart, LabelsBytesAndGigabytes) {
  const KernelChart chart = LinkChartOf(SampleLinkTimes());
  EXPECT_EQ(chart.SizeLabel(512), "512 B");
  EXPECT_EQ(chart.SizeLabel(4096), "4 KiB");
  EXPECT_EQ(chart.SizeLabel(17179869184.0), "16 GiB");
  EXPECT_EQ(chart.ShareLabel(50), "50");
  EXPECT_EQ(chart.ShareLabel(0.3), "0.3");
}

TEST(LinkChart, IsPlottedWithinTheWidth) {
  const std::string plot = KernelChartPlot(LinkChartOf(SampleLinkTimes()));
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(plot, '\n'))) {
    EXPECT_LE(DisplayWidth(line), static_cast<int64_t>(kTextWidth)) << line;
  }
  for (const char* part : {"  bus bandwidth, GB/s\n", "200 ┤", "150 ┤", "1 MiB", "1 GiB"}) {
    EXPECT_THAT(plot, HasSubstr(part));
  }
  EXPECT_THAT(plot, Not(HasSubstr("share")));
}

TEST(LinkChart, IsALegibleDrawing) {
  const std::string svg = KernelChartsSvg({LinkChartOf(SampleLinkTimes())});
  ExpectLegible(svg, "links", 800);
  for (const char* text : {">Bus bandwidth: 2 nodes of 8 ranks, toy-8<", ">bus bandwidth, GB/s<",
                           ">200<", ">16 MiB<", "network: &lt;N &amp; M&gt;", "80 % intervals"}) {
    EXPECT_THAT(svg, HasSubstr(text));
  }
}

}  // namespace
}  // namespace sextant::client
