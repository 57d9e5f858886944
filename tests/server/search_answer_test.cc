#include "server/handler/search_answer.h"

#include <gtest/gtest.h>

#include <future>
#include <vector>

#include "tests/engine/search/searched.h"

namespace sextant::server {
namespace {

// Searches that share a pool find what each finds alone, and their watches see their own progress.
TEST(SearchOnWorkers, FindsTheSameWhateverElseIsSearched) {
  const std::vector<RunSpec> runs = {RunOn("gpt3-6.7b", 16, 32, 2048),
                                     RunOn("llama-3.1-8b", 64, 128, 8192)};
  WorkerPool workers({.threads = 3});
  const auto search = [&workers](const RunSpec& run) {
    int64_t searched = 0;
    const auto end = [] { return absl::OkStatus(); };
    const auto outcome =
        SearchOnWorkers(run, {}, workers, end, [&](const SearchProgress& progress) {
          EXPECT_GE(progress.searched, searched);
          searched = progress.searched;
        });
    EXPECT_TRUE(outcome.ok()) << outcome.status();
    const SearchOutcome found = outcome.value_or(SearchOutcome());
    EXPECT_LE(searched, ProgressOf(found).searched);
    return found;
  };
  std::vector<std::future<SearchOutcome>> outcomes;
  for (const RunSpec& run : runs) {
    outcomes.push_back(std::async(std::launch::async, search, std::cref(run)));
  }
  for (size_t i = 0; i < runs.size(); ++i) {
    const SearchOutcome together = outcomes[i].get();
    const SearchOutcome alone = OutcomeOf(runs[i]);
    EXPECT_EQ(together.considered, alone.considered);
    EXPECT_EQ(together.evaluated, alone.evaluated);
    EXPECT_EQ(together.pruned, alone.pruned);
    ASSERT_EQ(together.best.size(), alone.best.size());
    for (size_t b = 0; b < alone.best.size(); ++b) {
      EXPECT_EQ(together.best[b].choice, alone.best[b].choice);
      EXPECT_EQ(together.best[b].step.expected, alone.best[b].step.expected);
    }
  }
}

}  // namespace
}  // namespace sextant::server
