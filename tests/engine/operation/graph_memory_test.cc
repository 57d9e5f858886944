// Peaks and saved bytes of random graphs against a step that allocates and frees.
#include "engine/operation/graph_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/operation/graph.h"
#include "tests/engine/operation/graphs.h"
#include "tests/engine/operation/naive_memory.h"
#include "tests/engine/operation/random_graph.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

void ExpectMemory(const GraphMemory& memory, const naive::MemoryTally& tally) {
  EXPECT_EQ(memory.peak_bytes.value(), tally.peak_bytes);
  EXPECT_EQ(memory.peak_moment, tally.peak_moment);
  EXPECT_EQ(memory.saved_bytes.value(), tally.saved_bytes);
  EXPECT_EQ(memory.recomputed_operations, tally.recomputed_operations);
  int64_t at_peak = 0;
  for (const GraphStorage& storage : memory.at_peak) at_peak += storage.size.value();
  EXPECT_EQ(at_peak, memory.peak_bytes.value());
}

TEST(GraphMemoryOracle, PeaksAreThoseOfAStepThatAllocatesAndFrees) {
  RandomGraphs random(46);
  int checkpointed = 0;
  for (int i = 0; i < 800; ++i) {
    SCOPED_TRACE(i);
    GraphSpec spec = random.Next(true);
    spec.master_weights = i % 2 == 0;
    const auto analysis = AnalyzeGraph(spec);
    ASSERT_THAT(analysis, IsOk()) << analysis.status();
    ExpectMemory(analysis->memory, naive::SimulateStep(spec, random.shapes(), false));
    if (analysis->checkpointed.has_value()) {
      checkpointed += analysis->checkpointed->recomputed_operations > 0 ? 1 : 0;
      ExpectMemory(*analysis->checkpointed, naive::SimulateStep(spec, random.shapes(), true));
    }
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(checkpointed, 200);
}

// Unfused attention keeps its probabilities; its scores are there while it runs, and the two
// square gradients while it runs back. q, k, v and o are 2 x 8 x 4 of 4 bytes, a square 2 x 8 x 8.
TEST(GraphMemory, ScratchIsThereWhileItsOperationRuns) {
  const int64_t row = 2 * 8 * 4 * 4;
  const int64_t square = 2 * 8 * 8 * 4;
  GraphSpec spec = {.operations = {Make("o", Attention{.fused = false}, {"q", "k", "v"})},
                    .data_type = DataType::kFp32};
  for (const char* name : {"q", "k", "v"}) {
    spec.tensors.push_back(InputOf(name, {1, 2, 8, 4}));
    spec.tensors.back().requires_gradient = true;
  }
  const auto analysis = AnalyzeGraph(spec);
  ASSERT_THAT(analysis, IsOk());
  ASSERT_EQ(analysis->memory.saved.size(), 4u);
  EXPECT_EQ(analysis->memory.saved_bytes, Bytes(3 * row + square));
  // Backward: q, k, v, o; probabilities; do, dq, dk, dv; dp and ds.
  EXPECT_EQ(analysis->memory.peak_bytes, Bytes(4 * row + square + 4 * row + 2 * square));
  EXPECT_EQ(analysis->memory.peak_moment, "backward of o");
}

// Tables that nobody names are the operation's own, and there all along.
TEST(GraphMemory, RotaryTablesAreItsOwnUnlessTheyAreNamed) {
  GraphSpec spec = {.tensors = {InputOf("x", {2, 8, 3, 4})},
                    .operations = {Make("y", Rotary{}, {"x"})},
                    .data_type = DataType::kFp32};
  spec.tensors[0].requires_gradient = true;
  const auto own = AnalyzeGraph(spec);
  ASSERT_THAT(own, IsOk());
  const int64_t x = 2 * 8 * 3 * 4 * 4;
  const int64_t table = 2 * 8 * 2 * 4;
  EXPECT_EQ(own->memory.saved_bytes, Bytes(2 * table));
  EXPECT_EQ(own->memory.saved[0].storage.name, "cosines of y");
  EXPECT_EQ(own->memory.saved[0].storage.kind, StorageKind::kTable);
  EXPECT_EQ(own->memory.peak_bytes, Bytes(2 * table + 4 * x));
  // Shared by both sequences.
  spec.tensors.push_back(InputOf("cos", {8, 2}));
  spec.tensors.push_back(InputOf("sin", {8, 2}));
  spec.operations[0].inputs = {"x", "cos", "sin"};
  const auto named = AnalyzeGraph(spec);
  ASSERT_THAT(named, IsOk());
  EXPECT_EQ(named->memory.saved_bytes, Bytes(table));
  EXPECT_EQ(named->totals.forward.read, Bytes(x + table));
  EXPECT_EQ(named->memory.peak_bytes, Bytes(table + 4 * x));
}

}  // namespace
}  // namespace sextant
