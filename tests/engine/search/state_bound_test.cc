// The bound against the memory of whole layouts, and against state counted by hand.
#include "engine/search/state_bound.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/search/layout_evaluator.h"
#include "tests/engine/search/searched.h"

namespace sextant {
namespace {

RunSpec RunFor(absl::string_view preset, Framework framework, int64_t devices) {
  RunSpec run = RunOn(preset, devices, 64, 4096);
  run.layout->framework = {.kind = framework, .named = true};
  return run;
}

std::vector<RunSpec> BoundedRuns() {
  std::vector<RunSpec> out = {
      RunFor("llama-3.1-8b", Framework::kMegatronLm, 16),
      RunFor("gpt-oss-20b", Framework::kMegatronBridge, 16),
      RunFor("deepseek-v2-lite", Framework::kMegatronLm, 16),
      RunFor("qwen3-30b-a3b", Framework::kMegatronLm, 32),
      RunFor("llama-3.1-70b", Framework::kTorchtitan, 32),
      RunFor("llama-2-13b", Framework::kDeepSpeed, 16),
      RunOnH100s("llama-3.1-8b", 16, 64),
  };
  RunSpec adapted = out[0];
  adapted.model.changes.base_frozen = true;
  adapted.model.changes.adapters =
      AdapterSpec{.rank = 16, .targets = {{"attention", "query"}, {"attention", "value"}}};
  out.push_back(adapted);
  adapted.layout->framework = {.kind = Framework::kHuggingFaceTrainer, .named = true};
  adapted.layout->frozen = {.data_type = DataType::kFp4};
  out.push_back(adapted);
  RunSpec dual = RunFor("qwen3-30b-a3b", Framework::kTorchtitan, 32);
  dual.layout->schedule = PipelineSchedule::kDualPipe;
  out.push_back(dual);
  RunSpec eight_bits = RunFor("llama-3.1-8b", Framework::kPytorchFsdp, 16);
  eight_bits.training.optimizer.kind = OptimizerKind::kAdam8bit;
  out.push_back(eight_bits);
  RunSpec factored = RunFor("llama-3.1-8b", Framework::kPytorchFsdp, 16);
  factored.training.optimizer.kind = OptimizerKind::kAdafactor;
  out.push_back(factored);
  for (RunSpec& run : out) run.options.search = SearchExtent::kExhaustive;
  return out;
}

// Checks every `step`th layout, evaluated without the bound.
void ExpectBoundBelow(const RunSpec& run, bool offloads, int64_t step) {
  CallWork work;
  LayoutEvaluator evaluator(run, work);
  ASSERT_TRUE(evaluator.Prepare({}, offloads).ok());
  const LayoutSpace& space = evaluator.space();
  int64_t index = 0;
  int64_t compared = 0;
  ForEachLayout(space, [&](const LayoutChoice& choice, const Pruned* pruned) {
    if (pruned != nullptr || index++ % step != 0) return true;
    const auto option = evaluator.Evaluate(choice);
    if (!option.ok() || !option->has_value()) return option.ok();
    const int64_t data =
        space.device_count / (int64_t{choice.tensor} * choice.pipeline * choice.context);
    ++compared;
    EXPECT_LE(evaluator.bound().BytesOf(choice, data),
              static_cast<double>((*option)->process.expected.value()));
    if (evaluator.bound().Excludes(choice, data)) {
      EXPECT_EQ((*option)->verdict, Verdict::kDoesNotFit);
    }
    return !testing::Test::HasFailure();
  });
  EXPECT_GT(compared, 10);
}

TEST(StateBound, IsBelowTheMemoryOfEachLayout) {
  const std::vector<RunSpec> runs = BoundedRuns();
  for (size_t i = 0; i < runs.size(); ++i) {
    SCOPED_TRACE(absl::StrCat("run ", i));
    ExpectBoundBelow(runs[i], /*offloads=*/false, 29);
    if (MayOffload(runs[i])) ExpectBoundBelow(runs[i], /*offloads=*/true, 29);
  }
}

// Llama 3.1 8B has 8,030,261,248 parameters, none of them a bias. Megatron-LM keeps 2 bytes of
// weight and 4 of gradient for each, and 12 of master weight and moments, which stage 1 divides.
TEST(StateBound, CountsAllState) {
  const RunSpec run = RunFor("llama-3.1-8b", Framework::kMegatronLm, 16);
  CallWork work;
  LayoutEvaluator evaluator(run, work);
  ASSERT_TRUE(evaluator.Prepare({}).ok());
  const StateBound& bound = evaluator.bound();
  constexpr double kParameters = 8'030'261'248;
  EXPECT_DOUBLE_EQ(bound.BytesOf({}, 16), kParameters * 18);
  EXPECT_DOUBLE_EQ(bound.BytesOf({.tensor = 2, .pipeline = 4}, 2), kParameters * 18 / 8);
  EXPECT_DOUBLE_EQ(
      bound.BytesOf({.tensor = 2, .context = 2, .zero_stage = ZeroStage::kOptimizer}, 4),
      kParameters * (6 + 12.0 / 8) / 2);
  EXPECT_DOUBLE_EQ(bound.BytesOf({.zero_stage = ZeroStage::kParameters}, 16),
                   kParameters * 18 / 16);
  EXPECT_DOUBLE_EQ(bound.BytesOf({.offload = Offload::kOptimizer}, 16), kParameters * 2);
  EXPECT_TRUE(bound.Excludes({}, 16));  // 145 GB of 80
  EXPECT_FALSE(bound.Excludes({.tensor = 4}, 4));
}

// Qwen3 30B-A3B has 48 layers of 128 experts of 3 x 2048 x 768 parameters.
TEST(StateBound, DividesExpertsAmongTheirRanks) {
  const RunSpec run = RunFor("qwen3-30b-a3b", Framework::kMegatronLm, 32);
  CallWork work;
  LayoutEvaluator evaluator(run, work);
  ASSERT_TRUE(evaluator.Prepare({}).ok());
  constexpr double kExperts = 48.0 * 128 * 3 * 2048 * 768;
  const double whole = evaluator.bound().BytesOf({}, 32);
  const double dense = whole - kExperts * 18;
  EXPECT_GT(dense, 0);
  // 32 ranks hold the dense parameters, 32 x 2 / 16 each expert.
  EXPECT_DOUBLE_EQ(evaluator.bound().BytesOf(
                       {.tensor = 2, .expert = 8, .zero_stage = ZeroStage::kOptimizer}, 16),
                   dense / 18 * (6 + 12.0 / 16) / 2 + kExperts * (6 + 12.0 / 2) / 16);
  // Four ranks share dense weights; no two of them have the same experts, of eight ranks' each.
  EXPECT_DOUBLE_EQ(evaluator.bound().BytesOf(
                       {.expert = 8, .shard_group = 4, .zero_stage = ZeroStage::kParameters}, 32),
                   dense / 4 + kExperts * 18 / 8);
}

// The counts of a group are those of its layouts, one by one.
TEST(StateBound, GroupsAreCountedAsTheyAreVisited) {
  for (const RunSpec& run : BoundedRuns()) {
    CallWork work;
    LayoutEvaluator evaluator(run, work);
    ASSERT_TRUE(evaluator.Prepare({}).ok());
    const LayoutSpace& space = evaluator.space();
    space.ForEachGroup([&](const LayoutGroup& group) {
      LayoutCounts counts;
      space.ForEachIn(group, &evaluator.bound(), [&](const LayoutChoice&, const Pruned* pruned) {
        ++(pruned == nullptr ? counts.left : counts.pruned[static_cast<size_t>(*pruned)]);
        return true;
      });
      const LayoutCounts counted = space.CountOf(group, evaluator.bound());
      EXPECT_EQ(counted.left, counts.left);
      EXPECT_EQ(counted.pruned, counts.pruned);
      return !testing::Test::HasFailure();
    });
  }
}

}  // namespace
}  // namespace sextant
