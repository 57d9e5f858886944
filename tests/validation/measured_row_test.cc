// Rows of published runs, translated by hand, source by source.
#include "tests/validation/measured_row.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/status_matchers.h"
#include "tests/validation/answer.h"
#include "tests/validation/cells.h"
#include "tests/validation/service.h"

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
  const v1::PlanRunRequest& request = c.all_fields;
  const v1::Architecture& model = request.model().architecture();
  // The first layer is dense, the other three have 160 experts and two shared ones' width.
  ASSERT_EQ(model.layer_kinds_size(), 2);
  EXPECT_EQ(model.decoder().layers(1).count(), 3);
  EXPECT_EQ(model.layer_kinds(1).experts().shared_expert().size(), 3072);
  const v1::RunLayout& layout = request.layout();
  EXPECT_EQ(layout.kernels().loss(), v1::KernelChoices::LOSS_FUSED);
  EXPECT_FALSE(layout.kernels().dropout());
  EXPECT_EQ(layout.sharding().zero_stage(), v1::ZERO_STAGE_OPTIMIZER);
  EXPECT_TRUE(layout.framework().grouped_experts());
  EXPECT_EQ(request.cluster().device_count(), 8);
  EXPECT_EQ(request.cluster().device().accelerator(), "b200-sxm");
  EXPECT_EQ(layout.global_batch_size(), 32);  // 4 replicas of 8 micro-batches
  EXPECT_EQ(c.defaults.layout().kernels().loss(), v1::KernelChoices::LOSS_UNSPECIFIED);
  EXPECT_EQ(c.defaults.layout().framework().kind(), v1::FrameworkMemory::KIND_MEGATRON_LM);
  EXPECT_EQ(c.series, "deepseek-v2 (4 layers)");
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

v1::Plan PlanOf(const v1::PlanRunRequest& request) {
  const auto response = AskForPlan(request);
  EXPECT_THAT(response, IsOk());
  return response.ok() ? response->plan() : v1::Plan();
}

TEST(MeasuredRow, BloomsTrialsAreReadFromTheirTable) {
  const MeasuredCase c = CaseOf(Bloom());
  // 72 (12 h^2 + 13 h) + 250880 h + 2048 h + 2 h with h = 14336; 250,880 is a multiple of 1,024.
  EXPECT_EQ(PlanOf(c.all_fields).parameters().total(),
            72 * (12 * 14336LL * 14336 + 13 * 14336) + (250880 + 2048 + 2) * 14336LL);
  EXPECT_EQ(c.all_fields.cluster().device_count(), 4 * 8 * 12);
  EXPECT_EQ(c.all_fields.layout().global_batch_size(), 2048);
  EXPECT_EQ(c.all_fields.training().recompute(), v1::RECOMPUTE_POLICY_FULL);
  EXPECT_EQ(c.all_fields.training().precision().gradient_data_type(), v1::DATA_TYPE_FP16);
  EXPECT_GT(c.all_fields.layout().framework().context_bytes(), 1'000'000'000);
  EXPECT_FALSE(c.defaults.layout().framework().has_context_bytes());
  EXPECT_FALSE(c.defaults.model().architecture().embedding().has_padded_vocabulary_size());
  EXPECT_THAT(c.all_fields.layout().parallel().layers_per_chunk(), IsEmpty());
  ASSERT_EQ(c.measured.size(), 1u);
  EXPECT_EQ(c.measured[0].definition, MemoryDefinition::kProcess);
  EXPECT_EQ(c.measured[0].size, Bytes(37'000'000'000));
  EXPECT_EQ(c.series, "48 node contenders");
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
  EXPECT_THAT(c.all_fields.layout().parallel().layers_per_chunk(),
              ElementsAre(16, 17, 17, 17, 17, 16));
  EXPECT_EQ(c.all_fields.layout().sharding().zero_stage(), v1::ZERO_STAGE_NONE);
  EXPECT_EQ(c.all_fields.training().precision().gradient_data_type(), v1::DATA_TYPE_FP32);
  // Gradients of the first stage, in fp32 and bf16: 16 layers of 12 h^2 and the embedding, an
  // eighth of them.
  const double h = 14336;
  const double elements = (16 * 12 * h * h + 250880 * h) / 8;
  MeasuredCase first = c;
  first.stage = 0;
  const auto answer = AnswerOf(first);
  ASSERT_THAT(answer, IsOk());
  for (const v1::LedgerSum& sum : answer->all_fields.memory.sums()) {
    if (sum.kind() != v1::LEDGER_KIND_GRADIENT) continue;
    EXPECT_NEAR(static_cast<double>(sum.size_bytes()) / ((4 + 2) * elements), 1, 0.015);
  }
  EXPECT_TRUE(c.ran_out);
  EXPECT_THAT(c.measured, IsEmpty());
}

OpenCase OpenOf(const CsvRow& row) {
  const Translated out = TranslateMeasuredRow(row);
  if (const auto* left_out = std::get_if<LeftOut>(&out)) ADD_FAILURE() << left_out->reason;
  return std::holds_alternative<OpenCase>(out) ? std::get<OpenCase>(out) : OpenCase();
}

TEST(MeasuredRow, BloomsTrialsWithoutHeadsAreOpen) {
  CsvRow row = Bloom();
  row["heads"] = row["layers"] = "";
  row["hidden"] = "14400";
  row["pp"] = "9";
  row["params_note"] = "205B as published";
  const OpenCase c = OpenOf(row);
  EXPECT_EQ(c.open, "heads: 48 to 160; 81 layers, by the published size");
  ASSERT_EQ(c.requests.size(), 2u);
  const v1::Architecture& most = c.requests[1].model().architecture();
  EXPECT_EQ(most.decoder().layers(0).count(), 81);
  EXPECT_EQ(most.layer_kinds(0).attention().head_count(), 160);
  EXPECT_EQ(c.measured, Bytes(37'000'000'000));
  row["peak_mem_as_published"] = "GB";
  EXPECT_EQ(ReasonOf(row), "no measured memory");
}

TEST(MeasuredRow, AMissingFieldIsTheReason) {
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
