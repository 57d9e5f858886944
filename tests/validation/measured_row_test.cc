// Rows of published runs, translated by hand, source by source.
#include "tests/validation/measured_row.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/memory/ledger/memory_model.h"
#include "engine/model/architecture/count_weights.h"
#include "tests/validation/cells.h"

namespace sextant {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

MeasuredCase CaseOf(const CsvRow& row) {
  const Translated out = TranslateMeasuredRow(row);
  if (const auto* left_out = std::get_if<LeftOut>(&out)) ADD_FAILURE() << left_out->reason;
  return std::holds_alternative<MeasuredCase>(out) ? std::get<MeasuredCase>(out) : MeasuredCase();
}

std::string ReasonOf(const CsvRow& row) {
  const Translated out = TranslateMeasuredRow(row);
  const auto* left_out = std::get_if<LeftOut>(&out);
  return left_out == nullptr ? "" : left_out->reason;
}

CsvRow DeepSeekOnB200() {
  return {{"id", "simumax-1"},
          {"source_repo", "MooreThreads/SimuMax"},
          {"model", "deepseek-v2 (4 layers)"},
          {"gpus", "8"},
          {"layers", "4"},
          {"hidden", "5120"},
          {"ffn_hidden", "12288"},
          {"heads", "128"},
          {"kv_heads", "128"},
          {"vocab", "102400"},
          {"seq_len", "4096"},
          {"attention", "MLA"},
          {"experts", "160"},
          {"topk", "6"},
          {"moe_ffn_hidden", "1536"},
          {"tp", "1"},
          {"pp", "2"},
          {"cp", "1"},
          {"ep", "4"},
          {"micro_batch", "1"},
          {"grad_accum", "8"},
          {"peak_mem_as_published",
           "alloc 44.7 GiB, reserved 47.05 GiB; max over ranks alloc 1000.5 MB reserved 2000.0 MB"},
          {"inferred_fields", "seq_len"}};
}

TEST(MeasuredRow, SimumaxRunsAreMegatronRuns) {
  const MeasuredCase c = CaseOf(DeepSeekOnB200());
  // The first layer is dense, the other three have 160 experts and two shared ones' width.
  ASSERT_EQ(c.model.layer_kinds.size(), 2u);
  EXPECT_EQ(c.model.decoder.layers.at(1).count, 3);
  EXPECT_EQ(c.model.layer_kinds.at(1).experts->shared_expert.size, 3072);
  EXPECT_EQ(c.job.batch.loss, LossKind::kFused);
  EXPECT_FALSE(c.job.batch.dropout);
  EXPECT_EQ(c.job.state.sharding.zero_stage, ZeroStage::kOptimizer);
  EXPECT_EQ(c.job.state.sharding.data_parallel_size, 4);
  EXPECT_EQ(c.job.pipeline.micro_batch_count, 8);
  EXPECT_FALSE(c.stage.has_value());
  EXPECT_THAT(c.assumptions, IsEmpty());  // launchers print the length
  ASSERT_EQ(c.measured.size(), 2u);
  EXPECT_EQ(c.measured[0].definition, MemoryDefinition::kAllocated);
  EXPECT_EQ(c.measured[0].size, Bytes(1'049'100'288));  // 1000.5 x 2^20
  EXPECT_EQ(c.measured[1].definition, MemoryDefinition::kReserved);
  EXPECT_EQ(c.measured[1].size, Bytes(2'097'152'000));
}

CsvRow Bloom() {
  return {{"id", "bloom-1"},
          {"source_repo", "bigscience-workshop/bigscience"},
          {"source_table", "line 667: 48 node contenders"},
          {"layers", "72"},
          {"hidden", "14336"},
          {"heads", "64"},
          {"vocab", "250880"},
          {"seq_len", "2048"},
          {"dp", "4"},
          {"tp", "8"},
          {"pp", "12"},
          {"zero_stage", "1"},
          {"micro_batch", "2"},
          {"global_batch", "2048"},
          {"precision", "bf16/fp16 (fp16 memory footprint)"},
          {"peak_mem_as_published", "37GB"}};
}

TEST(MeasuredRow, BloomsTrialsAreReadFromTheirTable) {
  const MeasuredCase c = CaseOf(Bloom());
  // 72 (12 h^2 + 13 h) + 250880 h + 2048 h + 2 h with h = 14336; 250,880 is a multiple of 1,024.
  EXPECT_EQ(CountArchitecture(c.model, "model").value().all.total,
            72 * (12 * 14336LL * 14336 + 13 * 14336) + (250880 + 2048 + 2) * 14336LL);
  EXPECT_EQ(c.job.pipeline.micro_batch_count, 256);
  EXPECT_EQ(c.job.batch.recomputation.policy, RecomputePolicy::kFull);
  EXPECT_EQ(c.job.state.precision.gradient_data_type, DataType::kFp16);
  EXPECT_THAT(c.job.layout.layers_per_chunk, IsEmpty());
  ASSERT_EQ(c.measured.size(), 1u);
  EXPECT_EQ(c.measured[0].definition, MemoryDefinition::kProcess);
  EXPECT_EQ(c.measured[0].size, Bytes(37'000'000'000));
  EXPECT_FALSE(c.ran_out);
}

TEST(MeasuredRow, BloomsEmbeddingsCountAsLayersOnceRebalanced) {
  CsvRow row = Bloom();
  row["source_table"] = "line 915: Rebalancing layers";
  row["layers"] = "100";
  row["pp"] = "6";
  row["zero_stage"] = "0";
  row["precision"] = "bf16 with fp32 grad accumulation (BF16Optimizer)";
  row["peak_mem_as_published"] = "OOM";
  const MeasuredCase c = CaseOf(row);
  EXPECT_THAT(c.job.layout.layers_per_chunk, ElementsAre(16, 17, 17, 17, 17, 16));
  EXPECT_EQ(c.job.state.sharding.zero_stage, ZeroStage::kNone);
  EXPECT_EQ(c.job.state.precision.gradient_data_type, DataType::kFp32);
  // Gradients of the first stage, in fp32 and bf16: 16 layers of 12 h^2 and the embedding, an
  // eighth of them.
  const double h = 14336;
  const double elements = (16 * 12 * h * h + 250880 * h) / 8;
  const auto model = MemoryModel::Of(c.model, c.job);
  ASSERT_TRUE(model.ok());
  const double gradients = static_cast<double>(model->Stage(0)->of(LedgerKind::kGradient).value());
  EXPECT_NEAR(gradients / ((4 + 2) * elements), 1, 0.015);
  EXPECT_TRUE(c.ran_out);
  EXPECT_THAT(c.measured, IsEmpty());
}

TEST(MeasuredRow, WhatIsNotPublishedIsTheReason) {
  CsvRow row = Bloom();
  row["layers"] = "";
  EXPECT_EQ(ReasonOf(row), "number of layers not published");
  row["layers"] = "70";  // into 12 stages
  EXPECT_EQ(ReasonOf(row), "layers of each stage not published");
  row = Bloom();
  row["peak_mem_as_published"] = "GB";
  EXPECT_EQ(ReasonOf(row), "no measured memory");
  EXPECT_EQ(ReasonOf({{"source_repo", "InternLM/InternEvo"}}), "sequence length not published");
  EXPECT_EQ(ReasonOf({{"source_repo", "somebody/else"}}), "no rule for its source");
}

TEST(MeasuredRow, MemoryIsSaidByAFigureOrByRunningOut) {
  EXPECT_TRUE(SaysMemory({{"peak_mem_as_published", "1 GB"}}));
  EXPECT_TRUE(SaysMemory({{"oom", "True"}}));
  EXPECT_FALSE(SaysMemory({{"oom", "False"}, {"peak_mem_gib", ""}}));
}

TEST(Cells, UnitsAreTheirOwn) {
  EXPECT_EQ(PublishedBytes("17.43 GB"), Bytes(17'430'000'000));
  EXPECT_EQ(PublishedBytes("47.5 GiB"), Bytes(51'002'736'640));
  EXPECT_EQ(PublishedBytes("12MB"), Bytes(12'000'000));
  for (const char* wrong : {"OOM", "GB", "", "1 TB", "261.58"}) {
    EXPECT_EQ(PublishedBytes(wrong), absl::nullopt) << wrong;
  }
  EXPECT_EQ(WholeCell({{"a", "4.0"}}, "a"), 4);
  EXPECT_EQ(WholeCell({{"a", "4.5"}}, "a"), absl::nullopt);
  EXPECT_EQ(WholeCell({}, "a"), absl::nullopt);
}

}  // namespace
}  // namespace sextant
