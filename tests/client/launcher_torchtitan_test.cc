// Runs as torchtitan's configuration, and back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/launcher/launcher.h"
#include "tests/client/sample_launch.h"

namespace sextant::client {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

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

std::string TomlRefusalOf(const LaunchedRun& run) {
  return std::string(WriteTorchtitan(run).status().message());
}

LauncherRead ReadToml(const std::string& text) {
  const absl::StatusOr<LauncherRead> read = ReadTorchtitan(text, true);
  EXPECT_TRUE(read.ok()) << text << ": " << read.status();
  return read.ok() ? *read : LauncherRead{};
}

constexpr const char* kTorchtitanChanges[] = {
    "",
    R"({"layout": {"micro_batch_size": 2}})",
    R"({"layout": {"parallel": {"tensor_parallel_size": 8}}})",
    R"({"layout": {"context_parallel_size": 4}})",
    R"({"layout": {"context_parallel_size": 4, "sharding": {"shard_group_size": 16}}})",
    R"({"layout": {"sharding": {"shard_group_size": 8}}})",
    R"({"layout": {"sharding": {"zero_stage": "ZERO_STAGE_NONE"}}})",
    R"({"layout": {"sharding": {"reshard_after_forward": false}}})",
    R"({"layout": {"sharding": {"offload_optimizer": true, "offload_parameters": true}}})",
    R"({"layout": {"parallel": {"pipeline_parallel_size": 4}}})",
    R"({"layout": {"parallel": {"pipeline_parallel_size": 4},
                   "schedule": "PIPELINE_SCHEDULE_GPIPE"}})",
    R"({"layout": {"parallel": {"pipeline_parallel_size": 4, "virtual_stage_count": 2}}})",
    R"({"layout": {"parallel": {"pipeline_parallel_size": 2, "virtual_stage_count": 4}}})",
    R"({"layout": {"parallel": {"pipeline_parallel_size": 4, "layers_per_chunk": [7, 9, 9, 7]}}})",
    R"({"layout": {"parallel": {"pipeline_parallel_size": 2, "virtual_stage_count": 2,
                                "layers_per_chunk": [7, 9, 9, 7]}}})",
    R"({"layout": {"parallel": {"expert_parallel_size": 8, "expert_tensor_parallel_size": 1}}})",
    R"({"training": {"recompute": "RECOMPUTE_POLICY_FULL"}})",
    R"({"training": {"precision": {"compute_data_type": "DATA_TYPE_FP8"}}})",
    R"({"training": {"precision": {"compute_data_type": "DATA_TYPE_MXFP8"}}})",
    R"({"training": {"precision": {"compute_data_type": "DATA_TYPE_FP32"}}})",
    R"({"training": {"precision": {"weight_data_type": "DATA_TYPE_BF16",
                                   "master_weights": false}}})",
    R"({"training": {"optimizer": {"kind": "KIND_ADAM"}}})",
    R"({"layout": {"framework": {"deterministic": true}}})",
};

TEST(Torchtitan, ReadsBackWhatItWrote) {
  for (const char* changes : kTorchtitanChanges) {
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
  for (const char* changes : kTorchtitanChanges) {
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
  const std::pair<const char*, const char*> cases[] = {
      {R"({"layout": {"sharding": {"zero_stage": "ZERO_STAGE_GRADIENTS"}}})",
       "--zero=gradients: it takes none or parameters"},
      {R"({"layout": {"schedule": "PIPELINE_SCHEDULE_ZERO_BUBBLE_H1"}})",
       "--schedule=zero-bubble-h1"},
      {R"({"layout": {"context_parallel_kind": "CONTEXT_PARALLEL_KIND_ALL_TO_ALL"}})",
       "--cp-comm=all-to-all: it takes ring alone"},
      {R"({"training": {"recompute": "RECOMPUTE_POLICY_SELECTIVE"}})", "--recompute=selective"},
      {R"({"layout": {"kernels": {"attention": "ATTENTION_UNFUSED"}}})", "--attention=unfused"},
      {R"({"layout": {"parallel": {"tensor_parallel_size": 2}, "sequence_parallel": false}})",
       "--sp=false"},
      {R"({"layout": {"sharding": {"offload_optimizer": true}}})",
       "goes with --offload-parameters"},
      {R"({"layout": {"context_parallel_size": 4, "sharding": {"shard_group_size": 2}}})",
       "--shard-group-size: it takes a multiple of --cp"},
      {R"({"layout": {"parallel": {"tensor_parallel_size": 8, "expert_parallel_size": 2,
                                   "expert_tensor_parallel_size": 4}}})",
       "--etp=4: it takes 1, or --tp"},
      {R"({"training": {"precision": {"weight_data_type": "DATA_TYPE_BF16"}}})",
       "--weight-data-type=bf16: it takes --master-weights=false"},
      {R"({"layout": {"framework": {"kind": "KIND_MEGATRON_LM"}}})",
       "--framework=megatron-lm: it takes torchtitan alone"},
  };
  for (const auto& [changes, refusal] : cases) {
    EXPECT_THAT(TomlRefusalOf(LaunchTorchtitan(changes)), HasSubstr(refusal)) << changes;
  }
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
  EXPECT_EQ(request.training().recompute(), v1::RECOMPUTE_POLICY_UNSPECIFIED);
  EXPECT_THAT(read.ignored,
              ElementsAre("activation_checkpoint.mode", "activation_checkpoint.selective_ac_option",
                          "compile.components", "job.dump_folder", "lr_scheduler.warmup_steps"));
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
  const std::pair<std::string, const char*> cases[] = {
      {"[training\n", "no TOML: line 1"},
      {"a = = 1", "no TOML: line 1"},
      {absl::StrCat("a = ", std::string(100'000, '[')), "no TOML"},
      {"[training]\nseq_len = \"long\"",
       "training.seq_len = \"long\": write a whole number from 1"},
      {"[training]\nseq_len = -1", "training.seq_len = -1: write a whole number from 1 on"},
      {"[training]\nseq_len = 1.5", "training.seq_len = 1.5: write a whole number"},
      {"[training]\nseq_len = 99999999999999999999", "no TOML"},
      {"[training]\nseq_len = 1979-05-27", "write a whole number"},
      {"[training]\nglobal_batch_size = 0", "write -1, or a whole number from 1 on"},
      {"training = 5\n[parallelism]\ntensor_parallel_degree = true",
       "parallelism.tensor_parallel_degree = true: write a whole number"},
      {"[parallelism]\ndata_parallel_shard_degree = 0", "write -1, or a whole number"},
      {"[training]\ndtype = \"int8\"", "training.dtype = \"int8\": write float32 or bfloat16"},
      {"[model]\nconverters = \"float8\"", "model.converters = \"float8\": write a list of texts"},
      {"[model]\nconverters = [1]", "write a list of texts"},
      {"[activation_checkpoint]\nmode = 7", "activation_checkpoint.mode = 7: write a text"},
      {"[activation_checkpoint]\nmode = \"most\"", "write none, full, selective"},
      {"[parallelism]\npipeline_parallel_degree = 2\npipeline_parallel_schedule = "
       "\"ZBVZeroBubble\"",
       "write 1F1B, GPipe or Interleaved1F1B"},
      {"[parallelism]\npipeline_parallel_degree = 2\nmodule_fqns_per_model_part = [[\"a\"]]",
       "write a multiple of 2 lists"},
      {"[parallelism]\npipeline_parallel_degree = 2\nmodule_fqns_per_model_part = [\"a\"]",
       "write a list of lists of texts"},
      {"[parallelism]\npipeline_parallel_degree = 9000000000", "too many"},
      {"[optimizer]\nname = \"Lion\"", "optimizer.name = \"Lion\": write Adam or AdamW"},
  };
  for (const auto& [text, error] : cases) {
    EXPECT_THAT(std::string(ReadTorchtitan(text, true).status().message()), HasSubstr(error))
        << text.substr(0, 99);
  }
}

TEST(ReadTorchtitan, SurvivesAnyCut) {
  const std::string whole = LauncherGolden("dense.toml");
  for (size_t length = 0; length < whole.size(); ++length) {
    (void)ReadTorchtitan(whole.substr(0, length), true);
    std::string changed = whole;
    changed[length] = "\0[=\"-9\x80"[length % 7];
    (void)ReadTorchtitan(changed, true);
  }
}

}  // namespace
}  // namespace sextant::client
