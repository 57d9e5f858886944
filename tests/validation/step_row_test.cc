#include "tests/validation/step_row.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/validation/step_layout.h"
#include "tests/validation/step_measured.h"
#include "tests/validation/step_recipe.h"

namespace sextant {
namespace {

constexpr char kColumns[] =
    "id,source,framework,task,hardware,hardware_note,gpu_key,gpus,model,params_note,layers,hidden,"
    "ffn_hidden,heads,kv_heads,head_dim,vocab,seq_len,glu,experts,topk,moe_ffn_hidden,dp,tp,pp,vpp,"
    "cp,ep,etp,dp_strategy,zero_stage,sequence_parallel,micro_batch,global_batch,recompute,"
    "precision,step_time_s,step_time_s_derived,source_table,flops_def,tflops_per_gpu\n";

// One row of the table's columns above, by hand.
CsvRow Row(const std::string& cells) {
  const auto rows = ParseCsv(kColumns + cells + "\n");
  EXPECT_TRUE(rows.ok()) << rows.status();
  return rows.ok() ? rows->front() : CsvRow();
}

StepRow Translated(const std::string& cells) {
  const auto row = StepRowOf(Row(cells));
  EXPECT_TRUE(row.ok()) << row.status();
  return row.ok() ? *row : StepRow();
}

constexpr char kLlama[] =
    "dgxc,NVIDIA DGX Cloud benchmarking,NeMo / Megatron-Core,pretrain,H100 SXM 80GB,,h100-sxm,64,"
    "llama3-70b,,80,8192,28672,64,8,128,128256,8192,True,,,,2,4,4,5,2,,,"
    "DDP + distributed optimizer,1,,1,128,,FP8,10.93,,v25.02,,";

TEST(StepRowTest, ReadsLayoutOfNemo) {
  const StepRow row = Translated(kLlama);
  EXPECT_EQ(row.measured, 10.93);
  EXPECT_EQ(row.family, "llama3-70b | NeMo | fp8");
  EXPECT_EQ(row.step_class(), StepClass::kNarrow);
  EXPECT_TRUE(row.recompute_blank);
  ASSERT_EQ(row.requests.size(), 2u);  // none, and all layers
  const v1::PlanRunRequest& request = row.requests.front();
  EXPECT_EQ(request.cluster().device().accelerator(), "h100-sxm");
  EXPECT_EQ(request.cluster().device_count(), 64);
  EXPECT_EQ(request.cluster().node_type(), "hgx-h100");
  EXPECT_EQ(request.cluster().network().bytes_per_second(), 50e9);
  EXPECT_EQ(request.training().precision().compute_data_type(), v1::DATA_TYPE_FP8_E4M3);
  EXPECT_EQ(request.training().token_count(), 128 * 8192);
  const v1::RunLayout& layout = request.layout();
  EXPECT_EQ(layout.software().name(), "megatron_bridge");
  EXPECT_EQ(layout.framework().kind(), v1::FrameworkMemory::KIND_MEGATRON_BRIDGE);
  EXPECT_EQ(layout.parallel().tensor_parallel_size(), 4);
  EXPECT_EQ(layout.parallel().pipeline_parallel_size(), 4);
  EXPECT_EQ(layout.parallel().virtual_stage_count(), 5);
  EXPECT_EQ(layout.parallel().layers_per_chunk_size(), 0);  // 80 layers in 20 chunks
  EXPECT_EQ(layout.context_parallel_size(), 2);
  EXPECT_TRUE(layout.sequence_parallel());
  EXPECT_EQ(layout.global_batch_size(), 128);
  EXPECT_EQ(layout.sharding().zero_stage(), v1::ZERO_STAGE_OPTIMIZER);
  const v1::TransformerSpec& model = request.model().transformer();
  EXPECT_EQ(model.key_value_head_count(), 8);
  EXPECT_FALSE(model.tied_embeddings());
  EXPECT_EQ(model.norm_kind(), v1::TransformerSpec::NORM_KIND_RMS_NORM);
}

TEST(StepRowTest, ReadsBloomsNetworkAndEnds) {
  const StepRow row = Translated(
      "bloom,BLOOM chronicles (prequel),Megatron-DeepSpeed,pretrain,A100 SXM 80GB,"
      "\"Jean Zay: 8x A100 80GB per node, 4x Omni-Path 100 Gb/s\",a100-sxm-80,384,bloom-like-176B,,"
      "70,14336,57344,64,64,224,250880,2048,False,,,,8,4,12,,1,,,DeepSpeed ZeRO-1,1,,2,2048,full,"
      "bf16 with fp32 grad accumulation (BF16Optimizer),121.63,,line 944,,128.92");
  EXPECT_EQ(row.step_class(), StepClass::kWide);
  ASSERT_EQ(row.requests.size(), 1u);
  const v1::PlanRunRequest& request = row.requests.front();
  // 4 x 12.5e9 bytes a second for 8 GPUs.
  EXPECT_EQ(request.cluster().network().bytes_per_second(), 6.25e9);
  EXPECT_EQ(request.training().precision().gradient_data_type(), v1::DATA_TYPE_FP32);
  EXPECT_EQ(request.training().recompute(), v1::RECOMPUTE_POLICY_FULL);
  const v1::RunLayout& layout = request.layout();
  EXPECT_EQ(layout.kernels().attention(), v1::KernelChoices::ATTENTION_UNFUSED);
  EXPECT_TRUE(layout.kernels().dropout());
  EXPECT_FALSE(layout.sequence_parallel());
  // 70 layers and an embedding at either end: 6 on each of 12 stages.
  ASSERT_EQ(layout.parallel().layers_per_chunk_size(), 12);
  EXPECT_EQ(layout.parallel().layers_per_chunk(0), 5);
  EXPECT_EQ(layout.parallel().layers_per_chunk(5), 6);
  EXPECT_EQ(layout.parallel().layers_per_chunk(11), 5);
}

TEST(StepRowTest, ReadsShardsOfInternEvo) {
  const StepRow row = Translated(
      "evo,InternEvo train performance,InternEvo,pretrain,A100 SXM 80GB,4x100 Gb RoCE per node,"
      "a100-sxm-80,16,internlm-7b,,32,4096,11008,32,32,128,103168,2048,True,,,,8,2,1,,1,,,"
      "\"ZeRO-1, shard group 4\",1,,4,128,none,bf16,,4.479,Throughput,,");
  EXPECT_EQ(row.measured, 4.479);
  const v1::RunLayout& layout = row.requests.front().layout();
  EXPECT_EQ(layout.sharding().shard_group_size(), 4);
  EXPECT_EQ(layout.software().name(), "internevo");
  EXPECT_EQ(row.layout.micro_batches, 4);  // 128 / (8 x 4)
}

TEST(StepRowTest, ExpertsOfMegatronBridgeAreNotCutByTensorRanks) {
  const StepRow row = Translated(
      "mb,Megatron-Bridge performance summary,Megatron-Bridge / Megatron-Core 26.06 NeMo Container,"
      "pretrain,GB300,,gb300,256,Qwen3_235B_a22B,,94,4096,12288,64,4,128,151936,4096,True,128,8,"
      "1536,"
      "64,1,4,12,1,32,,,,,2,8192,,MXFP8,,14.5393,26.06,,");
  EXPECT_EQ(row.step_class(), StepClass::kExperts);
  EXPECT_EQ(row.family, "qwen3-235b-a22b | Megatron-Bridge | mxfp8");
  const v1::PlanRunRequest& request = row.requests.front();
  EXPECT_EQ(request.model().preset(), "qwen3-235b-a22b");
  EXPECT_EQ(request.cluster().node_type(), "gb300-nvl72");
  EXPECT_EQ(request.cluster().network().bytes_per_second(), 100e9);
  EXPECT_EQ(request.layout().parallel().expert_parallel_size(), 32);
  EXPECT_EQ(request.layout().parallel().expert_tensor_parallel_size(), 1);
  EXPECT_TRUE(request.layout().framework().captured_graphs());
}

// NVIDIA's recipe of the release: two layers in turn, all in graphs.
TEST(StepRowTest, RecipesSayWhatPagesLeaveOut) {
  const StepRow row = Translated(
      "mb,Megatron-Bridge performance summary,Megatron-Bridge / Megatron-Core 26.06 NeMo Container,"
      "pretrain,GB300,,gb300,256,Qwen3_235B_a22B,,94,4096,12288,64,4,128,151936,4096,True,128,8,"
      "1536,64,1,4,12,1,32,,,,,2,8192,,MXFP8,,14.5393,26.06 NeMo Container,,");
  EXPECT_EQ(row.requests.size(), 1u);
  EXPECT_FALSE(row.recompute_blank);
  const v1::RunLayout& layout = row.requests.front().layout();
  EXPECT_TRUE(layout.framework().captured_graphs());
  EXPECT_EQ(layout.software().expert_exchange_exposure(), 0.55);
  EXPECT_FALSE(layout.software().has_one_copy_per_node());  // HybridEP
}

TEST(StepRowTest, AttentionOfNeMosFirstBenchmarksIsFlashAttention2) {
  constexpr char kGpt[] =
      "dgxc,NVIDIA DGX Cloud benchmarking,NeMo / Megatron-Core,pretrain,H100 SXM 80GB,,h100-sxm,"
      "128,gpt3-175b,,96,12288,49152,96,96,128,51200,2048,False,,,,4,4,8,12,1,,,"
      "DDP + distributed optimizer,1,,1,256,,BF16,8.91,,";
  const StepRow first = Translated(std::string(kGpt) + "v24.11.1: NeMo Megatron 24.11 BF16,,");
  EXPECT_TRUE(first.flash_attention_2);
  EXPECT_EQ(first.requests.front().layout().software().attention_time_ratio(), 2.1);
  EXPECT_EQ(first.layout.chunks, 12);
  const StepRow second = Translated(std::string(kGpt) + "v25.02: NeMo Megatron BF16,,");
  EXPECT_FALSE(second.flash_attention_2);
  EXPECT_EQ(second.layout.chunks, 6);  // the recipe's; the page has 12
}

// 61 layers and a module of multi-token prediction: 15, 16, 16 and 14, attention in pieces.
TEST(StepRowTest, DeepSeekOfNeMoOnBlackwell) {
  const StepRow row = Translated(
      "dgxc,NVIDIA DGX Cloud benchmarking,NeMo / Megatron-Core,pretrain,GB200,,gb200,128,"
      "deepseek-v3,,61,7168,18432,128,128,,129280,4096,True,256,8,2048,16,2,4,1,1,32,1,"
      "DDP + distributed optimizer,1,,1,1024,,BF16,34.17,,v25.05.05: Deepseek V3 BF16 GB200,,");
  const v1::PlanRunRequest& request = row.requests.front();
  EXPECT_EQ(request.training().recompute(), v1::RECOMPUTE_POLICY_SELECTIVE);
  EXPECT_EQ(request.layout().kernels().attention(), v1::KernelChoices::ATTENTION_UNFUSED);
  EXPECT_TRUE(request.layout().software().has_one_copy_per_node());
  const auto& layers = request.layout().parallel().layers_per_chunk();
  EXPECT_EQ(std::vector<int64_t>(layers.begin(), layers.end()),
            (std::vector<int64_t>{15, 16, 16, 14}));
  EXPECT_NE(request.model().hugging_face_config().find("\"num_nextn_predict_layers\":1"),
            std::string::npos);
}

TEST(StepRecipeTest, EveryRuleNamesItsSource) {
  for (const StepRecipeRule& rule : StepRecipeRules()) {
    EXPECT_FALSE(rule.where.empty());
    StepRecipe recipe;
    rule.set(recipe);
  }
}

TEST(StepRowTest, SaysWhyARowIsLeftOut) {
  const auto reason = [](CsvRow row, const std::string& column, const std::string& value) {
    row[column] = value;
    return std::string(StepRowOf(row).status().message());
  };
  const CsvRow row = Row(kLlama);
  EXPECT_EQ(reason(row, "task", "lora"), "fine-tuning");
  EXPECT_EQ(reason(row, "step_time_s", ""), "no step time");
  EXPECT_EQ(reason(row, "gpu_key", "mi300x"), "hardware not timed: H100 SXM 80GB");
  EXPECT_EQ(reason(row, "hidden", ""), "shape not published");
  EXPECT_EQ(reason(row, "gpus", "65"), "GPUs are not the product of the layout's sizes");
  EXPECT_EQ(reason(row, "tp", ""), "layout not published");
  EXPECT_EQ(reason(row, "global_batch", "129"), "");  // one sequence less: below 1 %
  EXPECT_EQ(reason(row, "global_batch", "1"), "the batch is no multiple of the micro-batches");
}

TEST(StepRowTest, FineTuningIsTranslatedApart) {
  CsvRow row = Row(kLlama);
  row["task"] = "lora";
  const auto tuned = StepRowOf(row, StepTask::kFineTuning);
  ASSERT_TRUE(tuned.ok()) << tuned.status();
  EXPECT_EQ(tuned->task, "lora");
  const v1::ModelChanges& changes = tuned->requests.front().model().changes();
  EXPECT_EQ(changes.adapters().rank(), 16);
  EXPECT_EQ(changes.adapters().targets_size(), 3);
  EXPECT_TRUE(changes.base_frozen());
  row["micro_batch"] = "";
  EXPECT_EQ(StepRowOf(row, StepTask::kFineTuning).status().message(),
            "printed again with its micro-batch");
  EXPECT_EQ(StepRowOf(Row(kLlama), StepTask::kFineTuning).status().message(), "pre-training");
}

TEST(StepMeasuredTest, TimesByTheSourcesCount) {
  // 96 x 512 x 2048 x 24 x 2304^2 x (1 + 2048 / 13824 + 51200 / (16 x 24 x 2304)) FLOPs
  // = 1.2825e16 x (1 + 0.148148 + 0.057870) = 1.54668e16, at 32 x 137e12 a second.
  CsvRow row = {{"flops_def", "Megatron SC21 eq. (3): 96*B*s*l*h^2*(...)"},
                {"tflops_per_gpu", "137"},
                {"gpus", "32"},
                {"global_batch", "512"},
                {"seq_len", "2048"},
                {"layers", "24"},
                {"hidden", "2304"},
                {"vocab", "51200"}};
  const auto seconds = MeasuredStepSeconds(row);
  ASSERT_TRUE(seconds.ok());
  EXPECT_NEAR(*seconds, 3.5280, 1e-3);
}

TEST(StepLayoutTest, CutsLayersIntoChunks) {
  EXPECT_EQ(LayersPerChunk(8, 4), (std::vector<int64_t>{2, 2, 2, 2}));
  EXPECT_EQ(LayersPerChunk(6, 4), (std::vector<int64_t>{1, 2, 2, 1}));  // and two embeddings
  EXPECT_EQ(LayersPerChunk(5, 3), (std::vector<int64_t>{2, 2, 1}));
  EXPECT_EQ(BlankChunks(96, 8), 12);
  EXPECT_EQ(BlankChunks(80, 4), 10);
  EXPECT_EQ(BlankChunks(94, 8), 12);  // 96 with an embedding at either end
  EXPECT_EQ(BlankChunks(80, 1), 1);
}

}  // namespace
}  // namespace sextant
