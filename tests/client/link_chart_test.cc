#include "client/link_chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "client/format.h"
#include "client/kernel_chart_plot.h"
#include "client/kernel_chart_svg.h"
#include "client/table.h"
#include "tests/client/sample_links.h"
#include "tests/client/svg_texts.h"

namespace sextant {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

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
}  // namespace sextant
