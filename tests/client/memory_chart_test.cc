#include "client/chart/memory_chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/report/memory_stages.h"
#include "tests/client/sample_memory.h"

namespace sextant::client {
namespace {

using ::testing::ElementsAre;

v1::Memory MemoryIn(const v1::PlanRunResponse& response) { return response.plan().memory(); }

TEST(StageRuns, AreOfEqualNeighbours) {
  const v1::Memory memory = MemoryIn(SampleMemory());
  const std::vector<StageRun> runs = StageRunsOf(memory);
  ASSERT_EQ(runs.size(), 3u);
  EXPECT_EQ(StageRunName(memory, runs[0]), "0");
  EXPECT_EQ(StageRunName(memory, runs[1]), "1-2");
  EXPECT_EQ(StageRunName(memory, runs[2]), "3");
  EXPECT_TRUE(HoldsThePeak(memory, runs[0]));
  EXPECT_FALSE(HoldsThePeak(memory, runs[1]));
}

// Whatever is shown of a stage tells it from its neighbour.
TEST(StageRuns, EndWhereAnythingDiffers) {
  const auto runs_with = [](auto change) {
    v1::Memory memory = MemoryIn(SampleMemory());
    change(memory.mutable_stages(2));
    return StageRunsOf(memory).size();
  };
  EXPECT_EQ(runs_with([](v1::StageMemory*) {}), 3u);
  EXPECT_EQ(runs_with([](v1::StageMemory* s) { s->set_layer_count(9); }), 4u);
  EXPECT_EQ(runs_with([](v1::StageMemory* s) { s->set_parameter_count(9); }), 4u);
  EXPECT_EQ(runs_with([](v1::StageMemory* s) { s->set_peak_phase(v1::PEAK_PHASE_LOSS); }), 4u);
  EXPECT_EQ(runs_with([](v1::StageMemory* s) { s->set_host_bytes(9); }), 4u);
  EXPECT_EQ(runs_with([](v1::StageMemory* s) { s->add_micro_batches_in_flight(9); }), 4u);
  EXPECT_EQ(runs_with([](v1::StageMemory* s) { s->mutable_sums(3)->set_size_bytes(9); }), 4u);
  EXPECT_EQ(runs_with([](v1::StageMemory* s) { s->mutable_process_bytes()->set_low(9); }), 4u);
  EXPECT_EQ(runs_with([](v1::StageMemory* s) { s->mutable_process_bytes()->set_high(9); }), 4u);
  EXPECT_EQ(runs_with([](v1::StageMemory* s) { s->add_ledger()->set_name("x"); }), 4u);
}

TEST(StageRuns, AreAllShownUpTo64) {
  const std::vector<StageRun> runs = ShownStageRuns(MemoryIn(SampleOfStages(64)));
  ASSERT_EQ(runs.size(), 64u);
  for (const StageRun& run : runs) EXPECT_EQ(run.left_out_before, 0);
}

// 20 at either end, and 8 on either side of the peak.
TEST(StageRuns, OfManyShowTheEndsAndThePeak) {
  v1::Memory memory = MemoryIn(SampleOfStages(200));
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

TEST(MemoryChartOf, CountsInGibibytes) {
  const MemoryChart chart = MemoryChartOf(MemoryIn(SampleMemory()));
  ASSERT_EQ(chart.bars.size(), 3u);
  const MemoryBar& first = chart.bars[0];
  EXPECT_EQ(first.name, "0");
  EXPECT_THAT(first.sizes, ElementsAre(8, 16, 4, 8, 2, 1, 0.5, 2.5));
  EXPECT_EQ(first.total, 42);
  EXPECT_EQ(first.low, 41);
  EXPECT_EQ(first.high, 44);
  EXPECT_TRUE(first.peak);
  EXPECT_FALSE(chart.bars[1].peak);
  EXPECT_EQ(chart.usable, 80);
  EXPECT_EQ(chart.end, 80);
  EXPECT_THAT(chart.ticks, ElementsAre(0, 10, 20, 30, 40, 50, 60, 70, 80));
}

// 44 GiB at the high end, on 20.
TEST(MemoryChartOf, ReachesBeyondWhatIsUsable) {
  const MemoryChart chart = MemoryChartOf(MemoryIn(SampleMemoryOn(20, v1::VERDICT_DOES_NOT_FIT)));
  EXPECT_EQ(chart.usable, 20);
  EXPECT_EQ(chart.end, 44 * 1.02);
  EXPECT_THAT(chart.ticks, ElementsAre(0, 10, 20, 30, 40));
}

TEST(MemoryChartOf, StandsAnEmptyStage) {
  v1::Memory memory;
  memory.add_stages();
  const MemoryChart chart = MemoryChartOf(memory);
  EXPECT_GT(chart.end, 0);
  EXPECT_EQ(chart.bars.size(), 1u);
}

TEST(MemoryKinds, AreAllOfTheApis) {
  ASSERT_EQ(static_cast<int>(kMemoryKinds.size()) + 1, v1::LedgerKind_descriptor()->value_count());
  for (size_t i = 0; i < kMemoryKinds.size(); ++i) {
    EXPECT_EQ(static_cast<size_t>(kMemoryKinds[i].kind), i + 1);
    for (size_t j = 0; j < i; ++j) EXPECT_NE(kMemoryKinds[i].letter, kMemoryKinds[j].letter);
  }
}

}  // namespace
}  // namespace sextant::client
