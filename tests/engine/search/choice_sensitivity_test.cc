// Which rates the choice of a layout depends on.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "engine/search/layout_evaluator.h"
#include "engine/search/layout_search.h"
#include "tests/engine/run/h100_runs.h"

namespace sextant {
namespace {

// The steps of the layouts that a search of `run` lists, where all times of `rate` are `slowness`
// times as long.
std::vector<double> StepsWhere(const RunSpec& run, const SearchOutcome& outcome, StepRate rate,
                               double slowness) {
  std::vector<double> out;
  for (const LayoutOption& option : outcome.best) {
    CallWork work;
    LayoutEvaluator evaluator(run, work);
    EXPECT_TRUE(evaluator.Prepare({}).ok());
    EXPECT_TRUE(evaluator.Evaluate(option.choice).ok());
    out.push_back(evaluator.SecondsWhere(rate, slowness).value());
  }
  return out;
}

// Another layout is named where it is faster by more than 3 %, the median error of a comparison,
// and for nothing less.
TEST(ChoiceSensitivity, IsAboutMoreThanATie) {
  int named = 0;
  for (const int64_t length : {2048, 8192}) {
    RunSpec run = RunOnH100s("llama-3.1-8b", 8, 16, length);
    run.layout->framework = {.kind = Framework::kMegatronLm, .named = true};
    run.options.search = SearchExtent::kBounded;
    CallWork work;
    auto found = SearchAsPlanned(run, {}, work);
    ASSERT_TRUE(found.ok()) << found.status();
    const auto searched = PlanBest(run, *std::move(found), work);
    ASSERT_TRUE(searched.ok()) << searched.status();
    for (const ChoiceSensitivity& each : searched->sensitivities) {
      ++named;
      const std::vector<double> steps =
          StepsWhere(run, searched->outcome, each.rate, each.slowness);
      EXPECT_EQ(steps[each.other], *std::min_element(steps.begin(), steps.end()));
      EXPECT_GT(steps.front(), 1.03 * steps[each.other]) << length;
    }
  }
  EXPECT_GT(named, 0);
}

}  // namespace
}  // namespace sextant
