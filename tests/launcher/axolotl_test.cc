// Runs as axolotl's configuration, and back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/launcher/file_format.h"
#include "server/launcher/launcher.h"
#include "tests/launcher/sample_launch.h"

namespace sextant::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// 64 devices that divide all state, as axolotl sets FSDP up.
LaunchedRun AxolotlLaunch(const std::string& changes = "") {
  LaunchedRun run = DenseLaunch(R"({
      "model": {"preset": "meta-llama/Llama-3.1-8B"},
      "layout": {"framework": {"kind": "KIND_HUGGING_FACE_TRAINER"},
                 "kernels": {"attention": "ATTENTION_FLASH", "loss": "LOSS_PLAIN"},
                 "sharding": {"zero_stage": "ZERO_STAGE_PARAMETERS"}}})");
  run.request.mutable_training()->mutable_precision()->clear_gradient_data_type();
  v1::RunLayout* layout = run.request.mutable_layout();
  layout->clear_parallel();  // sizes of 1 are left out
  layout->clear_context_parallel_size();
  return Changed(run, changes);
}

absl::StatusOr<LauncherRead> ReadAxolotlText(const std::string& text) {
  const absl::StatusOr<LaunchText> parsed = ParseLaunchText("", text);
  if (!parsed.ok()) return parsed.status();
  return ReadAxolotl(*parsed, true);
}

// The writer leaves base_model to its user.
TEST(Axolotl, IsRecognisedWithoutAModel) {
  const absl::StatusOr<LaunchText> text = ParseLaunchText("", LauncherGolden("dense.axolotl.yaml"));
  ASSERT_TRUE(text.ok());
  EXPECT_STREQ(FormatOf(*text)->name, "axolotl configuration");
}

TEST(Axolotl, ReadsBackWhatItWrote) {
  for (const std::string& changes : ChangesOf("axolotl")) {
    SCOPED_TRACE(changes);
    const LaunchedRun run = AxolotlLaunch(changes);
    const absl::StatusOr<LauncherFile> file = WriteAxolotl(run);
    ASSERT_TRUE(file.ok()) << file.status();
    const absl::StatusOr<LauncherRead> read = ReadAxolotlText(file->text);
    ASSERT_TRUE(read.ok()) << read.status() << file->text;
    EXPECT_THAT(read->ignored, IsEmpty()) << file->text;
    EXPECT_THAT(read->open, IsEmpty()) << file->text;
    EXPECT_THAT(read->wants, IsEmpty()) << file->text;
    v1::PlanRunRequest expected = run.request;  // the name that is written says which AdamW it is
    v1::OptimizerSpec& optimizer = *expected.mutable_training()->mutable_optimizer();
    if (optimizer.kind() == v1::OptimizerSpec::KIND_ADAMW &&
        optimizer.implementation() == v1::OptimizerSpec::IMPLEMENTATION_UNSPECIFIED) {
      optimizer.set_implementation(v1::OptimizerSpec::IMPLEMENTATION_FUSED);
    }
    EXPECT_EQ(DifferencesOf(expected, RequestAsRead(*read, run.request)), "") << file->text;
  }
}

TEST(Axolotl, WritesTheGoldenFile) {
  const LaunchedRun run = AxolotlLaunch(R"({"training": {"recompute": "RECOMPUTE_POLICY_FULL"},
                                            "layout": {"sharding": {"shard_group_size": 8}}})");
  const absl::StatusOr<LauncherFile> file = WriteAxolotl(run);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->text, LauncherGolden("dense.axolotl.yaml"));
  EXPECT_THAT(file->left_out, ElementsAre("datasets", "learning_rate"));
}

TEST(Axolotl, LeavesAModelOfNoHubToItsUser) {
  LaunchedRun run = AxolotlLaunch();
  run.request.mutable_model()->set_preset("llama-3.1-8b");
  run.request.mutable_training()->clear_token_count();
  const absl::StatusOr<LauncherFile> file = WriteAxolotl(run);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_THAT(file->left_out, ElementsAre("base_model", "datasets", "learning_rate", "num_epochs"));
}

TEST(Axolotl, RefusesWhatItCannotExpress) {
  ExpectUnwritten("axolotl unwritten", [](const std::string& changes) {
    return WriteAxolotl(AxolotlLaunch(changes)).status();
  });
}

// Its quantiser takes linear layers alone unless it is asked for experts.
TEST(Axolotl, SaysThatExpertsAreNotQuantised) {
  const auto ignored = [](const std::string& model, const std::string& more) {
    const absl::StatusOr<LauncherRead> read = ReadAxolotlText(
        "base_model: " + model + "\nsequence_len: 512\nadapter: qlora\nlora_r: 8\n" + more);
    EXPECT_TRUE(read.ok()) << read.status();
    return read.ok() ? read->ignored : std::vector<std::string>();
  };
  const std::string four = "load_in_4bit: true\n";
  const std::string mixtral = "mistralai/Mixtral-8x7B-v0.1";
  EXPECT_THAT(ignored(mixtral, four),
              ElementsAre("load_in_4bit of experts (transformers 5 leaves them as they are)"));
  EXPECT_THAT(ignored(mixtral, four + "quantize_moe_experts: true\n"), ElementsAre());
  EXPECT_THAT(ignored(mixtral, ""), ElementsAre());
  EXPECT_THAT(ignored("meta-llama/Llama-3.1-8B", four), ElementsAre());
}

TEST(Axolotl, RefusesWrongSettings) {
  ExpectUnread("axolotl unread",
               [](const std::string& text) { return ReadAxolotlText(text).status(); });
}

TEST(Axolotl, ReadsNoPartOfAFileWrongly) {
  TryEveryCut("axolotl_qlora_70b.yaml", ":[]{}-x0",
              [](const std::string& text) { (void)ReadAxolotlText(text); });
}

}  // namespace
}  // namespace sextant::server
