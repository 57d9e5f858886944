// Progress of a running search, and the dimension of kernels.
#include <gtest/gtest.h>

#include <vector>

#include "tests/engine/search/searched.h"

namespace sextant {
namespace {

// The dimension of kernels: one space is the spaces of all kernels, each given, and finds their
// best.
TEST(LayoutSearch, SearchesKernelsAsTheSearchesOfEachDo) {
  RunSpec run = RunOn("gpt3-6.7b", 16, 32, 2048);
  for (const bool named : {false, true}) {
    run.layout->framework = {.kind = Framework::kMegatronBridge, .named = named};
    run.options.search_kernels = true;
    const SearchOutcome all = OutcomeOf(run, 3);
    run.options.search_kernels = false;
    SearchOutcome each;
    using enum LossKind;
    const std::vector<LossKind> losses =
        named ? std::vector<LossKind>{kVocabularyParallel, kFused}
              : std::vector<LossKind>{kPlain, kVocabularyParallel, kFused,
                                      kVocabularyParallelCompiled};
    for (const AttentionKernel attention : {AttentionKernel::kFlash, AttentionKernel::kUnfused}) {
      if (named && attention == AttentionKernel::kUnfused) continue;
      for (const LossKind loss : losses) {
        RunSpec one = run;
        one.layout->kernels.attention = attention;
        one.layout->loss = loss;
        Merge(OutcomeOf(one), each);
      }
    }
    EXPECT_EQ(all.considered, each.considered);
    EXPECT_EQ(all.evaluated, each.evaluated);
    EXPECT_EQ(all.pruned, each.pruned);
    ASSERT_FALSE(all.best.empty());
    EXPECT_EQ(all.best.front().step.expected, each.best.front().step.expected);
    EXPECT_EQ(all.front.size(), each.front.size());
  }
}

// Progress reports count up to the layouts of the final outcome, less the last block, and have the
// best layout so far.
TEST(LayoutSearch, SaysHowFarItHasCome) {
  for (const SearchExtent extent : {SearchExtent::kBounded, SearchExtent::kExhaustive}) {
    RunSpec run = RunOn("llama-3.1-8b", 64, 128, 8192);
    run.options.search = extent;
    std::vector<SearchProgress> told;
    CallWork work;
    const auto watched = SearchLayouts(
        run, {}, {}, work, [&told](const SearchProgress& progress) { told.push_back(progress); });
    ASSERT_TRUE(watched.ok()) << watched.status();
    const SearchOutcome alone = OutcomeOf(run);
    EXPECT_EQ(watched->evaluated, alone.evaluated);
    EXPECT_EQ(watched->best.front().choice, alone.best.front().choice);
    const int64_t searched = ProgressOf(alone).searched;
    ASSERT_EQ(told.size(), static_cast<size_t>(searched / 1024));
    for (size_t i = 0; i < told.size(); ++i) {
      EXPECT_EQ(told[i].searched, static_cast<int64_t>(i) * 1024 + 1023);
      EXPECT_EQ(told[i].to_search, searched);
      if (i == 0 || !told[i - 1].best.has_value()) continue;
      ASSERT_TRUE(told[i].best.has_value());
      EXPECT_FALSE(IsBetter(*told[i - 1].best, *told[i].best));
    }
    EXPECT_EQ(told.back().layer_count, 32);
  }
}

}  // namespace
}  // namespace sextant
