// Nonsense is refused, with the name of the invalid field.
#include "engine/model/architecture/check_architecture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/engine/model/architecture/architectures.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using S = ArchitectureSpec;
using ::testing::ElementsAre;
using ::testing::IsSupersetOf;

absl::Status Check(const ArchitectureSpec& spec) {
  FieldViolations violations;
  CheckArchitecture(spec, "m", violations);
  return violations.ToStatus();
}

TEST(CheckArchitecture, SaysOnceThatThereAreNoKindsOfLayers) {
  ArchitectureSpec spec = SmallDecoder();
  spec.layer_kinds.clear();
  EXPECT_THAT(Check(spec), NamesFields(ElementsAre("m.layer_kinds")));
}

TEST(CheckArchitecture, NamesAllFaultsAtOnce) {
  ArchitectureSpec spec = SmallDecoder();
  spec.hidden_size = 0;
  spec.layer_kinds[0].attention->key_value_head_count = 3;
  spec.output.head = OutputHeadKind::kUnspecified;
  EXPECT_THAT(Check(spec), NamesFields(ElementsAre(
                               "m.hidden_size", "m.layer_kinds[0].attention.key_value_head_count",
                               "m.output.head")));
}

// A change of a model, or of its first kind of layer, and the field that it makes invalid.
template <typename Changed>
struct Fault {
  const char* field;
  void (*apply)(Changed&);
};

void ExpectFaults(const ArchitectureSpec& base, const std::vector<Fault<S>>& faults) {
  ASSERT_THAT(Check(base), IsOk());
  for (const Fault<S>& fault : faults) {
    ArchitectureSpec spec = base;
    fault.apply(spec);
    EXPECT_THAT(Check(spec), NamesFields(IsSupersetOf({std::string(fault.field)})));
  }
}

// Fields are below "m.layer_kinds[0]".
void ExpectLayerFaults(const ArchitectureSpec& base, const std::vector<Fault<LayerSpec>>& faults) {
  ASSERT_THAT(Check(base), IsOk());
  for (const Fault<LayerSpec>& fault : faults) {
    ArchitectureSpec spec = base;
    fault.apply(spec.layer_kinds[0]);
    EXPECT_THAT(Check(spec),
                NamesFields(IsSupersetOf({absl::StrCat("m.layer_kinds[0]", fault.field)})));
  }
}

AdapterSpec AdapterOf(const char* module, const char* name) {
  return {.rank = 1, .targets = {{module, name}}};
}

MultiTokenPredictionSpec Modules(int64_t count, int layer_kind = 0) {
  return {.module_count = count, .layer_kind = layer_kind};
}

// Whatever comes over the wire is refused in a bounded answer, by a bounded number of looks.
TEST(CheckArchitecture, BoundsWhatItSaysAboutRuns) {
  ArchitectureSpec spec = SmallDecoder();
  spec.decoder.layers.assign(4096, {.layer_kind = -1, .count = -1});
  FieldViolations violations;
  CheckArchitecture(spec, "m", violations);
  // 16 runs at two fields each, that there are more of them, and that kind 0 is of no layer.
  EXPECT_EQ(violations.all().size(), 34u);
  EXPECT_EQ(violations.all().back().field, "m.decoder.layers");
  EXPECT_EQ(violations.all().back().description, "has 4080 more invalid runs");

  spec.decoder.layers.assign(100'000, {.layer_kind = -1, .count = -1});
  EXPECT_THAT(Check(spec), NamesFields(ElementsAre("m.layer_kinds[0]", "m.decoder.layers")));
  spec.decoder.layers.assign(4096, {.layer_kind = 0, .count = 1});
  EXPECT_THAT(Check(spec), IsOk());
}

TEST(CheckArchitecture, BoundsListsAndNames) {
  const std::string longest(64, 'x');
  ExpectFaults(
      SmallDecoder(),
      {
          {"m.layer_kinds", [](S& s) { s.layer_kinds.assign(129, s.layer_kinds[0]); }},
          {"m.layer_kinds[0].name", [](S& s) { s.layer_kinds[0].name = std::string(65, 'x'); }},
          {"m.layer_kinds[0].name", [](S& s) { s.layer_kinds[0].name = "new\nline"; }},
          {"m.layer_kinds[0].name", [](S& s) { s.layer_kinds[0].name = "caf\xc3\xa9"; }},
          {"m.frozen_components",
           [](S& s) {
             s.frozen_components.assign(kWeightComponentCount + 1, WeightComponent::kNorm);
           }},
      });
  ArchitectureSpec spec = SmallDecoder();
  spec.layer_kinds[0].name = longest;
  EXPECT_THAT(Check(spec), IsOk());
}

// A name that is unfit to be repeated isn't: not as a kind's, nor as a target's.
TEST(CheckArchitecture, RepeatsNoNameThatIsTooLong) {
  ArchitectureSpec spec = SmallDecoder();
  spec.layer_kinds[0].name = std::string(1'000'000, 'x');
  spec.layer_kinds.push_back(spec.layer_kinds[0]);
  EXPECT_LT(Check(spec).message().size(), 1000u);
  spec = SmallDecoder();
  spec.adapters = AdapterSpec{.rank = 1, .targets = {{std::string(1'000'000, 'x'), ""}}};
  EXPECT_THAT(Check(spec), NamesFields(ElementsAre("m.adapters.targets[0]")));
  EXPECT_LT(Check(spec).message().size(), 1000u);
}

TEST(CheckArchitecture, RefusesNonsenseOutsideLayers) {
  ExpectFaults(
      SmallDecoder(),
      {
          {"m.hidden_size", [](S& s) { s.hidden_size = 0; }},
          {"m.hidden_size", [](S& s) { s.hidden_size = -8; }},
          {"m.hidden_size", [](S& s) { s.hidden_size = std::numeric_limits<int64_t>::max(); }},
          {"m.norm", [](S& s) { s.norm = NormVariant::kUnspecified; }},
          {"m.embedding.vocabulary_size", [](S& s) { s.embedding.vocabulary_size = 0; }},
          {"m.embedding.padded_vocabulary_size",
           [](S& s) { s.embedding.padded_vocabulary_size = 99; }},
          {"m.embedding.embedding_size", [](S& s) { s.embedding.embedding_size = -1; }},
          {"m.embedding.token_type_count", [](S& s) { s.embedding.token_type_count = -1; }},
          {"m.output.head", [](S& s) { s.output.head = OutputHeadKind::kUnspecified; }},
          {"m.output.head_bias",
           [](S& s) { s.output = {.head = OutputHeadKind::kNone, .head_bias = true}; }},
          {"m.output.transform",
           [](S& s) { s.output = {.head = OutputHeadKind::kNone, .transform = true}; }},
          {"m.output.pooled_class_count", [](S& s) { s.output.pooled_class_count = 2; }},
          {"m.multi_token_prediction.module_count",
           [](S& s) { s.multi_token_prediction = MultiTokenPredictionSpec(); }},
          {"m.multi_token_prediction.layer_kind",
           [](S& s) { s.multi_token_prediction = Modules(1, 1); }},
          {"m.multi_token_prediction",
           [](S& s) {
             s.multi_token_prediction = Modules(1);
             s.output.head = OutputHeadKind::kNone;
           }},
          {"m.base_frozen", [](S& s) { s.base_frozen = true; }},
          {"m.frozen_components[0]",
           [](S& s) { s.frozen_components = {WeightComponent::kAdapter}; }},
          {"m.adapters.rank",
           [](S& s) {
             s.adapters = AdapterSpec{.targets = {{"attention", "query"}}};
           }},
          {"m.adapters.targets", [](S& s) { s.adapters = AdapterSpec{.rank = 1}; }},
          {"m.adapters.targets[0]", [](S& s) { s.adapters = AdapterOf("attention", "q"); }},
          {"m.adapters.targets[0]",  // no matrix
           [](S& s) { s.adapters = AdapterOf("norm", "final"); }},
          {"m.adapters.targets[0]",  // looked up a pair of tokens
           [](S& s) {
             s.decoder.relative_position_bucket_count = 32;
             s.adapters = AdapterOf("relative_position_bias", "");
           }},
          {"m.adapters.targets[1]",  // once more
           [](S& s) {
             s.adapters =
                 AdapterSpec{.rank = 1, .targets = {{"attention", "query"}, {"all-linear", ""}}};
           }},
          {"m.adapters.targets[1]",
           [](S& s) {
             s.adapters = AdapterSpec{.rank = 1,
                                      .targets = {{"attention", "query"}, {"attention", "query"}}};
           }},
          {"m.adapters.targets[1]",  // as a part of three
           [](S& s) {
             s.adapters = AdapterSpec{
                 .rank = 1, .targets = {{"attention", "query+key+value"}, {"attention", "key"}}};
           }},
          {"m.adapters.targets[1]",
           [](S& s) {
             s.adapters =
                 AdapterSpec{.rank = 1, .targets = {{"attention", "query"}, {"all-fused", ""}}};
           }},
          {"m.adapters.targets[0]",  // all three, or each alone
           [](S& s) { s.adapters = AdapterOf("attention", "query+value"); }},
          {"m.adapters.targets[0]",  // of another module
           [](S& s) { s.adapters = AdapterOf("feed_forward", "query+key+value"); }},
      });
}

TEST(CheckArchitecture, RefusesNonsenseOfStacks) {
  ExpectFaults(
      SmallDecoder(),
      {
          {"m", [](S& s) { s.decoder.layers.clear(); }},
          {"m.layer_kinds", [](S& s) { s.layer_kinds.clear(); }},
          {"m.layer_kinds[1]", [](S& s) { s.layer_kinds.push_back(s.layer_kinds[0]); }},
          {"m.layer_kinds[1].name", [](S& s) { s.layer_kinds.push_back(s.layer_kinds[0]); }},
          {"m.decoder.layers[0].count", [](S& s) { s.decoder.layers[0].count = 0; }},
          {"m.decoder.layers[0].count", [](S& s) { s.decoder.layers[0].count = -1; }},
          {"m.decoder.layers[0].layer_kind", [](S& s) { s.decoder.layers[0].layer_kind = 1; }},
          {"m.decoder.layers[0].layer_kind", [](S& s) { s.decoder.layers[0].layer_kind = -1; }},
          {"m.decoder.layers",
           [](S& s) {
             s.decoder.layers = {{0, 1'000'000}, {0, 1'000'000}};
           }},
          {"m.decoder.learned_position_count", [](S& s) { s.decoder.learned_position_count = -1; }},
          {"m.decoder.first_position", [](S& s) { s.decoder.first_position = 1; }},
          {"m.decoder.first_position",
           [](S& s) {
             s.decoder.learned_position_count = 4;
             s.decoder.first_position = 4;
           }},
          {"m.decoder.first_position",
           [](S& s) {
             s.decoder.learned_position_count = 4;
             s.decoder.first_position = -1;
           }},
          {"m.encoder.layers", [](S& s) { s.encoder.learned_position_count = 4; }},
          {"m.encoder.layers",
           [](S& s) {
             s.encoder.layers = {{0, 1}};
           }},  // causal
          {"m.decoder.relative_position_bucket_count",
           [](S& s) {
             s.decoder.relative_position_bucket_count = 32;
             s.layer_kinds.push_back(DenseLayer(Heads(2, 2, 2), Gated(4)));
             s.layer_kinds[1].name = "two heads";
             s.decoder.layers.push_back({1, 1});
           }},
      });
  ExpectFaults(SmallEncoderDecoder(),
               {
                   {"m.decoder.layers", [](S& s) { s.encoder.layers.clear(); }},
                   {"m.encoder.layers",
                    [](S& s) {
                      s.encoder.layers.push_back({1, 1});
                    }},
                   {"m.decoder.layers",
                    [](S& s) {
                      s.decoder.layers = {{0, 1}};
                    }},
                   {"m.multi_token_prediction.layer_kind",
                    [](S& s) { s.multi_token_prediction = Modules(1, 1); }},
                   {"m.layer_kinds[1].cross_attention.mask",
                    [](S& s) { s.layer_kinds[1].cross_attention->mask = AttentionMask::kCausal; }},
                   {"m.layer_kinds[1].cross_attention.mask",
                    [](S& s) { s.layer_kinds[1].cross_attention->window = 4; }},
                   {"m.layer_kinds[1].cross_attention.latent",
                    [](S& s) {
                      s.layer_kinds[1].cross_attention->latent = LatentSpec{.key_value_rank = 1};
                    }},
               });
}

// The second of two layers may use the first's choice.
TEST(CheckArchitecture, RefusesIndexersSharedBeforeTheyAreThere) {
  ArchitectureSpec spec = SmallDecoder();
  spec.layer_kinds[0].attention = Heads(4, 4, 2);
  spec.layer_kinds[0].attention->latent = LatentSpec{
      .query_rank = 5, .key_value_rank = 3, .rotary_size = 1, .indexer = IndexerSpec{2, 4, 3}};
  spec.layer_kinds.push_back(spec.layer_kinds[0]);
  spec.layer_kinds[1].name = "shared";
  spec.layer_kinds[1].attention->latent->indexer->shared = true;
  spec.decoder.layers = {{0, 1}, {1, 1}};
  FieldViolations violations;
  CheckArchitecture(spec, "m", violations);
  EXPECT_TRUE(violations.empty());
  ExpectFaults(spec, {{"m.decoder.layers", [](S& s) { s.decoder.layers = {{1, 1}, {0, 1}}; }}});
}

TEST(CheckArchitecture, RefusesNonsenseOfLayers) {
  ExpectLayerFaults(
      SmallDecoder(),
      {
          {".name", [](auto& l) { l.name.clear(); }},
          {".norm", [](auto& l) { l.norm = NormVariant::kUnspecified; }},
          {"",
           [](auto& l) {
             l.attention.reset();
             l.feed_forward.reset();
           }},
          {".norms.before_attention", [](auto& l) { l.attention.reset(); }},
          {".norms.before_feed_forward", [](auto& l) { l.feed_forward.reset(); }},
          {".norms.before_cross_attention", [](auto& l) { l.norms.before_cross_attention = true; }},
          {".attention.head_count", [](auto& l) { l.attention->head_count = 0; }},
          {".attention.key_value_head_count",
           [](auto& l) { l.attention->key_value_head_count = 3; }},
          {".attention.query_key_head_size", [](auto& l) { l.attention->query_key_head_size = 0; }},
          {".attention.value_head_size", [](auto& l) { l.attention->value_head_size = -1; }},
          {".attention.window", [](auto& l) { l.attention->window = -1; }},
          {".attention.chunk",
           [](auto& l) {
             l.attention->window = 4;
             l.attention->chunk = 4;
           }},
          {".attention.query_key_norm_variant",
           [](auto& l) { l.attention->query_key_norm_variant = NormVariant::kRmsNorm; }},
          {".attention.key_value_head_count",  // 2 of 4 heads
           [](auto& l) { l.attention->latent = LatentSpec{.key_value_rank = 1}; }},
          {".attention.latent.key_value_rank", [](auto& l) { l.attention->latent = LatentSpec(); }},
          {".attention.latent.rotary_size",
           [](auto& l) {
             l.attention->latent = LatentSpec{.key_value_rank = 1, .rotary_size = 2};
           }},
          {".attention.latent",
           [](auto& l) {
             l.attention->latent = LatentSpec{.key_value_rank = 1};
             l.attention->key_bias = true;
           }},
          {".attention.query_key_norm",
           [](auto& l) {
             l.attention->latent = LatentSpec{.key_value_rank = 1};
             l.attention->query_key_norm = QueryKeyNorm::kPerHead;
           }},
          {".attention.query_key_norm", [](auto& l) { l.attention->values_are_keys = true; }},
          {".attention.value_head_size",
           [](auto& l) {
             l.attention->query_key_norm = QueryKeyNorm::kPerHead;
             l.attention->values_are_keys = true;
             l.attention->value_head_size = 3;
           }},
          {".attention.value_bias",
           [](auto& l) {
             l.attention->query_key_norm = QueryKeyNorm::kPerHead;
             l.attention->values_are_keys = true;
             l.attention->value_bias = true;
           }},
          {".norms.before_experts", [](auto& l) { l.norms.before_experts = true; }},
          {".norms.before_sum", [](auto& l) { l.norms.before_sum = true; }},
          {".feed_forward.kind",
           [](auto& l) { l.feed_forward->kind = FeedForwardKind::kUnspecified; }},
          {".feed_forward.size", [](auto& l) { l.feed_forward->size = 0; }},
      });
  ExpectLayerFaults(
      SmallMixture(),
      {
          {".experts.expert_count", [](auto& l) { l.experts->expert_count = 0; }},
          {".experts.experts_per_token", [](auto& l) { l.experts->experts_per_token = 5; }},
          {".experts.experts_per_token", [](auto& l) { l.experts->experts_per_token = 0; }},
          {".experts.expert.size", [](auto& l) { l.experts->expert.size = 0; }},
          {".experts.shared_expert_count", [](auto& l) { l.experts->shared_expert_count = -1; }},
          {".experts.shared_expert.size", [](auto& l) { l.experts->shared_expert_count = 1; }},
          {".experts.shared_expert", [](auto& l) { l.experts->shared_expert = Gated(4); }},
          {".experts.shared_expert_gate", [](auto& l) { l.experts->shared_expert_gate = true; }},
          {".experts.latent_size", [](auto& l) { l.experts->latent_size = -1; }},
          {".experts.zero_expert_count", [](auto& l) { l.experts->zero_expert_count = -1; }},
          {".experts.latent_size",
           [](auto& l) {
             l.feed_forward = Gated(4);
             l.norms.before_experts = true;
             l.experts->latent_size = 4;
           }},
          {".experts.shared_expert_count",
           [](auto& l) {
             l.feed_forward = Gated(4);
             l.norms.before_experts = true;
             l.experts->shared_expert_count = 1;
             l.experts->shared_expert = Gated(4);
           }},
          {".norms.before_feed_forward",
           [](auto& l) {
             l.feed_forward = Gated(4);
             l.norms.before_experts = true;
             l.norms.before_feed_forward = false;
           }},
      });
}

}  // namespace
}  // namespace sextant
