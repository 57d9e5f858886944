// Named conventions: their closed forms, what they leave undefined, and Kaplan's table; faults of
// peers, each as the difference that it makes.
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
constexpr double kPaperL = 24;
constexpr double kPaperH = 1024;
constexpr double kPaperV = 51200;
constexpr double kPaperS = 2048;

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
  EXPECT_EQ(row.per_step.value(), row.per_token.value() * 4 * kPaperS);
  return row.per_token.value();
}

// d_attn = d_model and d_ff = 4 d_model make N = 12 L h^2.
TEST(Conventions, Kaplan) {
  const double n = 12 * kPaperL * kPaperH * kPaperH;
  EXPECT_EQ(PaperFlops(kKaplan2020), 3 * (2 * n + 2 * kPaperL * kPaperS * kPaperH));
}

TEST(Conventions, Chinchilla) {
  const double attention = 2 * 3 * kPaperH * kPaperH + 2 * kPaperS * kPaperH + 3 * kPaperS * 16 +
                           2 * kPaperS * kPaperH + 2 * kPaperH * kPaperH;
  const double dense = 2 * (kPaperH * 4 * kPaperH + 4 * kPaperH * kPaperH);
  EXPECT_EQ(PaperFlops(kChinchilla2022),
            3 * (2 * kPaperV * kPaperH + kPaperL * (attention + dense) + 2 * kPaperH * kPaperV));
}

TEST(Conventions, Palm) {
  EXPECT_EQ(PaperFlops(kPalm2022), PaperFlops(kSixNTotal) + 12 * kPaperL * 16 * 64 * kPaperS);
}

TEST(Conventions, Megatron2021) {
  EXPECT_DOUBLE_EQ(PaperFlops(kMegatron2021Hardware),
                   96 * kPaperL * kPaperH * kPaperH *
                       (1 + kPaperS / (6 * kPaperH) + kPaperV / (16 * kPaperL * kPaperH)));
  EXPECT_DOUBLE_EQ(PaperFlops(kMegatron2021Model),
                   72 * kPaperL * kPaperH * kPaperH *
                       (1 + kPaperS / (6 * kPaperH) + kPaperV / (12 * kPaperL * kPaperH)));
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
  } rows[] = {
      {"embed", 4 * kPaperH, 0},
      {"attention: QKV", 2 * kPaperL * kPaperH * 3 * kPaperH, 2 * kPaperL * kPaperH * 3 * kPaperH},
      {"attention: mask", 2 * kPaperL * kPaperS * kPaperH, 2 * kPaperL * 2 * kPaperH * kPaperS / 2},
      {"attention: project", 2 * kPaperL * kPaperH * kPaperH, 2 * kPaperL * kPaperH * kPaperH},
      {"feed-forward", 2 * kPaperL * 2 * kPaperH * 4 * kPaperH,
       2 * kPaperL * 2 * kPaperH * 4 * kPaperH},
      {"de-embed", 2 * kPaperH * kPaperV, 2 * kPaperH * kPaperV},
      {"total (non-embedding)", 24 * kPaperL * kPaperH * kPaperH + 2 * kPaperL * kPaperS * kPaperH,
       24 * kPaperL * kPaperH * kPaperH + 2 * kPaperL * kPaperS * kPaperH}};
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

// Faults of other tools that must not be ours, each under its name.
constexpr auto kCausal = MaskConvention::kCausal;

// Llama-2-7B's shape.
ArchitectureSpec LlamaSpec() {
  ArchitectureSpec spec = SmallDecoder();
  spec.hidden_size = 4096;
  spec.embedding.vocabulary_size = 32000;
  spec.layer_kinds = {DenseLayer(Heads(32, 32, 128), Gated(11008))};
  spec.decoder.layers = {{.layer_kind = 0, .count = 32}};
  return spec;
}

ArchitectureSpec Mixtral() {
  ArchitectureSpec spec = LlamaSpec();
  LayerSpec& layer = spec.layer_kinds[0];
  layer.attention = Heads(32, 8, 128);
  layer.feed_forward.reset();
  layer.experts = ExpertsSpec{.expert_count = 8, .experts_per_token = 2, .expert = Gated(14336)};
  return spec;
}

double ModelFlops(const ArchitectureSpec& spec, int64_t length) {
  return Counted(spec, {.sequences = {{1, length}}}).PerToken(kCausal).Model().value();
}

// llm-analysis: one expert a token whatever top-k is, which leaves Mixtral 41 % low.
TEST(FlopsPeerFaults, TopKIgnored) {
  ArchitectureSpec one = Mixtral();
  one.layer_kinds[0].experts->experts_per_token = 1;
  const double expert = 6.0 * 32 * 3 * 4096 * 14336;
  EXPECT_EQ(ModelFlops(Mixtral(), 4096) - ModelFlops(one, 4096), expert);
  // An expert less of the full-mask count, which that tool makes.
  const double full = Counted(Mixtral(), {.sequences = {{1, 4096}}})
                          .PerToken(MaskConvention::kFull)
                          .Model()
                          .value();
  EXPECT_NEAR((full - expert) / full, 1 - 0.41, 0.005);
}

// llm-analysis: embeddings always tied. A head multiplies by as much, tied or not; only the
// parameters differ.
TEST(FlopsPeerFaults, EmbeddingsAlwaysTied) {
  ArchitectureSpec tied = LlamaSpec();
  tied.output.head = OutputHeadKind::kTied;
  const TrainingStepSpec step = {.sequences = {{1, 4096}}};
  EXPECT_EQ(ModelFlops(LlamaSpec(), 4096), ModelFlops(tied, 4096));
  const double head = 6.0 * 32000 * 4096;
  EXPECT_EQ(Convention(FlopsConvention::kSixNTotal, LlamaSpec(), step).per_token.value() -
                Convention(FlopsConvention::kSixNTotal, tied, step).per_token.value(),
            head);
}

// torchtitan issue 4300: layers of a sliding window counted at full length, so that a GPU that
// does nothing but what is needed shows an MFU above 100 %.
TEST(FlopsPeerFaults, SlidingWindowAtFullLength) {
  ArchitectureSpec windows = LlamaSpec();
  windows.layer_kinds[0].attention->window = 4096;
  const double all = ModelFlops(LlamaSpec(), 131072);
  const double needed = ModelFlops(windows, 131072);
  const double projections = 6.0 * (32 * (4 * 4096.0 * 4096 + 3 * 4096.0 * 11008) + 32000 * 4096.0);
  EXPECT_EQ(all, projections + 12.0 * 32 * 4096 * 131072 / 2);
  EXPECT_EQ(needed, projections + 12.0 * 32 * 4096 * (4096 - 4096.0 * 4096 / (2 * 131072)));
  EXPECT_GT(all / needed, 3);  // at 40 % of the peak the fault shows 120 %
}

// SimuMax, Megatron-LM: the router's products are left out. It is 0.008 % of Mixtral.
TEST(FlopsPeerFaults, RouterMissing) {
  const StepFlops flops = Counted(Mixtral(), {.sequences = {{1, 4096}}});
  double router = 0;
  for (const ComponentFlops& row : flops.components) {
    if (row.component == FlopsComponent::kRouter) {
      router += row.per_token[static_cast<size_t>(kCausal)].Model().value();
    }
  }
  EXPECT_EQ(router, 6.0 * 32 * 4096 * 8);
  EXPECT_NEAR(router / flops.PerToken(kCausal).Model().value(), 8e-5, 0.5e-5);
}

// llm-analysis: the pass that recomputes is in the model's FLOPs, which an MFU is of.
TEST(FlopsPeerFaults, RecomputeInModelFlops) {
  for (const RecomputePolicy policy : {RecomputePolicy::kSelective, RecomputePolicy::kFull}) {
    const PassFlops flops =
        Counted(LlamaSpec(), {.sequences = {{1, 4096}}, .recompute = policy}).PerToken(kCausal);
    EXPECT_EQ(flops.Model().value(), ModelFlops(LlamaSpec(), 4096));
    EXPECT_GT(flops.HardwareWithoutFlashRecompute(), flops.Model());
  }
}

}  // namespace
}  // namespace sextant
