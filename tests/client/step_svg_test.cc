#include "client/chart/step_svg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/client/sample_plan.h"
#include "tests/client/svg_texts.h"

namespace sextant::client {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct ColoredArea {
  double x, y, width;
  std::string fill;
};

// Areas that have a colour: parts of the bar, then the legend's.
std::vector<ColoredArea> ColoredAreasOf(const std::string& svg) {
  const std::regex element(
      "<rect x=\"([-0-9.]+)\" y=\"([-0-9.]+)\" width=\"([-0-9.]+)\" height=\"[0-9.]+\" "
      "fill=\"(#[^\"]+)\"");
  std::vector<ColoredArea> areas;
  for (auto i = std::sregex_iterator(svg.begin(), svg.end(), element); i != std::sregex_iterator();
       ++i) {
    areas.push_back({std::stod((*i)[1]), std::stod((*i)[2]), std::stod((*i)[3]), (*i)[4]});
  }
  return areas;
}

std::string SvgOf(const v1::PlanRunResponse& response) {
  return StepSvg(SampleStepRequest(), response.plan());
}

TEST(StepSvg, NamesEverythingWithItsUnit) {
  const std::string svg = SvgOf(SampleOfStep());
  for (const char* text :
       {">One step: toy, 8 x h100-sxm<",
        ">tensor 2 x pipeline 2 x data 2; a step is 64 micro-batches of 1 sequence<",
        ">1,000,000 tokens in 10.0 s (9.00 to 12.0): 100,000 tokens/s, software toy_stack<",
        ">time of a step (s)<", ">cause<", ">matrix products<", ">6.00 s<", ">60.0<",
        ">data parallel exchange<", ">4.00 ms<", ">&lt; 0.1<", ">a tenth more<", ">saves, %<",
        ">arithmetic rate<", ">6.8<", ">80 % interval of 10.0 s: 9.00 to 12.0<"}) {
    EXPECT_THAT(svg, HasSubstr(text));
  }
  EXPECT_THAT(svg, Not(HasSubstr("network")));  // it saves next to nothing
}

TEST(StepSvg, NamesTheLayoutThatASearchChose) {
  v1::PlanRunResponse response = SampleOfStep();
  v1::RunLayout& chosen =
      *response.mutable_plan()->mutable_search()->mutable_chosen()->mutable_layout();
  chosen.set_micro_batch_size(2);
  chosen.mutable_parallel()->set_expert_parallel_size(8);
  chosen.mutable_parallel()->set_virtual_stage_count(24);
  EXPECT_THAT(SvgOf(response), HasSubstr("data 2, experts over 8 ranks, 24 chunks a stage; a step "
                                         "is 64 micro-batches of 2 sequences<"));
}

// The axis is 760 pixels for 12 s x 1.02, from x = 40: 62.0915 a second. Parts, the longest first:
// 6, 1.5, 1, 0.8, 0.5, 0.196 and 0.004 s.
TEST(StepSvg, DrawsPartsToScaleTheLongestFirst) {
  const std::vector<ColoredArea> areas = ColoredAreasOf(SvgOf(SampleOfStep()));
  const double ends[] = {6, 7.5, 8.5, 9.3, 9.8, 9.996, 10};
  ASSERT_EQ(areas.size(), 7u + 7u);
  double left = 40;
  for (size_t i = 0; i < 7; ++i) {
    EXPECT_NEAR(areas[i].x, left, 0.11) << i;
    left = 40 + 62.0915 * ends[i];
    EXPECT_NEAR(areas[i].x + areas[i].width, left, 0.11) << i;
    EXPECT_EQ(areas[i].fill, areas[7 + i].fill) << i;  // as the legend has it
    if (i > 0) {
      EXPECT_GT(areas[7 + i].y, areas[6 + i].y) << i;
    }
  }
}

// 40 + 62.0915 x 9 = 598.8 and x 12 = 785.1.
TEST(StepSvg, DrawsTheInterval) {
  EXPECT_THAT(SvgOf(SampleOfStep()),
              HasSubstr("<line x1=\"598.8\" y1=\"156.0\" x2=\"785.1\" y2=\"156.0\""));
}

// Up to one and a half times the step, or the parts would be slivers.
TEST(StepSvg, CutsAWideInterval) {
  v1::PlanRunResponse response = SampleOfStep();
  response.mutable_plan()->mutable_step_time()->mutable_seconds()->set_high(100);
  const std::string svg = SvgOf(response);
  EXPECT_THAT(svg, HasSubstr(">to 100 s<"));
  const std::vector<ColoredArea> areas = ColoredAreasOf(svg);
  EXPECT_NEAR(areas[0].width, 760 * 6 / (1.02 * 15), 0.11);
  ExpectLegible(svg, "a wide interval", 900);
}

TEST(StepSvg, IsLegibleForStepsOfAnyLength) {
  for (const double scale : {1e-5, 0.012, 0.0999, 0.3, 1.0, 7.77, 130.0}) {
    v1::PlanRunResponse response = SampleOfStep();
    v1::StepTime& step = *response.mutable_plan()->mutable_step_time();
    v1::Interval& seconds = *step.mutable_seconds();
    seconds.set_expected(scale * seconds.expected());
    seconds.set_low(scale * seconds.low());
    seconds.set_high(scale * seconds.high());
    for (v1::StepPart& part : *step.mutable_parts()) part.set_seconds(scale * part.seconds());
    const std::string svg = SvgOf(response);
    ExpectLegible(svg, absl::StrCat(scale, " x"), 900);
    const char* axis = scale < 0.1 ? ">time of a step (ms)<" : ">time of a step (s)<";
    EXPECT_THAT(svg, HasSubstr(axis)) << scale;
  }
}

// Whatever the causes: each has a look of its own, by colour and hatching.
TEST(StepSvg, TellsAllCausesApart) {
  v1::PlanRunResponse response = SampleOfStep();
  v1::StepTime& step = *response.mutable_plan()->mutable_step_time();
  step.clear_parts();
  for (int cause = 1; cause < v1::StepCause_ARRAYSIZE; ++cause) {
    v1::StepPart& part = *step.add_parts();
    part.set_cause(static_cast<v1::StepCause>(cause));
    part.set_seconds(10.0 / (v1::StepCause_ARRAYSIZE - 1));
    part.set_share(1.0 / (v1::StepCause_ARRAYSIZE - 1));
  }
  const std::string svg = SvgOf(response);
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

TEST(StepSvg, CutsATitleThatIsTooLong) {
  v1::PlanRunResponse response = SampleOfStep();
  response.mutable_plan()->set_model_name(std::string(200, 'm'));
  response.mutable_plan()->mutable_step_time()->set_software_stack(std::string(200, 's'));
  ExpectLegible(SvgOf(response), "long names", 900);
}

}  // namespace
}  // namespace sextant::client
