#include "client/chart/front_svg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/client/sample_front.h"
#include "tests/client/svg_texts.h"

namespace sextant::client {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string SvgOf(const v1::Plan& plan) { return FrontSvg(FrontChartOf(plan)); }

size_t CountOf(const std::string& part, const std::string& text) {
  size_t count = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++count;
  return count;
}

TEST(FrontSvg, NamesEverythingWithItsUnit) {
  const std::string svg = SvgOf(SampleFront());
  for (const char* text :
       {">Time against memory: toy, 64 x h100-sxm<", ">time of a step (s)<",
        ">memory of the fullest GPU (GiB)<", ">usable 80.00 GiB<", ">within 3.00 % of the fastest<",
        ">slower<", ">chosen: what a plan is of<", ">80 % intervals of time and memory<", ">A<",
        ">12.0 s<", ">60.00 GiB<", ">norms<", ">tp 4 sp cp 2 pp 2 dp 4 zero 1 mbs 1<"}) {
    EXPECT_THAT(svg, HasSubstr(text));
  }
  EXPECT_THAT(svg, Not(HasSubstr("without a letter")));
  ExpectLegible(svg, "three points", 900);
}

TEST(FrontSvg, HasATooltipForEveryPoint) {
  const std::string svg = SvgOf(SampleFront());
  EXPECT_EQ(CountOf("<title>", svg), 3u);
  EXPECT_THAT(svg, HasSubstr("<title>A: 10.0 s (9.00 to 12.0), 70.00 GiB (63.00 to 84.00), fits "
                             "100.00 %, chosen, a tie: --tp=1 "));
  EXPECT_THAT(svg, HasSubstr("<title>B: 12.0 s (10.8 to 14.4), 60.00 GiB (54.00 to 72.00), fits "
                             "100.00 %: --tp=4 --sp=true --cp=2 --pp=2 "));
}

// The axes: 8.4 to 24.6 s on 784 pixels from 92; 0 to 85.68 GiB on 340 pixels up from 436. The
// second point: 92 + 3.6 / 16.2 x 784 = 266.2, 436 - 60 / 85.68 x 340 = 197.9. Its intervals end at
// 10.8 s (208.1), 14.4 s (382.4), 54 GiB (221.7) and 72 GiB (150.3). A disc's outline begins 4.2
// pixels at the left.
TEST(FrontSvg, DrawsPointsAndIntervalsToScale) {
  const std::string svg = SvgOf(SampleFront());
  EXPECT_THAT(svg, HasSubstr("<path d=\"M262.0 197.9a"));
  EXPECT_THAT(svg, HasSubstr("<line x1=\"208.1\" y1=\"197.9\" x2=\"382.4\" y2=\"197.9\""));
  EXPECT_THAT(svg, HasSubstr("<line x1=\"266.2\" y1=\"221.7\" x2=\"266.2\" y2=\"150.3\""));
  // Usable: 436 - 80 / 85.68 x 340.
  EXPECT_THAT(svg, HasSubstr("<line x1=\"92.0\" y1=\"118.5\" x2=\"876.0\" y2=\"118.5\""));
}

// A tie and a slower point in shades of their own, and in the legend; the chosen in a square.
TEST(FrontSvg, MarksTiesAndTheChosen) {
  const std::string svg = SvgOf(SampleFront());
  EXPECT_EQ(CountOf("fill=\"#0072b2\" stroke", svg), 1u + 1u);
  EXPECT_EQ(CountOf("fill=\"#7cc4ee\" stroke", svg), 2u + 1u);
  EXPECT_EQ(CountOf("fill=\"none\" stroke=\"#d55e00\"", svg), 1u + 1u);
}

TEST(FrontSvg, SaysWhereUsableMemoryIsFarAbove) {
  const std::string svg = SvgOf(PlanWithFront({{10, 5}, {11, 4}}));
  EXPECT_THAT(svg, HasSubstr(">usable 80.00 GiB, above the chart<"));
  EXPECT_THAT(svg, Not(HasSubstr("stroke=\"#c00000\"")));
}

TEST(FrontSvg, IsLegibleForAnyFront) {
  std::vector<std::pair<double, double>> many;
  for (int i = 0; i < 100; ++i) many.emplace_back(10 + 0.1 * i, 700.0 / (10 + i));
  const std::vector<std::pair<double, double>> cases[] = {
      {{10, 70}},
      {{10, 70}, {10, 20}},
      {{10, 70}, {20, 70}},
      {{10, 70}, {10.001, 69.99}},
      {{1e-9, 2e-9}, {2e-9, 1e-9}},
      {{1e-12, 90000}, {1e9, 1e-9}},
      {{9e8, 90000}, {1e9, 80000}},
      std::vector<std::pair<double, double>>(12, {10, 70}),
      many};
  for (const auto& points : cases) {
    const std::string svg = SvgOf(PlanWithFront(points));
    const std::string what =
        absl::StrCat(points.size(), " points from ", points[0].first, " s, ", points[0].second);
    ExpectLegible(svg, what, 900);
    EXPECT_EQ(CountOf("<title>", svg), points.size()) << what;
    EXPECT_THAT(svg, Not(HasSubstr("nan"))) << what;
    EXPECT_THAT(svg, Not(HasSubstr("inf\""))) << what;
  }
}

TEST(FrontSvg, CutsNamesThatAreTooLong) {
  v1::Plan plan = SampleFront();
  plan.set_model_name(std::string(200, 'm'));
  v1::RunLayout& layout = *plan.mutable_search()->mutable_front(1)->mutable_layout();
  layout.mutable_kernels()->set_recompute_activation_function(true);
  layout.mutable_kernels()->set_recompute_latent_up_projections(true);
  layout.mutable_parallel()->set_virtual_stage_count(1000000000000);
  layout.mutable_parallel()->set_expert_parallel_size(1000000000000);
  layout.mutable_sharding()->set_shard_group_size(1000000000000);
  ExpectLegible(SvgOf(plan), "long names", 900);
}

}  // namespace
}  // namespace sextant::client
