#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <string>

#include "server/convert/architecture.h"
#include "server/convert/count_spec.h"

namespace sextant::server {
namespace {

template <typename Message>
Message MessageOf(const std::string& json) {
  Message out;
  EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(json, &out).ok()) << json;
  return out;
}

ArchitectureSpec ArchitectureOf(const std::string& json) {
  FieldViolations violations;
  ArchitectureSpec out =
      ArchitectureFrom(MessageOf<v1::Architecture>(json), "model.architecture", violations);
  EXPECT_TRUE(violations.empty());
  return out;
}

// Every field has a different value, so that a dropped or swapped one is detected.
TEST(ArchitectureFrom, CarriesTheModelsFields) {
  const ArchitectureSpec spec = ArchitectureOf(R"json({
    "hidden_size": 1, "norm": "NORM_VARIANT_LAYER_NORM",
    "embedding": {"vocabulary_size": 2, "padded_vocabulary_size": 3, "embedding_size": 4,
                  "token_type_count": 5},
    "layer_kinds": [{"name": "a"}, {"name": "b"}],
    "encoder": {"layers": [{"layer_kind": "b", "count": 6, "frozen": true}],
                "learned_position_count": 7, "relative_position_bucket_count": 8,
                "embedding_norm": true, "final_norm": false},
    "decoder": {"layers": [{"layer_kind": "a", "count": 9}, {"layer_kind": "b", "count": 10}]},
    "output": {"head": "OUTPUT_HEAD_TIED", "head_bias": true, "transform": true, "pooler": true,
               "pooled_class_count": 11},
    "multi_token_prediction": {"module_count": 12, "layer_kind": "b", "final_norm": false}})json");
  EXPECT_EQ(spec.hidden_size, 1);
  EXPECT_EQ(spec.norm, NormVariant::kLayerNorm);
  EXPECT_EQ(spec.embedding.vocabulary_size, 2);
  EXPECT_EQ(spec.embedding.padded_vocabulary_size, 3);
  EXPECT_EQ(spec.embedding.embedding_size, 4);
  EXPECT_EQ(spec.embedding.token_type_count, 5);
  ASSERT_EQ(spec.layer_kinds.size(), 2u);
  EXPECT_EQ(spec.layer_kinds[1].name, "b");
  ASSERT_EQ(spec.encoder.layers.size(), 1u);
  EXPECT_EQ(spec.encoder.layers[0].layer_kind, 1);
  EXPECT_EQ(spec.encoder.layers[0].count, 6);
  EXPECT_TRUE(spec.encoder.layers[0].frozen);
  EXPECT_EQ(spec.encoder.learned_position_count, 7);
  EXPECT_EQ(spec.encoder.relative_position_bucket_count, 8);
  EXPECT_TRUE(spec.encoder.embedding_norm);
  EXPECT_FALSE(spec.encoder.final_norm);
  ASSERT_EQ(spec.decoder.layers.size(), 2u);
  EXPECT_EQ(spec.decoder.layers[0].layer_kind, 0);
  EXPECT_EQ(spec.decoder.layers[1].count, 10);
  EXPECT_FALSE(spec.decoder.layers[1].frozen);
  EXPECT_TRUE(spec.decoder.final_norm);
  EXPECT_EQ(spec.output.head, OutputHeadKind::kTied);
  EXPECT_TRUE(spec.output.head_bias && spec.output.transform && spec.output.pooler);
  EXPECT_EQ(spec.output.pooled_class_count, 11);
  ASSERT_TRUE(spec.multi_token_prediction.has_value());
  EXPECT_EQ(spec.multi_token_prediction->module_count, 12);
  EXPECT_EQ(spec.multi_token_prediction->layer_kind, 1);
  EXPECT_FALSE(spec.multi_token_prediction->final_norm);
}

TEST(ArchitectureFrom, CarriesALayersFields) {
  const LayerSpec layer = ArchitectureOf(R"json({"layer_kinds": [{
    "name": "a", "norm": "NORM_VARIANT_NON_PARAMETRIC_LAYER_NORM",
    "norms": {"before_attention": false, "after_attention": true, "before_cross_attention": true,
              "before_feed_forward": false, "after_feed_forward": true,
              "after_cross_attention": true},
    "attention": {"head_count": 1, "key_value_head_count": 2, "query_key_head_size": 3,
      "value_head_size": 4, "query_bias": true, "key_bias": true, "value_bias": true,
      "output_bias": true, "query_key_norm": "QUERY_KEY_NORM_PER_HEAD",
      "query_key_norm_variant": "NORM_VARIANT_RMS_NORM", "sinks": true,
      "mask": "ATTENTION_MASK_FULL", "window": 5, "chunk": 6,
      "latent": {"query_rank": 7, "key_value_rank": 8, "rotary_size": 9, "down_bias": true}},
    "cross_attention": {"head_count": 10, "query_key_head_size": 11},
    "feed_forward": {"kind": "KIND_PLAIN", "size": 12, "input_bias": true},
    "experts": {"expert_count": 13, "experts_per_token": 14,
      "expert": {"kind": "KIND_GATED", "size": 15, "output_bias": true},
      "shared_expert_count": 16, "shared_expert": {"kind": "KIND_PLAIN", "size": 17},
      "shared_expert_gate": true, "router_bias": true, "router_correction_bias": true,
      "group_count": 18, "groups_per_token": 19}}]})json")
                              .layer_kinds[0];
  EXPECT_EQ(layer.norm, NormVariant::kNonParametricLayerNorm);
  EXPECT_FALSE(layer.norms.before_attention || layer.norms.before_feed_forward);
  EXPECT_TRUE(layer.norms.after_attention && layer.norms.before_cross_attention &&
              layer.norms.after_feed_forward && layer.norms.after_cross_attention);
  ASSERT_TRUE(layer.attention.has_value());
  const AttentionSpec& a = *layer.attention;
  EXPECT_EQ(a.head_count, 1);
  EXPECT_EQ(a.key_value_head_count, 2);
  EXPECT_EQ(a.query_key_head_size, 3);
  EXPECT_EQ(a.value_head_size, 4);
  EXPECT_TRUE(a.query_bias && a.key_bias && a.value_bias && a.output_bias && a.sinks);
  EXPECT_EQ(a.query_key_norm, QueryKeyNorm::kPerHead);
  EXPECT_EQ(a.query_key_norm_variant, NormVariant::kRmsNorm);
  EXPECT_EQ(a.mask, AttentionMask::kFull);
  EXPECT_EQ(a.window, 5);
  EXPECT_EQ(a.chunk, 6);
  ASSERT_TRUE(a.latent.has_value());
  EXPECT_EQ(a.latent->query_rank, 7);
  EXPECT_EQ(a.latent->key_value_rank, 8);
  EXPECT_EQ(a.latent->rotary_size, 9);
  EXPECT_TRUE(a.latent->down_bias);
  ASSERT_TRUE(layer.cross_attention.has_value());
  EXPECT_EQ(layer.cross_attention->key_value_head_count, 10);  // as many as queries
  EXPECT_EQ(layer.cross_attention->value_head_size, 11);
  EXPECT_EQ(layer.cross_attention->mask, AttentionMask::kFull);
  ASSERT_TRUE(layer.feed_forward.has_value());
  EXPECT_EQ(layer.feed_forward->kind, FeedForwardKind::kPlain);
  EXPECT_EQ(layer.feed_forward->size, 12);
  EXPECT_TRUE(layer.feed_forward->input_bias && !layer.feed_forward->output_bias);
  ASSERT_TRUE(layer.experts.has_value());
  const ExpertsSpec& e = *layer.experts;
  EXPECT_EQ(e.expert_count, 13);
  EXPECT_EQ(e.experts_per_token, 14);
  EXPECT_EQ(e.expert.size, 15);
  EXPECT_TRUE(e.expert.output_bias && !e.expert.input_bias);
  EXPECT_EQ(e.shared_expert_count, 16);
  EXPECT_EQ(e.shared_expert.size, 17);
  EXPECT_TRUE(e.shared_expert_gate && e.router_bias && e.router_correction_bias);
  EXPECT_EQ(e.group_count, 18);
  EXPECT_EQ(e.groups_per_token, 19);
}

// By default each branch of a layer has a norm before it, and none after it.
TEST(ArchitectureFrom, NormalisesTheBranchesThatThereAre) {
  const LayerSpec layer =
      ArchitectureOf(R"json({"layer_kinds": [{"name": "a", "feed_forward": {"size": 1}}]})json")
          .layer_kinds[0];
  EXPECT_FALSE(layer.norms.before_attention);
  EXPECT_TRUE(layer.norms.before_feed_forward);
}

TEST(CountSpecFrom, CarriesStepAndLayout) {
  const auto request = MessageOf<v1::CountModelRequest>(R"json({
    "model": {"preset": "p"},
    "step": {"sequences": [{"count": 1, "length": 2, "encoder_length": 3}, {"length": 4}],
             "recompute": "RECOMPUTE_POLICY_FULL", "expert_capacity_factor": 1.25},
    "layout": {"tensor_parallel_size": 5, "pipeline_parallel_size": 6, "virtual_stage_count": 7,
               "layers_per_chunk": [8, 9], "expert_parallel_size": 10,
               "expert_tensor_parallel_size": 11, "split_key_value_heads": true}})json");
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

// Its values other than defaults.
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
                   "expert": {"kind": "KIND_GATED", "size": 20}, "shared_expert_count": 21,
                   "shared_expert": {"kind": "KIND_GATED", "size": 22}, "shared_expert_gate": true,
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
  for (const char* json : {kUnusual, R"json({"hidden_size": 1, "embedding": {"vocabulary_size": 2},
      "layer_kinds": [{"name": "a", "attention": {"head_count": 3, "query_key_head_size": 4},
                       "feed_forward": {"kind": "KIND_GATED", "size": 5}}],
      "decoder": {"layers": [{"layer_kind": "a", "count": 6}]}, "output": {}})json"}) {
    v1::Architecture written;
    ArchitectureTo(ArchitectureOf(json), &written);
    google::protobuf::util::MessageDifferencer differ;
    std::string difference;
    differ.ReportDifferencesToString(&difference);
    EXPECT_TRUE(differ.Compare(MessageOf<v1::Architecture>(json), written)) << difference;
  }
}

// The messages above set every field of the API.
TEST(ArchitectureFrom, TheTestKnowsEveryField) {
  EXPECT_EQ(v1::Architecture::descriptor()->field_count(), 8);
  EXPECT_EQ(v1::Architecture::LayerRun::descriptor()->field_count(), 3);
  EXPECT_EQ(v1::Architecture::Stack::descriptor()->field_count(), 5);
  EXPECT_EQ(v1::Architecture::Embedding::descriptor()->field_count(), 4);
  EXPECT_EQ(v1::Architecture::Output::descriptor()->field_count(), 5);
  EXPECT_EQ(v1::Architecture::MultiTokenPrediction::descriptor()->field_count(), 3);
  EXPECT_EQ(v1::LayerKind::descriptor()->field_count(), 7);
  EXPECT_EQ(v1::LayerKind::Norms::descriptor()->field_count(), 6);
  EXPECT_EQ(v1::Attention::descriptor()->field_count(), 15);
  EXPECT_EQ(v1::Attention::Latent::descriptor()->field_count(), 4);
  EXPECT_EQ(v1::FeedForward::descriptor()->field_count(), 4);
  EXPECT_EQ(v1::Experts::descriptor()->field_count(), 10);
  EXPECT_EQ(v1::CountModelRequest::descriptor()->field_count(), 6);
  EXPECT_EQ(v1::TrainingStep::descriptor()->field_count(), 3);
  EXPECT_EQ(v1::TrainingStep::SequenceGroup::descriptor()->field_count(), 3);
  EXPECT_EQ(v1::ParallelLayout::descriptor()->field_count(), 7);
}

}  // namespace
}  // namespace sextant::server
