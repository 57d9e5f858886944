// Rows of torchtitan, litgpt and the figure of arXiv 2205.05198, translated by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/memory/ledger/memory_model.h"
#include "tests/validation/answer.h"
#include "tests/validation/measured_row.h"
#include "tests/validation/traits.h"

namespace sextant {
namespace {

using testing::Contains;
using testing::ElementsAre;

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
  EXPECT_DOUBLE_EQ(static_cast<double>(answer->calculated.value()),
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
  const MeasuredCase c = CaseOf(Titan());
  EXPECT_THAT(c.job.layout.layers_per_chunk, ElementsAre(16, 16, 16, 16, 16, 16, 15, 15));
  EXPECT_EQ(c.job.batch.sequence_count, 1);
  EXPECT_EQ(c.job.pipeline.micro_batch_count, 8);
  EXPECT_FALSE(c.job.state.sharding.reshard_after_forward);
  EXPECT_EQ(c.job.state.precision.master_weights, false);
  // 4 bytes of the first stage's 16 layers and embedding, an eighth of them here: 16 x 3.19e9 and
  // 2.1e9. Norms are whole. No shards yet.
  const double matrices = 2 * 16384.0 * 16384 + 2 * 16384.0 * 1024 + 3 * 16384.0 * 53248;
  const double gradients = 4 * (16 * matrices + 128256.0 * 16384) / 8;
  const auto model = MemoryModel::Of(c.model, c.job);
  ASSERT_TRUE(model.ok());
  LedgerRows rows;
  EXPECT_EQ(model->Stage(0, &rows)->of(LedgerKind::kGradient), Bytes(0));
  double whole = 0;
  for (const LedgerRow& row : rows) {
    if (row.term == "whole_gradient") whole += static_cast<double>(row.size.value());
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
  EXPECT_EQ(c.job.batch.sequence_count, 16);
  EXPECT_TRUE(c.job.state.sharding.reshard_after_forward);
  EXPECT_EQ(c.job.reserve.workspace, Bytes(int64_t{64} << 20));
  row["recompute"] = "selective";
  EXPECT_THAT(ReasonOf(row), testing::HasSubstr("by operator"));
  row["recompute"] = "full";
  row["micro_batch"] = row["notes"] = "";
  EXPECT_EQ(ReasonOf(row), "micro-batch not published");
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
  EXPECT_EQ(c.job.state.precision.optimizer_data_type, DataType::kBf16);
  EXPECT_EQ(c.job.state.precision.master_weights, false);
  EXPECT_EQ(c.job.state.sharding.zero_stage, ZeroStage::kParameters);
  EXPECT_EQ(c.measured.at(0).size, Bytes(14'100'000'000));
  EXPECT_THAT(c.traits, Contains(kTraitShorterSamples));
  EXPECT_FALSE(c.fully_known());
  row["peak_mem_as_published"] = "OOM";
  EXPECT_TRUE(CaseOf(row).ran_out);
  row["task"] = "lora";
  EXPECT_EQ(ReasonOf(row), "rank and targets of adapters not published with the row");
  row["task"] = "sft";
  row["model"] = "stablelm-base-alpha-3b";
  EXPECT_EQ(ReasonOf(row), "shape of the layers not published");
}

}  // namespace
}  // namespace sextant
