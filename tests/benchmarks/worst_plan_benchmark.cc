// Time of the most expensive plans that the limits of requests allow.
#include <benchmark/benchmark.h>

#include <string>

#include "absl/strings/str_replace.h"
#include "engine/run/plan.h"
#include "tests/engine/run/worst_plans.h"

namespace sextant {
namespace {

bool AddWorstPlans() {
  for (const WorstPlan& worst : WorstPlans()) {
    const std::string name = absl::StrReplaceAll(worst.name, {{", ", "/"}, {" ", "_"}});
    benchmark::RegisterBenchmark(("WorstPlan/" + name).c_str(), [run = worst.run](
                                                                    benchmark::State& state) {
      for (auto _ : state) benchmark::DoNotOptimize(PlanRun(run));
    })->Unit(benchmark::kMillisecond);
  }
  return true;
}
[[maybe_unused]] const bool kAdded = AddWorstPlans();

}  // namespace
}  // namespace sextant
