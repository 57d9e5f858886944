// Runs as Megatron-LM's arguments, and back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/words/field_path.h"
#include "server/launcher/launcher.h"
#include "tests/launcher/sample_launch.h"

namespace sextant::server {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string Written(const LaunchedRun& run) {
  const absl::StatusOr<LauncherFile> file = WriteMegatron(run);
  EXPECT_TRUE(file.ok()) << file.status();
  return file.ok() ? file->text : "";
}

std::string RefusalOf(const LaunchedRun& run) {
  return std::string(WriteMegatron(run).status().message());
}

// The expected request has the model as a shape.
void ExpectReadBack(const LaunchedRun& run) {
  const std::string text = Written(run);
  const absl::StatusOr<LauncherRead> read = ReadMegatron(text, true);
  ASSERT_TRUE(read.ok()) << read.status() << "\n" << text;
  EXPECT_THAT(read->ignored, IsEmpty()) << text;
  v1::PlanRunRequest expected = run.request;
  *expected.mutable_model()->mutable_architecture() = run.model;
  expected.mutable_layout()->mutable_framework()->set_kind(v1::FrameworkMemory::KIND_MEGATRON_LM);
  EXPECT_EQ(DifferencesOf(expected, RequestAsRead(*read, run.request)), "") << text;
}

TEST(Megatron, ReadsBackWhatItWroteOfDenseRuns) {
  for (const std::string& changes : ChangesOf("megatron dense")) {
    SCOPED_TRACE(changes);
    ExpectReadBack(DenseLaunch(changes));
  }
}

TEST(Megatron, ReadsBackWhatItWroteOfExperts) {
  for (const std::string& changes : ChangesOf("megatron experts")) {
    SCOPED_TRACE(changes);
    ExpectReadBack(ExpertLaunch(changes));
  }
}

TEST(Megatron, ReadsBackOtherShapes) {
  LaunchedRun run = DenseLaunch();
  v1::LayerKind* layer = run.model.mutable_layer_kinds(0);
  run.model.set_norm(v1::NORM_VARIANT_LAYER_NORM);
  layer->set_norm(v1::NORM_VARIANT_LAYER_NORM);
  layer->mutable_feed_forward()->set_kind(v1::FeedForward::KIND_PLAIN);
  run.model.mutable_output()->set_head(v1::OUTPUT_HEAD_TIED);
  run.model.mutable_decoder()->set_learned_position_count(8192);
  layer->mutable_attention()->clear_key_value_head_count();
  layer->mutable_attention()->set_query_key_norm(v1::Attention::QUERY_KEY_NORM_PER_HEAD);
  ExpectReadBack(run);
  for (bool all : {false, true}) {
    layer->mutable_attention()->set_query_bias(true);
    layer->mutable_attention()->set_key_bias(true);
    layer->mutable_attention()->set_value_bias(true);
    layer->mutable_attention()->set_output_bias(all);
    layer->mutable_feed_forward()->set_input_bias(all);
    layer->mutable_feed_forward()->set_output_bias(all);
    ExpectReadBack(run);
  }
}

TEST(Megatron, ReadsBackLatentsGroupsAndModulesAhead) {
  LaunchedRun run = ExpertLaunch(
      R"({"layout": {"parallel": {"pipeline_parallel_size": 4, "layers_per_chunk": [8, 9, 8, 7]},
                     "kernels": {"recompute_latent_up_projections": true}}})");
  for (v1::LayerKind& layer : *run.model.mutable_layer_kinds()) {
    v1::Attention* attention = layer.mutable_attention();
    attention->set_query_key_head_size(192);
    attention->set_value_head_size(128);
    attention->mutable_latent()->set_query_rank(1536);
    attention->mutable_latent()->set_key_value_rank(512);
    attention->mutable_latent()->set_rotary_size(64);
  }
  v1::Experts* experts = run.model.mutable_layer_kinds(1)->mutable_experts();
  experts->set_group_count(8);
  experts->set_groups_per_token(4);
  experts->set_router_correction_bias(true);
  run.model.mutable_multi_token_prediction()->set_module_count(1);
  run.model.mutable_multi_token_prediction()->set_layer_kind("experts");
  ExpectReadBack(run);
  EXPECT_THAT(Written(run), HasSubstr("--pipeline-model-parallel-layout Et*8|t*9|t*8|t*7mL\n"));
}

TEST(Megatron, WritesTheGoldenFiles) {
  EXPECT_EQ(Written(DenseLaunch(
                R"({"training": {"recompute": "RECOMPUTE_POLICY_FULL"},
                    "layout": {"sequence_parallel": true, "parallel": {
                        "tensor_parallel_size": 8, "pipeline_parallel_size": 4,
                        "virtual_stage_count": 2}}})")),
            LauncherGolden("dense.megatron"));
  EXPECT_EQ(Written(ExpertLaunch(
                R"({"layout": {"parallel": {"pipeline_parallel_size": 4, "expert_parallel_size": 16,
                                            "layers_per_chunk": [7, 9, 9, 7]}}})")),
            LauncherGolden("experts.megatron"));
}

TEST(Megatron, KnowsTheOptionsOfItsRelease) {
  const std::vector<std::string> names = LauncherOptions("megatron_options.txt");
  for (const char* table : {"megatron dense", "megatron experts"}) {
    for (const std::string& changes : ChangesOf(table)) {
      const bool experts = std::string(table) == "megatron experts";
      const absl::StatusOr<std::vector<std::string>> lines =
          MegatronLines(experts ? ExpertLaunch(changes) : DenseLaunch(changes));
      ASSERT_TRUE(lines.ok()) << lines.status();
      for (const std::string& line : *lines) {
        EXPECT_THAT(names, Contains(line.substr(0, line.find(' '))));
      }
    }
  }
}

TEST(Launchers, HaveTablesOfFieldsOfTheApi) {
  for (const auto table : {MegatronSettings(), TorchtitanSettings(), DeepspeedSettings()}) {
    for (const Setting& setting : table) {
      if (*setting.field == '\0') continue;
      EXPECT_NE(words::FindField(*v1::PlanRunRequest::descriptor(), setting.field), nullptr)
          << setting.field;
    }
  }
}

TEST(Megatron, RefusesWhatItHasNoArgumentFor) {
  ExpectUnwritten("megatron unwritten", [](const std::string& changes) {
    return WriteMegatron(DenseLaunch(changes)).status();
  });
}

TEST(Megatron, RecomputesActivationsOfGroupedExpertsAlone) {
  LaunchedRun run =
      ExpertLaunch(R"({"layout": {"kernels": {"recompute_activation_function": true}}})");
  EXPECT_THAT(RefusalOf(run), HasSubstr("it recomputes those of experts alone"));
  run.model.mutable_decoder()->mutable_layers()->DeleteSubrange(0, 1);
  run.model.mutable_layer_kinds()->DeleteSubrange(0, 1);
  EXPECT_THAT(RefusalOf(run), HasSubstr("it takes --grouped-experts=true"));
  run.request.mutable_layout()->mutable_framework()->set_grouped_experts(true);
  ExpectReadBack(run);
}

// The API's gradients are of their weights' type, which Megatron-LM's are not in fp8.
TEST(Megatron, TakesWideGradientsOfFp8Weights) {
  LaunchedRun run = DenseLaunch(R"({"training": {"precision": {
      "compute_data_type": "DATA_TYPE_FP8", "weight_data_type": "DATA_TYPE_FP8"}}})");
  ExpectReadBack(run);
  run.request.mutable_training()->mutable_precision()->clear_gradient_data_type();
  EXPECT_THAT(RefusalOf(run), HasSubstr("in fp8 it takes --gradient-data-type=fp32 or bf16"));
}

TEST(Megatron, NamesEveryRefusalAtOnce) {
  LaunchedRun run = DenseLaunch(R"({"layout": {"schedule": "PIPELINE_SCHEDULE_GPIPE"}})");
  run.request.mutable_training()->clear_sequence_length();
  run.request.mutable_layout()->clear_global_batch_size();
  const std::string refusal = RefusalOf(run);
  EXPECT_THAT(refusal, HasSubstr("--schedule=gpipe"));
  EXPECT_THAT(refusal, HasSubstr("--sequence-length: it takes one"));
  EXPECT_THAT(refusal, HasSubstr("--gbs: it takes one"));
}

TEST(Megatron, RefusesShapesThatAreNoGptModel) {
  LaunchedRun run = DenseLaunch();
  v1::LayerKind* layer = run.model.mutable_layer_kinds(0);
  layer->mutable_attention()->set_window(1024);
  EXPECT_THAT(RefusalOf(run), HasSubstr("sample: no argument gives windows"));
  layer->mutable_attention()->clear_window();
  layer->mutable_norms()->set_after_attention(true);
  EXPECT_THAT(RefusalOf(run), HasSubstr("norms elsewhere"));
  layer->clear_norms();
  layer->mutable_attention()->set_query_bias(true);
  EXPECT_THAT(RefusalOf(run), HasSubstr("biases on some"));
  run = DenseLaunch();
  run.model.clear_decoder();
  EXPECT_THAT(RefusalOf(run), HasSubstr("an encoder"));
}

// Each by the part that pretrain_gpt.py has no argument for.
TEST(Megatron, RefusesLayersThatItCannotWriteByName) {
  LaunchedRun run = DenseLaunch();
  v1::LayerKind* layer = run.model.mutable_layer_kinds(0);
  layer->mutable_mixer()->set_kind(v1::MIXER_KIND_MAMBA2);
  EXPECT_THAT(RefusalOf(run), HasSubstr("sample: no argument gives mixers"));
  layer->clear_attention();
  EXPECT_THAT(RefusalOf(run), HasSubstr("no argument gives mixers"));
  run = DenseLaunch();
  layer = run.model.mutable_layer_kinds(0);
  layer->mutable_attention()->set_values_are_keys(true);
  EXPECT_THAT(RefusalOf(run), HasSubstr("no argument gives values that are keys"));
  layer->mutable_attention()->set_values_are_keys(false);
  layer->set_output_scale(true);
  EXPECT_THAT(RefusalOf(run), HasSubstr("no argument gives a scale of a layer's output"));
  layer->set_output_scale(false);
  layer->clear_feed_forward();
  layer->mutable_experts()->set_latent_size(8);
  EXPECT_THAT(RefusalOf(run), HasSubstr("experts of another width"));
  layer->mutable_experts()->clear_latent_size();
  layer->mutable_experts()->set_zero_expert_count(2);
  EXPECT_THAT(RefusalOf(run), HasSubstr("experts without parameters"));
}

}  // namespace
}  // namespace sextant::server
