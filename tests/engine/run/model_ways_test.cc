// The four ways to give a run's model: one of them has to be taken, and no two.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>

#include "engine/model/transformer_spec.h"
#include "engine/run/plan.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// 2 layers of 8: table 10 x 8, head the same; a layer 4 x 8 x 8 + 3 x 8 x 16 + 2 x 8; norm 8.
constexpr TransformerSpec kSmall = {.layer_count = 2,
                                    .hidden_size = 8,
                                    .feed_forward_size = 16,
                                    .attention_head_count = 2,
                                    .vocabulary_size = 10,
                                    .feed_forward_kind = FeedForwardKind::kGated,
                                    .norm_kind = NormKind::kRmsNorm};
constexpr int64_t kSmallParameters = 2 * 80 + 2 * (256 + 384 + 16) + 8;

RunSpec RunOf(const ModelSpec& model) {
  RunSpec run;
  run.model = model;
  run.training.token_count = 1'000'000;
  run.cluster.device.accelerator = "h100-sxm";
  run.cluster.device_count = 1;
  return run;
}

HuggingFaceModel SmallConfig() {
  return {.model_type = "llama", .architecture = DenseDecoder(kSmall)};
}

TEST(ModelWays, AConfigIsATransformerWithItsFamilysName) {
  ModelSpec model;
  model.hugging_face_config = SmallConfig();
  const auto plan = PlanRun(RunOf(model));
  ASSERT_THAT(plan, IsOk());
  EXPECT_EQ(plan->model_name, "llama");
  EXPECT_EQ(plan->parameters.all.total, kSmallParameters);
  EXPECT_TRUE(plan->has_shapes());
}

TEST(ModelWays, ExactlyOneIsGiven) {
  for (int ways = 0; ways < 32; ++ways) {
    ModelSpec model;
    if ((ways & 1) != 0) model.preset = "gpt2";
    if ((ways & 2) != 0) model.transformer = kSmall;
    if ((ways & 4) != 0) model.parameter_count = 1000;
    if ((ways & 8) != 0) model.hugging_face_config = SmallConfig();
    if ((ways & 16) != 0) model.architecture = DenseDecoder(kSmall);
    const auto plan = PlanRun(RunOf(model));
    const bool one = std::has_single_bit(static_cast<unsigned>(ways));
    EXPECT_EQ(plan.ok(), one) << ways;
    if (one) continue;
    EXPECT_THAT(plan, NamesFields(ElementsAre("model")));
    EXPECT_THAT(std::string(plan.status().message()),
                HasSubstr("model.preset, model.transformer, model.parameter_count, "
                          "model.hugging_face_config and model.architecture"));
  }
}

// The reader's violations are reported, and not a missing model.
TEST(ModelWays, AnUnreadableConfigIsTheReadersToReport) {
  ModelSpec model;
  model.hugging_face_config = HuggingFaceModel();
  FieldViolations found;
  found.Add("model.hugging_face_config.model_type", "is required");
  EXPECT_THAT(PlanRun(RunOf(model), found),
              NamesFields(ElementsAre("model.hugging_face_config.model_type")));
}

}  // namespace
}  // namespace sextant
