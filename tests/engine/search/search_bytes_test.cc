// What a search, and a question of size, hold at once is bounded in bytes, however many kinds of
// layers a model has.
#include <gtest/gtest.h>

#include <cstdint>

#include "engine/search/layout_search.h"
#include "engine/search/size_cluster.h"
#include "tests/engine/run/worst_plans.h"
#include "tests/support/live_bytes.h"

namespace sextant {
namespace {

constexpr int64_t kMebibyte = 1 << 20;
// 64 MiB of settings that are kept (layout_evaluator.cc), and the model, a layout and a plan.
constexpr int64_t kMaxSearchBytes = 96 * kMebibyte;

// A model of as many kinds of layers as there may be, whose layout is open.
RunSpec OpenRun() {
  RunSpec run =
      worst_plans::RunOf({.runs = kMaxLayerKinds, .layers = kMaxLayerKinds, .timed = true}, true);
  run.cluster.device_count = 8;
  run.cluster.device_memory_bytes = 80'000'000'000;
  run.layout = RunLayout{};
  run.layout->global_batch_size = 64;
  run.options = {};
  run.options.search = SearchExtent::kBounded;
  return run;
}

TEST(SearchBytes, AreBoundedForModelsOfManyKinds) {
  const RunSpec run = OpenRun();
  CallWork work;
  const int64_t before = LiveBytes();
  ResetPeakBytes();
  auto found = SearchAsPlanned(run, {}, work);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_GT(found->considered, 1000);
  EXPECT_LE(PeakBytes() - before, kMaxSearchBytes);
}

// Of all the numbers of devices that are tried one plan is kept.
TEST(SearchBytes, OfSizesAreThoseOfTheirAnswer) {
  RunSpec run = OpenRun();
  run.layout->parallel.pipeline_parallel_size = 8;
  run.layout->given.pipeline = true;
  run.layout->parallel.virtual_stage_count = 16;
  run.model.architecture->decoder.layers = worst_plans::TurnsOf(4096, 4096, 0, 4);
  run.model.architecture->layer_kinds.resize(4);
  CallWork work;
  const int64_t before = LiveBytes();
  const auto size =
      FindClusterSize(run, {.max_devices = 128, .objective = SizeObjective::kTime}, {}, work);
  ASSERT_TRUE(size.ok()) << size.status();
  EXPECT_GT(size->tried.size(), 10);
  EXPECT_LE(LiveBytes() - before, 4 * kMebibyte);
}

}  // namespace
}  // namespace sextant
