// Weights, gradients and optimizer state on a GPU of a stage, against cases worked by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "engine/memory/state/stage_state.h"
#include "engine/memory/state/state_spec.h"
#include "tests/golden/golden_files.h"
#include "tests/golden/reference_models.h"
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

struct StateCase {
  ArchitectureSpec spec;
  ParallelLayout layout;
  StateSpec state;
};

// bf16 weights, fp32 gradients, AdamW: 2 + 4 + 4 + 8 bytes a parameter.
StateCase StateCaseOf(const json& row) {
  const json& layout = row.at("layout");
  return {.spec = ModelOf(row.at("config")),
          .layout = {.tensor_parallel_size = layout.at("tensor"),
                     .pipeline_parallel_size = layout.at("pipeline"),
                     .expert_parallel_size = layout.at("expert")},
          .state = {.precision = WithDefaults({.gradient_data_type = DataType::kFp32}),
                    .sharding = {.data_parallel_size = layout.at("data"),
                                 .zero_stage = layout.at("zero").get<ZeroStage>()}}};
}

StageState StateOf(const StateCase& c, int64_t stage) {
  FieldViolations violations;
  CheckStateSpec(c.state, c.spec, c.layout, 1, "state", violations);
  EXPECT_THAT(violations.ToStatus(), IsOk());
  const auto weights = ShardedWeights::Of(c.spec, "model", c.layout, "layout");
  EXPECT_THAT(weights, IsOk());
  if (!weights.ok()) return {};
  return StageStateOf({c.spec, c.layout, *weights, c.state}, stage).value_or(StageState());
}

double GibOf(const StateCase& c, int64_t stage) {
  return static_cast<double>(StateOf(c, stage).total().value()) / (1 << 30);
}

TEST(ReferenceModelState, IsRightToTheDigitsGiven) {
  int stages = 0;
  for (const json& row : GoldenLines("reference_model_state.jsonl")) {
    SCOPED_TRACE(row["id"].get<std::string>());
    const StateCase c = StateCaseOf(row);
    if (row.contains("parameters")) {
      const auto weights = ShardedWeights::Of(c.spec, "model", c.layout, "layout");
      ASSERT_THAT(weights, IsOk());
      EXPECT_EQ(weights->model().count().all.total, row["parameters"].get<int64_t>());
    }
    for (const auto& [stage, gib] : row["gib"].items()) {
      EXPECT_NEAR(GibOf(c, std::stoll(stage)), gib.get<double>(), 5e-5);
      ++stages;
    }
  }
  EXPECT_EQ(stages, 9);
}

// Stages of the shared cases by the names that their table has, to 0.1 %.
TEST(ReferenceModelState, IsThatOfTheSharedCases) {
  if (SharedDirectory().empty()) GTEST_SKIP() << "no shared tables: set SEXTANT_SHARED_DIR";
  const json gib = SharedJson("golden/shared_cases.json")["hand_reference"]["model_state_gib"];
  std::map<std::string, StateCase> cases;
  for (const json& row : GoldenLines("reference_model_state.jsonl")) {
    cases[row["id"].get<std::string>()] = StateCaseOf(row);
  }
  const struct {
    const char* name;
    int64_t stage;
  } stages[] = {{"A_first_stage", 0},  {"A_middle_stage", 3}, {"A_last_stage", 7},
                {"B_zero3_static", 0}, {"C_first_stage", 0},  {"C_last_stage", 3},
                {"D_first_stage", 0},  {"D_last_stage", 3}};
  for (const auto& s : stages) {
    SCOPED_TRACE(s.name);
    const StateCase& c = cases.at(std::string(s.name, 1));
    EXPECT_NEAR(GibOf(c, s.stage) / gib.at(s.name).get<double>(), 1, 0.001);
  }
}

// StateCase B's layers are 0.377 GiB each in bf16, its embedding and head 0.488 GiB together: two
// layers in a row are whole, and what stands around them.
TEST(ReferenceModelState, OfCaseBGathersTwoLayers) {
  for (const json& row : GoldenLines("reference_model_state.jsonl")) {
    if (row["id"] != "B") continue;
    const int64_t layer = 4 * 4096 * 4096 + 3 * 4096 * 11008 + 2 * 4096;
    const int64_t root = 2 * 32000 * 4096 + 4096;
    const StageState state = StateOf(StateCaseOf(row), 0);
    EXPECT_EQ(state.gathered_weights, Bytes(2 * (2 * layer + root)));
    EXPECT_EQ(state.gathered_gradients, Bytes(4 * root));
    return;
  }
  FAIL() << "no case B";
}

// 7.5e9 parameters on 64 GPUs, 16 bits and 12 bytes of Adam: Rajbhandari et al. 2020, arXiv
// 1910.02054, figure 1, to the digits given. The model here is a little smaller.
TEST(PublishedModelState, IsThatOfZerosFigureOne) {
  StateCase c = {.spec = DecoderOf({.layers = 36,
                                    .hidden = 4096,
                                    .heads = 32,
                                    .key_value_heads = 32,
                                    .kind = FeedForwardKind::kPlain,
                                    .feed_forward = 4 * 4096,
                                    .vocabulary = 51200,
                                    .tied = true}),
                 .layout = {},
                 .state = {.precision = WithDefaults(PrecisionPolicy()),
                           .sharding = {.data_parallel_size = 64}}};
  const auto weights = ShardedWeights::Of(c.spec, "model", c.layout, "layout");
  ASSERT_THAT(weights, IsOk());
  const double parameters = static_cast<double>(weights->model().count().all.total);
  ASSERT_NEAR(parameters / 7.5e9, 1, 0.02);
  const struct {
    ZeroStage zero;
    double gigabytes;
  } figure[] = {{ZeroStage::kNone, 120},
                {ZeroStage::kOptimizer, 31.4},
                {ZeroStage::kGradients, 16.6},
                {ZeroStage::kParameters, 1.9}};
  for (const auto& bar : figure) {
    c.state.sharding.zero_stage = bar.zero;
    const double bytes = static_cast<double>(StateOf(c, 0).total().value());
    EXPECT_NEAR(bytes * 7.5e9 / parameters / 1e9, bar.gigabytes, 0.05);
  }
}

}  // namespace
}  // namespace sextant
