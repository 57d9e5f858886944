// Runs as torchtitan's configuration, and back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "server/launcher/launcher.h"
#include "tests/launcher/sample_launch.h"

namespace sextant::server {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// A run as torchtitan has it: fp32 weights, FSDP, the model by its preset.
LaunchedRun LaunchTorchtitan(const std::string& changes = "") {
  LaunchedRun run = DenseLaunch(R"({
    "model": {"preset": "llama-3.1-8b"},
    "training": {"recompute": "RECOMPUTE_POLICY_NONE",
                 "precision": {"weight_data_type": "DATA_TYPE_FP32"}},
    "layout": {"sharding": {"zero_stage": "ZERO_STAGE_PARAMETERS"},
               "framework": {"kind": "KIND_TORCHTITAN"}}})");
  run.request.mutable_training()->mutable_precision()->clear_gradient_data_type();
  run.request.mutable_layout()->mutable_parallel()->clear_expert_parallel_size();
  return Changed(run, changes);
}

LauncherRead ReadToml(const std::string& text) {
  const absl::StatusOr<LauncherRead> read = ReadTorchtitan(text, true);
  EXPECT_TRUE(read.ok()) << text << ": " << read.status();
  return read.ok() ? *read : LauncherRead{};
}

TEST(Torchtitan, ReadsBackWhatItWrote) {
  for (const std::string& changes : ChangesOf("torchtitan")) {
    SCOPED_TRACE(changes);
    const LaunchedRun run = LaunchTorchtitan(changes);
    const absl::StatusOr<LauncherFile> file = WriteTorchtitan(run);
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_THAT(file->left_out, IsEmpty());
    const LauncherRead read = ReadToml(file->text);
    EXPECT_THAT(read.ignored, IsEmpty()) << file->text;
    EXPECT_EQ(DifferencesOf(run.request, RequestAsRead(read, run.request)), "") << file->text;
  }
}

TEST(Torchtitan, WritesTheGoldenFile) {
  const LaunchedRun run = LaunchTorchtitan(
      R"({"training": {"recompute": "RECOMPUTE_POLICY_FULL"},
          "layout": {"sharding": {"shard_group_size": 8}, "parallel": {
              "tensor_parallel_size": 2, "pipeline_parallel_size": 2,
              "virtual_stage_count": 2}}})");
  EXPECT_EQ(WriteTorchtitan(run)->text, LauncherGolden("dense.toml"));
}

TEST(Torchtitan, LeavesOutAModelThatItDoesNotKnow) {
  LaunchedRun run = LaunchTorchtitan();
  run.request.mutable_model()->set_preset("gpt2");
  const absl::StatusOr<LauncherFile> file = WriteTorchtitan(run);
  ASSERT_TRUE(file.ok());
  EXPECT_THAT(file->left_out, ElementsAre("[model] name and flavor"));
  EXPECT_THAT(file->text, ::testing::Not(HasSubstr("[model]")));
}

// Each setting that is written stands in the list of the release.
TEST(Torchtitan, KnowsTheOptionsOfItsRelease) {
  const std::vector<std::string> options = LauncherOptions("torchtitan_options.txt");
  for (const std::string& changes : ChangesOf("torchtitan")) {
    std::string section;
    const std::string text = WriteTorchtitan(LaunchTorchtitan(changes))->text;
    for (const std::string& line : std::vector<std::string>(absl::StrSplit(text, '\n'))) {
      if (line.empty()) continue;
      if (line.front() == '[') {
        section = line.substr(1, line.size() - 2);
        continue;
      }
      const std::string name = line.substr(0, line.find(' '));
      EXPECT_THAT(options, Contains(absl::StrCat(section, ".", name)));
    }
  }
}

TEST(Torchtitan, RefusesWhatItHasNoSettingFor) {
  ExpectUnwritten("torchtitan unwritten", [](const std::string& changes) {
    return WriteTorchtitan(LaunchTorchtitan(changes)).status();
  });
}

// The published configuration of Llama 3 8B, in short.
constexpr char kPublished[] = R"(# NOTE: for 8 GPUs
[job]
dump_folder = "./outputs"   # "quoted # text"
description = "Llama 3 8B training"
[model]
name = "llama3"
flavor = "8B"
[lr_scheduler]
warmup_steps = 2_00
[training]
local_batch_size = 1
seq_len = 8192
steps = 1_000
[parallelism]
data_parallel_shard_degree = -1
[compile]
components = [
  "model",  # a list over lines
  "loss",
]
[activation_checkpoint]
mode = "selective"  # ["none", "selective", "full"]
selective_ac_option = 'op'
)";

TEST(ReadTorchtitan, ReadsAPublishedConfiguration) {
  v1::PlanRunRequest devices;
  devices.mutable_cluster()->set_device_count(8);
  const LauncherRead read = ReadToml(kPublished);
  const v1::PlanRunRequest request = RequestAsRead(read, devices);
  EXPECT_EQ(request.model().preset(), "llama-3.1-8b");
  EXPECT_EQ(request.layout().global_batch_size(), 8);
  EXPECT_EQ(request.training().token_count(), 1000 * 8 * 8192);
  EXPECT_EQ(request.layout().sharding().zero_stage(), v1::ZERO_STAGE_PARAMETERS);
  EXPECT_EQ(request.training().recompute(), v1::RECOMPUTE_POLICY_OPERATORS);
  EXPECT_THAT(read.ignored, IsEmpty());
  EXPECT_THAT(read.passed, ElementsAre("job.dump_folder", "lr_scheduler.warmup_steps"));
}

TEST(ReadTorchtitan, ReadsNamesOfOlderReleases) {
  const LauncherRead read = ReadToml(
      "[training]\nbatch_size = 3\ncompile = true\ntensor_parallel_degree = 4\n"
      "[experimental]\npipeline_parallel_degree = 1\ncontext_parallel_degree = 2\n"
      "[activation_checkpoint]\nmode = \"none\"\n");
  EXPECT_EQ(read.request.layout().micro_batch_size(), 3);
  EXPECT_EQ(read.request.layout().parallel().tensor_parallel_size(), 4);
  EXPECT_EQ(read.request.layout().context_parallel_size(), 2);
  EXPECT_THAT(LoweringOf(read), ElementsAre("compile.enable = true"));
  EXPECT_THAT(read.ignored, IsEmpty());
  const LauncherRead both = ReadToml("[training]\nbatch_size = 3\nlocal_batch_size = 2\n");
  EXPECT_EQ(both.request.layout().micro_batch_size(), 2);
  EXPECT_THAT(both.ignored, Contains("training.batch_size"));
}

// Settings of a converter matter where the model has it.
TEST(ReadTorchtitan, AsksForConvertersBeforeTheirSettings) {
  const std::string filter = "[quantize.linear.float8]\nfilter_fqns = [\"output\"]\n";
  const std::string name = "quantize.linear.float8.filter_fqns";
  EXPECT_THAT(ReadToml(filter).ignored, Not(Contains(name)));
  EXPECT_THAT(ReadToml(filter + "[model]\nconverters = [\"float8\"]\n").ignored, Contains(name));
}

TEST(ReadTorchtitan, SaysWhatMayLowerMemory) {
  EXPECT_THAT(LoweringOf(ReadToml(kPublished)), IsEmpty());
  // Every second layer, torchtitan's default.
  EXPECT_THAT(LoweringOf(ReadToml("")), ElementsAre("activation_checkpoint.mode = selective"));
  const std::string layers = "[activation_checkpoint]\nselective_ac_option = ";
  EXPECT_THAT(LoweringOf(ReadToml(layers + "\"4\"\n")),
              ElementsAre("activation_checkpoint.mode = selective"));
  const LauncherRead every = ReadToml(layers + "\"1\"\n");
  EXPECT_THAT(LoweringOf(every), IsEmpty());
  EXPECT_EQ(every.request.training().recompute(), v1::RECOMPUTE_POLICY_FULL);
  const std::string none = "[activation_checkpoint]\nmode = \"none\"\n";
  EXPECT_THAT(
      LoweringOf(ReadToml(none + "selective_ac_option = \"op\"\n[training]\ndataset = \"c4\"\n")),
      IsEmpty());
  EXPECT_THAT(
      LoweringOf(ReadToml(none + "[compile]\nenable = true\n[model]\nconverters = [\"int4\"]\n")),
      ElementsAre("model.converters = int4", "compile.enable = true"));
  EXPECT_THAT(LoweringOf(ReadToml(none + "[compile]\nenable = false\n")), IsEmpty());
}

// Neither compilation nor, of a model, that of the loss alone; and PyTorch's AdamW in kernels of
// its own.
TEST(ReadTorchtitan, PricesEagerPassesAndUnfusedOptimizers) {
  const auto software = [](const std::string& text) {
    return ReadToml(text).request.layout().software();
  };
  EXPECT_TRUE(software("").has_memory_pass_time_ratio());
  EXPECT_FALSE(software("[compile]\nenable = true\n").has_memory_pass_time_ratio());
  EXPECT_TRUE(
      software("[compile]\nenable = true\ncomponents = [\"loss\"]\n").has_memory_pass_time_ratio());
  const auto loss = [](const std::string& text) {
    return ReadToml(text).request.layout().kernels().loss();
  };
  EXPECT_EQ(loss(""), v1::KernelChoices::LOSS_UNSPECIFIED);
  EXPECT_EQ(loss("[compile]\nenable = true\n"), v1::KernelChoices::LOSS_FUSED);
  EXPECT_EQ(loss("[compile]\nenable = true\ncomponents = [\"model\"]\n"),
            v1::KernelChoices::LOSS_UNSPECIFIED);
  EXPECT_EQ(loss("[compile]\nenable = true\n[parallelism]\ntensor_parallel_degree = 2\n"),
            v1::KernelChoices::LOSS_UNSPECIFIED);
  EXPECT_FALSE(software("[optimizer]\nimplementation = \"fused\"\n").has_optimizer_time_ratio());
  EXPECT_EQ(software("[optimizer]\nimplementation = \"foreach\"\n").optimizer_time_ratio(), 2.9);
  EXPECT_TRUE(
      software("[parallelism]\nexpert_parallel_comm_backend = \"deepep\"\n").one_copy_per_node());
}

// By hand: 32 + 1 + 1 layers on 4 stages are 9, 9, 8, 8; less one at each end.
TEST(ReadTorchtitan, DealsOutLayersAsItDoes) {
  EXPECT_THAT(LayersPerChunk(32, 4, 1, 1), ElementsAre(8, 9, 8, 7));
  EXPECT_THAT(LayersPerChunk(32, 4, 0, 0), ElementsAre(8, 8, 8, 8));
  EXPECT_THAT(LayersPerChunk(2, 4, 1, 1), ElementsAre(0, 1, 1, 0));
  EXPECT_THAT(LayersPerChunk(1, 4, 1, 1), IsEmpty());
  const LauncherRead read = ReadToml(
      "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[parallelism]\npipeline_parallel_degree = 4\n");
  EXPECT_THAT(read.request.layout().parallel().layers_per_chunk(), ElementsAre(8, 9, 8, 7));
}

TEST(ReadTorchtitan, SaysWhatToWriteInstead) {
  const auto error_of = [](const std::string& text) { return ReadTorchtitan(text, true).status(); };
  ExpectUnread("torchtitan unread", error_of);
  ExpectSays(error_of(absl::StrCat("a = ", std::string(100'000, '['))), "no TOML");
}

TEST(ReadTorchtitan, SurvivesAnyCut) {
  TryEveryCut("dense.toml", std::string("\0[=\"-9\x80", 7),
              [](const std::string& text) { (void)ReadTorchtitan(text, true); });
}

}  // namespace
}  // namespace sextant::server
