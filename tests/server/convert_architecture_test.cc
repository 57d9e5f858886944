#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/convert/architecture.h"
#include "server/convert/count_spec.h"
#include "tests/server/message_matchers.h"
#include "tests/server/wire_values.h"

namespace sextant::server {
namespace {

using ::testing::IsEmpty;

ArchitectureSpec ArchitectureOf(const std::string& text) {
  FieldViolations violations;
  ArchitectureSpec out =
      ArchitectureFrom(MessageOf<v1::Architecture>(text), "model.architecture", violations);
  EXPECT_TRUE(violations.empty());
  return out;
}

// By default each branch of a layer has a norm before it, and none after it.
TEST(ArchitectureFrom, NormalisesTheBranchesThatThereAre) {
  const LayerSpec layer =
      ArchitectureOf(R"json({"layer_kinds": [{"name": "a", "feed_forward": {"size": 1}}]})json")
          .layer_kinds[0];
  EXPECT_FALSE(layer.norms.before_attention);
  EXPECT_TRUE(layer.norms.before_feed_forward);
}

TEST(ArchitectureFrom, FillsTheSizesOfAttention) {
  const ArchitectureSpec spec = ArchitectureOf(R"json({
    "layer_kinds": [{"name": "a"},
                    {"name": "b",
                     "cross_attention": {"head_count": 10, "query_key_head_size": 11}}],
    "decoder": {"layers": [{"layer_kind": "b", "count": 10}]}})json");
  ASSERT_EQ(spec.decoder.layers.size(), 1u);
  EXPECT_EQ(spec.decoder.layers[0].layer_kind, 1);
  EXPECT_FALSE(spec.decoder.layers[0].frozen);
  EXPECT_TRUE(spec.decoder.final_norm);
  ASSERT_TRUE(spec.layer_kinds[1].cross_attention.has_value());
  const AttentionSpec& attention = *spec.layer_kinds[1].cross_attention;
  EXPECT_EQ(attention.key_value_head_count, 10);  // as many as queries
  EXPECT_EQ(attention.value_head_size, 11);
  EXPECT_EQ(attention.mask, AttentionMask::kFull);
}

TEST(CountSpecFrom, CarriesStepAndLayout) {
  const auto request = MessageOf<v1::CountModelRequest>(R"json({
    "model": {"preset": "p"},
    "step": {"sequences": [{"count": 1, "length": 2, "encoder_length": 3}, {"length": 4}],
             "recompute": "RECOMPUTE_POLICY_FULL", "expert_capacity_factor": 1.25},
    "layout": {"tensor_parallel_size": 5, "pipeline_parallel_size": 6, "virtual_stage_count": 7,
               "layers_per_chunk": [8, 9], "expert_parallel_size": 10,
               "expert_tensor_parallel_size": 11, "split_key_value_heads": true}})json");
  EXPECT_THAT(UnsetFields(request.step()), IsEmpty());
  EXPECT_THAT(UnsetFields(request.layout()), IsEmpty());
  FieldViolations violations;
  const CountSpec spec = CountSpecFrom(request, violations);
  EXPECT_TRUE(violations.empty());
  EXPECT_EQ(spec.model.preset, "p");
  ASSERT_TRUE(spec.step.has_value());
  ASSERT_EQ(spec.step->sequences.size(), 2u);
  EXPECT_EQ(spec.step->sequences[0].count, 1);
  EXPECT_EQ(spec.step->sequences[0].length, 2);
  EXPECT_EQ(spec.step->sequences[0].encoder_length, 3);
  EXPECT_EQ(spec.step->sequences[1].count, 1);  // the default
  EXPECT_EQ(spec.step->recompute, RecomputePolicy::kFull);
  EXPECT_EQ(spec.step->expert_capacity_factor, 1.25);
  ASSERT_TRUE(spec.layout.has_value());
  EXPECT_EQ(spec.layout->tensor_parallel_size, 5);
  EXPECT_EQ(spec.layout->pipeline_parallel_size, 6);
  EXPECT_EQ(spec.layout->virtual_stage_count, 7);
  EXPECT_EQ(spec.layout->layers_per_chunk, (std::vector<int64_t>{8, 9}));
  EXPECT_EQ(spec.layout->expert_parallel_size, 10);
  EXPECT_EQ(spec.layout->expert_tensor_parallel_size, 11);
  EXPECT_TRUE(spec.layout->split_key_value_heads);
}

// Every field has a different value, other than its default, so that a dropped or swapped one is
// detected.
constexpr char kUnusual[] = R"json({
    "hidden_size": 1, "norm": "NORM_VARIANT_LAYER_NORM",
    "embedding": {"vocabulary_size": 2, "padded_vocabulary_size": 3, "embedding_size": 4,
                  "token_type_count": 5},
    "layer_kinds": [
      {"name": "a", "norm": "NORM_VARIANT_RMS_NORM",
       "norms": {"before_attention": true, "after_attention": true, "before_cross_attention": true,
                 "before_feed_forward": false, "after_feed_forward": true,
                 "after_cross_attention": true},
       "attention": {"head_count": 6, "key_value_head_count": 7, "query_key_head_size": 8,
                     "value_head_size": 9,
                     "latent": {"query_rank": 10, "key_value_rank": 11, "rotary_size": 12,
                                "down_bias": true},
                     "query_bias": true, "key_bias": true, "value_bias": true, "output_bias": true,
                     "query_key_norm": "QUERY_KEY_NORM_ALL_HEADS",
                     "query_key_norm_variant": "NORM_VARIANT_LAYER_NORM", "sinks": true,
                     "mask": "ATTENTION_MASK_FULL", "window": 13, "chunk": 14},
       "cross_attention": {"head_count": 15, "query_key_head_size": 16,
                           "mask": "ATTENTION_MASK_CAUSAL"},
       "feed_forward": {"kind": "KIND_PLAIN", "size": 17, "input_bias": true,
                        "output_bias": true}},
      {"name": "b",
       "experts": {"expert_count": 18, "experts_per_token": 19,
                   "expert": {"kind": "KIND_GATED", "size": 20, "input_bias": true},
                   "shared_expert_count": 21,
                   "shared_expert": {"kind": "KIND_PLAIN", "size": 22, "output_bias": true},
                   "shared_expert_gate": true,
                   "router_bias": true, "router_correction_bias": true, "group_count": 23,
                   "groups_per_token": 24}}],
    "encoder": {"layers": [{"layer_kind": "b", "count": 25, "frozen": true}],
                "learned_position_count": 26, "relative_position_bucket_count": 27,
                "embedding_norm": true, "final_norm": false},
    "decoder": {"layers": [{"layer_kind": "a", "count": 28}, {"layer_kind": "b", "count": 29}]},
    "output": {"head": "OUTPUT_HEAD_TIED", "head_bias": true, "transform": true, "pooler": true,
               "pooled_class_count": 30},
    "multi_token_prediction": {"module_count": 31, "layer_kind": "b", "final_norm": false}})json";

TEST(ArchitectureTo, WritesWhatArchitectureFromReads) {
  for (const char* text : {kUnusual, R"json({"hidden_size": 1, "embedding": {"vocabulary_size": 2},
      "layer_kinds": [{"name": "a", "attention": {"head_count": 3, "query_key_head_size": 4},
                       "feed_forward": {"kind": "KIND_GATED", "size": 5}}],
      "decoder": {"layers": [{"layer_kind": "a", "count": 6}]}, "output": {}})json"}) {
    v1::Architecture written;
    ArchitectureTo(ArchitectureOf(text), &written);
    EXPECT_THAT(written, EqualsText(MessageOf<v1::Architecture>(text).DebugString()));
  }
  // Detects a field that is added to the API but not to the conversion or to the test.
  EXPECT_THAT(UnsetFields(MessageOf<v1::Architecture>(kUnusual)), IsEmpty());
}

// Biases and norms arrive as those that they are, which the way there and back can't show.
TEST(ArchitectureFrom, KeepsFlagsApart) {
  const char* const flags[] = {"query_bias", "key_bias", "value_bias", "output_bias", "sinks"};
  for (size_t i = 0; i < std::size(flags); ++i) {
    const ArchitectureSpec spec = ArchitectureOf(absl::StrCat(
        R"({"layer_kinds": [{"name": "a", "attention": {")", flags[i], R"(": true}}]})"));
    const AttentionSpec& a = *spec.layer_kinds[0].attention;
    const bool set[] = {a.query_bias, a.key_bias, a.value_bias, a.output_bias, a.sinks};
    for (size_t other = 0; other < std::size(flags); ++other) {
      EXPECT_EQ(set[other], other == i) << flags[i];
    }
  }
}

}  // namespace
}  // namespace sextant::server
