// What charts show: their extents, and what they leave out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "client/plot/front_chart.h"
#include "client/plot/kernel_chart.h"
#include "client/plot/memory_chart.h"
#include "client/plot/roofline_chart.h"
#include "client/text/memory_stages.h"
#include "tests/client/sample_answers.h"

namespace sextant::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
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
TEST(MemoryChartOf, ReachesBeyondWhatIsUsable) {
  const MemoryChart fits = MemoryChartOf(SampleStages(1).plan().memory());
  EXPECT_THAT(fits.bars[0].sizes, ElementsAre(8, 8, 8, 8, 20, 1, 0.5, 2.5));
  EXPECT_EQ(fits.end, 80);
  const MemoryChart chart = MemoryChartOf(SampleStages(1, 20).plan().memory());
  EXPECT_EQ(chart.usable, 20);
  EXPECT_EQ(chart.end, 58 * 1.02);
  EXPECT_THAT(chart.ticks, ElementsAre(0, 10, 20, 30, 40, 50));
  v1::Memory empty;
  empty.add_stages();
  EXPECT_GT(MemoryChartOf(empty).end, 0);
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
  for (const FrontPoint& point : FrontChartOf(PlanWithFront(points)).points) {
    letters += point.letter;
  }
  return letters;
}

// 23 points: every second has a letter. 14: 13 steps of points for 11 of letters, 1.18 each:
// 0, 1.2, 2.4, 3.5, 4.7, 5.9, 7.1, 8.3, 9.5, 10.6, 11.8, 13, rounded.
TEST(FrontChart, ThinsALongFrontEvenly) {
  EXPECT_EQ(LettersOf(12), "ABCDEFGHIJKL");
  EXPECT_EQ(LettersOf(14), "ABC DEFGHI JKL");
  EXPECT_EQ(LettersOf(23), "A B C D E F G H I J K L");
}

TEST(FrontChart, LeavesOutWhatNoAxisCanShow) {
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
  EXPECT_TRUE(FrontChartOf(plan).points.empty());
  EXPECT_TRUE(FrontChartOf(v1::Plan()).points.empty());
  EXPECT_EQ(FrontSection(plan), "");
  EXPECT_EQ(FrontSection(PlanWithFront({{10, 70}})), "");  // a line takes two
}

TEST(FrontChart, EndsAtThreeTimesTheFastest) {
  const v1::Plan plan = PlanWithFront({{10, 70}, {20, 60}, {30, 50}, {30.1, 40}, {900, 10}});
  const FrontChart chart = FrontChartOf(plan);
  ASSERT_EQ(chart.points.size(), 3u);
  EXPECT_EQ(chart.points.back().seconds.expected(), 30);
  EXPECT_LT(FrontAxesOf(chart, FrontExtent::kIntervals).seconds.high, 40);
  EXPECT_EQ(SlowWords(chart), "2 layouts that take over 3 times the fastest's time are left out");
  EXPECT_THAT(FrontSection(plan), HasSubstr("; 2 layouts that take over 3 times"));
  EXPECT_EQ(SlowWords(FrontChartOf(SampleFront())), "");
  EXPECT_EQ(SlowWords(FrontChartOf(PlanWithFront({{10, 70}, {31, 60}}))),
            "1 layout that takes over 3 times the fastest's time is left out");
}

TEST(FrontChart, TakesIntervalsWithoutEndsAsExact) {
  v1::Plan plan = PlanWithFront({{10, 70}});
  v1::Interval& seconds = *plan.mutable_search()->mutable_front(0)->mutable_step_seconds();
  seconds.set_low(0);
  seconds.set_high(kInfinity);
  const FrontPoint point = FrontChartOf(plan).points[0];
  EXPECT_EQ(point.seconds.low(), 10);
  EXPECT_EQ(point.seconds.high(), 10);
}

// Points: 10 to 20 s, with 4 % of the length on both sides; up to 80 GiB usable and 2 % of it.
// Intervals: 9 to 24 s, 27 to 84 GiB.
TEST(FrontAxes, EncloseThePointsAndUsableMemory) {
  const FrontChart chart = FrontChartOf(SampleFront());
  const FrontAxes points = FrontAxesOf(chart, FrontExtent::kPoints);
  EXPECT_DOUBLE_EQ(points.seconds.low, 9.6);
  EXPECT_DOUBLE_EQ(points.seconds.high, 20.4);
  EXPECT_EQ(points.gib.low, 0);
  EXPECT_DOUBLE_EQ(points.gib.high, 81.6);
  EXPECT_TRUE(points.shows_usable);
  const FrontAxes intervals = FrontAxesOf(chart, FrontExtent::kIntervals);
  EXPECT_DOUBLE_EQ(intervals.seconds.low, 9 - 0.04 * 15);
  EXPECT_DOUBLE_EQ(intervals.seconds.high, 24 + 0.04 * 15);
  EXPECT_DOUBLE_EQ(intervals.gib.high, 84 * 1.02);
}

// As far as a quarter beyond the points: 8 to 25 s.
TEST(FrontAxes, CutWideIntervals) {
  v1::Plan plan = SampleFront();
  v1::LayoutSearchResult& search = *plan.mutable_search();
  search.mutable_front(0)->mutable_step_seconds()->set_low(1);
  search.mutable_front(2)->mutable_step_seconds()->set_high(1000);
  const FrontAxes axes = FrontAxesOf(FrontChartOf(plan), FrontExtent::kIntervals);
  EXPECT_DOUBLE_EQ(axes.seconds.low, 8 - 0.04 * 17);
  EXPECT_DOUBLE_EQ(axes.seconds.high, 25 + 0.04 * 17);
}

// All in the upper half: from a quarter of the length below the smallest. Far below what is usable:
// without it.
TEST(FrontAxes, BeginNearLargePointsAndEndNearSmallOnes) {
  const FrontAxes large =
      FrontAxesOf(FrontChartOf(PlanWithFront({{10, 71.6}, {11, 61.6}})), FrontExtent::kPoints);
  EXPECT_DOUBLE_EQ(large.gib.high, 81.6);
  EXPECT_DOUBLE_EQ(large.gib.low, 81.6 - 1.25 * 20);
  const FrontAxes small =
      FrontAxesOf(FrontChartOf(PlanWithFront({{10, 5}, {11, 4}})), FrontExtent::kPoints);
  EXPECT_FALSE(small.shows_usable);
  EXPECT_DOUBLE_EQ(small.gib.high, 5.1);
}

v1::AnalyzeOperationResponse WithRates(double flops_per_second, double bytes_per_second) {
  v1::AnalyzeOperationResponse response;
  response.mutable_time()->mutable_forward()->set_ridge_flops_per_byte(100);
  for (const auto& [unit, value] :
       {std::pair("FLOP/s", flops_per_second), {"byte/s", bytes_per_second}}) {
    v1::RateUsed* rate = response.mutable_time()->add_rates();
    rate->set_unit(unit);
    rate->set_value(value);
  }
  return response;
}

TEST(RooflineChart, IsRefusedWithoutRates) {
  EXPECT_TRUE(RooflineChartOf(WithRates(1e12, 1e10)).ok());
  for (const double rate : {0.0, -1.0, kNan, kInfinity}) {
    EXPECT_EQ(RooflineChartOf(WithRates(rate, 1e10)).status().code(),
              absl::StatusCode::kFailedPrecondition);
    EXPECT_EQ(RooflineChartOf(WithRates(1e12, rate)).status().code(),
              absl::StatusCode::kFailedPrecondition);
  }
  EXPECT_FALSE(RooflineChartOf({}).ok());
}

RooflineChart ChartWith(std::vector<ChartPoint> points) {
  RooflineChart chart;
  chart.memory_bytes_per_second = 1e10;
  chart.ridge = 100;
  chart.roofs = {{"matrix products", 1e12}, {"other arithmetic", 1e11}};
  chart.points = std::move(points);
  return chart;
}

TEST(RooflineAxes, HoldAllThatIsDrawn) {
  const RooflineChart chart = ChartWith(
      {{"forward", 'F', 200, 8e11, 1}, {"far", 'U', 1e-6, 1e-3, 1}, {"near", 'B', 1e9, 2e13, 1}});
  const ChartAxes axes = AxesOf(chart);
  for (const ChartPoint& point : chart.points) {
    EXPECT_GT(axes.intensity.Fraction(point.intensity), 0) << point.name;
    EXPECT_LT(axes.intensity.Fraction(point.intensity), 1) << point.name;
    EXPECT_GT(axes.flops_per_second.Fraction(point.flops_per_second), 0) << point.name;
    EXPECT_LT(axes.flops_per_second.Fraction(point.flops_per_second), 1) << point.name;
  }
  EXPECT_EQ(RoofAt(chart, 1e12, 10), 1e11);
  EXPECT_EQ(RoofAt(chart, 1e12, 1000), 1e12);
}

// However few points, both axes can be read.
TEST(RooflineAxes, HoldTwoPowersOfTen) {
  for (double rate = 1e6; rate < 1e18; rate *= 1.7) {
    RooflineChart chart = ChartWith({});
    chart.roofs = {{"all arithmetic", rate}};
    chart.ridge = rate / chart.memory_bytes_per_second;
    const ChartAxes axes = AxesOf(chart);
    EXPECT_GE(axes.intensity.Ticks(9).size(), 2u) << rate;
    EXPECT_GE(axes.flops_per_second.Ticks(9).size(), 2u) << rate;
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
TEST(KernelCharts, LeaveOutWhatIsNoSizeOrRate) {
  v1::GetKernelRatesResponse rates;
  AddCurve({{1024, 1e12}, {2048, kNan}, {4096, 2e12}}, &rates);
  AddCurve({{0, 1e12}, {2048, 1e12}}, &rates);
  const std::vector<KernelChart> charts = KernelChartsOf(rates);
  ASSERT_THAT(charts, SizeIs(1));
  ASSERT_THAT(charts[0].lines, SizeIs(1));
  EXPECT_THAT(charts[0].lines[0].points, SizeIs(2));
  EXPECT_THAT(KernelChartsOf({}), IsEmpty());
}

}  // namespace
}  // namespace sextant::client
