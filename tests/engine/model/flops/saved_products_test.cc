// Products in the order of torchtitan's forward passes, counted by hand.
#include "engine/model/flops/saved_products.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/model/architecture/model_weights.h"
#include "engine/model/presets/presets.h"

namespace sextant {
namespace {

using ::testing::UnorderedElementsAre;

// The saved ones among all matrices of the layer.
std::vector<std::string> SavedOf(const char* preset, int kind = 0) {
  const ArchitectureSpec& spec = FindModelPreset(preset).value()->architecture;
  const SavedProducts saved(spec.layer_kinds.at(static_cast<size_t>(kind)));
  std::vector<std::string> out;
  for (const WeightTensor& tensor : WeightsOf(spec)) {
    if (tensor.layer_kind != kind || tensor.part != ModelPart::kDecoder) continue;
    if (tensor.role == WeightRole::kWeight && saved.Has(tensor.module, tensor.name)) {
      out.push_back(absl::StrCat(tensor.module, ".", tensor.name));
    }
  }
  return out;
}

// wq, wk, wv, wo; w1, w3, w2.
TEST(SavedProductsTest, AreEverySecondOfALlama) {
  EXPECT_THAT(SavedOf("llama-3.1-8b"),
              UnorderedElementsAre("attention.query", "attention.value", "feed_forward.gate",
                                   "feed_forward.down"));
}

// Query, key and value are addmm(), which is not counted: wo is the first.
TEST(SavedProductsTest, PassOverThoseWithABias) {
  EXPECT_THAT(SavedOf("qwen2.5-7b"), UnorderedElementsAre("attention.output", "feed_forward.up"));
}

// wq_a, wq_b, wkv_a, wkv_b, wo, then w1, w3, w2 of the shared experts: the sixth to the eighth.
TEST(SavedProductsTest, CountLatentsAndSharedExperts) {
  EXPECT_THAT(SavedOf("deepseek-v3", 1),
              UnorderedElementsAre("attention.query_down", "attention.key_value_down",
                                   "attention.output", "shared_experts.up"));
}

// DeepSeek-V2-Lite doesn't compress queries: wq, wkv_a, wkv_b, wo; w1, w3, w2.
TEST(SavedProductsTest, CountWholeQueriesBesideLatents) {
  EXPECT_THAT(SavedOf("deepseek-v2-lite"),
              UnorderedElementsAre("attention.query", "attention.key_value_up", "feed_forward.gate",
                                   "feed_forward.down"));
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
