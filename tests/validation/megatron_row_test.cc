// Rows of Megatron-LM's tests, translated by hand.
#include "tests/validation/megatron_row.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/status_matchers.h"
#include "tests/validation/service.h"

namespace sextant {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr int64_t kMib = 1024 * 1024;

CsvRow Row(const std::string& arguments) {
  return {{"test", "gpt"},
          {"hardware", "h100"},
          {"container", "dev"},
          {"golden_variant", "first"},
          {"nodes", "1"},
          {"gpus_per_node", "8"},
          {"all_args", arguments},
          {"max_mem_allocated_bytes", "4702430720.0"},
          {"mem_allocated_bytes", "581489664.0"}};
}

// Twelve layers of 512 with GPT-2's vocabulary; `more` is added in front of the closing brace.
CsvRow SmallGpt(const std::string& more) {
  return Row(R"json({"num-layers": 12, "hidden-size": 512, "num-attention-heads": 8,
    "seq-length": 1024, "max-position-embeddings": 1024, "micro-batch-size": 4,
    "global-batch-size": 32, "bf16": true, "vocab-file": "vocab.json")json" +
             more + "}");
}

MeasuredCase CaseOf(const CsvRow& row) {
  const Translated out = TranslateMegatronRow(row);
  if (const auto* left_out = std::get_if<LeftOut>(&out)) ADD_FAILURE() << left_out->reason;
  return std::holds_alternative<MeasuredCase>(out) ? std::get<MeasuredCase>(out) : MeasuredCase();
}

std::string ReasonOf(const CsvRow& row) {
  const Translated out = TranslateMegatronRow(row);
  const auto* left_out = std::get_if<LeftOut>(&out);
  return left_out == nullptr ? "" : left_out->reason;
}

int64_t Parameters(const MeasuredCase& c) {
  const auto response = AskForPlan(c.all_fields);
  EXPECT_THAT(response, IsOk());
  return response.ok() ? response->plan().parameters().total() : 0;
}

const v1::Architecture& ModelOf(const MeasuredCase& c) {
  return c.all_fields.model().architecture();
}
const v1::RunLayout& LayoutOf(const MeasuredCase& c) { return c.all_fields.layout(); }

// 12 (12 h^2 + 13 h) + 50304 h + 1024 h + 2 h with h = 512: 64,109,568. The run of this row had
// 581,489,664 bytes between steps: 6 bytes a parameter, 12/8 of fp32 copy and moments, 96 MiB of
// workspaces and 4,608 bytes else.
TEST(MegatronRow, ASmallGptIsExact) {
  const MeasuredCase c = CaseOf(SmallGpt(
      R"json(, "use-distributed-optimizer": true, "deterministic-mode": true,
               "attention-backend": "unfused", "no-gradient-accumulation-fusion": true)json"));
  EXPECT_EQ(Parameters(c), 64'109'568);
  EXPECT_THAT(c.assumptions, IsEmpty());
  EXPECT_EQ(c.stage, 0);
  EXPECT_EQ(c.series, "gpt");
  EXPECT_EQ(c.all_fields.cluster().device().accelerator(), "h100-sxm");
  EXPECT_EQ(c.all_fields.cluster().device_count(), 8);
  EXPECT_EQ(LayoutOf(c).global_batch_size(), 32);
  EXPECT_EQ(LayoutOf(c).sharding().zero_stage(), v1::ZERO_STAGE_OPTIMIZER);
  EXPECT_EQ(c.all_fields.training().precision().gradient_data_type(), v1::DATA_TYPE_FP32);
  EXPECT_EQ(LayoutOf(c).kernels().attention(), v1::KernelChoices::ATTENTION_UNFUSED);
  EXPECT_TRUE(LayoutOf(c).kernels().dropout());
  const v1::FrameworkMemory& framework = LayoutOf(c).framework();
  EXPECT_EQ(framework.kind(), v1::FrameworkMemory::KIND_MEGATRON_LM);
  EXPECT_FALSE(framework.fused_weight_gradient());
  EXPECT_TRUE(framework.transformer_engine() && framework.deterministic());
  const int64_t state = 64'109'568 * 6 + 64'109'568 / 8 * 12;
  EXPECT_EQ(c.between_steps->value() - state - 96 * kMib, 4'608);
  ASSERT_EQ(c.measured.size(), 1u);
  EXPECT_EQ(c.measured[0].definition, MemoryDefinition::kAllocated);
  EXPECT_EQ(c.measured[0].size, Bytes(4'702'430'720));
}

TEST(MegatronRow, DefaultsAreMegatrons) {
  const MeasuredCase c = CaseOf(SmallGpt(""));
  const v1::LayerKind& layer = ModelOf(c).layer_kinds(0);
  EXPECT_EQ(layer.norm(), v1::NORM_VARIANT_LAYER_NORM);
  EXPECT_EQ(layer.feed_forward().size(), 2048);
  EXPECT_EQ(layer.feed_forward().kind(), v1::FeedForward::KIND_PLAIN);
  EXPECT_TRUE(layer.attention().query_bias() && layer.feed_forward().output_bias());
  EXPECT_EQ(ModelOf(c).output().head(), v1::OUTPUT_HEAD_TIED);
  EXPECT_EQ(ModelOf(c).decoder().learned_position_count(), 1024);
  EXPECT_EQ(LayoutOf(c).kernels().attention(), v1::KernelChoices::ATTENTION_FLASH);
  EXPECT_EQ(LayoutOf(c).sharding().zero_stage(), v1::ZERO_STAGE_NONE);
  EXPECT_TRUE(LayoutOf(c).framework().fused_weight_gradient());
  EXPECT_FALSE(LayoutOf(c).framework().deterministic());
}

// Only the fields that Megatron-LM decides are left out.
TEST(MegatronRow, ItsDefaultsKeepTheLaunchersFlags) {
  const v1::PlanRunRequest request =
      CaseOf(SmallGpt(R"json(, "use-distributed-optimizer": true)json")).defaults;
  EXPECT_EQ(request.layout().sharding().zero_stage(), v1::ZERO_STAGE_OPTIMIZER);
  EXPECT_TRUE(request.layout().kernels().dropout());
  EXPECT_EQ(request.training().precision().gradient_data_type(), v1::DATA_TYPE_UNSPECIFIED);
  EXPECT_FALSE(request.model().architecture().embedding().has_padded_vocabulary_size());
}

// Two thirds of 2,048 are 1,365: down to 1,344. 50,257 up to a multiple of 128 x 2 is 50,432.
TEST(MegatronRow, GatedGroupedAndCut) {
  const MeasuredCase c = CaseOf(SmallGpt(
      R"json(, "swiglu": true, "group-query-attention": true, "num-query-groups": 2,
               "kv-channels": 128, "normalization": "RMSNorm", "disable-bias-linear": true,
               "position-embedding-type": "rope", "hidden-dropout": 0.0, "attention-dropout": "0.0",
               "untie-embeddings-and-output-weights": true, "tensor-model-parallel-size": 2,
               "pipeline-model-parallel-size": 2, "sequence-parallel": true)json"));
  EXPECT_EQ(ModelOf(c).embedding().padded_vocabulary_size(), 50'432);
  const v1::LayerKind& layer = ModelOf(c).layer_kinds(0);
  EXPECT_EQ(layer.feed_forward().size(), 1344);
  EXPECT_EQ(layer.attention().key_value_head_count(), 2);
  // 512 x (1024 + 2 x 256 + 1024) + 3 x 512 x 1344 + 2 x 512, twelve times; embedding, head, norm
  EXPECT_EQ(Parameters(c), 12 * (512 * 2560 + 3 * 512 * 1344 + 1024) + 2 * 50'432 * 512 + 512);
  EXPECT_FALSE(LayoutOf(c).kernels().dropout());
  EXPECT_TRUE(LayoutOf(c).sequence_parallel());
  EXPECT_EQ(c.stage, 1);
  EXPECT_EQ(c.all_fields.cluster().device_count(), 8);
  EXPECT_EQ(LayoutOf(c).global_batch_size(), 32);
}

TEST(MegatronRow, ExpertsHaveTheirOwnSizes) {
  const MeasuredCase c = CaseOf(SmallGpt(
      R"json(, "num-experts": 8, "moe-layer-freq": "([0]*2+[1]*10)", "moe-ffn-hidden-size": 256,
               "moe-shared-expert-intermediate-size": 128, "disable-bias-linear": true,
               "expert-model-parallel-size": 2, "moe-grouped-gemm": true,
               "moe-router-enable-expert-bias": true)json"));
  ASSERT_EQ(ModelOf(c).layer_kinds_size(), 2);
  EXPECT_EQ(ModelOf(c).decoder().layers(1).layer_kind(), "experts");
  EXPECT_EQ(ModelOf(c).decoder().layers(1).count(), 10);
  const v1::Experts& experts = ModelOf(c).layer_kinds(1).experts();
  EXPECT_EQ(experts.expert().size(), 256);
  EXPECT_EQ(experts.experts_per_token(), 2);
  EXPECT_EQ(experts.shared_expert_count(), 1);
  EXPECT_TRUE(experts.router_correction_bias());
  EXPECT_EQ(LayoutOf(c).parallel().expert_parallel_size(), 2);
  EXPECT_TRUE(LayoutOf(c).framework().grouped_experts());
}

TEST(MegatronRow, BertHasItsHeads) {
  CsvRow row = SmallGpt(R"json(, "spec": "local", "attention-backend": "local")json");
  row["test"] = "bert_small";
  const MeasuredCase c = CaseOf(row);
  EXPECT_EQ(ModelOf(c).encoder().learned_position_count(), 1024);
  EXPECT_FALSE(ModelOf(c).has_decoder());
  const v1::Architecture::Output& output = ModelOf(c).output();
  EXPECT_TRUE(output.pooler() && output.transform() && output.head_bias());
  EXPECT_EQ(ModelOf(c).embedding().token_type_count(), 2);
  EXPECT_EQ(LayoutOf(c).kernels().attention(), v1::KernelChoices::ATTENTION_UNFUSED);
  EXPECT_FALSE(LayoutOf(c).framework().transformer_engine());
  EXPECT_GT(Parameters(c), 0);
}

TEST(MegatronRow, RecomputationIsReadModuleByModule) {
  const MeasuredCase full = CaseOf(SmallGpt(
      R"json(, "recompute-granularity": "full", "recompute-method": "uniform",
               "recompute-num-layers": 2)json"));
  EXPECT_EQ(full.all_fields.training().recompute(), v1::RECOMPUTE_POLICY_FULL);
  EXPECT_EQ(LayoutOf(full).kernels().recomputed_layers_per_block(), 2);
  const MeasuredCase modules = CaseOf(SmallGpt(
      R"json(, "recompute-granularity": "selective",
               "recompute-modules": "[layernorm moe_act]")json"));
  EXPECT_EQ(modules.all_fields.training().recompute(), v1::RECOMPUTE_POLICY_NONE);
  EXPECT_TRUE(LayoutOf(modules).kernels().recompute_norm_outputs());
  EXPECT_TRUE(LayoutOf(modules).kernels().recompute_activation_function());
  EXPECT_EQ(ReasonOf(SmallGpt(
                R"json(, "recompute-granularity": "selective", "recompute-modules": "[mlp]")json")),
            "recomputation of module mlp alone is not described");
}

// Where a run names no kernel the service decides, by the GPU.
TEST(MegatronRow, AttentionsOutputIsCopiedWhereFlashAttentionIsAskedFor) {
  const auto kernels = [](const std::string& more) {
    return CaseOf(SmallGpt(more)).all_fields.layout().kernels();
  };
  EXPECT_FALSE(kernels("").has_attention_output_copied());
  EXPECT_TRUE(kernels(R"json(, "attention-backend": "flash")json").attention_output_copied());
  const auto fused = kernels(R"json(, "attention-backend": "fused")json");
  EXPECT_TRUE(fused.has_attention_output_copied());
  EXPECT_FALSE(fused.attention_output_copied());
  EXPECT_FALSE(kernels(R"json(, "attention-backend": "unfused")json").attention_output_copied());
  EXPECT_FALSE(kernels(R"json(, "attention-backend": "flash", "transformer-impl": "local")json")
                   .has_attention_output_copied());
}

TEST(MegatronRow, ExpertsFuseTheirActivationWhereItIsGated) {
  const auto kernels = [](const std::string& more) {
    return CaseOf(SmallGpt(more)).all_fields.layout().kernels();
  };
  EXPECT_FALSE(kernels("").has_fused_expert_activation());  // no experts
  EXPECT_FALSE(kernels(R"json(, "num-experts": 8)json").fused_expert_activation());
  EXPECT_TRUE(kernels(R"json(, "num-experts": 8, "swiglu": true)json").fused_expert_activation());
}

TEST(MegatronRow, AFusedLossIsInCompiledSteps) {
  EXPECT_EQ(LayoutOf(CaseOf(SmallGpt(""))).kernels().loss(),
            v1::KernelChoices::LOSS_VOCABULARY_PARALLEL);
  EXPECT_EQ(
      LayoutOf(CaseOf(SmallGpt(R"json(, "cross-entropy-loss-fusion": true)json"))).kernels().loss(),
      v1::KernelChoices::LOSS_VOCABULARY_PARALLEL_COMPILED);
}

TEST(MegatronRow, AnUnpublishedGpuCountIsSaidWhereItMatters) {
  CsvRow row = SmallGpt(R"json(, "use-distributed-optimizer": true)json");
  row["nodes"] = row["gpus_per_node"] = "";
  EXPECT_THAT(CaseOf(row).assumptions, ElementsAre("8 GPUs"));
  row["test"] = "gpt_release";
  EXPECT_THAT(ReasonOf(row), HasSubstr("GPU count not published"));
  CsvRow unshared = SmallGpt("");
  unshared["nodes"] = unshared["gpus_per_node"] = "";
  EXPECT_THAT(CaseOf(unshared).assumptions, IsEmpty());
}

TEST(MegatronRow, WhatCantBeDescribedIsLeftOutWithItsReason) {
  EXPECT_EQ(ReasonOf(SmallGpt(R"json(, "hybrid-layer-pattern": "M*E")json")),
            "Mamba layers are not described");
  EXPECT_EQ(ReasonOf(SmallGpt(R"json(, "some-new-feature": true)json")),
            "argument --some-new-feature is of unknown effect");
  EXPECT_EQ(ReasonOf(SmallGpt(R"json(, "some-new-feature": false)json")), "");
  EXPECT_EQ(ReasonOf(SmallGpt(R"json(, "hidden-dropout": 0.0)json")),
            "dropout of attention or of branches alone");
  EXPECT_EQ(ReasonOf(SmallGpt(R"json(, "tokenizer-type": "TikTokenizer")json")),
            "vocabulary not published");
  EXPECT_EQ(ReasonOf(Row("no json")), "all_args is no JSON object");
  CsvRow unmeasured = SmallGpt("");
  unmeasured["max_mem_allocated_bytes"] = "";
  EXPECT_EQ(ReasonOf(unmeasured), "no measured memory");
}

}  // namespace
}  // namespace sextant
