// Rows of stages that work on several chunks say of which they are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <set>

#include "engine/memory/ledger/memory_model.h"
#include "engine/model/presets/presets.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::ElementsAre;

// GPT-2's 12 layers on two stages, 16 micro-batches of 512 tokens.
MemoryJob JobOn(PipelineSchedule schedule) {
  MemoryJob job;
  job.layout = {.pipeline_parallel_size = 2};
  job.batch = {.sequence_length = 512};
  job.pipeline = {.schedule = schedule, .micro_batch_count = 16};
  job.state.precision = WithDefaults({.gradient_data_type = DataType::kFp32});
  return job;
}

LedgerRows RowsOf(const MemoryJob& job, int64_t stage, StageMemory* memory = nullptr) {
  const auto model = MemoryModel::Of(FindModelPreset("gpt2").value()->architecture, job);
  EXPECT_THAT(model, IsOk());
  LedgerRows rows;
  if (!model.ok()) return rows;
  const auto stage_memory = model->Stage(stage, &rows);
  EXPECT_THAT(stage_memory, IsOk());
  if (memory != nullptr && stage_memory.ok()) *memory = *stage_memory;
  return rows;
}

// Chunk i of 1, 2, 4 and 5 layers is on stage i % 2.
TEST(LedgerChunks, OfInterleavedStagesHaveTheirLayersAndMicroBatches) {
  MemoryJob job = JobOn(PipelineSchedule::kOneForwardOneBackward);
  job.layout.virtual_stage_count = 2;
  job.layout.layers_per_chunk = {1, 2, 4, 5};
  for (const int64_t stage : {0, 1}) {
    StageMemory memory;
    const LedgerRows rows = RowsOf(job, stage, &memory);
    std::set<int64_t> seen;
    for (const LedgerRow& row : rows) {
      const bool freed = row.name == "freed";
      if (row.kind == LedgerKind::kTransient || freed) {
        EXPECT_EQ(row.chunk, memory.in_flight.chunk) << row.name;
      } else if (row.kind != LedgerKind::kActivation) {
        EXPECT_EQ(row.chunk, -1) << row.name;
      } else {
        ASSERT_THAT(row.chunk, ::testing::AnyOf(0, 1)) << row.name;
        seen.insert(row.chunk);
        EXPECT_EQ(row.micro_batches, memory.in_flight.Held(row.chunk)) << row.name;
        if (row.layer_kind < 0) continue;
        const auto chunk = static_cast<size_t>(2 * row.chunk + stage);
        EXPECT_EQ(row.layers, job.layout.layers_per_chunk[chunk]) << row.name;
      }
    }
    EXPECT_THAT(seen, ElementsAre(0, 1));
  }
}

// By chunk; [0] is of none.
std::array<int64_t, 3> WeightBytes(const LedgerRows& rows) {
  std::array<int64_t, 3> out{};
  for (const LedgerRow& row : rows) {
    if (row.kind != LedgerKind::kWeight) continue;
    out[static_cast<size_t>(row.chunk + 1)] += row.size.value();
  }
  return out;
}

// The first chunk of a stage is what the stage has without its opposite.
TEST(LedgerChunks, OfDualPipeAreAStageAndItsOpposite) {
  const MemoryJob dual = JobOn(PipelineSchedule::kDualPipe);
  const MemoryJob plain = JobOn(PipelineSchedule::kOneForwardOneBackward);
  const int64_t first = WeightBytes(RowsOf(plain, 0))[0];
  const int64_t last = WeightBytes(RowsOf(plain, 1))[0];
  EXPECT_NE(first, last);  // positions
  EXPECT_THAT(WeightBytes(RowsOf(dual, 0)), ElementsAre(0, first, last));
  EXPECT_THAT(WeightBytes(RowsOf(dual, 1)), ElementsAre(0, last, first));
  StageMemory memory;
  std::map<int64_t, int64_t> in_flight;
  for (const LedgerRow& row : RowsOf(dual, 0, &memory)) {
    if (row.kind == LedgerKind::kActivation && row.name != "freed") {
      in_flight[row.chunk] = row.micro_batches;
    }
  }
  EXPECT_EQ(in_flight[0], memory.in_flight.Held(0));
  EXPECT_EQ(in_flight[1], memory.in_flight.Held(1));
}

TEST(LedgerChunks, OfAStageWithOneAreNotSaid) {
  for (const auto schedule :
       {PipelineSchedule::kOneForwardOneBackward, PipelineSchedule::kZeroBubbleH1}) {
    for (const LedgerRow& row : RowsOf(JobOn(schedule), 1)) EXPECT_EQ(row.chunk, -1) << row.name;
  }
}

}  // namespace
}  // namespace sextant
