// Named conventions: their closed forms, what they leave undefined, and Kaplan's table.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "engine/model/flops/convention.h"
#include "engine/model/flops/flops_by_convention.h"
#include "engine/model/presets/presets.h"
#include "tests/engine/model/architecture/architectures.h"
#include "tests/engine/model/flops/flops_cases.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using enum FlopsConvention;

// A decoder as the papers' formulas want it. L 24, h 1024, 16 heads of 64, V 51200 = 50 x 1024.
constexpr double kL = 24;
constexpr double kH = 1024;
constexpr double kV = 51200;
constexpr double kS = 2048;

ArchitectureSpec PaperDecoder() {
  ArchitectureSpec spec = SmallDecoder();
  spec.hidden_size = 1024;
  spec.embedding.vocabulary_size = 50257;
  spec.embedding.padded_vocabulary_size = 51200;
  spec.layer_kinds = {DenseLayer(Heads(16, 16, 64), Plain(4096))};
  spec.decoder.layers = {{.layer_kind = 0, .count = 24}};
  spec.decoder.learned_position_count = 2048;
  spec.output.head = OutputHeadKind::kTied;
  return spec;
}

const TrainingStepSpec& PaperStep() {
  static const TrainingStepSpec* const step =
      new TrainingStepSpec{.sequences = {{.count = 4, .length = 2048}}};
  return *step;
}

double PaperFlops(FlopsConvention convention) {
  const ConventionFlops row = Convention(convention, PaperDecoder(), PaperStep());
  EXPECT_EQ(row.not_applicable, "");
  EXPECT_EQ(row.per_step.value(), row.per_token.value() * 4 * kS);
  return row.per_token.value();
}

// d_attn = d_model and d_ff = 4 d_model make N = 12 L h^2.
TEST(Conventions, Kaplan) {
  const double n = 12 * kL * kH * kH;
  EXPECT_EQ(PaperFlops(kKaplan2020), 3 * (2 * n + 2 * kL * kS * kH));
}

TEST(Conventions, Chinchilla) {
  const double attention = 2 * 3 * kH * kH + 2 * kS * kH + 3 * kS * 16 + 2 * kS * kH + 2 * kH * kH;
  const double dense = 2 * (kH * 4 * kH + 4 * kH * kH);
  EXPECT_EQ(PaperFlops(kChinchilla2022),
            3 * (2 * kV * kH + kL * (attention + dense) + 2 * kH * kV));
}

TEST(Conventions, Palm) {
  EXPECT_EQ(PaperFlops(kPalm2022), PaperFlops(kSixNTotal) + 12 * kL * 16 * 64 * kS);
}

TEST(Conventions, Megatron2021) {
  EXPECT_DOUBLE_EQ(PaperFlops(kMegatron2021Hardware),
                   96 * kL * kH * kH * (1 + kS / (6 * kH) + kV / (16 * kL * kH)));
  EXPECT_DOUBLE_EQ(PaperFlops(kMegatron2021Model),
                   72 * kL * kH * kH * (1 + kS / (6 * kH) + kV / (12 * kL * kH)));
}

// For the kind of model of the papers, the two counts of every product are equal.
TEST(Conventions, MegatronIsExactOnItsOwnModels) {
  EXPECT_EQ(PaperFlops(kMegatron2021Model), PaperFlops(kExactFull));
  EXPECT_EQ(PaperFlops(kMegatronCausal), PaperFlops(kExactCausal));
  EXPECT_TRUE(Convention(kMegatronCausal, PaperDecoder(), PaperStep()).differences.empty());
}

TEST(Conventions, Megatron2021HardwareIsFullRecompute) {
  TrainingStepSpec step = PaperStep();
  step.recompute = RecomputePolicy::kFull;
  EXPECT_EQ(Counted(PaperDecoder(), step)
                .PerToken(MaskConvention::kFull)
                .HardwareWithoutFlashRecompute()
                .value(),
            PaperFlops(kMegatron2021Hardware));
}

// The ratios of FLOPs to 6 N D that Hoffmann et al. 2022 print in table A4 (from memory) leave
// out embeddings and logits, although appendix F lists both: an author's correction that
// karpathy/nanoGPT's scaling_laws notebook reports.
TEST(Conventions, ChinchillaTableLeavesOutEmbeddings) {
  const struct {
    double parameters;
    int64_t layers, hidden, feed_forward, heads, head_size;
    double ratio;
  } rows[] = {{73e6, 10, 640, 2560, 10, 64, 1.03},     {305e6, 20, 1024, 4096, 16, 64, 1.10},
              {552e6, 24, 1280, 5120, 10, 128, 1.08},  {1143e6, 26, 1792, 7168, 14, 128, 1.04},
              {1593e6, 28, 2048, 8192, 16, 128, 1.03}, {6796e6, 40, 3584, 14336, 28, 128, 0.99}};
  for (const auto& row : rows) {
    ArchitectureSpec spec = SmallDecoder();
    spec.hidden_size = row.hidden;
    spec.embedding.vocabulary_size = 32000;
    spec.layer_kinds = {
        DenseLayer(Heads(row.heads, row.heads, row.head_size), Plain(row.feed_forward))};
    spec.decoder.layers = {{.layer_kind = 0, .count = row.layers}};
    const double flops =
        Convention(kChinchilla2022, spec, {.sequences = {{1, 2048}}}).per_token.value() -
        3 * 4 * 32000.0 * static_cast<double>(row.hidden);
    EXPECT_NEAR(flops / (6 * row.parameters), row.ratio, 0.016) << row.parameters;
  }
}

// FLOPs that 6 N leaves out, and counts too much, for Llama-3.1-405B on 8,192 tokens.
TEST(Conventions, SixNNamesItsDifferences) {
  ArchitectureSpec spec = SmallDecoder();
  spec.hidden_size = 16384;
  spec.embedding.vocabulary_size = 128256;
  spec.layer_kinds = {DenseLayer(Heads(128, 8, 128), Gated(53248))};
  spec.decoder.layers = {{.layer_kind = 0, .count = 126}};
  const ConventionFlops row = Convention(kSixNTotal, spec, {.sequences = {{1, 8192}}});
  EXPECT_EQ(row.per_token, TrainingFlopsPerToken(405853388800));
  ASSERT_EQ(row.differences.size(), 3u);
  EXPECT_EQ(row.differences[0].term, FlopsTerm::kCoreAttention);
  EXPECT_EQ(row.differences[0].per_token.value(), -6.0 * 126 * 8192 * 16384);
  EXPECT_EQ(row.differences[1].term, FlopsTerm::kEmbeddingLookup);
  EXPECT_EQ(row.differences[1].per_token.value(), 6.0 * 128256 * 16384);
  EXPECT_EQ(row.differences[2].term, FlopsTerm::kNormsAndBiases);
  EXPECT_EQ(row.differences[2].per_token.value(), 6.0 * (2 * 126 + 1) * 16384);
}

// Half a mask, latent attention with its norms, top-k and shared experts, a module: DeepSeek-V3.
TEST(Conventions, MegatronCausalOfDeepSeekV3) {
  ArchitectureSpec spec = (*FindModelPreset("deepseek-v3"))->architecture;
  spec.multi_token_prediction = MultiTokenPredictionSpec{
      .module_count = 1, .layer_kind = spec.decoder.layers.back().layer_kind};
  const double attention = 1536 * (7168 + 128 * 192 + 1.0) + 512 * (7168 + 128 * 256 + 1.0) +
                           7168 * 64 + 128 * 128 * 7168 + 4096 * 128 * (192 + 128) / 2;
  const double dense = 3 * 3 * 7168 * 18432.0;
  const double experts = 59 * 3 * 7168.0 * 2048 * (8 + 1);
  const double module = 3 * 7168 + 2.0 * 7168 * 7168;
  const ConventionFlops row = Convention(kMegatronCausal, spec, {.sequences = {{1, 4096}}});
  EXPECT_EQ(row.not_applicable, "");
  EXPECT_DOUBLE_EQ(row.per_token.value(),
                   6 * (62 * attention + dense + experts + module + 2 * 7168 * 129280.0));
  ASSERT_EQ(row.differences.size(), 2u);
  EXPECT_EQ(row.differences[0].term, FlopsTerm::kRouter);
  EXPECT_EQ(row.differences[0].per_token.value(), -6.0 * 59 * 7168 * 256);
  EXPECT_EQ(row.differences[1].term, FlopsTerm::kNormsAndBiases);
  EXPECT_EQ(row.differences[1].per_token.value(), 6.0 * (62 * (1536 + 512) + 3 * 7168));
}

std::set<std::string> Applicable(const ArchitectureSpec& spec, const TrainingStepSpec& step) {
  std::set<std::string> out;
  for (const ConventionFlops& row : Conventions(spec, step)) {
    if (row.not_applicable.empty()) out.insert(std::string(FactsOf(row.convention).name));
  }
  return out;
}

// Where a formula's source leaves a model undefined, there is a reason and no number.
TEST(Conventions, SayWhyTheyDontApply) {
  const std::set<std::string> exact = {"exact_full", "exact_causal", "exact_causal_diagonal"};
  const auto with = [&exact](std::set<std::string> more) {
    more.insert(exact.begin(), exact.end());
    return more;
  };
  EXPECT_EQ(Applicable(PaperDecoder(), PaperStep()).size(), 11u);
  const TrainingStepSpec step = {.sequences = {{1, 16}}};
  EXPECT_EQ(Applicable(SmallDecoder(), step),
            with({"six_n_total", "six_n_non_embedding", "palm_2022", "megatron_causal"}));
  EXPECT_EQ(Applicable(SmallMixture(), step),
            with({"six_n_total", "six_n_non_embedding", "megatron_causal"}));
  EXPECT_EQ(Applicable(SmallEncoderDecoder(), {.sequences = {{1, 16, 16}}}), exact);
  ArchitectureSpec frozen = PaperDecoder();
  frozen.decoder.layers[0].frozen = true;
  EXPECT_EQ(Applicable(frozen, step), exact);
  const ConventionFlops why = Convention(kKaplan2020, SmallMixture(), step);
  EXPECT_EQ(why.not_applicable, "the formula knows no mixture of experts");
  EXPECT_EQ(why.per_token.value(), 0);
  // One length for the papers; a sum of squares for Megatron-LM.
  EXPECT_EQ(Applicable(PaperDecoder(), {.sequences = {{1, 16}, {1, 5}}}),
            with({"six_n_total", "six_n_non_embedding", "megatron_causal"}));
}

TEST(Conventions, HaveFacts) {
  std::set<std::string> names;
  for (int i = 0; i < kFlopsConventionCount; ++i) {
    const ConventionFacts& facts = FactsOf(static_cast<FlopsConvention>(i));
    EXPECT_TRUE(names.insert(std::string(facts.name)).second);
    EXPECT_FALSE(facts.definition.empty());
    EXPECT_FALSE(facts.source.empty());
    EXPECT_EQ(facts.kind == FlopsKind::kHardware, i == static_cast<int>(kMegatron2021Hardware));
  }
  // The two that plans have already.
  EXPECT_EQ(FactsOf(kSixNTotal).name, "six_n_total");
  EXPECT_EQ(FactsOf(kSixNNonEmbedding).name, "six_n_non_embedding");
}

TEST(KaplanTable, RowByRow) {
  const ArchitectureSpec spec = PaperDecoder();
  const WeightTensors tensors = WeightsOf(spec);
  const StepFlops flops = Counted(spec, PaperStep());
  const auto table = KaplanTable({spec, tensors, PaperStep(), flops});
  ASSERT_THAT(table, IsOk());
  const struct {
    const char* operation;
    double per_token;
    double exact;
  } rows[] = {{"embed", 4 * kH, 0},
              {"attention: QKV", 2 * kL * kH * 3 * kH, 2 * kL * kH * 3 * kH},
              {"attention: mask", 2 * kL * kS * kH, 2 * kL * 2 * kH * kS / 2},
              {"attention: project", 2 * kL * kH * kH, 2 * kL * kH * kH},
              {"feed-forward", 2 * kL * 2 * kH * 4 * kH, 2 * kL * 2 * kH * 4 * kH},
              {"de-embed", 2 * kH * kV, 2 * kH * kV},
              {"total (non-embedding)", 24 * kL * kH * kH + 2 * kL * kS * kH,
               24 * kL * kH * kH + 2 * kL * kS * kH}};
  ASSERT_EQ(table->size(), std::size(rows));
  for (size_t i = 0; i < table->size(); ++i) {
    EXPECT_EQ((*table)[i].operation, rows[i].operation);
    EXPECT_EQ((*table)[i].per_token.value(), rows[i].per_token) << rows[i].operation;
    EXPECT_EQ((*table)[i].exact.value(), rows[i].exact) << rows[i].operation;
    EXPECT_FALSE((*table)[i].formula.empty());
    EXPECT_FALSE((*table)[i].difference.empty());
  }
  EXPECT_EQ(3 * table->back().per_token.value(), PaperFlops(kKaplan2020));
}

TEST(KaplanTable, IsOfItsOwnKindOfModel) {
  const ArchitectureSpec spec = SmallMixture();
  const WeightTensors tensors = WeightsOf(spec);
  const TrainingStepSpec step = {.sequences = {{1, 16}}};
  const StepFlops flops = Counted(spec, step);
  EXPECT_EQ(KaplanTable({spec, tensors, step, flops}).status().message(),
            "the formula knows no mixture of experts");
}

TEST(TrainingFlops, AreSixTimesParametersTimesTokens) {
  EXPECT_EQ(TrainingFlopsPerToken(7), Flops(42));
  EXPECT_EQ(TrainingFlops(70'000'000'000, 15'000'000'000'000), Flops(6.3e24));
}

// 6e33, far beyond an int64.
TEST(TrainingFlops, OfTheLargestRunAreFinite) {
  EXPECT_EQ(TrainingFlops(1'000'000'000'000'000, 1'000'000'000'000'000'000), Flops(6e33));
}

}  // namespace
}  // namespace sextant
