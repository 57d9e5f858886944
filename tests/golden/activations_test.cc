// Activations of the reference cases and of published figures.
#include "engine/memory/activations/activations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tests/engine/memory/activations/activation_cases.h"
#include "tests/golden/golden_files.h"
#include "tests/golden/reference_models.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using nlohmann::json;

using Case = ActivationCase;

Case CaseOf(const json& row) {
  Case out = {.spec = ReferenceModel(row.at("case")),
              .layout = {.tensor_parallel_size = row.at("tensor"),
                         .pipeline_parallel_size = row.at("pipeline"),
                         .expert_parallel_size = row.value("expert", 1)},
              .batch = {.sequence_length = row.at("length")}};
  MicroBatchSpec& batch = out.batch;
  batch.sequence_parallel = row.value("sequence_parallel", false);
  batch.dropout = row.value("dropout", false);
  if (row.value("selective", false)) batch.recomputation.policy = RecomputePolicy::kSelective;
  if (row.value("kernel", "") == "unfused") batch.attention = AttentionKernel::kUnfused;
  if (row.value("scaled_after", false)) batch.expert_scaling = ExpertScaling::kAfterDown;
  return out;
}

// Bytes that the layers of the first stage keep.
int64_t FirstStageLayers(const Case& c) {
  ActivationTensors rows;
  const LayerPlacement placement(c.spec, c.layout);
  EXPECT_THAT(ChunkActivations(c.context(), placement, {}, &rows), IsOk());
  int64_t sum = 0;
  for (const ActivationTensor& row : rows) {
    if (row.layer_kind >= 0) sum += row.size.value() * row.layers;
  }
  return sum;
}

TEST(ReferenceActivations, AreExact) {
  int rows = 0;
  for (const json& row : GoldenLines("reference_activations.jsonl")) {
    SCOPED_TRACE(row["case"].get<std::string>() + ": " + row["source"].get<std::string>());
    const Case c = CaseOf(row);
    FieldViolations violations;
    CheckMicroBatch(c.batch, c.spec, c.layout, violations);
    EXPECT_THAT(violations.ToStatus(), IsOk());
    EXPECT_EQ(LayerBytes(c), row["layer_bytes"].get<int64_t>());
    EXPECT_EQ(FirstStageLayers(c), LayerBytes(c) * row["layers"].get<int64_t>());
    ++rows;
  }
  EXPECT_EQ(rows, 5);
}

std::map<std::string, Case> Cases() {
  std::map<std::string, Case> out;
  for (const json& row : GoldenLines("reference_activations.jsonl")) {
    const std::string name = row["case"];
    out[row.value("scaled_after", false) ? name + "_combine_saved" : name] = CaseOf(row);
  }
  return out;
}

TEST(ReferenceActivations, AreThoseOfTheSharedCases) {
  if (SharedDirectory().empty()) GTEST_SKIP() << "no shared tables: set SEXTANT_SHARED_DIR";
  const json hand = SharedJson("golden/shared_cases.json")["hand_reference"];
  const json exact = hand["activations"];
  const std::map<std::string, Case> cases = Cases();
  EXPECT_EQ(LayerBytes(cases.at("A")), exact["A_selective_SP_per_layer_bytes"].get<int64_t>());
  EXPECT_EQ(LayerBytes(cases.at("B")), exact["B_per_token_layer_bytes"].get<int64_t>() * 4096);
  EXPECT_EQ(LayerBytes(cases.at("C")), exact["C_per_token_layer_bytes"].get<int64_t>() * 8192);
  EXPECT_EQ(LayerBytes(cases.at("D")),
            exact["D_per_token_layer_bytes_probs_before_fc2"].get<int64_t>() * 4096);
  EXPECT_EQ(LayerBytes(cases.at("D_combine_saved")),
            exact["D_per_token_layer_bytes_combine_saved"].get<int64_t>() * 4096);
  // Whole stages, to 1 %, embeddings included.
  const struct {
    const char* name;
    double in_flight;
    double gib;
  } stages[] = {{"A", 8, hand["activation_first_stage_gib"]["A_selective_sp_1f1b"]},
                {"C", 4, hand["activation_first_stage_gib"]["C_4_in_flight"]},
                {"D", 4, hand["activation_first_stage_gib"]["D_4_in_flight"][0]},
                {"D_combine_saved", 4, hand["activation_first_stage_gib"]["D_4_in_flight"][1]}};
  for (const auto& stage : stages) {
    SCOPED_TRACE(stage.name);
    const Case& c = cases.at(stage.name);
    const LayerPlacement placement(c.spec, c.layout);
    const Bytes bytes = ChunkActivations(c.context(), placement, {})->total();
    const double gib = static_cast<double>(bytes.value()) * stage.in_flight / (1 << 30);
    EXPECT_NEAR(gib / stage.gib, 1, 0.01);
  }
  EXPECT_EQ(FirstStageLayers(cases.at("B")), exact["B_stage_bytes_excl_head"].get<int64_t>());
  EXPECT_EQ(FirstStageLayers(cases.at("C")), exact["C_stage_bytes_per_microbatch"].get<int64_t>());
  EXPECT_EQ(FirstStageLayers(cases.at("D_combine_saved")),
            exact["D_stage_bytes_per_microbatch_combine_saved"].get<int64_t>());
}

// Head and loss of case B, which formulas worked by hand put at about 0.5 GiB.
TEST(ReferenceActivations, OfCaseBsHeadAndLoss) {
  Case c = Cases().at("B");
  const LayerPlacement placement(c.spec, c.layout);
  const Bytes all = ChunkActivations(c.context(), placement, {})->total();
  // Ids 8, final norm and head 4h, fp32 softmax 4V a token.
  EXPECT_EQ(all.value() - FirstStageLayers(c), int64_t{4096} * (8 + 4 * 4096 + 4 * 32000));
}

// Shapes of table 3 of arXiv 2205.05198; all with t = 8.
Case FigureSeven(const std::string& model) {
  struct Sizes {
    int64_t layers;
    int64_t hidden;
    int64_t heads;
  };
  const std::map<std::string, Sizes> shapes = {{"22b", {48, 6144, 64}},
                                               {"175b", {96, 12288, 96}},
                                               {"530b", {105, 20480, 128}},
                                               {"1t", {128, 25600, 160}}};
  const Sizes& sizes = shapes.at(model);
  Case out = {.spec = DecoderOf({.layers = sizes.layers,
                                 .hidden = sizes.hidden,
                                 .heads = sizes.heads,
                                 .key_value_heads = sizes.heads,
                                 .kind = FeedForwardKind::kPlain,
                                 .feed_forward = 4 * sizes.hidden,
                                 .vocabulary = 51200,
                                 .tied = true}),
              .layout = {.tensor_parallel_size = 8},
              .batch = {.sequence_length = 2048}};
  out.batch.attention = AttentionKernel::kUnfused;
  out.batch.dropout = true;
  return out;
}

Case WithTechnique(Case c, const std::string& id) {
  const auto has = [&id](const char* word) { return id.find(word) != std::string::npos; };
  c.batch.sequence_parallel = has("sequence-parallel");
  if (has("selective")) c.batch.recomputation.policy = RecomputePolicy::kSelective;
  if (has("full-recompute")) c.batch.recomputation.policy = RecomputePolicy::kFull;
  return c;
}

TEST(PublishedActivations, AreThoseOfFigureSeven) {
  if (SharedDirectory().empty()) GTEST_SKIP() << "no shared tables: set SEXTANT_SHARED_DIR";
  int rows = 0;
  for (const json& row : SharedLines("golden/published_answers.jsonl")) {
    const std::string id = row["id"];
    const std::string prefix = "korthikanti-fig7-";
    if (row["kind"] != "activation_memory" || id.rfind(prefix, 0) != 0) continue;
    SCOPED_TRACE(id);
    const std::string model = id.substr(prefix.size(), id.find('-', prefix.size()) - prefix.size());
    const Case baseline = FigureSeven(model);
    const Case c = WithTechnique(baseline, id);
    const double percent =
        100.0 * static_cast<double>(LayerBytes(c)) / static_cast<double>(LayerBytes(baseline));
    EXPECT_NEAR(percent, row["value"].get<double>(), 0.2);
    ++rows;
  }
  EXPECT_EQ(rows, 12);
}

}  // namespace
}  // namespace sextant
