// Configurations of NeMo, Megatron-Bridge, MaxText and torchtitan's Python.
#include "server/launcher/nemo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/launcher/file_format.h"
#include "server/launcher/launcher.h"
#include "tests/launcher/sample_launch.h"

namespace sextant::server {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kBridge[] = "Megatron-Bridge configuration";

LauncherRead ReadAs(const std::string& format, const std::string& file,
                    const std::string& name = "") {
  const absl::StatusOr<LaunchText> text = ParseLaunchText(name, LauncherGolden(file));
  EXPECT_TRUE(text.ok()) << text.status();
  if (!text.ok()) return {};
  const FileFormat* const found = FormatOf(*text);
  EXPECT_TRUE(found != nullptr && found->name == format) << (found ? found->name : "none");
  if (found == nullptr) return {};
  absl::StatusOr<LauncherRead> read = found->read(*text, true);
  EXPECT_TRUE(read.ok()) << read.status();
  return read.ok() ? *std::move(read) : LauncherRead();
}

TEST(MegatronBridge, ReadsARecipeInPython) {
  const LauncherRead read = ReadAs(kBridge, "bridge_llama70b.py");
  const v1::PlanRunRequest& request = read.request;
  EXPECT_EQ(request.model().preset(), "meta-llama/Llama-3.1-70B");
  const v1::RunLayout& layout = request.layout();
  EXPECT_EQ(layout.parallel().tensor_parallel_size(), 4);
  EXPECT_EQ(layout.parallel().pipeline_parallel_size(), 4);
  EXPECT_EQ(layout.parallel().virtual_stage_count(), 5);
  EXPECT_EQ(layout.context_parallel_size(), 2);
  EXPECT_TRUE(layout.sequence_parallel());
  EXPECT_EQ(layout.global_batch_size(), 128);
  EXPECT_EQ(layout.micro_batch_size(), 1);
  EXPECT_EQ(layout.sharding().zero_stage(), v1::ZERO_STAGE_OPTIMIZER);
  EXPECT_EQ(layout.framework().kind(), v1::FrameworkMemory::KIND_MEGATRON_BRIDGE);
  EXPECT_EQ(request.training().sequence_length(), 8192);
  EXPECT_EQ(request.training().recompute(), v1::RECOMPUTE_POLICY_NONE);
  const v1::PrecisionPolicy& precision = request.training().precision();
  EXPECT_EQ(precision.compute_data_type(), v1::DATA_TYPE_FP8);
  EXPECT_EQ(precision.gradient_data_type(), v1::DATA_TYPE_BF16);
  EXPECT_EQ(precision.optimizer_data_type(), v1::DATA_TYPE_BF16);
  EXPECT_EQ(read.step_count, 1000);
  EXPECT_THAT(read.ignored, Contains("model.some_new_switch"));
  EXPECT_THAT(read.passed, Contains("optimizer.lr"));
}

TEST(MegatronBridge, ReadsYaml) {
  const LauncherRead read = ReadAs(kBridge, "bridge_override.yaml");
  const v1::PlanRunRequest& request = read.request;
  EXPECT_EQ(request.model().preset(), "llama-3.1-8b");
  EXPECT_EQ(request.layout().context_parallel_kind(), v1::CONTEXT_PARALLEL_KIND_ALL_TO_ALL);
  EXPECT_EQ(request.training().recompute(), v1::RECOMPUTE_POLICY_SELECTIVE);
  EXPECT_TRUE(request.layout().kernels().recompute_norm_outputs());
  EXPECT_EQ(request.training().precision().gradient_data_type(), v1::DATA_TYPE_FP32);
  EXPECT_THAT(read.ignored, IsEmpty());
}

TEST(MegatronBridge, NamesItsOwnSettingsInErrors) {
  const absl::StatusOr<LaunchText> text =
      ParseLaunchText("", "train: {micro_batch_size: -2, global_batch_size: 8}\nmodel: {}\n");
  ASSERT_TRUE(text.ok());
  EXPECT_THAT(std::string(FormatOf(*text)->read(*text, true).status().message()),
              HasSubstr("train.micro_batch_size=-2: write a whole number from 1 on"));
}

// 128 GPUs: 16 nodes of 8.
TEST(Nemo, ReadsVersionOne) {
  const LauncherRead read = ReadAs("NeMo 1 configuration", "nemo1_gpt5b.yaml");
  const v1::PlanRunRequest& request = read.request;
  EXPECT_EQ(request.cluster().device_count(), 128);
  EXPECT_EQ(request.model().architecture().hidden_size(), 4096);
  EXPECT_EQ(request.model().architecture().layer_kinds(0).feed_forward().size(), 16384);
  EXPECT_EQ(request.layout().global_batch_size(), 1440);
  EXPECT_EQ(request.training().recompute(), v1::RECOMPUTE_POLICY_FULL);
  EXPECT_EQ(request.training().precision().compute_data_type(), v1::DATA_TYPE_BF16);
  EXPECT_EQ(request.layout().sharding().zero_stage(), v1::ZERO_STAGE_OPTIMIZER);
  EXPECT_EQ(read.step_count, 75000);
  EXPECT_THAT(read.open, ElementsAre("model.ffn_hidden_size"));
  EXPECT_THAT(read.ignored, IsEmpty());
}

TEST(Nemo, ReadsVersionTwosAdapters) {
  const LauncherRead read = ReadAs("NeMo 2 recipe", "nemo2_lora.py");
  const v1::PlanRunRequest& request = read.request;
  EXPECT_EQ(request.model().preset(), "llama-3-8b");
  EXPECT_EQ(request.model().changes().adapters().rank(), 16);
  EXPECT_THAT(request.model().changes().adapters().targets(),
              ElementsAre("attention.query+key+value"));
  EXPECT_TRUE(request.model().changes().base_frozen());
  EXPECT_EQ(request.cluster().device_count(), 16);
  EXPECT_EQ(request.layout().parallel().tensor_parallel_size(), 2);
  EXPECT_EQ(request.training().sequence_length(), 2048);
  EXPECT_THAT(read.ignored, IsEmpty());
}

TEST(Maxtext, ReadsAxesAndBatches) {
  const LauncherRead read = ReadAs("MaxText configuration", "maxtext_llama8b.yml");
  const v1::PlanRunRequest& request = read.request;
  EXPECT_EQ(request.model().preset(), "llama3.1-8b");
  EXPECT_EQ(request.training().sequence_length(), 8192);
  EXPECT_EQ(read.sequences_per_rank, 2);
  EXPECT_EQ(request.layout().micro_batch_size(), 2);
  EXPECT_EQ(request.layout().sharding().zero_stage(), v1::ZERO_STAGE_PARAMETERS);
  EXPECT_EQ(request.training().precision().weight_data_type(), v1::DATA_TYPE_FP32);
  ASSERT_EQ(read.lowering.size(), 1);
  EXPECT_EQ(read.lowering[0].text, "remat_policy = save_qkv_proj");
  EXPECT_THAT(read.ignored, Contains(HasSubstr("XLA's memory")));
  EXPECT_THAT(read.ignored, Not(Contains("logits_dot_in_fp32")));  // off
}

TEST(TorchtitanPython, ReadsTheFunctionThatIsNamed) {
  const LauncherRead read =
      ReadAs("torchtitan configuration in Python", "torchtitan_registry.py", "a.py:large");
  const v1::PlanRunRequest& request = read.request;
  EXPECT_EQ(request.model().preset(), "llama-3.1-70b");
  EXPECT_EQ(request.layout().parallel().tensor_parallel_size(), 8);
  EXPECT_EQ(read.sequences_per_rank, 1);
  EXPECT_EQ(request.training().sequence_length(), 4096);
  EXPECT_EQ(request.training().recompute(), v1::RECOMPUTE_POLICY_FULL);
  EXPECT_EQ(request.training().precision().compute_data_type(), v1::DATA_TYPE_FP8);
  EXPECT_EQ(read.step_count, 1000);
}

// A number, a list or a text given as a section counts as no section.
TEST(TorchtitanPython, ReadsSectionsThatAreNone) {
  const absl::StatusOr<LaunchText> text = ParseLaunchText(
      "",
      "from torchtitan.config import TrainingConfig\ndef run():\n"
      "    return Trainer.Config(model=\"x\", quantize=1, optimizer=[], model_spec=f(\"8B\"),\n"
      "        model_converters=C(converters=[Float8(enable_fsdp_float8_all_gather=True)]),\n"
      "        training=TrainingConfig(seq_len=64))\n");
  ASSERT_TRUE(text.ok()) << text.status();
  const absl::StatusOr<LauncherRead> read = FormatOf(*text)->read(*text, true);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->request.training().sequence_length(), 64);
  EXPECT_EQ(read->request.training().precision().compute_data_type(), v1::DATA_TYPE_FP8);
}

TEST(TorchtitanPython, AsksWhichOfSeveral) {
  const absl::StatusOr<LaunchText> text =
      ParseLaunchText("a.py", LauncherGolden("torchtitan_registry.py"));
  ASSERT_TRUE(text.ok());
  EXPECT_THAT(std::string(FormatOf(*text)->read(*text, true).status().message()),
              HasSubstr("name one after a colon, e.g. FILE:small; all: small, large"));
}

// Expects that a written run is read back as it was.
void ExpectReadBack(const LaunchedRun& run, const LauncherFile& file, bool with_shape) {
  const absl::StatusOr<LaunchText> text = ParseLaunchText("", file.text);
  ASSERT_TRUE(text.ok()) << text.status() << "\n" << file.text;
  const FileFormat* const format = FormatOf(*text);
  ASSERT_NE(format, nullptr) << file.text;
  const absl::StatusOr<LauncherRead> read = format->read(*text, true);
  ASSERT_TRUE(read.ok()) << read.status() << "\n" << file.text;
  EXPECT_THAT(read->ignored, IsEmpty()) << file.text;
  EXPECT_THAT(read->open, IsEmpty()) << file.text;
  v1::PlanRunRequest back = RequestAsRead(*read, run.request);
  if (with_shape) {
    EXPECT_EQ(DifferencesOf(run.model.decoder(), back.model().architecture().decoder()), "")
        << file.text;
    EXPECT_EQ(back.model().architecture().hidden_size(), run.model.hidden_size());
  }
  EXPECT_EQ(back.layout().global_batch_size(), run.request.layout().global_batch_size());
  EXPECT_EQ(DifferencesOf(run.request.layout().parallel(), back.layout().parallel()), "")
      << file.text;
  EXPECT_EQ(back.training().token_count(), run.request.training().token_count());
  EXPECT_EQ(back.training().recompute(), run.request.training().recompute());
  EXPECT_EQ(back.layout().batch_ramp_size(), run.request.layout().batch_ramp_size());
  EXPECT_EQ(back.training().precision().gradient_data_type(),
            run.request.training().precision().gradient_data_type());
  EXPECT_EQ(back.layout().sharding().zero_stage(), run.request.layout().sharding().zero_stage());
}

TEST(MegatronBridge, ReadsBackWhatItWrote) {
  for (const char* changes :
       {"", R"({"training": {"recompute": "RECOMPUTE_POLICY_FULL"}})",
        R"({"training": {"precision": {"compute_data_type": "DATA_TYPE_FP8",
                                       "gradient_data_type": "DATA_TYPE_FP32"}}})",
        R"({"training": {"precision": {"gradient_data_type": "DATA_TYPE_BF16"}}})",
        R"({"layout": {"batch_ramp": [{"token_count": 2097152, "global_batch_size": 64},
                                      {"token_count": 2359296, "global_batch_size": 96}]}})",
        R"({"layout": {"parallel": {"tensor_parallel_size": 4, "pipeline_parallel_size": 2}}})"}) {
    const LaunchedRun run = DenseLaunch(changes);
    const absl::StatusOr<LauncherFile> file = WriteMegatronBridge(run);
    ASSERT_TRUE(file.ok()) << file.status();
    ExpectReadBack(run, *file, true);
  }
  const LaunchedRun experts = ExpertLaunch();
  const absl::StatusOr<LauncherFile> file = WriteMegatronBridge(experts);
  ASSERT_TRUE(file.ok()) << file.status();
  ExpectReadBack(experts, *file, true);
}

// In fp8 Megatron-Bridge's plans have gradients in bf16.
TEST(MegatronBridge, WritesTheGradientsOfItsPlans) {
  LaunchedRun run = DenseLaunch(R"({"training": {"precision": {
      "compute_data_type": "DATA_TYPE_FP8"}}})");
  run.request.mutable_training()->mutable_precision()->clear_gradient_data_type();
  run.request.mutable_layout()->mutable_framework()->set_kind(
      v1::FrameworkMemory::KIND_MEGATRON_BRIDGE);
  EXPECT_THAT(WriteMegatronBridge(run)->text,
              HasSubstr("cfg.mixed_precision.grad_reduce_in_fp32 = False\n"));
  run.request.mutable_layout()->mutable_framework()->set_kind(
      v1::FrameworkMemory::KIND_MEGATRON_LM);
  EXPECT_THAT(WriteMegatronBridge(run)->text,
              HasSubstr("cfg.mixed_precision.grad_reduce_in_fp32 = True\n"));
}

// The recipe's own settings are open.
TEST(MegatronBridge, StartsFromARecipeByName) {
  const absl::StatusOr<LaunchText> text =
      ParseLaunchText("",
                      "from megatron.bridge.recipes.llama import llama31_8b_pretrain_config\n"
                      "if __name__ == '__main__':\n    c = llama31_8b_pretrain_config()\n"
                      "    c.train.global_batch_size = 64\n");
  ASSERT_TRUE(text.ok());
  const absl::StatusOr<LauncherRead> read = FormatOf(*text)->read(*text, true);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->request.model().preset(), "llama-3.1-8b");
  EXPECT_EQ(read->request.layout().global_batch_size(), 64);
  EXPECT_THAT(read->open, ElementsAre("what llama31_8b_pretrain_config() sets"));
}

TEST(Nemo, StartsFromARecipeByName) {
  const absl::StatusOr<LaunchText> text = ParseLaunchText(
      "",
      "from nemo.collections import llm\ndef f():\n"
      "    r = llm.llama3_70b.pretrain_recipe(num_nodes=4, num_gpus_per_node=8, dir='/x')\n"
      "    r.data.global_batch_size = 64\n    return r\n");
  ASSERT_TRUE(text.ok());
  const absl::StatusOr<LauncherRead> read = FormatOf(*text)->read(*text, true);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->request.model().preset(), "llama-3-70b");
  EXPECT_EQ(read->request.cluster().device_count(), 32);
  EXPECT_THAT(read->open, ElementsAre("what llm.llama3_70b.pretrain_recipe() sets"));
  EXPECT_THAT(read->ignored, IsEmpty());
}

TEST(TorchtitanPython, ReadsBackWhatItWrote) {
  for (const char* changes : {"", R"({"training": {"recompute": "RECOMPUTE_POLICY_FULL"}})",
                              R"({"layout": {"parallel": {"tensor_parallel_size": 4}}})"}) {
    LaunchedRun run = DenseLaunch(changes);
    run.request.mutable_model()->set_preset("llama-3.1-8b");
    run.request.mutable_layout()->mutable_sharding()->set_zero_stage(v1::ZERO_STAGE_PARAMETERS);
    run.request.mutable_layout()->mutable_parallel()->clear_expert_parallel_size();  // 1
    run.request.mutable_training()->mutable_precision()->clear_gradient_data_type();
    const absl::StatusOr<LauncherFile> file = WriteTorchtitanPython(run);
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_THAT(file->text, HasSubstr("compile=CompileConfig(enable=True"));
    ExpectReadBack(run, *file, false);
  }
}

}  // namespace
}  // namespace sextant::server
