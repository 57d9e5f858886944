// The settings that a search keeps are bounded in bytes, however many kinds of layers a model has.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "engine/search/layout_evaluator.h"
#include "tests/engine/run/worst_plans.h"
#include "tests/support/live_bytes.h"

namespace sextant {
namespace {

constexpr int64_t kMebibyte = 1 << 20;

// 55,440 has 120 divisors, each a size of micro-batches, and each is recomputed in eight ways.
TEST(SearchBytes, OfSettingsAreBoundedForModelsOfManyKinds) {
  constexpr int32_t kBatch = 55'440;
  RunSpec run = worst_plans::RunOf({.runs = kMaxLayerKinds, .layers = kMaxLayerKinds}, true);
  run.layout->global_batch_size = kBatch;
  run.layout->micro_batch_size.reset();
  run.cluster.device_count = 1;
  CallWork work;
  LayoutEvaluator evaluator(run, work);
  ASSERT_TRUE(evaluator.Prepare({}).ok());
  const int64_t before = LiveBytes();
  int evaluated = 0;
  int64_t most = 0;
  for (int32_t micro_batch = 1; micro_batch <= kBatch; ++micro_batch) {
    if (kBatch % micro_batch != 0) continue;
    for (int parts = 0; parts < 8; ++parts) {
      LayoutChoice choice = {.micro_batch = micro_batch};
      if ((parts & 1) != 0) choice.recompute.policy = RecomputePolicy::kSelective;
      choice.recompute.norm_outputs = (parts & 2) != 0;
      choice.recompute.activation_function = (parts & 4) != 0;
      const auto option = evaluator.Evaluate(choice, /*times_all=*/true);
      ASSERT_TRUE(option.ok()) << option.status();
      evaluated += option->has_value() ? 1 : 0;
      most = std::max(most, LiveBytes() - before);
    }
  }
  EXPECT_GT(evaluated, 700);
  EXPECT_LE(most, 64 * kMebibyte);
  RecordProperty("mebibytes", static_cast<int>(most / kMebibyte));
}

}  // namespace
}  // namespace sextant
