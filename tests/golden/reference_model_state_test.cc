// Weights, gradients and optimizer state on a GPU of a stage, against cases worked by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "engine/model/sharding/sharded_weights.h"
#include "tests/golden/golden_files.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using nlohmann::json;

LayerSpec LayerOf(const json& c) {
  const bool biases = c.at("biases");
  const FeedForwardSpec feed_forward = {
      .kind = c.at("gated").get<bool>() ? FeedForwardKind::kGated : FeedForwardKind::kPlain,
      .size = c.at("feed_forward_size"),
      .input_bias = biases,
      .output_bias = biases};
  LayerSpec layer = {
      .name = "layer",
      .norm = c.at("norm") == "rms_norm" ? NormVariant::kRmsNorm : NormVariant::kLayerNorm,
      .attention = AttentionSpec{.head_count = c.at("head_count"),
                                 .key_value_head_count = c.at("key_value_head_count"),
                                 .query_key_head_size = c.at("head_size"),
                                 .value_head_size = c.at("head_size"),
                                 .query_bias = biases,
                                 .key_bias = biases,
                                 .value_bias = biases,
                                 .output_bias = biases}};
  if (c.contains("expert_count")) {
    layer.experts = ExpertsSpec{.expert_count = c.at("expert_count"),
                                .experts_per_token = c.at("experts_per_token"),
                                .expert = feed_forward};
  } else {
    layer.feed_forward = feed_forward;
  }
  return layer;
}

ArchitectureSpec ModelOf(const json& c) {
  ArchitectureSpec spec;
  spec.hidden_size = c.at("hidden_size");
  spec.layer_kinds = {LayerOf(c)};
  spec.norm = spec.layer_kinds[0].norm;
  spec.embedding = {.vocabulary_size = c.at("vocabulary_size"),
                    .padded_vocabulary_size = c.value("padded_vocabulary_size", 0)};
  spec.decoder = {.layers = {{.layer_kind = 0, .count = c.at("layers")}},
                  .learned_position_count = c.at("learned_positions")};
  spec.output.head = c.at("tied").get<bool>() ? OutputHeadKind::kTied : OutputHeadKind::kUntied;
  return spec;
}

// Bytes a parameter: 2 of weight and 4 of gradient, which ZeRO stage 3 divides over `ranks`, and
// 12 of master copy and moments, which stage 1 divides. Source: Rajbhandari et al. 2020, arXiv
// 1910.02054, section 5.
double StateBytes(int64_t parameters, int64_t zero, int64_t ranks) {
  const double kept = zero >= 3 ? 6.0 / static_cast<double>(ranks) : 6.0;
  const double sharded = zero >= 1 ? 12.0 / static_cast<double>(ranks) : 12.0;
  return static_cast<double>(parameters) * (kept + sharded);
}

double GibOf(const StageWeights& stage, const json& layout) {
  const int64_t data = layout.at("data");
  const int64_t zero = layout.at("zero");
  // A stage's data x tensor GPUs, without those that share an expert or divide the experts.
  const int64_t expert_data = data / layout.at("expert").get<int64_t>();
  const double bytes = StateBytes(stage.of(ShardGroup::kDense).total, zero, data) +
                       StateBytes(stage.of(ShardGroup::kExpert).total, zero, expert_data);
  return bytes / (1 << 30);
}

TEST(ReferenceModelState, IsRightToTheDigitsGiven) {
  int stages = 0;
  for (const json& row : GoldenLines("reference_model_state.jsonl")) {
    SCOPED_TRACE(row["id"].get<std::string>());
    const json& layout = row["layout"];
    const auto weights = ShardedWeights::Of(ModelOf(row["config"]), "model",
                                            {.tensor_parallel_size = layout.at("tensor"),
                                             .pipeline_parallel_size = layout.at("pipeline"),
                                             .expert_parallel_size = layout.at("expert")},
                                            "layout");
    ASSERT_THAT(weights, IsOk());
    if (row.contains("parameters")) {
      EXPECT_EQ(weights->whole_model().all.total, row["parameters"].get<int64_t>());
    }
    for (const auto& [stage, gib] : row["gib"].items()) {
      EXPECT_NEAR(GibOf(weights->Stage(std::stoll(stage)), layout), gib.get<double>(), 5e-5);
      ++stages;
    }
  }
  EXPECT_EQ(stages, 9);
}

}  // namespace
}  // namespace sextant
