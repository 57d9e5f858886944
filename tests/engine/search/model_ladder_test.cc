#include "engine/search/model_ladder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "engine/base/field_violation.h"
#include "engine/model/architecture/check_architecture.h"
#include "engine/model/architecture/count_weights.h"
#include "engine/model/architecture/model_weights.h"
#include "engine/model/presets/presets.h"

namespace sextant {
namespace {

const ArchitectureSpec& ShapeOfPreset(absl::string_view name) {
  const auto preset = FindModelPreset(name);
  EXPECT_TRUE(preset.ok()) << preset.status();
  return (*preset)->architecture;
}

int64_t ParametersOf(const ArchitectureSpec& spec) {
  const auto count = CountWeights(WeightsOf(spec), "model");
  EXPECT_TRUE(count.ok()) << count.status();
  return count.ok() ? count->all.total : 0;
}

// The rung of that width and depth; -1 where there is none.
int64_t Find(const ModelLadder& ladder, double width_ratio, int64_t depth) {
  for (int64_t i = 0; i < ladder.size(); ++i) {
    if (ladder.width_ratio(i) == width_ratio && ladder.depth(i) == depth) return i;
  }
  return -1;
}

// Llama 3.1 8B: 32 layers of width 4,096, 32 heads of 128 on 8, feed-forward 14,336. Twice as wide
// it has the sizes of 70B, by hand 855,654,400 parameters a layer, 2,101,354,496 besides them, and
// 64 layers where 70B has 80.
TEST(ModelLadder, ScalesGroupedQueriesByWholeGroups) {
  constexpr int64_t kLayer = 855'654'400;
  constexpr int64_t kRest = 2'101'354'496;
  const ModelLadder ladder(ShapeOfPreset("llama-3.1-8b"));
  const int64_t index = Find(ladder, 2, 64);
  ASSERT_GE(index, 0);
  const ArchitectureSpec twice = ladder.At(index);
  EXPECT_EQ(twice.hidden_size, 8192);
  const LayerSpec& layer = twice.layer_kinds.front();
  EXPECT_EQ(layer.attention->head_count, 64);
  EXPECT_EQ(layer.attention->key_value_head_count, 8);
  EXPECT_EQ(layer.attention->query_key_head_size, 128);
  EXPECT_EQ(layer.feed_forward->size, 28'672);
  EXPECT_EQ(twice.embedding.vocabulary_size, 128'256);
  EXPECT_EQ(ParametersOf(twice), 64 * kLayer + kRest);
  // With 16 layers more it would be 70B itself.
  EXPECT_EQ(ParametersOf(ShapeOfPreset("llama-3.1-70b")), 80 * kLayer + kRest);
  // Eight heads more are a quarter of its width, and eight layers: a rung for each.
  EXPECT_EQ(ladder.width_ratio(Find(ladder, 1, 32) + 7), 1);
  EXPECT_EQ(ladder.width_ratio(Find(ladder, 1, 32) + 8), 1.25);
  EXPECT_EQ(ladder.At(Find(ladder, 1.25, 40)).hidden_size, 5120);
}

// GPT-3 175B: 96 layers of width 12,288, 96 heads of 128, each with keys of its own.
TEST(ModelLadder, ScalesHeadsByEightsWhereEachHasItsKeys) {
  const ModelLadder ladder(ShapeOfPreset("gpt3-175b"));
  const int64_t index = Find(ladder, 0.5, 48);
  ASSERT_GE(index, 0);
  const ArchitectureSpec half = ladder.At(index);
  EXPECT_EQ(half.hidden_size, 6144);
  EXPECT_EQ(half.layer_kinds.front().attention->head_count, 48);
  EXPECT_EQ(half.layer_kinds.front().attention->key_value_head_count, 48);
  EXPECT_EQ(half.layer_kinds.front().feed_forward->size, 24'576);
}

// DeepSeek-V3: 3 dense layers, then 58 with experts.
TEST(ModelLadder, KeepsTheFirstLayersAndRepeatsTheRest) {
  const ArchitectureSpec& own = ShapeOfPreset("deepseek-v3");
  ASSERT_EQ(own.decoder.layers.size(), 2u);
  ASSERT_EQ(own.decoder.layers[0].count, 3);
  const ModelLadder ladder(own);
  for (int64_t i = 0; i < ladder.size(); ++i) {
    if (ladder.depth(i) != 100) continue;
    const ArchitectureSpec deep = ladder.At(i);
    ASSERT_EQ(deep.decoder.layers.size(), 2u);
    EXPECT_EQ(deep.decoder.layers[0].count, 3);
    EXPECT_EQ(deep.decoder.layers[1].count, 97);
  }
}

TEST(ModelLadder, RepeatsAPeriod) {
  ArchitectureSpec spec = ShapeOfPreset("llama-3.1-8b");
  spec.layer_kinds.push_back(spec.layer_kinds.front());
  spec.layer_kinds.back().name = "sliding";
  spec.layer_kinds.back().attention->window = 1024;
  spec.decoder.layers.clear();
  for (int i = 0; i < 16; ++i) {
    spec.decoder.layers.push_back({.layer_kind = 1, .count = 1});
    spec.decoder.layers.push_back({.layer_kind = 0, .count = 1});
  }
  const ModelLadder ladder(spec);
  const ArchitectureSpec deeper = ladder.At(Find(ladder, 1, 35));
  ASSERT_EQ(deeper.decoder.layers.size(), 35u);
  for (size_t i = 0; i < 35; ++i) {
    EXPECT_EQ(deeper.decoder.layers[i].layer_kind, i % 2 == 0 ? 1 : 0) << i;
  }
}

// Every preset is a rung of its own ladder, all rungs are sound, and none has fewer parameters than
// the one below it.
TEST(ModelLadder, RisesForEveryPreset) {
  for (const ModelPreset& preset : ModelPresets()) {
    SCOPED_TRACE(std::string(preset.name));
    const ModelLadder ladder(preset.architecture);
    int64_t below = 0;
    bool has_itself = false;
    for (int64_t i = 0; i < std::min<int64_t>(ladder.size(), 300); ++i) {
      const ArchitectureSpec spec = ladder.At(i);
      FieldViolations violations;
      CheckArchitecture(spec, "model", violations);
      ASSERT_TRUE(violations.empty()) << i << violations.ToStatus();
      const int64_t parameters = ParametersOf(spec);
      EXPECT_GE(parameters, below) << i;
      below = parameters;
      has_itself = has_itself ||
                   (ladder.width_ratio(i) == 1 && parameters == ParametersOf(preset.architecture));
    }
    EXPECT_TRUE(has_itself);
  }
}

}  // namespace
}  // namespace sextant
