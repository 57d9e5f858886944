// Rows of torchtitan, litgpt and the figure of arXiv 2205.05198, translated by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "absl/strings/match.h"
#include "tests/support/status_matchers.h"
#include "tests/validation/answer.h"
#include "tests/validation/measured_row.h"
#include "tests/validation/service.h"
#include "tests/validation/traits.h"

namespace sextant {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Not;

constexpr double kGib = 0x1p30;

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

// 175B with 8 x 8 x 3: 18 bytes of 12 L h^2 / 64 and, interleaved 3 times,
// (1 + 7/24) 8 micro-batches of 12 layers of s b h (10 + 24/8 + 5 a s / (8 h)).
TEST(KorthikantiRow, TheFigureIsReproduced) {
  const CsvRow row = {{"source_repo", "calculon-ai/calculon"},
                      {"layers", "96"},
                      {"hidden", "12288"},
                      {"heads", "96"},
                      {"vocab", "51200"},
                      {"seq_len", "2048"},
                      {"tp", "8"},
                      {"pp", "8"},
                      {"vpp", "3"},
                      {"micro_batch", "1"},
                      {"sequence_parallel", "False"},
                      {"recompute", "none"},
                      {"peak_mem_gib", "112.40625"},
                      {"inferred_fields", "vocab; zero_stage; dp_strategy"}};
  const auto answer = AnswerOf(CaseOf(row));
  ASSERT_TRUE(answer.ok()) << answer.status();
  const double h = 12288;
  const double state = 18 * 12 * 96 * h * h / 64;
  const double layer = 2048 * h * (13 + 5 * 96 * 2048 / (8 * h));
  EXPECT_DOUBLE_EQ(static_cast<double>(answer->all_fields.calculated.value()),
                   state + layer * 12 * 8 * (1 + 7.0 / 24));
  EXPECT_TRUE(answer->run.fully_known());
  CsvRow full = row;
  full["recompute"] = "full";
  EXPECT_EQ(ReasonOf(full), "recompute full");
}

CsvRow Titan() {
  return {{"source_repo", "pytorch/torchtitan"},
          {"model", "llama3-405b"},
          {"recompute", "full"},
          {"tp", "8"},
          {"pp", "8"},
          {"cp", "2"},
          {"dp", "4"},
          {"seq_len", "65536"},
          {"notes", "torch.compile+AsyncTP+1F1B; local batch size 8"},
          {"peak_mem_as_published", "75.9 GiB"}};
}

TEST(TorchtitanRow, PipelinesKeepWholeWeightsAndGradients) {
  MeasuredCase c = CaseOf(Titan());
  const v1::RunLayout& layout = c.all_fields.layout();
  EXPECT_THAT(layout.parallel().layers_per_chunk(), ElementsAre(16, 16, 16, 16, 16, 16, 15, 15));
  EXPECT_EQ(layout.micro_batch_size(), 1);
  EXPECT_EQ(layout.global_batch_size(), 4 * 8);
  EXPECT_EQ(layout.framework().kind(), v1::FrameworkMemory::KIND_TORCHTITAN);
  EXPECT_TRUE(layout.framework().deferred_reduction());
  EXPECT_FALSE(layout.sharding().reshard_after_forward());
  EXPECT_FALSE(c.all_fields.training().precision().master_weights());
  // 4 bytes of the first stage's 16 layers and embedding, an eighth of them here: 16 x 3.19e9 and
  // 2.1e9. Norms are whole. No shards yet.
  const double matrices = 2 * 16384.0 * 16384 + 2 * 16384.0 * 1024 + 3 * 16384.0 * 53248;
  const double gradients = 4 * (16 * matrices + 128256.0 * 16384) / 8;
  c.stage = 0;
  v1::PlanRunRequest request = c.all_fields;
  request.mutable_options()->set_view(v1::PLAN_VIEW_FULL);
  request.mutable_options()->set_include_ledger(true);
  const auto response = AskForPlan(request);
  ASSERT_THAT(response, IsOk());
  double whole = 0;
  for (const v1::LedgerRow& row : response->plan().memory().stages(0).ledger()) {
    EXPECT_NE(row.kind(), v1::LEDGER_KIND_GRADIENT);
    if (absl::StrContains(row.why(), "after the last micro-batch")) {
      whole += static_cast<double>(row.size_bytes());
    }
  }
  EXPECT_NEAR(whole, gradients, 1e7);
  EXPECT_EQ(c.measured.at(0).definition, MemoryDefinition::kReserved);
  EXPECT_NEAR(static_cast<double>(c.measured.at(0).size.value()), 75.9 * kGib, 1);
  EXPECT_FALSE(c.fully_known());
}

TEST(TorchtitanRow, WithoutAPipelineShardsAreShards) {
  CsvRow row = Titan();
  row["model"] = "llama3-70b";
  row["pp"] = "1";
  row["micro_batch"] = "16";
  const MeasuredCase c = CaseOf(row);
  EXPECT_EQ(c.all_fields.layout().micro_batch_size(), 16);
  EXPECT_TRUE(c.all_fields.layout().sharding().reshard_after_forward());
  row["peak_mem_as_published"] = "";
  EXPECT_EQ(ReasonOf(row), "no measured memory");
}

TEST(LitgptRow, FinetuningInBf16IsAnUpperBound) {
  CsvRow row = {{"source_repo", "Lightning-AI/litgpt"},
                {"model", "tiny-llama"},
                {"task", "sft"},
                {"gpus", "4"},
                {"seq_len", "512"},
                {"micro_batch", "4"},
                {"peak_mem_as_published", "14.10 GB"}};
  const MeasuredCase c = CaseOf(row);
  const v1::PrecisionPolicy& precision = c.all_fields.training().precision();
  EXPECT_EQ(precision.optimizer_data_type(), v1::DATA_TYPE_BF16);
  EXPECT_TRUE(precision.has_master_weights() && !precision.master_weights());
  EXPECT_EQ(c.all_fields.layout().sharding().zero_stage(), v1::ZERO_STAGE_PARAMETERS);
  EXPECT_EQ(c.all_fields.layout().framework().kind(), v1::FrameworkMemory::KIND_PYTORCH_FSDP);
  EXPECT_EQ(c.measured.at(0).size, Bytes(14'100'000'000));
  EXPECT_THAT(c.traits, Contains(kTraitShorterSamples));
  EXPECT_FALSE(c.fully_known());
  row["peak_mem_as_published"] = "OOM";
  EXPECT_TRUE(CaseOf(row).ran_out);
  row["gpus"] = "1";
  EXPECT_EQ(CaseOf(row).all_fields.layout().framework().kind(),
            v1::FrameworkMemory::KIND_PYTORCH_DDP);
  row["model"] = "stablelm-base-alpha-3b";
  EXPECT_EQ(ReasonOf(row), "shape of the layers not published");
  row["model"] = "gemma-2b";
  row["source_table"] = "gemma2-2b/full.yaml";
  EXPECT_EQ(ReasonOf(row), kSelfContradicting);
}

OpenCase OpenOf(const CsvRow& row) {
  const Translated out = TranslateMeasuredRow(row);
  if (const auto* left_out = std::get_if<LeftOut>(&out)) ADD_FAILURE() << left_out->reason;
  return std::holds_alternative<OpenCase>(out) ? std::get<OpenCase>(out) : OpenCase();
}

TEST(OpenRows, AdaptersHaveAnyUsualRankAndPlace) {
  const OpenCase c = OpenOf({{"source_repo", "Lightning-AI/litgpt"},
                             {"model", "phi-2"},
                             {"task", "qlora"},
                             {"gpus", "4"},
                             {"seq_len", "512"},
                             {"micro_batch", "1"},
                             {"peak_mem_as_published", "14.27 GB"}});
  ASSERT_EQ(c.requests.size(), 2u);
  const v1::ModelChanges& most = c.requests[1].model().changes();
  EXPECT_EQ(most.adapters().rank(), 32);
  EXPECT_TRUE(most.base_frozen());
  EXPECT_THAT(most.adapters().targets(), Not(Contains("feed_forward.gate")));  // phi-2 has none
  EXPECT_EQ(c.requests[0].training().sequence_length(), 128);
  EXPECT_EQ(c.requests[0].layout().sharding().zero_stage(), v1::ZERO_STAGE_PARAMETERS);
  EXPECT_EQ(c.requests[1].layout().sharding().zero_stage(), v1::ZERO_STAGE_NONE);
  EXPECT_EQ(c.requests[1].layout().storage().frozen_data_type(), v1::DATA_TYPE_FP4);
  const auto answer = OpenAnswerOf(c);
  ASSERT_THAT(answer, IsOk());
  EXPECT_LT(answer->low, answer->high);
}

TEST(OpenRows, RecomputationByOperatorIsBetweenNoneAndFull) {
  CsvRow row = Titan();
  row["model"] = "llama3-8b";
  row["recompute"] = "selective";
  row["pp"] = row["tp"] = row["cp"] = "1";
  row["dp"] = "8";
  row["seq_len"] = "8192";
  row["micro_batch"] = "1";
  const OpenCase c = OpenOf(row);
  ASSERT_EQ(c.requests.size(), 2u);
  EXPECT_EQ(c.requests[0].training().recompute(), v1::RECOMPUTE_POLICY_FULL);
  EXPECT_EQ(c.requests[1].training().recompute(), v1::RECOMPUTE_POLICY_NONE);
  row["source_repo"] = "pytorch/ao";
  row["recompute"] = "full";
  row["micro_batch"] = "";
  row["peak_mem_as_published"] = "28.07 GB";
  const OpenCase ao = OpenOf(row);
  EXPECT_EQ(ao.open, "micro-batch: 1 or 2");
  EXPECT_NEAR(static_cast<double>(ao.measured->value()), 28.07 * kGib, 1);  // torchtitan logs GiB
  EXPECT_THAT(OpenAnswerOf(ao), IsOk());
}

// Sizes as the chart prints them.
TEST(OpenRows, NanotronsShapesHaveTheirPublishedSizes) {
  const std::pair<const char*, double> kSizes[] = {{"nanotron-1.34B", 1.34e9},
                                                   {"nanotron-3.57B", 3.57e9},
                                                   {"nanotron-8.86B", 8.86e9},
                                                   {"nanotron-80.0B", 80.0e9}};
  for (const auto& [model, size] : kSizes) {
    const OpenCase c = OpenOf({{"source_repo", "huggingface/nanotron"},
                               {"model", model},
                               {"dp", "4"},
                               {"tp", "2"},
                               {"pp", "4"},
                               {"seq_len", "4096"},
                               {"micro_batch", "1"},
                               {"grad_accum", "64"},
                               {"zero_stage", "1"},
                               {"peak_mem_as_published", "8.4GB"}});
    ASSERT_EQ(c.requests.size(), 2u);
    EXPECT_NEAR(static_cast<double>(c.measured->value()), 8.4 * kGib, 1);
    const auto response = AskForPlan(c.requests[0]);
    ASSERT_THAT(response, IsOk());
    const auto counted = static_cast<double>(response->plan().parameters().total());
    EXPECT_NEAR(counted / size, 1, 0.004) << model;
  }
}

TEST(OpenRows, InternevosSequencesHaveEitherLength) {
  const OpenCase c = OpenOf({{"source_repo", "InternLM/InternEvo"},
                             {"layers", "32"},
                             {"hidden", "4096"},
                             {"ffn_hidden", "11008"},
                             {"heads", "32"},
                             {"vocab", "103168"},
                             {"dp", "1"},
                             {"tp", "1"},
                             {"pp", "3"},
                             {"zero_stage", "1"},
                             {"micro_batch", "1"},
                             {"grad_accum", "4"},
                             {"peak_mem_as_published", "75 GB"}});
  ASSERT_EQ(c.requests.size(), 2u);
  EXPECT_THAT(c.requests[0].layout().parallel().layers_per_chunk(), ElementsAre(11, 11, 10));
  EXPECT_EQ(c.requests[1].training().sequence_length(), 4096);
  EXPECT_THAT(OpenAnswerOf(c), IsOk());
}

}  // namespace
}  // namespace sextant
