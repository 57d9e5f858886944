// Runs as accelerate's configuration, and back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/launcher/file_format.h"
#include "server/launcher/hugging_face.h"
#include "server/launcher/launcher.h"
#include "tests/launcher/sample_launch.h"

namespace sextant::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// 64 devices that divide all state, eight a node, as far as its file says it.
LaunchedRun AccelerateLaunch(const std::string& changes = "") {
  LaunchedRun run;
  run.devices_per_node = 8;
  run = Changed(run, R"({
      "training": {"precision": {"compute_data_type": "DATA_TYPE_BF16"}},
      "cluster": {"device_count": 64},
      "layout": {"framework": {"kind": "KIND_HUGGING_FACE_TRAINER"},
                 "sharding": {"zero_stage": "ZERO_STAGE_PARAMETERS"}}})");
  return Changed(run, changes);
}

absl::StatusOr<LauncherRead> ReadAccelerateText(const std::string& text) {
  const absl::StatusOr<LaunchText> parsed = ParseLaunchText("", text);
  if (!parsed.ok()) return parsed.status();
  EXPECT_STREQ(FormatOf(*parsed)->name, "configuration of accelerate");
  return ReadAccelerate(parsed->Document());
}

TEST(Accelerate, ReadsBackWhatItWrote) {
  for (const std::string& changes : ChangesOf("accelerate")) {
    SCOPED_TRACE(changes);
    const LaunchedRun run = AccelerateLaunch(changes);
    const absl::StatusOr<LauncherFile> file = WriteAccelerate(run);
    ASSERT_TRUE(file.ok()) << file.status();
    const absl::StatusOr<LauncherRead> read = ReadAccelerateText(file->text);
    ASSERT_TRUE(read.ok()) << read.status() << file->text;
    EXPECT_THAT(read->ignored, IsEmpty()) << file->text;
    EXPECT_THAT(read->open, IsEmpty()) << file->text;
    EXPECT_EQ(DifferencesOf(run.request, RequestAsRead(*read, run.request)), "") << file->text;
  }
}

TEST(Accelerate, WritesTheGoldenFile) {
  const LaunchedRun run = AccelerateLaunch(R"({
      "training": {"recompute": "RECOMPUTE_POLICY_FULL"},
      "layout": {"parallel": {"tensor_parallel_size": 2}, "sequence_parallel": false,
                 "sharding": {"shard_group_size": 8}}})");
  const absl::StatusOr<LauncherFile> file = WriteAccelerate(run);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->text, LauncherGolden("dense.accelerate.yaml"));
  EXPECT_THAT(file->left_out, ElementsAre("the model", "machine_rank", "main_process_ip"));
}

TEST(Accelerate, LeavesTheRestToTheScript) {
  LaunchedRun run = DenseLaunch(R"({
      "training": {"recompute": "RECOMPUTE_POLICY_FULL",
                   "precision": {"weight_data_type": "DATA_TYPE_BF16"}},
      "layout": {"framework": {"kind": "KIND_HUGGING_FACE_TRAINER"},
                 "sharding": {"zero_stage": "ZERO_STAGE_NONE"},
                 "kernels": {"attention": "ATTENTION_FLASH"}}})");
  const absl::StatusOr<LauncherFile> file = WriteAccelerate(run);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_THAT(file->left_out,
              ElementsAre("the model", "num_machines", "--weight-data-type", "--gradient-data-type",
                          "--recompute=full", "--sequence-length", "--tokens", "--mbs", "--gbs",
                          "--optimizer", "--attention"));
}

TEST(Accelerate, RefusesWhatItCannotExpress) {
  ExpectUnwritten("accelerate unwritten", [](const std::string& changes) {
    return WriteAccelerate(AccelerateLaunch(changes)).status();
  });
}

}  // namespace
}  // namespace sextant::server
