#include "client/chart/roofline_svg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_format.h"
#include "client/chart/canvas.h"
#include "tests/client/sample_operation.h"
#include "tests/client/svg_texts.h"

namespace sextant::client {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

RooflineChart SampleSvgChart() { return *RooflineChartOf(SampleOperation()); }

TEST(RooflineSvg, NamesEverythingWithItsUnit) {
  const std::string svg = RooflineSvg(SampleSvgChart());
  for (const char* text :
       {">matmul of a [1000, 2000], b [2000, 500] in bf16 on toy<",
        ">arithmetic intensity (FLOP/byte)<", ">attained (FLOP/s)<", ">memory 10.00 GB/s<",
        ">matrix products 1.00 TFLOP/s<", ">other arithmetic 100.00 GFLOP/s<",
        ">ridge 100.00 FLOP/byte<", ">forward: 200.00 FLOP/byte, 800.00 GFLOP/s, 2.50 ms, at most<",
        ">unfused: 20.00 FLOP/byte, 200.00 GFLOP/s, 10.00 ms, at most<",
        ">achieved: 200.00 FLOP/byte, 500.00 GFLOP/s, 4.00 ms, measured<", ">100 G<", ">1 T<",
        ">10<",
        // The sources of the rates.
        "datasheet, sheet &lt;A &amp; B&gt;<", ">memory 10.00 GB/s: request<"}) {
    EXPECT_THAT(svg, HasSubstr(text));
  }
}

TEST(RooflineSvg, PutsPointsWhereTheyBelong) {
  const RooflineChart chart = SampleSvgChart();
  const ChartAxes axes = AxesOf(chart);
  const std::string svg = RooflineSvg(chart);
  // The chart spans 92 to 780 and, from below, 352 to 48. A disc's path starts at its left.
  const double x = 92 + axes.intensity.Fraction(200) * (780 - 92);
  const double y = 352 - axes.flops_per_second.Fraction(8e11) * (352 - 48);
  EXPECT_THAT(svg, HasSubstr(absl::StrFormat("<path d=\"M%.1f %.1fa4.2", x - 4.2, y)));
  EXPECT_THAT(svg, HasSubstr(absl::StrFormat("<path d=\"M%.1f %.1fh14.0", x - 7, y - 7)));
  // The roof runs flat from the ridge to the right.
  const double ridge = 92 + axes.intensity.Fraction(100) * (780 - 92);
  const double roof = 352 - axes.flops_per_second.Fraction(1e12) * (352 - 48);
  EXPECT_THAT(svg, HasSubstr(absl::StrFormat("<line x1=\"%.1f\" y1=\"%.1f\" x2=\"780.0\" "
                                             "y2=\"%.1f\"",
                                             ridge, roof, roof)));
  // The slope ends there; the ridge's own line falls from it to the axis.
  EXPECT_THAT(svg, HasSubstr(absl::StrFormat("x2=\"%.1f\" y2=\"%.1f\"", ridge, roof)));
  EXPECT_THAT(svg, HasSubstr(absl::StrFormat("<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" "
                                             "y2=\"352.0\"",
                                             ridge, roof, ridge)));
}

TEST(RooflineSvg, IsLegible) { ExpectLegible(RooflineSvg(SampleSvgChart()), "sample", 800); }

// Wherever the points are, and however near the roofs.
TEST(RooflineSvg, IsLegibleWhereverPointsAre) {
  for (const double intensity : {1e-6, 0.08, 2.0, 20.0, 90.0, 100.0, 110.0, 300.0, 5000.0}) {
    for (const double share : {1.0, 0.7, 0.01, 1e-5}) {
      for (const double lower_roof : {0.0, 1e10, 5e11, 9e11}) {
        RooflineChart chart = SampleSvgChart();
        chart.roofs.resize(1);
        if (lower_roof > 0) chart.roofs.push_back({"other arithmetic", lower_roof});
        const double rate = share * RoofAt(chart, 1e12, intensity);
        chart.points = {{"forward", 'F', intensity, rate, 1},
                        {"backward", 'B', 0.6 * intensity, 0.6 * rate, 1}};
        const std::string svg = RooflineSvg(chart);
        EXPECT_THAT(svg, Not(ContainsRegex("nan|inf")));
        ExpectLegible(svg, absl::StrFormat("%g %g %g", intensity, share, lower_roof), 800);
      }
    }
  }
}

TEST(RooflineSvg, EscapesWhatTheServerSends) {
  RooflineChart chart = SampleSvgChart();
  chart.title = "</text><script>&\"\x1b";
  const std::string svg = RooflineSvg(chart);
  EXPECT_THAT(svg, HasSubstr(">&lt;/text&gt;&lt;script&gt;&amp;&quot;?</text>"));
  EXPECT_THAT(svg, Not(HasSubstr("<script")));
}

TEST(RooflineSvg, SaysWhatHasNoPoint) {
  RooflineChart chart = SampleSvgChart();
  chart.points.clear();
  chart.absent = {"forward has no point: it does no arithmetic"};
  EXPECT_THAT(RooflineSvg(chart), HasSubstr(">forward has no point: it does no arithmetic<"));
}

}  // namespace
}  // namespace sextant::client
