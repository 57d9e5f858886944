// Nonsense is refused, with the name of the invalid field.
#include "engine/model/architecture/check_architecture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

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

struct Fault {
  const char* field;
  void (*apply)(ArchitectureSpec&);
};

void ExpectFaults(const ArchitectureSpec& base, const std::vector<Fault>& faults) {
  ASSERT_THAT(Check(base), IsOk());
  for (const Fault& fault : faults) {
    ArchitectureSpec spec = base;
    fault.apply(spec);
    EXPECT_THAT(Check(spec), NamesFields(IsSupersetOf({std::string(fault.field)})));
  }
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
           [](S& s) { s.frozen_components.assign(20, WeightComponent::kNorm); }},
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
           [](S& s) {
             s.multi_token_prediction =
                 MultiTokenPredictionSpec{.module_count = 1, .layer_kind = 1};
           }},
          {"m.multi_token_prediction",
           [](S& s) {
             s.multi_token_prediction = MultiTokenPredictionSpec{.module_count = 1};
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
          {"m.adapters.targets[0]",
           [](S& s) {
             s.adapters = AdapterSpec{.rank = 1, .targets = {{"attention", "q"}}};
           }},
          {"m.adapters.targets[0]",  // no matrix
           [](S& s) {
             s.adapters = AdapterSpec{.rank = 1, .targets = {{"norm", "final"}}};
           }},
          {"m.adapters.targets[0]",  // looked up a pair of tokens
           [](S& s) {
             s.decoder.relative_position_bucket_count = 32;
             s.adapters = AdapterSpec{.rank = 1, .targets = {{"relative_position_bias", ""}}};
           }},
          {"m.adapters.targets[1]",
           [](S& s) {
             s.adapters = AdapterSpec{.rank = 1,
                                      .targets = {{"attention", "query"}, {"attention", "query"}}};
           }},
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
                    [](S& s) {
                      s.multi_token_prediction =
                          MultiTokenPredictionSpec{.module_count = 1, .layer_kind = 1};
                    }},
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

LayerSpec& Layer(S& s) { return s.layer_kinds[0]; }

TEST(CheckArchitecture, RefusesNonsenseOfLayers) {
  ExpectFaults(
      SmallDecoder(),
      {
          {"m.layer_kinds[0].name", [](S& s) { Layer(s).name.clear(); }},
          {"m.layer_kinds[0].norm", [](S& s) { Layer(s).norm = NormVariant::kUnspecified; }},
          {"m.layer_kinds[0]",
           [](S& s) {
             Layer(s).attention.reset();
             Layer(s).feed_forward.reset();
           }},
          {"m.layer_kinds[0].norms.before_attention", [](S& s) { Layer(s).attention.reset(); }},
          {"m.layer_kinds[0].norms.before_feed_forward",
           [](S& s) { Layer(s).feed_forward.reset(); }},
          {"m.layer_kinds[0].norms.before_cross_attention",
           [](S& s) { Layer(s).norms.before_cross_attention = true; }},
          {"m.layer_kinds[0].attention.head_count",
           [](S& s) { Layer(s).attention->head_count = 0; }},
          {"m.layer_kinds[0].attention.key_value_head_count",
           [](S& s) { Layer(s).attention->key_value_head_count = 3; }},
          {"m.layer_kinds[0].attention.query_key_head_size",
           [](S& s) { Layer(s).attention->query_key_head_size = 0; }},
          {"m.layer_kinds[0].attention.value_head_size",
           [](S& s) { Layer(s).attention->value_head_size = -1; }},
          {"m.layer_kinds[0].attention.window", [](S& s) { Layer(s).attention->window = -1; }},
          {"m.layer_kinds[0].attention.chunk",
           [](S& s) {
             Layer(s).attention->window = 4;
             Layer(s).attention->chunk = 4;
           }},
          {"m.layer_kinds[0].attention.query_key_norm_variant",
           [](S& s) { Layer(s).attention->query_key_norm_variant = NormVariant::kRmsNorm; }},
          {"m.layer_kinds[0].attention.key_value_head_count",  // 2 of 4 heads
           [](S& s) { Layer(s).attention->latent = LatentSpec{.key_value_rank = 1}; }},
          {"m.layer_kinds[0].attention.latent.key_value_rank",
           [](S& s) { Layer(s).attention->latent = LatentSpec(); }},
          {"m.layer_kinds[0].attention.latent.rotary_size",
           [](S& s) {
             Layer(s).attention->latent = LatentSpec{.key_value_rank = 1, .rotary_size = 2};
           }},
          {"m.layer_kinds[0].attention.latent",
           [](S& s) {
             Layer(s).attention->latent = LatentSpec{.key_value_rank = 1};
             Layer(s).attention->key_bias = true;
           }},
          {"m.layer_kinds[0].attention.query_key_norm",
           [](S& s) {
             Layer(s).attention->latent = LatentSpec{.key_value_rank = 1};
             Layer(s).attention->query_key_norm = QueryKeyNorm::kPerHead;
           }},
          {"m.layer_kinds[0].feed_forward.kind",
           [](S& s) { Layer(s).feed_forward->kind = FeedForwardKind::kUnspecified; }},
          {"m.layer_kinds[0].feed_forward.size", [](S& s) { Layer(s).feed_forward->size = 0; }},
      });
  ExpectFaults(SmallMixture(), {
                                   {"m.layer_kinds[0].experts.expert_count",
                                    [](S& s) { Layer(s).experts->expert_count = 0; }},
                                   {"m.layer_kinds[0].experts.experts_per_token",
                                    [](S& s) { Layer(s).experts->experts_per_token = 5; }},
                                   {"m.layer_kinds[0].experts.experts_per_token",
                                    [](S& s) { Layer(s).experts->experts_per_token = 0; }},
                                   {"m.layer_kinds[0].experts.expert.size",
                                    [](S& s) { Layer(s).experts->expert.size = 0; }},
                                   {"m.layer_kinds[0].experts.shared_expert_count",
                                    [](S& s) { Layer(s).experts->shared_expert_count = -1; }},
                                   {"m.layer_kinds[0].experts.shared_expert.size",
                                    [](S& s) { Layer(s).experts->shared_expert_count = 1; }},
                                   {"m.layer_kinds[0].experts.shared_expert",
                                    [](S& s) { Layer(s).experts->shared_expert = Gated(4); }},
                                   {"m.layer_kinds[0].experts.shared_expert_gate",
                                    [](S& s) { Layer(s).experts->shared_expert_gate = true; }},
                               });
}

}  // namespace
}  // namespace sextant
