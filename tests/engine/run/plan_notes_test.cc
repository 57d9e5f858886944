// A plan's notes on the names and the layout of its request, and the four ways to give its model:
// one of them has to be taken, and no two.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <vector>

#include "engine/model/transformer_spec.h"
#include "engine/run/plan.h"
#include "tests/engine/run/h100_runs.h"
#include "tests/engine/run/plan_parts.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;

// Layouts that are legal, and that hardly anyone means: what NVLink does not join, and a pipeline
// of four stages with two micro-batches.
TEST(PlanNotes, WarnOfLayoutsThatHardlyAnyoneRuns) {
  const auto kinds_of = [](const RunSpec& run) {
    const auto plan = PlanRun(run);
    EXPECT_THAT(plan, IsOk());
    return plan.ok() ? KindsOf(plan->notes) : std::vector<NoteKind>();
  };
  RunSpec run = Tp8Pp4();
  EXPECT_THAT(kinds_of(run), Not(Contains(NoteKind::kTensorAcrossServers)));
  EXPECT_THAT(kinds_of(run), Not(Contains(NoteKind::kFewMicroBatches)));
  run.layout->global_batch_size = 8;  // 4 micro-batches
  EXPECT_THAT(kinds_of(run), Not(Contains(NoteKind::kFewMicroBatches)));
  run.layout->global_batch_size = 4;
  EXPECT_THAT(kinds_of(run), Contains(NoteKind::kFewMicroBatches));
  run.layout->parallel.tensor_parallel_size = 16;
  run.layout->parallel.split_key_value_heads = true;
  EXPECT_THAT(kinds_of(run), Contains(NoteKind::kTensorAcrossServers));
  EXPECT_THAT(TextsOf(PlanRun(run)->notes),
              Contains(HasSubstr("Groups of 16 tensor parallel ranks span servers of 8 devices")));
}

TEST(PlanNotes, SayWhatNamesWereTakenFor) {
  RunSpec run = Tp8Pp4();
  EXPECT_THAT(KindsOf(PlanRun(run)->notes), Not(Contains(NoteKind::kNameTaken)));
  run.model.preset = "meta-llama/Llama-3.1-70B";
  EXPECT_THAT(KindsOf(PlanRun(run)->notes), Not(Contains(NoteKind::kNameTaken)));
  run.model.preset = "meta-llama/Llama-3.1-70B-Instruct";
  run.cluster.device.given_name = "gpu:h100:8";
  EXPECT_THAT(TextsOf(PlanRun(run)->notes),
              IsSupersetOf({HasSubstr("Instruct\" is taken for llama-3.1-70b, whose shape it has"),
                            HasSubstr("\"gpu:h100:8\" is taken for h100-sxm (H100 SXM5 80GB)")}));
}

TEST(PlanNotes, WarnWhereTheBaseIsTrainedBesideItsAdapters) {
  RunSpec run = Tp8Pp4();
  EXPECT_THAT(KindsOf(PlanRun(run)->notes), Not(Contains(NoteKind::kBaseTrained)));
  run.model.changes.adapters = AdapterSpec{.rank = 16, .targets = {{"attention", "query"}}};
  EXPECT_THAT(KindsOf(PlanRun(run)->notes), Contains(NoteKind::kBaseTrained));
  run.model.changes.base_frozen = true;
  EXPECT_THAT(KindsOf(PlanRun(run)->notes), Not(Contains(NoteKind::kBaseTrained)));
}

// 2 layers of 8: table 10 x 8, head the same; a layer 4 x 8 x 8 + 3 x 8 x 16 + 2 x 8; norm 8.
constexpr TransformerSpec kSmallModel = {.layer_count = 2,
                                         .hidden_size = 8,
                                         .feed_forward_size = 16,
                                         .attention_head_count = 2,
                                         .vocabulary_size = 10,
                                         .feed_forward_kind = FeedForwardKind::kGated,
                                         .norm_kind = NormKind::kRmsNorm};
constexpr int64_t kSmallParameters = 2 * 80 + 2 * (256 + 384 + 16) + 8;

RunSpec RunOf(const ModelSpec& model) {
  RunSpec run = OnH100s(1, 1'000'000);
  run.model = model;
  return run;
}

HuggingFaceModel SmallConfig() {
  return {.model_type = "llama", .architecture = DenseDecoder(kSmallModel)};
}

TEST(ModelWays, AConfigIsATransformerWithItsFamilysName) {
  ModelSpec model;
  model.hugging_face_config = SmallConfig();
  const Plan plan = Planned(RunOf(model));
  EXPECT_EQ(plan.model_name, "llama");
  EXPECT_EQ(plan.parameters.all.total, kSmallParameters);
  EXPECT_TRUE(plan.has_shapes());
}

TEST(ModelWays, ExactlyOneIsGiven) {
  for (int ways = 0; ways < 32; ++ways) {
    ModelSpec model;
    if ((ways & 1) != 0) model.preset = "gpt2";
    if ((ways & 2) != 0) model.transformer = kSmallModel;
    if ((ways & 4) != 0) model.parameter_count = 1000;
    if ((ways & 8) != 0) model.hugging_face_config = SmallConfig();
    if ((ways & 16) != 0) model.architecture = DenseDecoder(kSmallModel);
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
