// Pictures: their parts are drawn to scale, as computed by hand, and they can be read whatever they
// show. tests/golden/text has pictures of real answers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/plot/charts.h"
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

// Expects texts to be large enough, within the drawing, and clear of one another.
void ExpectLegible(const std::string& svg, const std::string& what) {
  const std::vector<SvgText> texts = TextsOf(svg);
  ASSERT_GT(texts.size(), 8u) << what;
  EXPECT_THAT(svg, Not(::testing::ContainsRegex("nan|inf\""))) << what;
  for (size_t i = 0; i < texts.size(); ++i) {
    const Box box = BoxOf(texts[i]);
    EXPECT_GE(box.left, 0) << what << ": " << texts[i].text;
    EXPECT_LE(box.right, 900) << what << ": " << texts[i].text;
    EXPECT_GE(texts[i].size, 11) << what << ": " << texts[i].text;
    for (size_t j = i + 1; j < texts.size(); ++j) {
      EXPECT_FALSE(box.Overlaps(BoxOf(texts[j])))
          << what << ": \"" << texts[i].text << "\" and \"" << texts[j].text << "\"";
    }
  }
}

// The ends alone: the figure between them stays.
void SetEnds(double ends, v1::Interval* interval) {
  interval->set_low(ends);
  interval->set_high(ends);
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

// The axis is 708 pixels for 80 GiB, from x = 92: 8.85 a GiB.
TEST(MemorySvg, DrawsBarsToScale) {
  std::vector<double> ends;
  for (const double gib : {8.0, 16.0, 24.0, 32.0, 52.0, 53.0, 53.5, 56.0}) {
    ends.push_back(92 + 8.85 * gib);
  }
  ExpectParts(BarsOf(RenderSvg({MemoryPlot(SampleStages(1).plan())})), 92, ends);
}

// However many stages, and wherever the line of what is usable falls.
TEST(MemorySvg, IsLegible) {
  for (const int count : {1, 4, 9, 16, 64, 65, 200, 4096}) {
    ExpectLegible(RenderSvg({MemoryPlot(SampleStages(count).plan())}),
                  absl::StrCat(count, " stages"));
  }
  for (const int64_t usable : {0, 1, 5, 20, 40, 43, 44, 45, 60, 80, 1000, 100'000}) {
    ExpectLegible(RenderSvg({MemoryPlot(SampleStages(4, usable).plan())}),
                  absl::StrCat("usable ", usable));
  }
  v1::PlanRunResponse response = SampleStages(1);
  response.mutable_plan()->set_device(std::string(200, 'W'));
  EXPECT_THAT(RenderSvg({MemoryPlot(response.plan())}), HasSubstr("WWW...<"));
}

std::string StepSvgOf(const v1::PlanRunResponse& response) {
  return RenderSvg({StepPlot(v1::PlanRunRequest(), response.plan())});
}

// The axis is 708 pixels for 12 s x 1.02, from x = 92: 57.8431 a second. Parts, the longest first:
// 6, 1.5, 1, 0.8, 0.5, 0.196 and 0.004 s. The interval: 92 + 57.8431 x 9 = 612.6 and x 12 = 786.1.
TEST(StepSvg, DrawsPartsToScaleTheLongestFirst) {
  const std::string svg = StepSvgOf(SampleStep());
  std::vector<double> ends;
  for (const double seconds : {6.0, 7.5, 8.5, 9.3, 9.8, 9.996, 10.0}) {
    ends.push_back(92 + 57.8431 * seconds);
  }
  ExpectParts(BarsOf(svg), 92, ends);
  EXPECT_THAT(svg, HasSubstr("<line x1=\"612.6\" y1=\"132.0\" x2=\"786.1\" y2=\"132.0\""));
}

// Up to one and a half times the step, or the parts would be slivers.
TEST(StepSvg, CutsAWideInterval) {
  v1::PlanRunResponse response = SampleStep();
  response.mutable_plan()->mutable_step_time()->mutable_seconds()->set_high(100);
  const std::string svg = StepSvgOf(response);
  EXPECT_THAT(svg, HasSubstr(">to 100 s<"));
  EXPECT_NEAR(BarsOf(svg)[0].width, 708 * 6 / (1.02 * 15), 0.11);
  ExpectLegible(svg, "a wide interval");
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
    ExpectLegible(svg, absl::StrCat(scale, " x"));
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
  ExpectLegible(svg, "all causes");
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

std::string FrontSvgOf(const v1::Plan& plan) {
  return RenderSvg({FrontPlot(plan, Medium::kPicture)});
}

// The axes: 8.4 to 24.6 s on 788 pixels from 92; 0 to 85.68 GiB on 320 pixels up from 420. The
// second point: 92 + 3.6 / 16.2 x 788 = 267.1, 420 - 60 / 85.68 x 320 = 195.9. Its intervals end at
// 10.8 s (208.7), 14.4 s (383.9), 54 GiB (218.3) and 72 GiB (151.1). A disc's outline begins 4.2
// pixels at the left.
TEST(FrontSvg, DrawsPointsAndIntervalsToScale) {
  const std::string svg = FrontSvgOf(SampleFront());
  EXPECT_THAT(svg, HasSubstr("<path d=\"M262.9 195.9a"));
  EXPECT_THAT(svg, HasSubstr("<line x1=\"208.7\" y1=\"195.9\" x2=\"383.9\" y2=\"195.9\""));
  EXPECT_THAT(svg, HasSubstr("<line x1=\"267.1\" y1=\"218.3\" x2=\"267.1\" y2=\"151.1\""));
  // Usable: 420 - 80 / 85.68 x 320.
  EXPECT_THAT(svg, HasSubstr("<line x1=\"92.0\" y1=\"121.2\" x2=\"880.0\" y2=\"121.2\""));
}

TEST(FrontSvg, SaysWhereUsableMemoryIsFarAbove) {
  const std::string svg = FrontSvgOf(PlanWithFront({{10, 5}, {11, 4}}));
  EXPECT_THAT(svg, HasSubstr(">usable: 80.00 GiB, above the chart<"));
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
    const std::string what =
        absl::StrCat(points.size(), " points from ", points[0].first, " s, ", points[0].second);
    ExpectLegible(FrontSvgOf(PlanWithFront(points)), what);
  }
  v1::Plan plan = SampleFront();
  plan.set_model_name(std::string(200, 'm'));
  v1::RunLayout& layout = *plan.mutable_search()->mutable_front(1)->mutable_layout();
  layout.mutable_kernels()->set_recompute_activation_function(true);
  layout.mutable_kernels()->set_recompute_latent_up_projections(true);
  layout.mutable_parallel()->set_virtual_stage_count(1000000000000);
  layout.mutable_parallel()->set_expert_parallel_size(1000000000000);
  layout.mutable_sharding()->set_shard_group_size(1000000000000);
  ExpectLegible(FrontSvgOf(plan), "long names");
}

// Wherever the points are, and however near the roofs.
TEST(RooflineSvg, IsLegibleWhereverPointsAre) {
  for (const double intensity : {1e-6, 0.08, 2.0, 20.0, 90.0, 100.0, 110.0, 300.0, 5000.0}) {
    for (const double share : {1.0, 0.7, 0.01, 1e-5}) {
      for (const double lower_roof : {0.0, 1e10, 5e11, 9e11}) {
        std::vector<double> roofs = {1e12};
        if (lower_roof > 0) roofs.push_back(lower_roof);
        v1::AnalyzeOperationResponse response = SampleRoofline(roofs, 1e10);
        const double rate = share * std::min(1e12, 1e10 * intensity);
        SetForward(0.6 * intensity, 0.6 * rate, &response);
        *response.mutable_backward()->mutable_cost() = response.forward();
        *response.mutable_time()->mutable_backward() = response.time().forward();
        SetForward(intensity, rate, &response);
        ExpectLegible(RenderSvg({*RooflinePlot(response)}),
                      absl::StrFormat("%g %g %g", intensity, share, lower_roof));
      }
    }
  }
}

// In a terminal, and in a picture whose coordinates are numbers.
void ExpectDrawn(const Plot& plot) {
  EXPECT_FALSE(RenderText(plot).empty());
  EXPECT_THAT(RenderSvg({plot}), Not(::testing::ContainsRegex("\"-?(nan|inf)")));
}

// Whatever a server sends.
TEST(OddAnswers, AreDrawn) {
  v1::Plan peak = SampleStages(4).plan();
  peak.mutable_memory()->set_peak_stage(9);
  ExpectDrawn(MemoryPlot(peak));
  EXPECT_THAT(RenderSvg({MemoryPlot(peak)}), HasSubstr(">Stage 0 holds:<"));
  peak.mutable_memory()->clear_stages();
  ExpectDrawn(MemoryPlot(peak));
  ExpectDrawn(MemoryPlot(v1::Plan()));
  for (const double odd : {0.0, -1.0, 1e-320, 1e99, 1e308, HUGE_VAL, -HUGE_VAL, std::nan("")}) {
    v1::Plan plan = SampleStages(2).plan();
    SetEnds(odd, plan.mutable_memory()->mutable_stages(0)->mutable_process_bytes());
    ExpectDrawn(MemoryPlot(plan));
    v1::Plan step = SampleStep().plan();
    for (v1::StepPart& part : *step.mutable_step_time()->mutable_parts()) part.set_seconds(odd);
    ExpectDrawn(StepPlot({}, step));
    SetEnds(odd, step.mutable_step_time()->mutable_seconds());
    if (odd > 0) step.mutable_step_time()->mutable_seconds()->set_expected(odd);
    ExpectDrawn(StepPlot({}, step));
    v1::Plan front = SampleFront();
    SetEnds(odd, front.mutable_search()->mutable_front(1)->mutable_step_seconds());
    SetEnds(odd, front.mutable_search()->mutable_front(2)->mutable_peak_bytes());
    ExpectDrawn(FrontPlot(front, Medium::kTerminal));
    ExpectDrawn(FrontPlot(front, Medium::kPicture));
    v1::AnalyzeOperationResponse operation = SampleRoofline({1e12}, 1e10);
    SetForward(odd, odd, &operation);
    operation.mutable_time()->mutable_forward()->set_ridge_flops_per_byte(odd);
    if (const auto plot = RooflinePlot(operation); plot.ok()) ExpectDrawn(*plot);
  }
}

TEST(RooflineSvg, EscapesWhatTheServerSends) {
  v1::AnalyzeOperationResponse response = SampleRoofline({1e12}, 1e10);
  response.set_name("</text><script>&\"\x1b");
  const std::string svg = RenderSvg({*RooflinePlot(response)});
  EXPECT_THAT(svg, HasSubstr("&lt;/text&gt;&lt;script&gt;&amp;&quot;?"));
  EXPECT_THAT(svg, Not(HasSubstr("<script")));
  EXPECT_THAT(svg, HasSubstr(">forward has no point: it does no arithmetic<"));
}

}  // namespace
}  // namespace sextant::client
