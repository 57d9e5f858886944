// The largest model: the textbook's answers, the ladder of models, and its rungs against plans of
// each.
#include "engine/search/size_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "engine/base/field_violation.h"
#include "engine/model/architecture/check_architecture.h"
#include "engine/model/architecture/count_weights.h"
#include "engine/model/architecture/model_weights.h"
#include "engine/model/presets/presets.h"
#include "engine/run/plan.h"
#include "engine/search/model_ladder.h"
#include "tests/engine/run/h100_runs.h"

namespace sextant {
namespace {

using ::testing::HasSubstr;

RunSpec Bare(int64_t devices) {
  RunSpec run = OnH100s(devices, 15'000'000'000'000);
  run.cluster.peak_flops_per_second = 989.5e12;
  run.cluster.device_memory_bytes = 80'000'000'000;
  run.options.assumed_mfu = 0.5;
  return run;
}

RunSpec Family() {
  RunSpec run = RunOnH100s("llama-3.1-8b", 16, 64, 8192);
  run.layout->framework = {.kind = Framework::kMegatronLm, .named = true};
  return run;
}

LargestModel ModelSizeOf(const RunSpec& run, absl::optional<double> ratio = {}) {
  CallWork work;
  auto size = FindLargestModel(run, ratio, {}, work);
  EXPECT_TRUE(size.ok()) << size.status();
  return size.ok() ? *std::move(size) : LargestModel();
}

std::string SizingErrorOf(const RunSpec& run, absl::optional<double> ratio = {}) {
  CallWork work;
  return std::string(FindLargestModel(run, ratio, {}, work).status().message());
}

// 8 x 80e9 bytes at 16 bytes a parameter (2 + 2 + 12, Rajbhandari et al. 2020 section 3.1).
TEST(SizeModel, HoldsTheTextbooksLargest) {
  const LargestModel size = ModelSizeOf(Bare(8));
  EXPECT_TRUE(size.met);
  EXPECT_EQ(size.basis, SizeBasis::kStateAlone);
  EXPECT_EQ(size.model.parameter_count, 40'000'000'000);
  EXPECT_EQ(size.limit, SizeLimit::kMemory);
  EXPECT_FALSE(size.shape.has_value());
  // Weights, gradients and one momentum in fp32: 2 + 2 + 4 + 4 bytes.
  RunSpec lion = Bare(8);
  lion.training.optimizer.kind = OptimizerKind::kLion;
  EXPECT_EQ(ModelSizeOf(lion).model.parameter_count, 640'000'000'000 / 12);
}

TEST(SizeModel, MeetsADeadline) {
  // The textbook's 70e9 parameters take 143.92659381842682 days; 143.9266 days are 4.29495e-8 more,
  // 3,006 parameters.
  RunSpec run = Bare(1024);
  run.economics.seconds_to_deadline = 143.9266 * kSecondsPerDay;
  const LargestModel size = ModelSizeOf(run);
  EXPECT_NEAR(static_cast<double>(size.model.parameter_count), 70'000'003'006, 1);
  EXPECT_EQ(size.limit, SizeLimit::kDeadline);
}

TEST(SizeModel, TakesTokensByTheParameter) {
  // 6 N x 20 N FLOP in 30 days: N = sqrt(1,024 x 989.5e12 x 0.5 x 2.592e6 / 120).
  RunSpec run = Bare(1024);
  run.training.token_count = 0;
  run.economics.seconds_to_deadline = 30 * kSecondsPerDay;
  const LargestModel size = ModelSizeOf(run, 20);
  EXPECT_NEAR(static_cast<double>(size.model.parameter_count),
              std::sqrt(1024 * 989.5e12 * 0.5 * 2.592e6 / 120), 2);
  EXPECT_EQ(size.model.token_count, 20 * size.model.parameter_count);
}

TEST(SizeModel, SaysWhatIsMissed) {
  RunSpec run = Bare(1);
  run.economics.device_hour_price_usd = 1e6;
  run.economics.budget_usd = 1e-9;
  const LargestModel size = ModelSizeOf(run);
  EXPECT_FALSE(size.met);
  EXPECT_EQ(size.model.parameter_count, 1'000'000);
  EXPECT_EQ(size.limit, SizeLimit::kBudget);
}

// 6 x 1e6 x 15e12 FLOP at half of 989.5e12 FLOP/s take 181,910.06 s; the second that follows is
// that of 5.2 parameters more.
TEST(SizeModel, AnswersNoModelBelowAMillionParameters) {
  RunSpec run = Bare(1);
  run.economics.seconds_to_deadline = 181'910;
  LargestModel size = ModelSizeOf(run);
  EXPECT_FALSE(size.met);
  EXPECT_EQ(size.limit, SizeLimit::kDeadline);
  EXPECT_EQ(size.model.parameter_count, 1'000'000);
  run.economics.seconds_to_deadline = 181'911;
  size = ModelSizeOf(run);
  EXPECT_TRUE(size.met);
  EXPECT_EQ(size.model.parameter_count, 1'000'005);
}

// Four H100s of 80 GB hold no more than 320e9 / 16 = 20e9 parameters with their optimizer state;
// their hosts hold that of more.
TEST(SizeModel, OffloadsWhereNothingElseFits) {
  RunSpec run = Family();
  run.cluster.device_count = 4;
  run.layout->framework = {.kind = Framework::kDeepSpeed, .named = true};
  const LargestModel size = ModelSizeOf(run);
  ASSERT_TRUE(size.met);
  EXPECT_GT(size.model.parameter_count, 20'000'000'000);
  EXPECT_TRUE(size.model.sized.plan->run->layout->sharding.offload_optimizer);
}

TEST(SizeModel, IsARungWhoseNextDoesNotFit) {
  const LargestModel size = ModelSizeOf(Family());
  ASSERT_TRUE(size.met);
  EXPECT_EQ(size.basis, SizeBasis::kLayouts);
  EXPECT_EQ(size.limit, SizeLimit::kMemory);
  ASSERT_TRUE(size.shape.has_value());
  EXPECT_EQ(CountWeights(WeightsOf(*size.shape), "model")->all.total, size.model.parameter_count);
  // 16 H100s hold more than 8B, and not 1.36e12 bytes of weights and gradients in 2 + 2 bytes:
  // 340e9 parameters, whose optimizer state their hosts would hold.
  EXPECT_GT(size.model.parameter_count, 8'000'000'000);
  EXPECT_LT(size.model.parameter_count, 340'000'000'000);
  EXPECT_LE(size.tried.size(), 40u);
  for (const SizedModel& each : size.tried) {
    EXPECT_EQ(each.sized.plan != nullptr, each.parameter_count == size.model.parameter_count);
  }
  // The answer's shape by itself is planned alike.
  RunSpec run = Family();
  run.model = {};
  run.model.architecture = size.shape;
  run.options.search = SearchExtent::kBounded;
  CallWork work;
  auto found = SearchAsPlanned(run, {}, work);
  ASSERT_TRUE(found.ok()) << found.status();
  const auto best = PlanBest(run, *std::move(found), work);
  ASSERT_TRUE(best.ok()) << best.status();
  EXPECT_EQ(best->plan.verdict(), Verdict::kFits);
  EXPECT_EQ(best->plan.estimate(EstimateKind::kPredicted)->elapsed, *size.model.sized.elapsed);
}

TEST(SizeModel, ShrinksToADeadline) {
  RunSpec run = Family();
  run.economics.seconds_to_deadline = 20 * kSecondsPerDay;
  const LargestModel size = ModelSizeOf(run);
  ASSERT_TRUE(size.met);
  EXPECT_EQ(size.limit, SizeLimit::kDeadline);
  EXPECT_LE(size.model.sized.elapsed->value(), 20 * kSecondsPerDay);
  // 6 N D FLOP at full peak are a lower bound on the time.
  EXPECT_LT(6.0 * static_cast<double>(size.model.parameter_count) * 1e12 / (16 * 989.5e12),
            20 * kSecondsPerDay);
}

TEST(SizeModel, CountsStateAloneOfAFamilyWithoutALayout) {
  RunSpec run = Family();
  run.layout.reset();
  const LargestModel size = ModelSizeOf(run);
  ASSERT_TRUE(size.met);
  EXPECT_EQ(size.basis, SizeBasis::kStateAlone);
  // More than layouts hold, which keep activations too, where none offloads: the memory of these
  // servers has no known rate.
  RunSpec kept = Family();
  kept.cluster.node_type = "hgx-h100";
  kept.cluster.network.bytes_per_second = 50e9;
  EXPECT_GT(size.model.parameter_count, ModelSizeOf(kept).model.parameter_count);
}

TEST(SizeModel, ReportsWhatIsWrong) {
  RunSpec run = Bare(8);
  run.training.token_count = 0;
  EXPECT_THAT(SizingErrorOf(Bare(8), 20), HasSubstr("give one of them"));
  run = Bare(8);
  run.model.parameter_count = 1;
  EXPECT_THAT(SizingErrorOf(run), HasSubstr("model.parameter_count: is what is asked for"));
  run = Family();
  run.model.changes.vocabulary_multiple = 128;
  EXPECT_THAT(SizingErrorOf(run), HasSubstr("model.changes"));
  run = Family();
  run.layout->global_batch_size.reset();
  EXPECT_THAT(SizingErrorOf(run), HasSubstr("layout.global_batch_size"));
  run = Family();
  run.model.preset = "llama-3.1-9b";
  EXPECT_THAT(SizingErrorOf(run), HasSubstr("llama-3.1-8b"));
  run = Bare(8);
  run.layout.emplace();
  run.layout->global_batch_size = 8;
  EXPECT_THAT(SizingErrorOf(run), HasSubstr("model: is required with layout"));
}

TEST(SizeModel, EndsWithItsCall) {
  const auto stop = [] { return absl::CancelledError("left"); };
  for (const RunSpec& run : {Bare(8), Family()}) {
    CallWork work(stop);
    EXPECT_EQ(FindLargestModel(run, {}, {}, work).status().code(), absl::StatusCode::kCancelled);
  }
}

// For its parameters, for the search of its layouts and for the plan of the best; the preset was
// counted before.
TEST(SizeModel, CountsEachModelOnce) {
  CallWork work;
  const auto size = FindLargestModel(Family(), {}, {}, work);
  ASSERT_TRUE(size.ok()) << size.status();
  EXPECT_GT(size->tried.size(), 3U);
  EXPECT_EQ(work.models(), static_cast<int64_t>(size->tried.size()));
}

const ArchitectureSpec& ShapeOfPreset(absl::string_view name) {
  const auto preset = FindModelPreset(name);
  EXPECT_TRUE(preset.ok()) << preset.status();
  return (*preset)->architecture;
}

int64_t ParametersOf(const ArchitectureSpec& spec) {
  const auto count = CountWeights(WeightsOf(spec), "model");
  EXPECT_TRUE(count.ok()) << count.status();
  return count.ok() ? count->all.total : 0;
}

// The rung of that width and depth; -1 where there is none.
int64_t Find(const ModelLadder& ladder, double width_ratio, int64_t depth) {
  for (int64_t i = 0; i < ladder.size(); ++i) {
    if (ladder.width_ratio(i) == width_ratio && ladder.depth(i) == depth) return i;
  }
  return -1;
}

// Llama 3.1 8B: 32 layers of width 4,096, 32 heads of 128 on 8, feed-forward 14,336. Twice as wide
// it has the sizes of 70B, by hand 855,654,400 parameters a layer, 2,101,354,496 besides them, and
// 64 layers where 70B has 80.
TEST(ModelLadder, ScalesGroupedQueriesByWholeGroups) {
  constexpr int64_t kLayer = 855'654'400;
  constexpr int64_t kRest = 2'101'354'496;
  const ModelLadder ladder(ShapeOfPreset("llama-3.1-8b"));
  const int64_t index = Find(ladder, 2, 64);
  ASSERT_GE(index, 0);
  const ArchitectureSpec twice = ladder.At(index);
  EXPECT_EQ(twice.hidden_size, 8192);
  const LayerSpec& layer = twice.layer_kinds.front();
  EXPECT_EQ(layer.attention->head_count, 64);
  EXPECT_EQ(layer.attention->key_value_head_count, 8);
  EXPECT_EQ(layer.attention->query_key_head_size, 128);
  EXPECT_EQ(layer.feed_forward->size, 28'672);
  EXPECT_EQ(twice.embedding.vocabulary_size, 128'256);
  EXPECT_EQ(ParametersOf(twice), 64 * kLayer + kRest);
  // With 16 layers more it would be 70B itself.
  EXPECT_EQ(ParametersOf(ShapeOfPreset("llama-3.1-70b")), 80 * kLayer + kRest);
  EXPECT_EQ(ladder.At(Find(ladder, 1.25, 40)).hidden_size, 5120);
}

// At a width of 7,168 a model of 56 = 7 x 8 layers divides among more stages than one of 55, and is
// the faster: halving ends below the smaller one, and the next are tried as well.
TEST(SizeModel, LooksAboveARungThatMisses) {
  const ModelLadder ladder(ShapeOfPreset("llama-3.1-8b"));
  RunSpec run = Family();
  run.cluster.device_count = 64;
  const auto seconds = [&](int64_t depth) {
    RunSpec of = run;
    of.model = {};
    of.model.architecture = ladder.At(Find(ladder, 1.75, depth));
    of.options.search = SearchExtent::kBounded;
    CallWork work;
    auto found = SearchAsPlanned(of, {}, work);
    EXPECT_TRUE(found.ok()) << found.status();
    const auto best = PlanBest(of, *std::move(found), work);
    EXPECT_TRUE(best.ok()) << best.status();
    return best.ok() ? best->plan.estimate(EstimateKind::kPredicted)->elapsed.value() : 0;
  };
  const double whole = seconds(56);
  ASSERT_GT(seconds(55), whole);
  run.economics.seconds_to_deadline = 1.000001 * whole;
  const LargestModel size = ModelSizeOf(run);
  EXPECT_EQ(size.model.hidden_size, 7168);
  EXPECT_EQ(size.model.layer_count, 56);
}

// Eight heads more are a quarter of the width. At 4.5 / 4 of the model's proportions a width of
// 4,096 has 32 x 4.5^3 / (4 x 4^2) = 45.6 layers of 218,112,000 parameters, and 1,050,677,248
// besides them: 10,865,717,248. At a width of 5,120 a layer has 338,176,000 and the rest
// 1,313,346,560, so that 28 layers have fewer and 29 more.
TEST(ModelLadder, GoesOnWithTheNextWidthWhereTheLastOneEnds) {
  const ModelLadder ladder(ShapeOfPreset("llama-3.1-8b"));
  const int64_t last = Find(ladder, 1, 45);
  ASSERT_GE(last, 0);
  EXPECT_EQ(ParametersOf(ladder.At(last)), 10'865'717'248);
  EXPECT_EQ(ladder.width_ratio(last + 1), 1.25);
  EXPECT_EQ(ladder.depth(last + 1), 29);
  EXPECT_EQ(ParametersOf(ladder.At(last + 1)), 29 * int64_t{338'176'000} + 1'313'346'560);
}

// From a million parameters to 500 billion, in shapes that tensor cores and the eight ranks of a
// server divide.
TEST(ModelLadder, HasNoHoles) {
  const ModelLadder ladder(ShapeOfPreset("llama-3.1-8b"));
  int64_t below = 0;
  for (int64_t i = 0; below < 500'000'000'000; ++i) {
    ASSERT_LT(i, ladder.size());
    const ArchitectureSpec spec = ladder.At(i);
    const int64_t parameters = ParametersOf(spec);
    if (below > 0) {
      EXPECT_LE(static_cast<double>(parameters), 1.1 * static_cast<double>(below));
    }
    below = parameters;
    EXPECT_EQ(spec.hidden_size % 1024, 0);
    EXPECT_EQ(spec.layer_kinds.front().attention->head_count % 8, 0);
    EXPECT_EQ(spec.layer_kinds.front().feed_forward->size % 128, 0);
  }
}

// GPT-3 175B: 96 layers of width 12,288, 96 heads of 128, each with keys of its own.
TEST(ModelLadder, ScalesHeadsByEightsWhereEachHasItsKeys) {
  const ModelLadder ladder(ShapeOfPreset("gpt3-175b"));
  const int64_t index = Find(ladder, 0.5, 48);
  ASSERT_GE(index, 0);
  const ArchitectureSpec half = ladder.At(index);
  EXPECT_EQ(half.hidden_size, 6144);
  EXPECT_EQ(half.layer_kinds.front().attention->head_count, 48);
  EXPECT_EQ(half.layer_kinds.front().attention->key_value_head_count, 48);
  EXPECT_EQ(half.layer_kinds.front().feed_forward->size, 24'576);
}

// DeepSeek-V3: 3 dense layers, then 58 with experts.
TEST(ModelLadder, KeepsTheFirstLayersAndRepeatsTheRest) {
  const ArchitectureSpec& own = ShapeOfPreset("deepseek-v3");
  ASSERT_EQ(own.decoder.layers.size(), 2u);
  ASSERT_EQ(own.decoder.layers[0].count, 3);
  const ModelLadder ladder(own);
  for (int64_t i = 0; i < ladder.size(); ++i) {
    if (ladder.depth(i) != 100) continue;
    const ArchitectureSpec deep = ladder.At(i);
    ASSERT_EQ(deep.decoder.layers.size(), 2u);
    EXPECT_EQ(deep.decoder.layers[0].count, 3);
    EXPECT_EQ(deep.decoder.layers[1].count, 97);
  }
}

TEST(ModelLadder, RepeatsAPeriod) {
  ArchitectureSpec spec = ShapeOfPreset("llama-3.1-8b");
  spec.layer_kinds.push_back(spec.layer_kinds.front());
  spec.layer_kinds.back().name = "sliding";
  spec.layer_kinds.back().attention->window = 1024;
  spec.decoder.layers.clear();
  for (int i = 0; i < 16; ++i) {
    spec.decoder.layers.push_back({.layer_kind = 1, .count = 1});
    spec.decoder.layers.push_back({.layer_kind = 0, .count = 1});
  }
  const ModelLadder ladder(spec);
  const ArchitectureSpec deeper = ladder.At(Find(ladder, 1, 35));
  ASSERT_EQ(deeper.decoder.layers.size(), 35u);
  for (size_t i = 0; i < 35; ++i) {
    EXPECT_EQ(deeper.decoder.layers[i].layer_kind, i % 2 == 0 ? 1 : 0) << i;
  }
}

// Every preset is a rung of its own ladder, all rungs are sound and have more parameters than the
// one below it, by 10 % at most from 11 layers on, and none is too small for a model.
TEST(ModelLadder, RisesForEveryPreset) {
  for (const ModelPreset& preset : ModelPresets()) {
    SCOPED_TRACE(std::string(preset.name));
    const ModelLadder ladder(preset.architecture);
    int64_t below = 0;
    bool has_itself = false;
    for (int64_t i = 0; i < std::min<int64_t>(ladder.size(), 300); ++i) {
      const ArchitectureSpec spec = ladder.At(i);
      FieldViolations violations;
      CheckArchitecture(spec, "model", violations);
      ASSERT_TRUE(violations.empty()) << i << violations.ToStatus();
      const int64_t parameters = ParametersOf(spec);
      EXPECT_GE(parameters, 1'000'000) << i;
      EXPECT_GT(parameters, below) << i;
      if (i > 0 && ladder.depth(i) > 10) {
        // One layer of several kinds may have most of what the kinds have together.
        const auto kinds = static_cast<double>(spec.layer_kinds.size());
        const double step = std::max(0.1, kinds / static_cast<double>(ladder.depth(i) - 1));
        EXPECT_LE(static_cast<double>(parameters), (1 + step) * static_cast<double>(below)) << i;
      }
      below = parameters;
    }
    for (int64_t i = 0; i < ladder.size(); ++i) {
      has_itself = has_itself || (ladder.width_ratio(i) == 1 &&
                                  ParametersOf(ladder.At(i)) == ParametersOf(preset.architecture));
    }
    EXPECT_TRUE(has_itself);
  }
}

}  // namespace
}  // namespace sextant
