// Rows of Megatron-LM's tests, translated by hand.
#include "tests/validation/megatron_row.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/model/architecture/count_weights.h"
#include "engine/model/sharding/sharded_weights.h"
#include "tests/validation/framework_memory.h"

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

int64_t Parameters(const ArchitectureSpec& spec) {
  return CountArchitecture(spec, "model").value().all.total;
}

// 12 (12 h^2 + 13 h) + 50304 h + 1024 h + 2 h with h = 512: 64,109,568. The run of this row had
// 581,489,664 bytes between steps: 6 bytes a parameter, 12/8 of fp32 copy and moments, 96 MiB of
// workspaces and 4,608 bytes else.
TEST(MegatronRow, ASmallGptIsExact) {
  const MeasuredCase c = CaseOf(SmallGpt(
      R"json(, "use-distributed-optimizer": true, "deterministic-mode": true,
               "attention-backend": "unfused", "no-gradient-accumulation-fusion": true)json"));
  EXPECT_EQ(Parameters(c.model), 64'109'568);
  EXPECT_THAT(c.assumptions, IsEmpty());
  EXPECT_EQ(c.stage, 0);
  EXPECT_EQ(c.job.pipeline.micro_batch_count, 1);
  EXPECT_EQ(c.job.state.sharding.data_parallel_size, 8);
  EXPECT_EQ(c.job.state.sharding.zero_stage, ZeroStage::kOptimizer);
  EXPECT_EQ(c.job.state.precision.gradient_data_type, DataType::kFp32);
  EXPECT_EQ(c.job.batch.attention, AttentionKernel::kUnfused);
  EXPECT_TRUE(c.job.batch.dropout);
  EXPECT_FALSE(c.job.buffers.fused_weight_gradient);
  EXPECT_EQ(c.job.reserve.workspace, Bytes(96 * kMib));
  const int64_t state = 64'109'568 * 6 + 64'109'568 / 8 * 12;
  EXPECT_EQ(c.between_steps->value() - state - 96 * kMib, 4'608);
  ASSERT_EQ(c.measured.size(), 1u);
  EXPECT_EQ(c.measured[0].definition, MemoryDefinition::kAllocated);
  EXPECT_EQ(c.measured[0].size, Bytes(4'702'430'720));
}

TEST(MegatronRow, DefaultsAreMegatrons) {
  const MeasuredCase c = CaseOf(SmallGpt(""));
  const LayerSpec& layer = c.model.layer_kinds.at(0);
  EXPECT_EQ(layer.norm, NormVariant::kLayerNorm);
  EXPECT_EQ(layer.feed_forward->size, 2048);
  EXPECT_EQ(layer.feed_forward->kind, FeedForwardKind::kPlain);
  EXPECT_TRUE(layer.attention->query_bias && layer.feed_forward->output_bias);
  EXPECT_EQ(c.model.output.head, OutputHeadKind::kTied);
  EXPECT_EQ(c.model.decoder.learned_position_count, 1024);
  EXPECT_EQ(c.job.batch.attention, AttentionKernel::kFlash);
  EXPECT_EQ(c.job.state.sharding.zero_stage, ZeroStage::kNone);
  EXPECT_TRUE(c.job.buffers.fused_weight_gradient);
}

// Two thirds of 2,048 are 1,365: down to 1,344. 50,257 up to a multiple of 128 x 2 is 50,432.
TEST(MegatronRow, GatedGroupedAndCut) {
  const MeasuredCase c = CaseOf(SmallGpt(
      R"json(, "swiglu": true, "group-query-attention": true, "num-query-groups": 2,
               "kv-channels": 128, "normalization": "RMSNorm", "disable-bias-linear": true,
               "position-embedding-type": "rope", "hidden-dropout": 0.0, "attention-dropout": "0.0",
               "untie-embeddings-and-output-weights": true, "tensor-model-parallel-size": 2,
               "pipeline-model-parallel-size": 2, "sequence-parallel": true)json"));
  EXPECT_EQ(c.model.embedding.padded_vocabulary_size, 50'432);
  const LayerSpec& layer = c.model.layer_kinds.at(0);
  EXPECT_EQ(layer.feed_forward->size, 1344);
  EXPECT_EQ(layer.attention->key_value_head_count, 2);
  // 512 x (1024 + 2 x 256 + 1024) + 3 x 512 x 1344 + 2 x 512, twelve times; embedding, head, norm
  EXPECT_EQ(Parameters(c.model),
            12 * (512 * 2560 + 3 * 512 * 1344 + 1024) + 2 * 50'432 * 512 + 512);
  EXPECT_FALSE(c.job.batch.dropout);
  EXPECT_TRUE(c.job.batch.sequence_parallel);
  EXPECT_EQ(c.stage, 1);
  EXPECT_EQ(c.job.pipeline.micro_batch_count, 4);  // 32 / (4 x 2 replicas)
}

TEST(MegatronRow, ExpertsHaveTheirOwnSizes) {
  const MeasuredCase c = CaseOf(SmallGpt(
      R"json(, "num-experts": 8, "moe-layer-freq": "([0]*2+[1]*10)", "moe-ffn-hidden-size": 256,
               "moe-shared-expert-intermediate-size": 128, "disable-bias-linear": true,
               "expert-model-parallel-size": 2, "moe-grouped-gemm": true,
               "moe-router-enable-expert-bias": true)json"));
  ASSERT_EQ(c.model.layer_kinds.size(), 2u);
  EXPECT_EQ(c.model.decoder.layers.at(1).count, 10);
  const ExpertsSpec& experts = *c.model.layer_kinds.at(1).experts;
  EXPECT_EQ(experts.expert.size, 256);
  EXPECT_EQ(experts.experts_per_token, 2);
  EXPECT_EQ(experts.shared_expert_count, 1);
  EXPECT_TRUE(experts.router_correction_bias);
  EXPECT_EQ(c.job.layout.expert_parallel_size, 2);
  // Two handles of 32 MiB; five workspaces of 32 MiB; an empty gradient each of 1536 x 512,
  // 512 x 512, dense 2048 x 512 and 512 x 2048, experts' 256 x 512 and 512 x 256, and shared ones'
  // 128 x 512 and 512 x 128.
  const int64_t shapes = 1536 * 512 + 512 * 512 + 2 * 2048 * 512 + 2 * 256 * 512 + 2 * 128 * 512;
  EXPECT_EQ(c.job.reserve.workspace, Bytes((2 * 32 + 5 * 32) * kMib + 2 * shapes));
}

TEST(MegatronRow, BertHasItsHeads) {
  CsvRow row = SmallGpt(R"json(, "spec": "local", "attention-backend": "local")json");
  row["test"] = "bert_small";
  const MeasuredCase c = CaseOf(row);
  EXPECT_EQ(c.model.encoder.learned_position_count, 1024);
  EXPECT_TRUE(c.model.decoder.layers.empty());
  EXPECT_TRUE(c.model.output.pooler && c.model.output.transform && c.model.output.head_bias);
  EXPECT_EQ(c.model.embedding.token_type_count, 2);
  EXPECT_EQ(c.job.batch.attention, AttentionKernel::kUnfused);
}

TEST(MegatronRow, RecomputationIsReadModuleByModule) {
  const MeasuredCase full = CaseOf(SmallGpt(
      R"json(, "recompute-granularity": "full", "recompute-method": "uniform",
               "recompute-num-layers": 2)json"));
  EXPECT_EQ(full.job.batch.recomputation.policy, RecomputePolicy::kFull);
  EXPECT_EQ(full.job.batch.recomputation.layers_per_block, 2);
  const MeasuredCase modules = CaseOf(SmallGpt(
      R"json(, "recompute-granularity": "selective",
               "recompute-modules": "[layernorm moe_act]")json"));
  EXPECT_EQ(modules.job.batch.recomputation.policy, RecomputePolicy::kNone);
  EXPECT_TRUE(modules.job.batch.recomputation.norm_outputs);
  EXPECT_TRUE(modules.job.batch.recomputation.activation_function);
  EXPECT_EQ(ReasonOf(SmallGpt(
                R"json(, "recompute-granularity": "selective", "recompute-modules": "[mlp]")json")),
            "recomputation of module mlp alone is not described");
}

// cuDNN's attention is taken on Hopper, and on Blackwell but for deterministic runs.
TEST(MegatronRow, FlashAttentionsOutputIsCopiedWhereItIsTaken) {
  const auto copies = [](const std::string& hardware, const std::string& more) {
    CsvRow row = SmallGpt(more);
    row["hardware"] = hardware;
    return CaseOf(row).job.batch.attention_output_copied;
  };
  const std::string deterministic = R"json(, "deterministic-mode": true)json";
  EXPECT_TRUE(copies("a100", ""));
  EXPECT_TRUE(copies("a100", deterministic));
  EXPECT_FALSE(copies("h100", deterministic));
  EXPECT_FALSE(copies("gb200", ""));
  EXPECT_TRUE(copies("gb200", deterministic));
  EXPECT_TRUE(copies("h100", R"json(, "attention-backend": "flash")json"));
  EXPECT_FALSE(copies("a100", R"json(, "attention-backend": "fused")json"));
  EXPECT_FALSE(copies("a100", R"json(, "attention-backend": "unfused")json"));
  EXPECT_FALSE(copies("a100", R"json(, "transformer-impl": "local")json"));
}

TEST(MegatronRow, ExpertsFuseTheirActivationWhereItIsGated) {
  const auto fuses = [](const std::string& more) {
    return CaseOf(SmallGpt(more)).job.batch.fused_expert_activation;
  };
  EXPECT_TRUE(fuses(""));  // no experts: nothing to say
  EXPECT_FALSE(fuses(R"json(, "num-experts": 8)json"));
  EXPECT_TRUE(fuses(R"json(, "num-experts": 8, "swiglu": true)json"));
}

TEST(MegatronRow, AFusedLossIsInCompiledSteps) {
  EXPECT_EQ(CaseOf(SmallGpt("")).job.batch.loss, LossKind::kVocabularyParallel);
  EXPECT_EQ(CaseOf(SmallGpt(R"json(, "cross-entropy-loss-fusion": true)json")).job.batch.loss,
            LossKind::kVocabularyParallelCompiled);
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

// Scores of a layer: 4 sequences, 8 heads and 1,024 x 1,024 pairs of tokens in 2 bytes. The
// gathered input of the head, 4 x 1,024 x 512 numbers, fits in there.
TEST(MegatronRow, MegatronsOwnAttentionHasABufferForScores) {
  const std::string flags =
      R"json(, "transformer-impl": "local", "tensor-model-parallel-size": 2,
               "sequence-parallel": true)json";
  EXPECT_EQ(CaseOf(SmallGpt(flags)).job.reserve.workspace, Bytes((2 * 32 + 64 / 2) * kMib));
  const std::string engine = R"json(, "no-gradient-accumulation-fusion": true,
    "tensor-model-parallel-size": 2, "sequence-parallel": true)json";
  EXPECT_EQ(CaseOf(SmallGpt(engine)).job.reserve.workspace, Bytes((2 * 32 + 32 + 4) * kMib));
}

TEST(FrameworkMemory, WorkspacesFollowTheDevice) {
  EXPECT_EQ(WorkspaceOf({.compute_capability = 8, .transformer_engine = true}),
            Bytes(2 * 8320 * 1024 + 4 * kMib));
  EXPECT_EQ(WorkspaceOf({.compute_capability = 8, .deterministic = true}), Bytes(64 * kMib));
  EXPECT_EQ(WorkspaceOf({.compute_capability = 10, .transformer_engine = true}), Bytes(96 * kMib));
}

}  // namespace
}  // namespace sextant
