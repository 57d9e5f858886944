// Architectures and counts of models: translated, and over gRPC.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "engine/model/architecture/count_weights.h"
#include "engine/model/architecture/model_weights.h"
#include "engine/model/presets/presets.h"
#include "server/convert/architecture.h"
#include "server/convert/count_spec.h"
#include "tests/server/json_call.h"
#include "tests/server/message_matchers.h"
#include "tests/server/wire_values.h"

namespace sextant::server {
namespace {

using ::nlohmann::json;
using ::testing::ElementsAre;
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
  const LayerSpec mixes =
      ArchitectureOf(R"json({"layer_kinds": [{"name": "a", "mixer": {"head_count": 1}}]})json")
          .layer_kinds[0];
  EXPECT_TRUE(mixes.norms.before_attention);
  EXPECT_FALSE(mixes.norms.before_feed_forward);
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
  const auto& sequences = spec.step->sequences;
  EXPECT_THAT(Numbers(sequences[0].count, sequences[0].length, sequences[0].encoder_length,
                      sequences[1].count, spec.step->expert_capacity_factor),
              ElementsAre(1, 2, 3, 1, 1.25));  // 1: the default
  EXPECT_EQ(spec.step->recompute, RecomputePolicy::kFull);
  ASSERT_TRUE(spec.layout.has_value());
  const ParallelLayout& layout = *spec.layout;
  EXPECT_THAT(Numbers(layout.tensor_parallel_size, layout.pipeline_parallel_size,
                      layout.virtual_stage_count, layout.expert_parallel_size,
                      layout.expert_tensor_parallel_size, layout.split_key_value_heads),
              ElementsAre(5, 6, 7, 10, 11, 1));
  EXPECT_THAT(layout.layers_per_chunk, ElementsAre(8, 9));
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
                 "after_cross_attention": true, "before_experts": true, "before_sum": true},
       "output_scale": true,
       "mixer": {"kind": "MIXER_KIND_MAMBA2", "head_count": 36, "head_size": 37, "group_count": 38,
                 "state_size": 39, "convolution_size": 40, "convolution_bias": true,
                 "projection_bias": true, "decay_rank": 41, "gate_rank": 42, "output_norm": true,
                 "inner_norms": true},
       "attention": {"head_count": 6, "key_value_head_count": 7, "query_key_head_size": 8,
                     "value_head_size": 9,
                     "latent": {"query_rank": 10, "key_value_rank": 11, "rotary_size": 12,
                                "down_bias": true,
                                "indexer": {"head_count": 32, "head_size": 33,
                                            "chosen_count": 34, "shared": true}},
                     "query_bias": true, "key_bias": true, "value_bias": true, "output_bias": true,
                     "query_key_norm": "QUERY_KEY_NORM_ALL_HEADS",
                     "query_key_norm_variant": "NORM_VARIANT_LAYER_NORM", "sinks": true,
                     "mask": "ATTENTION_MASK_FULL", "window": 13, "chunk": 14,
                     "output_gate": "OUTPUT_GATE_PER_HEAD", "values_are_keys": true},
       "cross_attention": {"head_count": 15, "query_key_head_size": 16,
                           "mask": "ATTENTION_MASK_CAUSAL"},
       "feed_forward": {"kind": "KIND_PLAIN", "size": 17, "input_bias": true,
                        "output_bias": true, "activation_parameter_count": 35}},
      {"name": "b",
       "experts": {"expert_count": 18, "experts_per_token": 19,
                   "expert": {"kind": "KIND_GATED", "size": 20, "input_bias": true},
                   "shared_expert_count": 21,
                   "shared_expert": {"kind": "KIND_PLAIN", "size": 22, "output_bias": true},
                   "shared_expert_gate": true,
                   "router_bias": true, "router_correction_bias": true, "group_count": 23,
                   "groups_per_token": 24, "latent_size": 43, "zero_expert_count": 44,
                   "expert_scales": true}}],
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

TEST(ArchitectureTo, WritesEveryPresetsShape) {
  for (const ModelPreset& preset : ModelPresets()) {
    v1::Architecture wire;
    ArchitectureTo(preset.architecture, &wire);
    FieldViolations violations;
    const ArchitectureSpec read = ArchitectureFrom(wire, "model.architecture", violations);
    ASSERT_TRUE(violations.empty()) << preset.name << violations.ToStatus();
    v1::Architecture again;
    ArchitectureTo(read, &again);
    EXPECT_EQ(again.SerializeAsString(), wire.SerializeAsString()) << preset.name;
    ASSERT_EQ(read.layer_kinds.size(), preset.architecture.layer_kinds.size());
    for (size_t i = 0; i < read.layer_kinds.size(); ++i) {
      EXPECT_TRUE(IsAlike(read.layer_kinds[i], preset.architecture.layer_kinds[i])) << preset.name;
    }
    EXPECT_EQ(CountWeights(WeightsOf(read), "model")->all,
              CountWeights(WeightsOf(preset.architecture), "model")->all)
        << preset.name;
  }
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

constexpr char kCountModel[] = "AccountingService/CountModel";

// Mixtral 8x7B.
constexpr char kMixture[] = R"json({
  "hidden_size": 4096, "norm": "NORM_VARIANT_RMS_NORM",
  "embedding": {"vocabulary_size": 32000},
  "layer_kinds": [{
    "name": "experts", "norm": "NORM_VARIANT_RMS_NORM",
    "attention": {"head_count": 32, "key_value_head_count": 8, "query_key_head_size": 128},
    "experts": {"expert_count": 8, "experts_per_token": 2,
                "expert": {"kind": "KIND_GATED", "size": 14336}}}],
  "decoder": {"layers": [{"layer_kind": "experts", "count": 32}]},
  "output": {"head": "OUTPUT_HEAD_UNTIED"}})json";

class CountModelServiceTest : public ::testing::Test {
 protected:
  json Count(const json& request) const { return Ask(server_, kCountModel, request); }
  const TestServer server_;
  const json mixture_ = json::parse(kMixture);
  const json step_ = {{"sequences", {{{"length", 4096}}}}};
};

// Totals and FLOPs are the hand counts of case D of the reference models.
TEST_F(CountModelServiceTest, CountsAMixtureAsItsHandCountsSay) {
  const json answer = Count({{"model", {{"architecture", mixture_}}},
                             {"step", step_},
                             {"include_components", true},
                             {"include_tensors", true}});
  EXPECT_FALSE(answer.contains("architecture"));
  EXPECT_EQ(answer["model_name"], "architecture");
  EXPECT_EQ(NumberAt(answer, "/parameters/total"), 46'702'792'704);
  EXPECT_EQ(NumberAt(answer, "/parameters/active"), 12'879'925'248);
  EXPECT_EQ(NumberAt(answer, "/parameters/trainable"), 46'702'792'704);
  EXPECT_EQ(NumberAt(answer, "/parameters/embedding"), 2 * 32000 * 4096);
  EXPECT_EQ(answer["layer_kinds"][0]["layer_kind"], "experts");
  EXPECT_EQ(NumberAt(answer, "/layer_kinds/0/layer_count"), 32);
  const json& flops = answer["flops"];
  EXPECT_EQ(NumberAt(flops, "/token_count"), 4096);
  ASSERT_EQ(flops["masks"].size(), 3u);
  EXPECT_EQ(flops["masks"][0]["mask"], "MASK_CONVENTION_FULL");
  EXPECT_EQ(NumberAt(flops, "/masks/0/model_flops_per_token"), 82'933'972'992);
  EXPECT_EQ(NumberAt(flops, "/masks/1/model_flops_per_token"), 79'712'747'520);
  EXPECT_EQ(NumberAt(flops, "/masks/1/model_flops"), 79'712'747'520.0 * 4096);
  double sum = 0;
  for (const json& component : flops["components"]) {
    const json& passes = component["passes"][0];  // as if nothing were masked
    sum += NumberAt(passes, "/forward") + NumberAt(passes, "/input_gradient") +
           NumberAt(passes, "/weight_gradient");
  }
  EXPECT_EQ(sum, 82'933'972'992);
  double tensors = 0;
  for (const json& tensor : answer["tensors"]) tensors += NumberAt(tensor, "/parameter_count");
  EXPECT_EQ(tensors, 46'702'792'704);
  EXPECT_FALSE(answer["engine_version"].get<std::string>().empty());
}

// GPT-2's 50,257 tokens are padded to 393 x 128.
TEST_F(CountModelServiceTest, TellsTheShapeOfAModelWithItsChanges) {
  const json answer =
      Count({{"model", {{"preset", "gpt2"}, {"changes", {{"vocabulary_multiple", 128}}}}},
             {"include_architecture", true}});
  EXPECT_EQ(NumberAt(answer, "/architecture/hidden_size"), 768);
  EXPECT_EQ(NumberAt(answer, "/architecture/embedding/vocabulary_size"), 50'257);
  EXPECT_EQ(NumberAt(answer, "/architecture/embedding/padded_vocabulary_size"), 50'304);
  EXPECT_EQ(NumberAt(answer, "/architecture/decoder/layers/0/count"), 12);
  EXPECT_EQ(NumberAt(answer, "/architecture/decoder/learned_position_count"), 1024);
  EXPECT_EQ(NumberAt(answer, "/architecture/layer_kinds/0/attention/head_count"), 12);
  // The architecture of an answer, sent back, counts the same.
  const json again = Count({{"model", {{"architecture", answer["architecture"]}}}});
  EXPECT_EQ(again["parameters"]["total"], answer["parameters"]["total"]);
}

TEST_F(CountModelServiceTest, ListsModelsByWordsOfTheirNames) {
  constexpr char kListModels[] = "AccountingService/ListModels";
  const json all = Ask(server_, kListModels, json::object());
  EXPECT_GT(all["models"].size(), 100u);
  const json some = Ask(server_, kListModels, {{"pattern", "LLAMA 3.1 70b"}});
  ASSERT_EQ(some["models"].size(), 1u);
  EXPECT_EQ(some["models"][0]["name"], "llama-3.1-70b");
  EXPECT_EQ(NumberAt(some, "/models/0/parameter_count"), 70'553'706'496);
  EXPECT_EQ(NumberAt(some, "/models/0/layer_count"), 80);
  EXPECT_EQ(NumberAt(some, "/models/0/hidden_size"), 8192);
  const json mixture = Ask(server_, kListModels, {{"pattern", "mixtral-8x7b-v0.1"}});
  EXPECT_EQ(NumberAt(mixture, "/models/0/active_parameter_count"), 12'879'925'248);
}

// Requests that may take long are answered on the server's own threads.
TEST_F(CountModelServiceTest, AnswersALongRaggedBatch) {
  json groups = json::array();
  for (int i = 1; i <= 5000; ++i) groups.push_back({{"length", i}});
  const json answer =
      Count({{"model", {{"preset", "llama-2-7b"}}}, {"step", {{"sequences", groups}}}});
  EXPECT_EQ(NumberAt(answer, "/flops/token_count"), 5000 * 5001 / 2);
}

}  // namespace
}  // namespace sextant::server
