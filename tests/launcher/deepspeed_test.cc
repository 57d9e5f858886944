// Runs as DeepSpeed's configuration, and back; and as a job script.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "server/launcher/launcher.h"
#include "tests/launcher/sample_launch.h"

namespace sextant::server {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

LaunchedRun Launch(const std::string& changes = "") {
  LaunchedRun run = DenseLaunch(R"({"layout": {"framework": {"kind": "KIND_DEEPSPEED"}}})");
  run.request.mutable_training()->clear_recompute();  // the script's
  v1::RunLayout* layout = run.request.mutable_layout();
  layout->clear_parallel();  // sizes of 1 are left out
  layout->clear_context_parallel_size();
  return Changed(run, changes);
}

LauncherRead Read(const std::string& text) {
  const absl::StatusOr<LauncherRead> read = ReadDeepspeed(text);
  EXPECT_TRUE(read.ok()) << text << ": " << read.status();
  return read.ok() ? *read : LauncherRead{};
}

TEST(Deepspeed, ReadsBackWhatItWrote) {
  for (const std::string& changes : ChangesOf("deepspeed")) {
    SCOPED_TRACE(changes);
    const LaunchedRun run = Launch(changes);
    const absl::StatusOr<LauncherFile> file = WriteDeepspeed(run);
    ASSERT_TRUE(file.ok()) << file.status();
    const LauncherRead read = Read(file->text);
    EXPECT_THAT(read.ignored, IsEmpty()) << file->text;
    EXPECT_THAT(read.open, IsEmpty()) << file->text;
    v1::PlanRunRequest expected = run.request;
    expected.mutable_training()->clear_token_count();  // the script's
    expected.mutable_training()->clear_sequence_length();
    EXPECT_EQ(DifferencesOf(expected, RequestAsRead(read, run.request)), "") << file->text;
  }
}

// Exchanges are hidden by default at stage 3 alone; stage 0 has nothing to say about it.
TEST(Deepspeed, PricesExchangesThatAreNotHidden) {
  const auto software = [](const std::string& zero) {
    return Read(absl::StrCat(R"({"zero_optimization": {)", zero, "}}")).request.layout().software();
  };
  EXPECT_TRUE(software(R"("stage": 2)").has_data_exchange_overlap());
  EXPECT_EQ(software(R"("stage": 2)").data_exchange_overlap(), 0);
  EXPECT_FALSE(software(R"("stage": 2)").has_overlap_contention());
  EXPECT_FALSE(software(R"("stage": 2, "overlap_comm": true)").has_data_exchange_overlap());
  EXPECT_FALSE(software(R"("stage": 3)").has_overlap_contention());
  EXPECT_EQ(software(R"("stage": 3, "overlap_comm": false)").overlap_contention(), 1);
  EXPECT_FALSE(software(R"("stage": 0)").has_data_exchange_overlap());
  EXPECT_TRUE(software(R"("stage": 1, "reduce_scatter": false)").all_reduces_gradients());
  EXPECT_FALSE(software(R"("stage": 1, "reduce_scatter": true)").has_all_reduces_gradients());
}

TEST(Deepspeed, WritesTheGoldenFile) {
  const LaunchedRun run = Launch(
      R"({"training": {"recompute": "RECOMPUTE_POLICY_FULL"},
          "layout": {"parallel": {"pipeline_parallel_size": 4},
                     "sharding": {"offload_optimizer": true},
                     "framework": {"reduce_bucket_elements": 200000000}}})");
  const absl::StatusOr<LauncherFile> file = WriteDeepspeed(run);
  EXPECT_EQ(file->text, LauncherGolden("dense.deepspeed.json"));
  EXPECT_THAT(file->left_out, ElementsAre("the model", "--sequence-length", "--tokens",
                                          "--pp=4 (its PipelineModule)"));
}

void AppendPaths(const nlohmann::json& node, const std::string& path,
                 std::vector<std::string>* out) {
  for (const auto& [key, value] : node.items()) {
    const std::string at = path.empty() ? key : absl::StrCat(path, ".", key);
    if (value.is_object()) {
      AppendPaths(value, at, out);
    } else {
      out->push_back(at);
    }
  }
}

TEST(Deepspeed, KnowsTheOptionsOfItsRelease) {
  const std::vector<std::string> options = LauncherOptions("deepspeed_options.txt");
  for (const std::string& changes : ChangesOf("deepspeed")) {
    std::vector<std::string> paths;
    AppendPaths(nlohmann::json::parse(WriteDeepspeed(Launch(changes))->text), "", &paths);
    for (const std::string& path : paths) EXPECT_THAT(options, Contains(path));
  }
}

TEST(Deepspeed, RefusesWhatItHasNoSettingFor) {
  ExpectUnwritten("deepspeed unwritten", [](const std::string& changes) {
    return WriteDeepspeed(Launch(changes)).status();
  });
}

// As Hugging Face's Trainer takes it.
TEST(ReadDeepspeed, ListsWhatAccelerateFillsIn) {
  const LauncherRead read = Read(R"({
    "bf16": {"enabled": "auto"}, "train_batch_size": "auto",
    "train_micro_batch_size_per_gpu": "auto", "gradient_clipping": 1.0,
    "optimizer": {"type": "AdamW", "params": {"lr": "auto"}},
    "zero_optimization": {"stage": 3, "reduce_bucket_size": 5e8, "overlap_comm": true,
                          "offload_optimizer": {"device": "nvme", "pin_memory": true}}})");
  EXPECT_THAT(read.open, ElementsAre("bf16.enabled", "optimizer.params.lr", "train_batch_size",
                                     "train_micro_batch_size_per_gpu"));
  EXPECT_THAT(read.ignored, ElementsAre("zero_optimization.offload_optimizer.device"));
  EXPECT_THAT(read.passed,
              ElementsAre("gradient_clipping", "zero_optimization.offload_optimizer.pin_memory"));
  EXPECT_THAT(LoweringOf(read), ElementsAre("zero_optimization.offload_optimizer.device = nvme"));
  EXPECT_EQ(read.request.training().precision().compute_data_type(), v1::DATA_TYPE_UNSPECIFIED);
  EXPECT_EQ(read.request.layout().framework().reduce_bucket_elements(), 500'000'000);
  EXPECT_TRUE(read.request.layout().sharding().offload_optimizer());
}

TEST(ReadDeepspeed, SaysWhatMayLowerMemory) {
  const LauncherRead read = Read(R"({
    "activation_checkpointing": {"cpu_checkpointing": true}, "gradient_clipping": 1.0,
    "zero_optimization": {"stage": 3, "sub_group_size": 1e8}})");
  EXPECT_THAT(LoweringOf(read),
              UnorderedElementsAre("activation_checkpointing.cpu_checkpointing",
                                   "zero_optimization.sub_group_size = 100000000"));
  EXPECT_THAT(read.ignored, UnorderedElementsAre("activation_checkpointing.cpu_checkpointing",
                                                 "zero_optimization.sub_group_size"));
}

// Gathered weights are freed once they are more, or once their next use is farther away.
TEST(ReadDeepspeed, TakesTheWeightsThatStayWhole) {
  const auto layout = [](const std::string& zero) {
    return Read("{\"zero_optimization\": {" + zero + "}}").request.layout();
  };
  const auto both = layout(R"("stage": 3, "stage3_max_live_parameters": 2e8,
                              "stage3_max_reuse_distance": 1e8, "zero_hpz_partition_size": 8)");
  EXPECT_EQ(both.framework().live_elements(), 100'000'000);
  EXPECT_EQ(both.sharding().secondary_group_size(), 8);
  const auto none = layout(R"("stage": 3, "stage3_max_live_parameters": 0)");
  EXPECT_TRUE(none.framework().has_live_elements());
  EXPECT_EQ(none.framework().live_elements(), 0);
  const auto other = layout(R"("stage": 2, "stage3_max_live_parameters": 2e8)");
  EXPECT_FALSE(other.framework().has_live_elements());
}

// Its pipelines in bf16 divide the optimizer's state at stage 0, as BLOOM's script says.
TEST(ReadDeepspeed, DividesTheOptimizerOfPipelinesInBf16) {
  const auto stage = [](const std::string& more, int64_t stages) {
    v1::PlanRunRequest request;
    const LauncherRead read = Read(R"({"zero_optimization": {"stage": 0})" + more + "}");
    Merge(read, &request);
    request.mutable_layout()->mutable_parallel()->set_pipeline_parallel_size(stages);
    Complete(read, &request);
    return request.layout().sharding().zero_stage();
  };
  const std::string bf16 = R"(, "bf16": {"enabled": true})";
  EXPECT_EQ(stage(bf16, 12), v1::ZERO_STAGE_OPTIMIZER);
  EXPECT_EQ(stage(bf16, 1), v1::ZERO_STAGE_NONE);
  EXPECT_EQ(stage(R"(, "fp16": {"enabled": true})", 12), v1::ZERO_STAGE_NONE);
}

TEST(ReadDeepspeed, OffloadsAWholeOptimizerAlone) {
  const auto read = [](const std::string& share) {
    return Read(R"({"zero_optimization": {"offload_optimizer": {"device": "cpu", "ratio": )" +
                share + "}}}");
  };
  EXPECT_TRUE(read("1.0").request.layout().sharding().offload_optimizer());
  EXPECT_THAT(LoweringOf(read("1.0")), IsEmpty());
  EXPECT_FALSE(read("0.9").request.layout().sharding().offload_optimizer());
  EXPECT_THAT(LoweringOf(read("0.9")),
              ElementsAre("zero_optimization.offload_optimizer.ratio = 0.9"));
}

TEST(ReadDeepspeed, ComputesTheBatchOnceDevicesAreKnown) {
  v1::PlanRunRequest devices;
  devices.mutable_cluster()->set_device_count(16);
  const LauncherRead read =
      Read(R"({"train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 3})");
  EXPECT_EQ(RequestAsRead(read, devices).layout().global_batch_size(), 96);  // 2 x 3 x 16
  EXPECT_THAT(Read(R"({"train_batch_size": 64})").open,
              ElementsAre("train_micro_batch_size_per_gpu"));
}

TEST(ReadDeepspeed, SaysWhatToWriteInstead) {
  const auto error_of = [](const std::string& text) { return ReadDeepspeed(text).status(); };
  ExpectUnread("deepspeed unread", error_of);
  ExpectSays(error_of("{\"a\": \"\xff\"}"), "no JSON");
  ExpectSays(error_of(std::string(200'000, '[')), "no JSON");
  ExpectSays(error_of(absl::StrCat("{\"a\":", std::string(100, '['), std::string(100, ']'), "}")),
             "nested too deeply");
}

TEST(ReadDeepspeed, SurvivesAnyCut) {
  TryEveryCut("dense.deepspeed.json", std::string("\0[:\"-9\x80", 7),
              [](const std::string& text) { (void)ReadDeepspeed(text); });
}

LaunchedRun Job() {
  LaunchedRun run = DenseLaunch(
      R"({"layout": {"sequence_parallel": true, "parallel": {
          "tensor_parallel_size": 2, "pipeline_parallel_size": 4,
          "layers_per_chunk": [7, 8, 9, 8]}}})");
  run.devices_per_node = 8;
  run.elapsed_seconds = 86461;
  run.script = "pretrain_gpt.py";
  return run;
}

TEST(Slurm, WritesTheGoldenFile) {
  EXPECT_EQ(WriteSlurm(Job())->text, LauncherGolden("dense.sbatch"));
}

TEST(Slurm, QuotesAndNamesAsItHasTo) {
  LaunchedRun run = Job();
  run.script = "my $(script)'s.py";
  run.model_name = "a b\n#SBATCH --nodes=9";
  run.elapsed_seconds = 0;
  const absl::StatusOr<LauncherFile> file = WriteSlurm(run);
  EXPECT_THAT(file->text, HasSubstr("  'my $(script)'\\''s.py' \"$@\" \\\n"));
  EXPECT_THAT(file->text, HasSubstr("--job-name=a-b--SBATCH---nodes-9\n"));
  EXPECT_THAT(file->text, ::testing::Not(HasSubstr("--time")));
  EXPECT_THAT(file->left_out, ElementsAre("--time: no time was predicted"));
}

TEST(Slurm, StartsOtherFrameworksByTheirScriptAlone) {
  LaunchedRun run = Job();
  run.script = "";
  run.request.mutable_layout()->mutable_framework()->set_kind(v1::FrameworkMemory::KIND_TORCHTITAN);
  EXPECT_THAT(WriteSlurm(run)->text, ::testing::EndsWith(":29500\" \\\n  \"$@\"\n"));
}

TEST(Slurm, TakesWholeNodes) {
  LaunchedRun run = Job();
  run.request.mutable_cluster()->set_device_count(4);
  EXPECT_THAT(WriteSlurm(run)->text, HasSubstr("--nodes=1\n#SBATCH --ntasks-per-node=1\n"
                                               "#SBATCH --gpus-per-node=4\n"));
  run.request.mutable_cluster()->set_device_count(12);
  EXPECT_THAT(std::string(WriteSlurm(run).status().message()),
              HasSubstr("--devices=12: it takes a multiple of 8"));
  run.devices_per_node = 0;
  EXPECT_THAT(std::string(WriteSlurm(run).status().message()), HasSubstr("--node-type: give one"));
}

TEST(Slurm, RoundsTimesUp) {
  EXPECT_EQ(SlurmTime(1), "0-00:01:00");
  EXPECT_EQ(SlurmTime(3600), "0-01:00:00");
  EXPECT_EQ(SlurmTime(90061), "1-01:02:00");
  EXPECT_EQ(SlurmTime(1e300), "1000000-00:00:00");
}

}  // namespace
}  // namespace sextant::server
