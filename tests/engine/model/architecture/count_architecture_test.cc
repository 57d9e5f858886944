// Small models, worked by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/model/architecture/count_weights.h"
#include "engine/model/architecture/model_weights.h"
#include "tests/engine/model/architecture/architectures.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using C = WeightComponent;
using ::testing::ElementsAre;

ArchitectureCount Count(const ArchitectureSpec& spec) {
  const auto count = CountArchitecture(spec, "model");
  EXPECT_THAT(count, IsOk());
  return count.value_or(ArchitectureCount());
}

TEST(CountArchitecture, OfAGatedGroupedQueryDecoderByHand) {
  const ArchitectureCount count = Count(SmallDecoder());
  EXPECT_EQ(count.of(C::kTokenEmbedding).total, 100 * 8);
  EXPECT_EQ(count.of(C::kAttentionQueryKeyValue).total, 2 * (8 * 8 + 2 * 4 * 8));
  EXPECT_EQ(count.of(C::kAttentionOutput).total, 2 * 8 * 8);
  EXPECT_EQ(count.of(C::kDenseFeedForward).total, 2 * 3 * 8 * 32);
  EXPECT_EQ(count.of(C::kNorm).total, (2 * 2 + 1) * 8);
  EXPECT_EQ(count.of(C::kOutputHead).total, 100 * 8);
  EXPECT_EQ(count.of(ModelPart::kInput).total, 800);
  EXPECT_EQ(count.of(ModelPart::kDecoder).total, 1960);
  EXPECT_EQ(count.of(ModelPart::kOutput).total, 800);
  EXPECT_EQ(count.all, (WeightCount{.total = 3560, .active = 3560, .trainable = 3560}));
  EXPECT_EQ(count.embedding, 1600);
  EXPECT_EQ(count.non_embedding(), 1960);
  EXPECT_EQ(count.padding, 0);
  ASSERT_EQ(count.by_layer_kind.size(), 1u);
  EXPECT_EQ(count.by_layer_kind[0].layers, 2);
  EXPECT_EQ(count.by_layer_kind[0].total_per_layer, 976);
  EXPECT_EQ(count.by_layer_kind[0].all_layers.total, 1952);
}

// The parameters that a change adds to the model, computed by hand.
struct Change {
  const char* name;
  void (*apply)(ArchitectureSpec&);
  WeightCount added;
};

// All that is added is met by every token and trained.
constexpr WeightCount All(int64_t added) { return {added, added, added}; }

void ExpectChanges(const ArchitectureSpec& base, const std::vector<Change>& changes) {
  const WeightCount before = Count(base).all;
  for (const Change& change : changes) {
    SCOPED_TRACE(change.name);
    ArchitectureSpec spec = base;
    change.apply(spec);
    const WeightCount after = Count(spec).all;
    EXPECT_EQ(after.total - before.total, change.added.total);
    EXPECT_EQ(after.active - before.active, change.added.active);
    EXPECT_EQ(after.trainable - before.trainable, change.added.trainable);
  }
}

using S = ArchitectureSpec;

TEST(CountArchitecture, EachOptionOutsideLayersAddsWhatItSays) {
  ExpectChanges(
      SmallDecoder(),
      {
          {"tied", [](S& s) { s.output.head = OutputHeadKind::kTied; }, All(-800)},
          {"no head", [](S& s) { s.output.head = OutputHeadKind::kNone; }, All(-800)},
          {"head bias", [](S& s) { s.output.head_bias = true; }, All(100)},
          {"bias of a tied head",
           [](S& s) { s.output = {.head = OutputHeadKind::kTied, .head_bias = true}; }, All(-700)},
          {"no final norm", [](S& s) { s.decoder.final_norm = false; }, All(-8)},
          {"final norm with a bias", [](S& s) { s.norm = NormVariant::kLayerNorm; }, All(8)},
          {"embedding norm", [](S& s) { s.decoder.embedding_norm = true; }, All(8)},
          {"positions", [](S& s) { s.decoder.learned_position_count = 10; }, All(80)},
          {"relative positions", [](S& s) { s.decoder.relative_position_bucket_count = 32; },
           All(32 * 4)},
          {"token types", [](S& s) { s.embedding.token_type_count = 3; }, All(24)},
          {"narrow embedding", [](S& s) { s.embedding.embedding_size = 4; },
           All(-2 * 400 + 2 * 4 * 8)},
          {"narrow embedding, no head",
           [](S& s) {
             s.embedding.embedding_size = 4;
             s.output.head = OutputHeadKind::kNone;
           },
           All(-800 - 400 + 4 * 8)},
          {"padded vocabulary", [](S& s) { s.embedding.padded_vocabulary_size = 128; },
           All(2 * 28 * 8)},
          {"pooler", [](S& s) { s.output.pooler = true; }, All(64 + 8)},
          {"pooler and classes",
           [](S& s) {
             s.output.pooler = true;
             s.output.pooled_class_count = 2;
           },
           All(64 + 8 + 2 * 8 + 2)},
          {"output transform", [](S& s) { s.output.transform = true; }, All(64 + 8 + 8)},
          {"one module that predicts ahead",
           [](S& s) { s.multi_token_prediction = MultiTokenPredictionSpec{.module_count = 1}; },
           All(3 * 8 + 8 * 16 + 976)},
          {"three such modules without final norms",
           [](S& s) {
             s.multi_token_prediction =
                 MultiTokenPredictionSpec{.module_count = 3, .final_norm = false};
           },
           All(3 * (2 * 8 + 8 * 16 + 976))},
      });
}

TEST(CountArchitecture, EachOptionOfALayerAddsWhatItSays) {
  ExpectChanges(
      SmallDecoder(),
      {
          {"multi-query", [](S& s) { s.layer_kinds[0].attention->key_value_head_count = 1; },
           All(-2 * 2 * 2 * 8)},
          {"wider values", [](S& s) { s.layer_kinds[0].attention->value_head_size = 3; },
           All(2 * (2 * 8 + 4 * 8))},
          {"query bias", [](S& s) { s.layer_kinds[0].attention->query_bias = true; }, All(16)},
          {"key bias", [](S& s) { s.layer_kinds[0].attention->key_bias = true; }, All(8)},
          {"value bias", [](S& s) { s.layer_kinds[0].attention->value_bias = true; }, All(8)},
          {"output bias", [](S& s) { s.layer_kinds[0].attention->output_bias = true; }, All(16)},
          {"norm of each head",
           [](S& s) { s.layer_kinds[0].attention->query_key_norm = QueryKeyNorm::kPerHead; },
           All(2 * (2 + 2))},
          {"norm of all heads",
           [](S& s) { s.layer_kinds[0].attention->query_key_norm = QueryKeyNorm::kAllHeads; },
           All(2 * (8 + 4))},
          {"norm of each head, another than the layer's",
           [](S& s) {
             s.layer_kinds[0].attention->query_key_norm = QueryKeyNorm::kPerHead;
             s.layer_kinds[0].attention->query_key_norm_variant = NormVariant::kLayerNorm;
           },
           All(2 * 2 * (2 + 2))},
          {"sinks", [](S& s) { s.layer_kinds[0].attention->sinks = true; }, All(2 * 4)},
          {"a gate for each channel of the output",
           [](S& s) { s.layer_kinds[0].attention->output_gate = OutputGate::kPerChannel; },
           All(2 * 8 * 8)},
          {"a gate for each head",
           [](S& s) { s.layer_kinds[0].attention->output_gate = OutputGate::kPerHead; },
           All(2 * 4 * 8)},
          {"values that are keys, which are normed",
           [](S& s) {
             s.layer_kinds[0].attention->query_key_norm = QueryKeyNorm::kPerHead;
             s.layer_kinds[0].attention->values_are_keys = true;
           },
           All(2 * (2 + 2 - 4 * 8))},
          {"a scale of the output, which is not trained",
           [](S& s) { s.layer_kinds[0].output_scale = true; },
           {2, 2, 0}},
          {"an activation with parameters",
           [](S& s) { s.layer_kinds[0].feed_forward->activation_parameter_count = 2; }, All(2 * 2)},
          {"window", [](S& s) { s.layer_kinds[0].attention->window = 16; }, All(0)},
          {"chunk", [](S& s) { s.layer_kinds[0].attention->chunk = 16; }, All(0)},
          {"ungated", [](S& s) { s.layer_kinds[0].feed_forward->kind = FeedForwardKind::kPlain; },
           All(-2 * 8 * 32)},
          {"bias of gate and up", [](S& s) { s.layer_kinds[0].feed_forward->input_bias = true; },
           All(2 * 2 * 32)},
          {"bias of down", [](S& s) { s.layer_kinds[0].feed_forward->output_bias = true; },
           All(2 * 8)},
          {"layer norms", [](S& s) { s.layer_kinds[0].norm = NormVariant::kLayerNorm; },
           All(2 * 2 * 8)},
          {"layer norms without a bias",
           [](S& s) { s.layer_kinds[0].norm = NormVariant::kBiasFreeLayerNorm; }, All(0)},
          {"norms without parameters",
           [](S& s) { s.layer_kinds[0].norm = NormVariant::kNonParametricLayerNorm; },
           All(-2 * 2 * 8)},
          {"a norm that parallel branches share",
           [](S& s) { s.layer_kinds[0].norms.before_feed_forward = false; }, All(-16)},
          {"sandwich norms",
           [](S& s) {
             s.layer_kinds[0].norms.after_attention = true;
             s.layer_kinds[0].norms.after_feed_forward = true;
           },
           All(32)},
          {"attention alone",
           [](S& s) {
             s.layer_kinds[0].feed_forward.reset();
             s.layer_kinds[0].norms.before_feed_forward = false;
           },
           All(-2 * (768 + 8))},
          {"a second kind of layer",
           [](S& s) {
             s.layer_kinds.push_back(DenseLayer(Heads(4, 1, 2), Gated(32)));
             s.layer_kinds[1].name = "multi-query";
             s.decoder.layers.push_back({.layer_kind = 1, .count = 3});
           },
           All(3 * (976 - 32))},
      });
}

// 8 to 4 heads of a plain key of 1 and a rotary one of 1, values of 2, latents of 3 and maybe 5;
// multi-head attention has 64 + 64 + 64 + 64 parameters a layer.
TEST(CountArchitecture, OfLatentAttentionByHand) {
  ArchitectureSpec base = SmallDecoder();
  base.layer_kinds[0].attention = Heads(4, 4, 2);
  const int64_t key_value = (3 + 1) * 8 + 3 + 4 * (1 + 2) * 3;
  ASSERT_EQ(key_value, 71);
  ExpectChanges(base,
                {{"queries as they are",
                  [](S& s) {
                    s.layer_kinds[0].attention->latent =
                        LatentSpec{.key_value_rank = 3, .rotary_size = 1};
                  },
                  All(2 * (64 + 71 + 64 - 256))},
                 {"queries compressed",
                  [](S& s) {
                    s.layer_kinds[0].attention->latent =
                        LatentSpec{.query_rank = 5, .key_value_rank = 3, .rotary_size = 1};
                  },
                  All(2 * (5 * 8 + 5 + 8 * 5 + 71 + 64 - 256))},
                 {"and biased",
                  [](S& s) {
                    s.layer_kinds[0].attention->latent = LatentSpec{
                        .query_rank = 5, .key_value_rank = 3, .rotary_size = 1, .down_bias = true};
                  },
                  All(2 * (5 * 8 + 5 + 8 * 5 + 71 + 64 - 256 + 5 + 4))}});
}

// An expert has 3 * 8 * 3 = 72 parameters, the router 32; experts take the place of 768.
TEST(CountArchitecture, OfExpertsByHand) {
  const ArchitectureCount count = Count(SmallMixture());
  EXPECT_EQ(count.of(C::kRouter), (WeightCount{64, 64, 64}));
  EXPECT_EQ(count.of(C::kRoutedExperts), (WeightCount{576, 288, 576}));
  EXPECT_EQ(count.all.total, 3560 + 2 * (4 * 72 + 32 - 768));
  EXPECT_EQ(count.all.active, 3560 + 2 * (2 * 72 + 32 - 768));
  EXPECT_EQ(count.by_layer_kind[0].active_per_layer, 976 + 2 * 72 + 32 - 768);
  ExpectChanges(
      SmallMixture(),
      {{"router bias", [](S& s) { s.layer_kinds[0].experts->router_bias = true; }, All(8)},
       {"correction bias, which no gradient moves",
        [](S& s) { s.layer_kinds[0].experts->router_correction_bias = true; },
        {8, 8, 0}},
       {"biases of the experts",
        [](S& s) {
          s.layer_kinds[0].experts->expert.input_bias = true;
          s.layer_kinds[0].experts->expert.output_bias = true;
        },
        {2 * 4 * (6 + 8), 2 * 2 * (6 + 8), 2 * 4 * (6 + 8)}},
       {"shared experts",
        [](S& s) {
          s.layer_kinds[0].experts->shared_expert_count = 2;
          s.layer_kinds[0].experts->shared_expert = Gated(5);
        },
        All(2 * 2 * 120)},
       {"shared experts with a gate",
        [](S& s) {
          s.layer_kinds[0].experts->shared_expert_count = 1;
          s.layer_kinds[0].experts->shared_expert = Gated(5);
          s.layer_kinds[0].experts->shared_expert_gate = true;
        },
        All(2 * (120 + 8))},
       {"a dense feed-forward and experts", [](S& s) { s.layer_kinds[0].feed_forward = Gated(32); },
        All(2 * 768)},
       {"experts without parameters, which a router's bias corrects, too",
        [](S& s) {
          s.layer_kinds[0].experts->zero_expert_count = 2;
          s.layer_kinds[0].experts->router_correction_bias = true;
        },
        {2 * (2 * 8 + 6), 2 * (2 * 8 + 6), 2 * 2 * 8}},
       // 3 x 5 x 3 = 45 an expert, and two matrices of 8 x 5.
       {"experts of a width of 5",
        [](S& s) { s.layer_kinds[0].experts->latent_size = 5; },
        {2 * (80 - 4 * 27), 2 * (80 - 2 * 27), 2 * (80 - 4 * 27)}},
       {"experts and a feed-forward with norms of their own, and scales of experts",
        [](S& s) {
          s.layer_kinds[0].feed_forward = Gated(32);
          s.layer_kinds[0].norms.before_experts = true;
          s.layer_kinds[0].norms.before_sum = true;
          s.layer_kinds[0].experts->expert_scales = true;
        },
        All(2 * (768 + 4 * 8 + 4))},
       {"all experts",
        [](S& s) { s.layer_kinds[0].experts->experts_per_token = 4; },
        {0, 288, 0}}});
}

// Rank 2 on an n x m matrix adds 2 (n + m): 32 on the query's 8 x 8, 24 on the value's 4 x 8.
TEST(CountArchitecture, OfAdaptersAndFrozenPartsByHand) {
  ExpectChanges(SmallDecoder(),
                {{"frozen layers", [](S& s) { s.decoder.layers[0].frozen = true; }, {0, 0, -1952}},
                 {"a frozen layer of two",
                  [](S& s) {
                    s.decoder.layers = {{.layer_kind = 0, .count = 1, .frozen = true},
                                        {.layer_kind = 0, .count = 1}};
                  },
                  {0, 0, -976}},
                 {"a frozen component",
                  [](S& s) {
                    s.frozen_components = {C::kTokenEmbedding, C::kNorm};
                  },
                  {0, 0, -840}},
                 {"adapters",
                  [](S& s) {
                    s.adapters = AdapterSpec{
                        .rank = 2, .targets = {{"attention", "query"}, {"attention", "value"}}};
                  },
                  All(2 * (32 + 24))},
                 // 8 x 8 twice, 4 x 8 twice and three of 32 x 8 in each of two layers.
                 {"adapters of all matrices of layers",
                  [](S& s) {
                    s.adapters = AdapterSpec{.rank = 2, .targets = {{"all-linear", ""}}};
                  },
                  All(2 * (2 * 32 + 2 * 24 + 3 * 80))},
                 {"adapters alone",
                  [](S& s) {
                    s.adapters = AdapterSpec{.rank = 2, .targets = {{"attention", "query"}}};
                    s.base_frozen = true;
                  },
                  {64, 64, 64 - 3560}},
                 {"adapters of frozen layers",
                  [](S& s) {
                    s.adapters = AdapterSpec{.rank = 2, .targets = {{"attention", "query"}}};
                    s.decoder.layers[0].frozen = true;
                  },
                  {64, 64, 64 - 1952}},
                 {"adapter of the head",
                  [](S& s) {
                    s.adapters = AdapterSpec{.rank = 2, .targets = {{"output_head", ""}}};
                  },
                  All(2 * 108)}});
  ExpectChanges(SmallMixture(),
                {{"adapters of experts, each its own",
                  [](S& s) {
                    s.adapters = AdapterSpec{.rank = 2, .targets = {{"experts", "up"}}};
                  },
                  {2 * 4 * 22, 2 * 2 * 22, 2 * 4 * 22}},
                 // Attention, the router of 4 x 8, and three matrices of each expert.
                 {"adapters of all matrices of layers",
                  [](S& s) {
                    s.adapters = AdapterSpec{.rank = 2, .targets = {{"all-linear", ""}}};
                  },
                  {2 * (112 + 24 + 4 * 66), 2 * (112 + 24 + 2 * 66), 2 * (112 + 24 + 4 * 66)}}});
}

// Attention 4 * 64, feed-forward 768, norms 8: encoder 256 + 768 + 16 and a final norm, decoder
// twice the attention and a norm more.
TEST(CountArchitecture, OfAnEncoderAndADecoderByHand) {
  const ArchitectureCount count = Count(SmallEncoderDecoder());
  EXPECT_EQ(count.of(ModelPart::kEncoder).total, 256 + 768 + 16 + 8);
  EXPECT_EQ(count.of(ModelPart::kDecoder).total, 2 * 256 + 768 + 24 + 8);
  EXPECT_EQ(count.all.total, 2 * 800 + 1048 + 1312);
}

TEST(CountArchitecture, TellsThePaddingApart) {
  ArchitectureSpec spec = SmallDecoder();
  spec.embedding.padded_vocabulary_size = PaddedVocabularySize(100, 64);
  spec.output.head_bias = true;
  EXPECT_EQ(Count(spec).padding, 28 * 8 + 28 * 8 + 28);
  EXPECT_EQ(PaddedVocabularySize(50257, 1024), 51200);
  EXPECT_EQ(PaddedVocabularySize(128, 64), 128);
}

TEST(CountArchitecture, RefusesWhatAnInt64CantHold) {
  ArchitectureSpec spec = SmallMixture();
  spec.hidden_size = 10'000'000;
  spec.layer_kinds[0].experts->expert_count = 1'000'000;
  spec.layer_kinds[0].experts->expert.size = 100'000'000;
  spec.decoder.layers[0].count = 1'000'000;
  EXPECT_THAT(CountArchitecture(spec, "model"), NamesFields(ElementsAre("model")));
}

TEST(WeightNameOf, SaysPartKindModuleNameAndRole) {
  ArchitectureSpec spec = SmallEncoderDecoder();
  spec.layer_kinds[1].attention->query_bias = true;
  spec.adapters = AdapterSpec{.rank = 1, .targets = {{"cross_attention", "output"}}};
  std::vector<std::string> names;
  for (const WeightTensor& t : WeightsOf(spec)) {
    if (t.part != ModelPart::kEncoder) names.push_back(WeightNameOf(spec, t));
  }
  EXPECT_THAT(
      names,
      ElementsAre(
          "input.token_embedding.weight", "decoder.norm.final.weight",
          "decoder.decoder.attention.query.weight", "decoder.decoder.attention.query.bias",
          "decoder.decoder.attention.key.weight", "decoder.decoder.attention.value.weight",
          "decoder.decoder.attention.output.weight", "decoder.decoder.cross_attention.query.weight",
          "decoder.decoder.cross_attention.key.weight",
          "decoder.decoder.cross_attention.value.weight",
          "decoder.decoder.cross_attention.output.weight",
          "decoder.decoder.cross_attention.output.adapter_down",
          "decoder.decoder.cross_attention.output.adapter_up",
          "decoder.decoder.feed_forward.gate.weight", "decoder.decoder.feed_forward.up.weight",
          "decoder.decoder.feed_forward.down.weight",
          "decoder.decoder.norm.before_attention.weight",
          "decoder.decoder.norm.before_cross_attention.weight",
          "decoder.decoder.norm.before_feed_forward.weight", "output.output_head.weight"));
}

}  // namespace
}  // namespace sextant
