// A bounded search against the exhaustive one, on questions of all kinds. Prints a line for each:
// docs/search.md, "Bounded against all", has them.
#include "engine/search/bounded_search.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <iostream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/engine/search/searched.h"

namespace sextant {
namespace {

struct Question {
  const char* model = "";
  int64_t devices = 8;
  int64_t sequences = 64;
  int64_t length = 4096;
  Framework framework = Framework::kMegatronLm;
  bool named = true;  // false: the default framework
  bool adapters = false;
  bool fp8 = false;
  bool kernels = false;  // of attention and loss are open, too
};

constexpr Question kQuestions[] = {
    // Dense.
    {"llama-3.1-8b", 8, 64, 4096},
    {"llama-3.1-8b", 64, 128, 4096},
    {"llama-3.1-8b", 512, 1024, 8192},
    {"gpt3-6.7b", 128, 512, 2048},
    {"gpt3-175b", 64, 64, 2048},
    {"gpt3-175b", 1024, 1536, 2048},
    {"llama-3.1-70b", 64, 128, 8192},
    {"llama-3.1-70b", 512, 512, 8192},
    {"llama-3.1-70b", 4096, 2048, 8192},
    {"llama-3.1-405b", 16384, 2048, 8192},
    {"llama-3.1-405b", 98304, 12288, 8192},
    // Frameworks.
    {"llama-3.1-8b", 64, 128, 8192, Framework::kTorchtitan},
    {"llama-3.1-70b", 256, 512, 8192, Framework::kTorchtitan},
    {"llama-2-13b", 64, 256, 4096, Framework::kDeepSpeed},
    {"llama-3.1-8b", 32, 128, 4096, Framework::kMegatronLm, false},
    {"llama-3.1-70b", 128, 256, 8192, Framework::kMegatronBridge},
    {.model = "gpt-oss-20b", .framework = Framework::kTorchtitan, .kernels = true},
    // Long sequences.
    {"llama-3.1-8b", 128, 64, 131072},
    {"llama-3.1-70b", 1024, 128, 131072},
    // Adapters.
    {"llama-3.1-8b", 8, 64, 4096, Framework::kTorchtitan, true, true},
    {"llama-3.1-70b", 64, 64, 4096, Framework::kMegatronLm, true, true},
    // Mixtures of experts.
    {"mixtral-8x7b", 64, 256, 4096},
    {"mixtral-8x22b", 256, 512, 8192},
    {"qwen3-30b-a3b", 64, 512, 4096},
    {"gpt-oss-120b", 128, 512, 4096},
    {"qwen3-235b-a22b", 512, 1024, 4096},
    {"llama-4-scout", 256, 512, 8192},
    {"llama-4-maverick", 1024, 2048, 8192},
    // With latent attention.
    {"deepseek-v2-lite", 32, 256, 4096},
    {"deepseek-v2", 512, 2048, 4096},
    {"deepseek-v3", 2048, 15360, 4096, Framework::kMegatronBridge},
    {.model = "deepseek-v3",
     .devices = 2048,
     .sequences = 15360,
     .framework = Framework::kMegatronBridge,
     .fp8 = true},
    {"kimi-k2", 2048, 8192, 4096, Framework::kMegatronBridge},
    {"kimi-k2", 98304, 98304, 4096, Framework::kMegatronBridge},
};

RunSpec RunOf(const Question& question, SearchExtent extent) {
  RunSpec run = RunOn(question.model, question.devices, question.sequences, question.length);
  run.options.search = extent;
  run.layout->framework = {};
  if (question.named) run.layout->framework = {.kind = question.framework, .named = true};
  if (question.adapters) {
    run.model.changes.base_frozen = true;
    run.model.changes.adapters =
        AdapterSpec{.rank = 16, .targets = {{"attention", "query"}, {"attention", "value"}}};
  }
  if (question.fp8) run.training.precision.compute_data_type = DataType::kFp8E4m3;
  run.options.search_kernels = question.kernels;
  return run;
}

TEST(BoundedSearch, FindsWhatTheExhaustiveSearchFinds) {
  for (const Question& question : kQuestions) {
    const SearchOutcome bounded = OutcomeOf(RunOf(question, SearchExtent::kBounded));
    const SearchOutcome all = OutcomeOf(RunOf(question, SearchExtent::kExhaustive));
    SCOPED_TRACE(absl::StrCat(question.model, " on ", question.devices));
    ASSERT_FALSE(bounded.best.empty());
    ASSERT_TRUE(all.exhaustive);
    EXPECT_EQ(bounded.considered, all.considered);
    EXPECT_EQ(bounded.exhaustive, ProgressOf(all).searched <= kBoundedEvaluations);
    EXPECT_LE(ProgressOf(bounded).searched, kBoundedEvaluations);
    EXPECT_EQ(bounded.best.front().verdict, all.best.front().verdict);
    const double ratio =
        bounded.best.front().step.expected.value() / all.best.front().step.expected.value();
    EXPECT_LE(ratio, 1.03);
    std::cout << absl::StreamFormat("%-18s %6d %8d considered %7d of %7d looked at %+.2f %%\n",
                                    question.model, question.devices, all.considered,
                                    ProgressOf(bounded).searched, ProgressOf(all).searched,
                                    (ratio - 1) * 100);
  }
}

// The likely fastest first: the best is found with a twentieth of the evaluations, of one choice of
// kernels.
TEST(LargeSpace, LeavesOutTheLikelySlowestOfALargeSpace) {
  RunSpec run = RunOn("llama-3.1-8b", 64, 128, 8192);
  run.layout->framework = {.kind = Framework::kTorchtitan, .named = true};
  run.options.search_kernels = true;
  const SearchOutcome all = OutcomeOf(run);
  ASSERT_TRUE(all.exhaustive);
  const int64_t most = ProgressOf(all).searched / 20;
  ASSERT_GT(most, 1000);
  SearchOutcome part;
  for (int64_t i = 0; i < 3; ++i) {
    CallWork work;
    auto shard = SearchLayouts(run, {.index = i, .count = 3, .max_evaluations = most}, {}, work);
    ASSERT_TRUE(shard.ok()) << shard.status();
    Merge(*std::move(shard), part);
  }
  EXPECT_FALSE(part.exhaustive);
  EXPECT_EQ(part.considered, all.considered);
  EXPECT_LE(ProgressOf(part).searched, most);
  EXPECT_GT(ProgressOf(part).searched, most / 2);
  for (const LayoutOption& option : part.best) {
    EXPECT_EQ(option.choice.loss, all.best.front().choice.loss);
  }
  EXPECT_LE(part.best.front().step.expected.value(), 1.01 * all.best.front().step.expected.value());
}

}  // namespace
}  // namespace sextant
