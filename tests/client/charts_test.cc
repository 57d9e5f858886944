// What charts show: their extents, and what they leave out.
#include "client/plot/charts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "client/text/memory_stages.h"
#include "tests/client/sample_answers.h"

namespace sextant::client {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Whatever is shown of a stage tells it from its neighbour.
TEST(StageRuns, EndWhereAnythingDiffers) {
  const auto runs_with = [](auto change) {
    v1::Memory memory = SampleStages(1).plan().memory();
    *memory.add_stages() = memory.stages(0);
    change(memory.mutable_stages(1));
    return StageRunsOf(memory).size();
  };
  EXPECT_EQ(runs_with([](v1::StageMemory*) {}), 1u);
  EXPECT_EQ(runs_with([](v1::StageMemory* s) { s->set_layer_count(9); }), 2u);
  EXPECT_EQ(runs_with([](v1::StageMemory* s) { s->set_parameter_count(9); }), 2u);
  EXPECT_EQ(runs_with([](v1::StageMemory* s) { s->set_peak_phase(v1::PEAK_PHASE_LOSS); }), 2u);
  EXPECT_EQ(runs_with([](v1::StageMemory* s) { s->set_host_bytes(9); }), 2u);
  EXPECT_EQ(runs_with([](v1::StageMemory* s) { s->add_micro_batches_in_flight(9); }), 2u);
  EXPECT_EQ(runs_with([](v1::StageMemory* s) { s->mutable_sums(3)->set_size_bytes(9); }), 2u);
  EXPECT_EQ(runs_with([](v1::StageMemory* s) { s->mutable_process_bytes()->set_low(9); }), 2u);
  EXPECT_EQ(runs_with([](v1::StageMemory* s) { s->mutable_process_bytes()->set_high(9); }), 2u);
  EXPECT_EQ(runs_with([](v1::StageMemory* s) { s->add_ledger()->set_name("x"); }), 2u);
}

// 20 at either end, and 8 on either side of the peak.
TEST(StageRuns, OfManyShowTheEndsAndThePeak) {
  EXPECT_THAT(ShownStageRuns(SampleStages(64).plan().memory()), SizeIs(64));
  v1::Memory memory = SampleStages(200).plan().memory();
  std::vector<StageRun> runs = ShownStageRuns(memory);
  ASSERT_EQ(runs.size(), 40u);
  EXPECT_EQ(runs[19].first, 19);
  EXPECT_EQ(runs[20].first, 180);
  EXPECT_EQ(runs[20].left_out_before, 160);
  EXPECT_EQ(runs[39].last, 199);
  memory.set_peak_stage(100);
  runs = ShownStageRuns(memory);
  ASSERT_EQ(runs.size(), 57u);
  EXPECT_EQ(runs[20].first, 92);
  EXPECT_EQ(runs[20].left_out_before, 72);
  EXPECT_EQ(runs[36].first, 108);
  EXPECT_EQ(runs[37].left_out_before, 71);  // 109 to 179
}

// 56 GiB, 58 at the high end, on 80 and on 20.
TEST(MemoryPlot, ReachesBeyondWhatIsUsable) {
  const Plot fits = MemoryPlot(SampleStages(1).plan());
  EXPECT_EQ(fits.x.high, 80);
  const Plot plot = MemoryPlot(SampleStages(1, 20).plan());
  EXPECT_EQ(plot.lines[0].points[0].x, 20);
  EXPECT_EQ(plot.x.high, 58 * 1.02);
  EXPECT_EQ(plot.x.ticks.back().label, "50");
  v1::Plan empty;
  empty.mutable_memory()->add_stages();
  EXPECT_GT(MemoryPlot(empty).x.high, 0);
}

TEST(MemoryKinds, AreAllOfTheApis) {
  ASSERT_EQ(static_cast<int>(kMemoryKinds.size()) + 1, v1::LedgerKind_descriptor()->value_count());
  for (size_t i = 0; i < kMemoryKinds.size(); ++i) {
    EXPECT_EQ(static_cast<size_t>(kMemoryKinds[i].kind), i + 1);
    for (size_t j = 0; j < i; ++j) EXPECT_NE(kMemoryKinds[i].letter, kMemoryKinds[j].letter);
  }
}

// Points of 100 s in 200 GiB, 101 s in 199 GiB and so on.
std::string LettersOf(int count) {
  std::vector<std::pair<double, double>> points;
  for (int i = 0; i < count; ++i) points.emplace_back(100 + i, 200 - i);
  std::string letters;
  for (const PlotMark& mark : FrontPlot(PlanWithFront(points), Medium::kTerminal).marks) {
    if (mark.shape != Shape::kSquare) letters += mark.letter.empty() ? " " : mark.letter;
  }
  return letters;
}

// 23 points: every second has a letter. 14: 13 steps of points for 11 of letters, 1.18 each:
// 0, 1.2, 2.4, 3.5, 4.7, 5.9, 7.1, 8.3, 9.5, 10.6, 11.8, 13, rounded.
TEST(FrontPlot, ThinsALongFrontEvenly) {
  EXPECT_EQ(LettersOf(12), "ABCDEFGHIJKL");
  EXPECT_EQ(LettersOf(14), "ABC DEFGHI JKL");
  EXPECT_EQ(LettersOf(23), "A B C D E F G H I J K L");
}

TEST(FrontPlot, LeavesOutWhatNoAxisCanShow) {
  const v1::Plan plan = PlanWithFront({{0, 1},
                                       {-1, 1},
                                       {1e90, 1},
                                       {1e-90, 1},
                                       {1, 1e90},
                                       {1, 1e-90},
                                       {kNan, 1},
                                       {kInfinity, 1},
                                       {1, 0},
                                       {1, -1},
                                       {1, kNan},
                                       {1, kInfinity}});
  EXPECT_THAT(FrontPlot(plan, Medium::kPicture).marks, IsEmpty());
  EXPECT_THAT(FrontPlot(v1::Plan(), Medium::kPicture).marks, IsEmpty());
  EXPECT_EQ(FrontSection(plan), "");
  EXPECT_EQ(FrontSection(PlanWithFront({{10, 70}})), "");  // a line takes two
}

TEST(FrontPlot, EndsAtThreeTimesTheFastest) {
  const v1::Plan plan = PlanWithFront({{10, 70}, {20, 60}, {30, 50}, {30.1, 40}, {900, 10}});
  const Plot plot = FrontPlot(plan, Medium::kPicture);
  EXPECT_EQ(plot.marks.back().at.x, 30);
  EXPECT_LT(plot.x.high, 40);
  EXPECT_THAT(plot.words[0],
              HasSubstr("; 2 layouts that take over 3 times the fastest's time are left out"));
  EXPECT_THAT(FrontPlot(SampleFront(), Medium::kPicture).words[0], Not(HasSubstr("left out")));
  EXPECT_THAT(FrontPlot(PlanWithFront({{10, 70}, {31, 60}}), Medium::kPicture).words[0],
              HasSubstr("; 1 layout that takes over 3 times the fastest's time is left out"));
}

TEST(FrontPlot, TakesIntervalsWithoutEndsAsExact) {
  v1::Plan plan = PlanWithFront({{10, 70}});
  v1::Interval& seconds = *plan.mutable_search()->mutable_front(0)->mutable_step_seconds();
  seconds.set_low(0);
  seconds.set_high(kInfinity);
  const PlotMark mark = FrontPlot(plan, Medium::kPicture).marks[0];
  EXPECT_EQ(mark.x_ends->low, 10);
  EXPECT_EQ(mark.x_ends->high, 10);
}

// Points: 10 to 20 s, with 4 % of the length on both sides; up to 80 GiB usable and 2 % of it.
// Intervals: 9 to 24 s, 27 to 84 GiB.
TEST(FrontPlot, EnclosesThePointsAndUsableMemory) {
  const Plot points = FrontPlot(SampleFront(), Medium::kTerminal);
  EXPECT_DOUBLE_EQ(points.x.low, 9.6);
  EXPECT_DOUBLE_EQ(points.x.high, 20.4);
  EXPECT_EQ(points.y.low, 0);
  EXPECT_DOUBLE_EQ(points.y.high, 81.6);
  const Plot intervals = FrontPlot(SampleFront(), Medium::kPicture);
  EXPECT_DOUBLE_EQ(intervals.x.low, 9 - 0.04 * 15);
  EXPECT_DOUBLE_EQ(intervals.x.high, 24 + 0.04 * 15);
  EXPECT_DOUBLE_EQ(intervals.y.high, 84 * 1.02);
}

// As far as a quarter beyond the points: 8 to 25 s.
TEST(FrontPlot, CutsWideIntervals) {
  v1::Plan plan = SampleFront();
  v1::LayoutSearchResult& search = *plan.mutable_search();
  search.mutable_front(0)->mutable_step_seconds()->set_low(1);
  search.mutable_front(2)->mutable_step_seconds()->set_high(1000);
  const PlotAxis axis = FrontPlot(plan, Medium::kPicture).x;
  EXPECT_DOUBLE_EQ(axis.low, 8 - 0.04 * 17);
  EXPECT_DOUBLE_EQ(axis.high, 25 + 0.04 * 17);
}

// All in the upper half: from a quarter of the length below the smallest. Far below what is usable:
// without it.
TEST(FrontPlot, BeginsNearLargePointsAndEndsNearSmallOnes) {
  const PlotAxis large = FrontPlot(PlanWithFront({{10, 71.6}, {11, 61.6}}), Medium::kTerminal).y;
  EXPECT_DOUBLE_EQ(large.high, 81.6);
  EXPECT_DOUBLE_EQ(large.low, 81.6 - 1.25 * 20);
  const PlotAxis small = FrontPlot(PlanWithFront({{10, 5}, {11, 4}}), Medium::kTerminal).y;
  EXPECT_DOUBLE_EQ(small.high, 5.1);
}

TEST(RooflinePlot, IsRefusedWithoutRates) {
  EXPECT_TRUE(RooflinePlot(SampleRoofline({1e12}, 1e10)).ok());
  for (const double rate : {0.0, -1.0, kNan, kInfinity}) {
    EXPECT_EQ(RooflinePlot(SampleRoofline({rate}, 1e10)).status().code(),
              absl::StatusCode::kFailedPrecondition);
    EXPECT_EQ(RooflinePlot(SampleRoofline({1e12}, rate)).status().code(),
              absl::StatusCode::kFailedPrecondition);
  }
  EXPECT_FALSE(RooflinePlot({}).ok());
}

TEST(RooflinePlot, HoldsAllThatIsDrawn) {
  for (const auto& [intensity, rate] : {std::pair(200.0, 8e11), {1e-6, 1e-3}, {1e9, 2e13}}) {
    v1::AnalyzeOperationResponse response = SampleRoofline({1e12, 1e11}, 1e10);
    SetForward(intensity, rate, &response);
    const Plot plot = *RooflinePlot(response);
    ASSERT_THAT(plot.marks, SizeIs(1));
    EXPECT_DOUBLE_EQ(plot.marks[0].at.y, rate);
    for (const PlotLine& line : plot.lines) {
      for (const PlotPoint& point : line.points) {
        EXPECT_GT(plot.y.Fraction(point.y), -1e-9) << intensity;
        EXPECT_LT(plot.y.Fraction(point.y), 1) << intensity;
      }
    }
    EXPECT_GT(plot.x.Fraction(intensity), 0);
    EXPECT_LT(plot.x.Fraction(intensity), 1);
    EXPECT_GT(plot.y.Fraction(rate), 0);
    EXPECT_LT(plot.y.Fraction(rate), 1);
  }
}

// However few points, both axes can be read.
TEST(RooflinePlot, HoldsTwoPowersOfTen) {
  for (double rate = 1e6; rate < 1e18; rate *= 1.7) {
    v1::AnalyzeOperationResponse response = SampleRoofline({rate}, 1e10);
    response.mutable_time()->mutable_forward()->set_ridge_flops_per_byte(rate / 1e10);
    const Plot plot = *RooflinePlot(response);
    EXPECT_GE(plot.x.ticks.size(), 2u) << rate;
    EXPECT_GE(plot.y.ticks.size(), 2u) << rate;
  }
}

void AddCurve(const std::vector<std::pair<int64_t, double>>& points,
              v1::GetKernelRatesResponse* rates) {
  v1::KernelCurve* curve = rates->add_curves();
  curve->set_kind(v1::KERNEL_KIND_SQUARE_MATMUL);
  for (const auto& [size, rate] : points) {
    v1::KernelCurvePoint* point = curve->add_points();
    point->set_size(size);
    point->set_flops_per_second(rate);
    point->mutable_duration_seconds()->set_low(1);
    point->mutable_duration_seconds()->set_expected(1);
    point->mutable_duration_seconds()->set_high(1);
  }
}

// Values that can't be drawn are left out rather than drawn wrongly.
TEST(KernelPlots, LeaveOutWhatIsNoSizeOrRate) {
  v1::GetKernelRatesResponse rates;
  AddCurve({{1024, 1e12}, {2048, kNan}, {4096, 2e12}}, &rates);
  AddCurve({{0, 1e12}, {2048, 1e12}}, &rates);
  const std::vector<Plot> plots = KernelPlots(rates);
  ASSERT_THAT(plots, SizeIs(1));
  ASSERT_THAT(plots[0].lines, SizeIs(1));
  EXPECT_THAT(plots[0].lines[0].points, SizeIs(2));
  EXPECT_THAT(KernelPlots({}), IsEmpty());
}

}  // namespace
}  // namespace sextant::client
