// Pictures: their parts are drawn to scale, as computed by hand, and they can be read whatever they
// show. tests/golden/text has pictures of real answers.
#include "client/plot/pictures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/plot/svg.h"
#include "tests/client/sample_answers.h"

namespace sextant::client {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string Unescaped(std::string text) {
  for (const auto& [escaped, plain] : {std::pair{"&lt;", "<"}, {"&gt;", ">"}, {"&amp;", "&"}}) {
    for (size_t at = 0; (at = text.find(escaped)) != std::string::npos;) {
      text.replace(at, std::string(escaped).size(), plain);
    }
  }
  return text;
}

// All texts of a document, as they were placed.
std::vector<SvgText> TextsOf(const std::string& svg) {
  const std::regex element(
      "<text x=\"([-0-9.]+)\" y=\"([-0-9.]+)\" font-size=\"([0-9]+)\" "
      "text-anchor=\"([a-z]+)\"[^>]*?(?: transform=\"rotate\\(([-0-9.]+)[^>]*)?>([^<]*)</text>");
  std::vector<SvgText> texts;
  for (auto i = std::sregex_iterator(svg.begin(), svg.end(), element); i != std::sregex_iterator();
       ++i) {
    SvgText text;
    text.at = {std::stod((*i)[1]), std::stod((*i)[2])};
    text.size = std::stod((*i)[3]);
    text.anchor = (*i)[4] == "start"    ? SvgAnchor::kStart
                  : (*i)[4] == "middle" ? SvgAnchor::kMiddle
                                        : SvgAnchor::kEnd;
    text.degrees = (*i)[5].matched ? std::stod((*i)[5]) : 0;
    text.text = Unescaped((*i)[6]);
    texts.push_back(text);
  }
  return texts;
}

// Expects texts to be large enough, within a drawing of this width, and clear of one another.
void ExpectLegible(const std::string& svg, const std::string& what, double width) {
  const std::vector<SvgText> texts = TextsOf(svg);
  ASSERT_GT(texts.size(), 8u) << what;
  EXPECT_THAT(svg, Not(::testing::ContainsRegex("nan|inf\""))) << what;
  for (size_t i = 0; i < texts.size(); ++i) {
    const Box box = BoxOf(texts[i]);
    EXPECT_GE(box.left, 0) << what << ": " << texts[i].text;
    EXPECT_LE(box.right, width) << what << ": " << texts[i].text;
    EXPECT_GE(texts[i].size, 11) << what << ": " << texts[i].text;
    for (size_t j = i + 1; j < texts.size(); ++j) {
      EXPECT_FALSE(box.Overlaps(BoxOf(texts[j])))
          << what << ": \"" << texts[i].text << "\" and \"" << texts[j].text << "\"";
    }
  }
}

struct Bar {
  double left, width;
  std::string fill;
};

// Areas that have a colour, in the order of the document.
std::vector<Bar> BarsOf(const std::string& svg) {
  const std::regex element(
      "<rect x=\"([-0-9.]+)\" y=\"[-0-9.]+\" width=\"([-0-9.]+)\" height=\"[0-9.]+\" "
      "fill=\"(#[^\"]+)\"");
  std::vector<Bar> bars;
  for (auto i = std::sregex_iterator(svg.begin(), svg.end(), element); i != std::sregex_iterator();
       ++i) {
    bars.push_back({std::stod((*i)[1]), std::stod((*i)[2]), (*i)[3]});
  }
  return bars;
}

// Expects the bar's parts to end at `ends`, in pixels, each in the colour that the legend has.
void ExpectParts(const std::vector<Bar>& bars, double left, const std::vector<double>& ends) {
  ASSERT_EQ(bars.size(), 2 * ends.size());  // with the legend
  for (size_t i = 0; i < ends.size(); ++i) {
    EXPECT_NEAR(bars[i].left, left, 0.11) << i;
    EXPECT_NEAR(bars[i].left + bars[i].width, ends[i], 0.11) << i;
    EXPECT_EQ(bars[i].fill, bars[ends.size() + i].fill) << i;
    left = ends[i];
  }
}

// The axis is 696 pixels for 80 GiB, from x = 104: 8.7 a GiB.
TEST(MemorySvg, DrawsBarsToScale) {
  std::vector<double> ends;
  for (const double gib : {8.0, 16.0, 24.0, 32.0, 52.0, 53.0, 53.5, 56.0}) {
    ends.push_back(104 + 8.7 * gib);
  }
  ExpectParts(BarsOf(MemorySvg(SampleStages(1).plan())), 104, ends);
}

// However many stages, and wherever the line of what is usable falls.
TEST(MemorySvg, IsLegible) {
  for (const int count : {1, 4, 9, 16, 64, 65, 200, 4096}) {
    ExpectLegible(MemorySvg(SampleStages(count).plan()), absl::StrCat(count, " stages"), 900);
  }
  for (const int64_t usable : {0, 1, 5, 20, 40, 43, 44, 45, 60, 80, 1000, 100'000}) {
    ExpectLegible(MemorySvg(SampleStages(4, usable).plan()), absl::StrCat("usable ", usable), 900);
  }
  v1::PlanRunResponse response = SampleStages(1);
  response.mutable_plan()->set_device(std::string(200, 'W'));
  EXPECT_THAT(MemorySvg(response.plan()), HasSubstr("WWW...<"));
}

std::string StepSvgOf(const v1::PlanRunResponse& response) {
  return StepSvg(v1::PlanRunRequest(), response.plan());
}

// The axis is 760 pixels for 12 s x 1.02, from x = 40: 62.0915 a second. Parts, the longest first:
// 6, 1.5, 1, 0.8, 0.5, 0.196 and 0.004 s. The interval: 40 + 62.0915 x 9 = 598.8 and x 12 = 785.1.
TEST(StepSvg, DrawsPartsToScaleTheLongestFirst) {
  const std::string svg = StepSvgOf(SampleStep());
  std::vector<double> ends;
  for (const double seconds : {6.0, 7.5, 8.5, 9.3, 9.8, 9.996, 10.0}) {
    ends.push_back(40 + 62.0915 * seconds);
  }
  ExpectParts(BarsOf(svg), 40, ends);
  EXPECT_THAT(svg, HasSubstr("<line x1=\"598.8\" y1=\"156.0\" x2=\"785.1\" y2=\"156.0\""));
}

// Up to one and a half times the step, or the parts would be slivers.
TEST(StepSvg, CutsAWideInterval) {
  v1::PlanRunResponse response = SampleStep();
  response.mutable_plan()->mutable_step_time()->mutable_seconds()->set_high(100);
  const std::string svg = StepSvgOf(response);
  EXPECT_THAT(svg, HasSubstr(">to 100 s<"));
  EXPECT_NEAR(BarsOf(svg)[0].width, 760 * 6 / (1.02 * 15), 0.11);
  ExpectLegible(svg, "a wide interval", 900);
}

TEST(StepSvg, IsLegibleForStepsOfAnyLength) {
  for (const double scale : {1e-5, 0.012, 0.0999, 0.3, 1.0, 7.77, 130.0}) {
    v1::PlanRunResponse response = SampleStep();
    response.mutable_plan()->set_model_name(std::string(200, 'm'));
    v1::StepTime& step = *response.mutable_plan()->mutable_step_time();
    step.set_software_stack(std::string(200, 's'));
    v1::Interval& seconds = *step.mutable_seconds();
    seconds.set_expected(scale * seconds.expected());
    seconds.set_low(scale * seconds.low());
    seconds.set_high(scale * seconds.high());
    for (v1::StepPart& part : *step.mutable_parts()) part.set_seconds(scale * part.seconds());
    const std::string svg = StepSvgOf(response);
    ExpectLegible(svg, absl::StrCat(scale, " x"), 900);
    EXPECT_THAT(svg, HasSubstr(scale < 0.1 ? ">time of a step (ms)<" : ">time of a step (s)<"));
  }
}

// Whatever the causes: each has a look of its own, by colour and hatching.
TEST(StepSvg, TellsAllCausesApart) {
  v1::PlanRunResponse response = SampleStep();
  v1::StepTime& step = *response.mutable_plan()->mutable_step_time();
  step.clear_parts();
  for (int cause = 1; cause < v1::StepCause_ARRAYSIZE; ++cause) {
    v1::StepPart& part = *step.add_parts();
    part.set_cause(static_cast<v1::StepCause>(cause));
    part.set_seconds(10.0 / (v1::StepCause_ARRAYSIZE - 1));
  }
  const std::string svg = StepSvgOf(response);
  ExpectLegible(svg, "all causes", 900);
  const std::regex element(
      "width=\"30.0\" height=\"14.0\" fill=\"(#[0-9a-f]+)\"[^>]*/>\n"
      "(?:<rect[^>]*fill=\"url\\(#(hatch[0-9])\\)\"/>)?");
  std::set<std::pair<std::string, std::string>> looks;
  for (auto i = std::sregex_iterator(svg.begin(), svg.end(), element); i != std::sregex_iterator();
       ++i) {
    looks.emplace((*i)[1], (*i)[2]);
  }
  EXPECT_EQ(looks.size(), static_cast<size_t>(v1::StepCause_ARRAYSIZE - 1));
}

std::string FrontSvgOf(const v1::Plan& plan) { return FrontSvg(FrontChartOf(plan)); }

// The axes: 8.4 to 24.6 s on 784 pixels from 92; 0 to 85.68 GiB on 340 pixels up from 436. The
// second point: 92 + 3.6 / 16.2 x 784 = 266.2, 436 - 60 / 85.68 x 340 = 197.9. Its intervals end at
// 10.8 s (208.1), 14.4 s (382.4), 54 GiB (221.7) and 72 GiB (150.3). A disc's outline begins 4.2
// pixels at the left.
TEST(FrontSvg, DrawsPointsAndIntervalsToScale) {
  const std::string svg = FrontSvgOf(SampleFront());
  EXPECT_THAT(svg, HasSubstr("<path d=\"M262.0 197.9a"));
  EXPECT_THAT(svg, HasSubstr("<line x1=\"208.1\" y1=\"197.9\" x2=\"382.4\" y2=\"197.9\""));
  EXPECT_THAT(svg, HasSubstr("<line x1=\"266.2\" y1=\"221.7\" x2=\"266.2\" y2=\"150.3\""));
  // Usable: 436 - 80 / 85.68 x 340.
  EXPECT_THAT(svg, HasSubstr("<line x1=\"92.0\" y1=\"118.5\" x2=\"876.0\" y2=\"118.5\""));
}

TEST(FrontSvg, SaysWhereUsableMemoryIsFarAbove) {
  const std::string svg = FrontSvgOf(PlanWithFront({{10, 5}, {11, 4}}));
  EXPECT_THAT(svg, HasSubstr(">usable 80.00 GiB, above the chart<"));
  EXPECT_THAT(svg, Not(HasSubstr("stroke=\"#c00000\"")));
}

TEST(FrontSvg, SaysHowManyAreTooSlowForIt) {
  EXPECT_THAT(FrontSvgOf(PlanWithFront({{10, 70}, {31, 60}})),
              HasSubstr(">1 layout that takes over 3 times the fastest&apos;s time is left out<"));
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
    const std::string what =
        absl::StrCat(points.size(), " points from ", points[0].first, " s, ", points[0].second);
    ExpectLegible(FrontSvgOf(PlanWithFront(points)), what, 900);
  }
  v1::Plan plan = SampleFront();
  plan.set_model_name(std::string(200, 'm'));
  v1::RunLayout& layout = *plan.mutable_search()->mutable_front(1)->mutable_layout();
  layout.mutable_kernels()->set_recompute_activation_function(true);
  layout.mutable_kernels()->set_recompute_latent_up_projections(true);
  layout.mutable_parallel()->set_virtual_stage_count(1000000000000);
  layout.mutable_parallel()->set_expert_parallel_size(1000000000000);
  layout.mutable_sharding()->set_shard_group_size(1000000000000);
  ExpectLegible(FrontSvgOf(plan), "long names", 900);
}

RooflineChart Roofline(const std::string& title) {
  RooflineChart chart;
  chart.title = title;
  chart.memory_bytes_per_second = 1e10;
  chart.ridge = 100;
  chart.roofs = {{"matrix products", 1e12}};
  return chart;
}

// Wherever the points are, and however near the roofs.
TEST(RooflineSvg, IsLegibleWhereverPointsAre) {
  for (const double intensity : {1e-6, 0.08, 2.0, 20.0, 90.0, 100.0, 110.0, 300.0, 5000.0}) {
    for (const double share : {1.0, 0.7, 0.01, 1e-5}) {
      for (const double lower_roof : {0.0, 1e10, 5e11, 9e11}) {
        RooflineChart chart = Roofline("toy");
        if (lower_roof > 0) chart.roofs.push_back({"other arithmetic", lower_roof});
        const double rate = share * RoofAt(chart, 1e12, intensity);
        chart.points = {{"forward", 'F', intensity, rate, 1},
                        {"backward", 'B', 0.6 * intensity, 0.6 * rate, 1}};
        ExpectLegible(RooflineSvg(chart), absl::StrFormat("%g %g %g", intensity, share, lower_roof),
                      800);
      }
    }
  }
}

TEST(RooflineSvg, EscapesWhatTheServerSends) {
  RooflineChart chart = Roofline("</text><script>&\"\x1b");
  chart.absent = {"forward has no point: it does no arithmetic"};
  const std::string svg = RooflineSvg(chart);
  EXPECT_THAT(svg, HasSubstr(">&lt;/text&gt;&lt;script&gt;&amp;&quot;?</text>"));
  EXPECT_THAT(svg, Not(HasSubstr("<script")));
  EXPECT_THAT(svg, HasSubstr(">forward has no point: it does no arithmetic<"));
}

}  // namespace
}  // namespace sextant::client
