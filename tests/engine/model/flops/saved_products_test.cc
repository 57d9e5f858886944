// Products in the order of torchtitan's forward passes, counted by hand.
#include "engine/model/flops/saved_products.h"

#include <gtest/gtest.h>

#include "engine/model/presets/presets.h"

namespace sextant {
namespace {

SavedProducts SavedOf(const char* preset, size_t kind = 0) {
  return SavedProducts(FindModelPreset(preset).value()->architecture.layer_kinds.at(kind));
}

// wq, wk, wv, wo; w1, w3, w2.
TEST(SavedProductsTest, AreEverySecondOfALlama) {
  const SavedProducts saved = SavedOf("llama-3.1-8b");
  EXPECT_TRUE(saved.Has("attention", "query"));
  EXPECT_FALSE(saved.Has("attention", "key"));
  EXPECT_TRUE(saved.Has("attention", "value"));
  EXPECT_FALSE(saved.Has("attention", "output"));
  EXPECT_TRUE(saved.Has("feed_forward", "gate"));
  EXPECT_FALSE(saved.Has("feed_forward", "up"));
  EXPECT_TRUE(saved.Has("feed_forward", "down"));
  EXPECT_FALSE(saved.Has("shared_experts", "gate"));
}

// Query, key and value are addmm(), which is not counted: wo is the first.
TEST(SavedProductsTest, PassOverThoseWithABias) {
  const SavedProducts saved = SavedOf("qwen2.5-7b");
  for (const char* name : {"query", "key", "value"}) EXPECT_FALSE(saved.Has("attention", name));
  EXPECT_TRUE(saved.Has("attention", "output"));
  EXPECT_FALSE(saved.Has("feed_forward", "gate"));
  EXPECT_TRUE(saved.Has("feed_forward", "up"));
  EXPECT_FALSE(saved.Has("feed_forward", "down"));
}

// wq_a, wq_b, wkv_a, wkv_b, wo, then w1, w3, w2 of the shared experts: the sixth to the eighth.
TEST(SavedProductsTest, CountLatentsAndSharedExperts) {
  const SavedProducts saved = SavedOf("deepseek-v3", 1);
  EXPECT_TRUE(saved.Has("attention", "query_down"));
  EXPECT_FALSE(saved.Has("attention", "query_up"));
  EXPECT_TRUE(saved.Has("attention", "key_value_down"));
  EXPECT_FALSE(saved.Has("attention", "key_value_up"));
  EXPECT_TRUE(saved.Has("attention", "output"));
  EXPECT_FALSE(saved.Has("shared_experts", "gate"));
  EXPECT_TRUE(saved.Has("shared_experts", "up"));
  EXPECT_FALSE(saved.Has("shared_experts", "down"));
  EXPECT_FALSE(saved.Has("experts", "gate"));
  EXPECT_FALSE(saved.Has("router", "weight"));
}

// DeepSeek-V2-Lite doesn't compress queries: wq, wkv_a, wkv_b, wo.
TEST(SavedProductsTest, CountWholeQueriesBesideLatents) {
  const SavedProducts saved = SavedOf("deepseek-v2-lite");
  EXPECT_TRUE(saved.Has("attention", "query"));
  EXPECT_FALSE(saved.Has("attention", "key_value_down"));
  EXPECT_TRUE(saved.Has("attention", "key_value_up"));
  EXPECT_FALSE(saved.Has("attention", "output"));
  EXPECT_TRUE(saved.Has("feed_forward", "gate"));
}

TEST(SavedProductsTest, AreNotKnownOfEveryPart) {
  ArchitectureSpec spec = FindModelPreset("llama-3.1-8b").value()->architecture;
  EXPECT_EQ(PartOfUnknownOperators(spec), "");
  spec.adapters.emplace();
  EXPECT_EQ(PartOfUnknownOperators(spec), "adapters");
  spec.adapters.reset();
  spec.layer_kinds[0].attention->output_gate = OutputGate::kPerHead;
  EXPECT_EQ(PartOfUnknownOperators(spec), "an output gate");
  const auto part_of = [](const char* preset) {
    return PartOfUnknownOperators(FindModelPreset(preset).value()->architecture);
  };
  EXPECT_EQ(part_of("t5-11b"), "cross attention");
  EXPECT_EQ(part_of("qwen3-next-80b-a3b"), "mixers");
}

}  // namespace
}  // namespace sextant
