// The largest model: the textbook's answers, and rungs of a ladder against plans of each.
#include "engine/search/size_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "engine/model/architecture/count_weights.h"
#include "engine/model/architecture/model_weights.h"
#include "engine/run/plan.h"

namespace sextant {
namespace {

using ::testing::HasSubstr;

RunSpec Bare(int64_t devices) {
  RunSpec run;
  run.training.token_count = 15'000'000'000'000;
  run.cluster.device.accelerator = "h100-sxm";
  run.cluster.device_count = devices;
  run.cluster.peak_flops_per_second = 989.5e12;
  run.cluster.device_memory_bytes = 80'000'000'000;
  run.options.assumed_mfu = 0.5;
  return run;
}

RunSpec Family() {
  RunSpec run;
  run.model.preset = "llama-3.1-8b";
  run.training.token_count = 1'000'000'000'000;
  run.training.sequence_length = 8192;
  run.cluster.device.accelerator = "h100-sxm";
  run.cluster.node_type = "dgx-h100";
  run.cluster.device_count = 16;
  run.layout.emplace();
  run.layout->global_batch_size = 64;
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
  EXPECT_EQ(size.model.parameter_count, 1);
  EXPECT_EQ(size.limit, SizeLimit::kBudget);
}

TEST(SizeModel, IsARungWhoseNextDoesNotFit) {
  const LargestModel size = ModelSizeOf(Family());
  ASSERT_TRUE(size.met);
  EXPECT_EQ(size.basis, SizeBasis::kLayouts);
  EXPECT_EQ(size.limit, SizeLimit::kMemory);
  ASSERT_TRUE(size.shape.has_value());
  EXPECT_EQ(CountWeights(WeightsOf(*size.shape), "model")->all.total, size.model.parameter_count);
  // 16 H100s hold more than 8B, and not 1.36e12 bytes of state: 85e9 parameters.
  EXPECT_GT(size.model.parameter_count, 8'000'000'000);
  EXPECT_LT(size.model.parameter_count, 85'000'000'000);
  EXPECT_LE(size.tried.size(), 40u);
  // The answer's shape by itself is planned alike.
  RunSpec run = Family();
  run.model = {};
  run.model.architecture = size.shape;
  run.options.search = SearchExtent::kBounded;
  CallWork work;
  auto found = SearchLayouts(run, {}, {}, work);
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
  EXPECT_GT(size.model.parameter_count, ModelSizeOf(Family()).model.parameter_count);
}

TEST(SizeModel, ReportsWhatIsWrong) {
  RunSpec run = Bare(8);
  run.training.token_count = 0;
  for (const double ratio :
       {0.0, -20.0, 1e7, std::nan(""), std::numeric_limits<double>::infinity()}) {
    EXPECT_THAT(SizingErrorOf(run, ratio), HasSubstr("tokens_per_parameter: must be a number"));
  }
  EXPECT_THAT(SizingErrorOf(run), HasSubstr("training.token_count"));
  EXPECT_THAT(SizingErrorOf(Bare(8), 20), HasSubstr("give one of them"));
  EXPECT_THAT(SizingErrorOf(Bare(0)), HasSubstr("cluster.device_count"));
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
  EXPECT_THAT(SizingErrorOf(run), HasSubstr("layout: needs the model's shape"));
}

TEST(SizeModel, EndsWithItsCall) {
  const auto stop = [] { return absl::CancelledError("left"); };
  for (const RunSpec& run : {Bare(8), Family()}) {
    CallWork work(stop);
    EXPECT_EQ(FindLargestModel(run, {}, {}, work).status().code(), absl::StatusCode::kCancelled);
  }
}

}  // namespace
}  // namespace sextant
