// Time of a plan in the engine, without the wire, and of counting a model. Those with a fixed
// number of iterations are for counting instructions.
#include <benchmark/benchmark.h>

#include <string>

#include "absl/strings/str_replace.h"
#include "engine/model/count_model.h"
#include "engine/run/plan.h"
#include "tests/engine/run/worst_plans.h"

namespace sextant {
namespace {

RunSpec Llama70b() {
  RunSpec run;
  run.model.preset = "llama-3.1-70b";
  run.training.token_count = 15'000'000'000'000;
  run.cluster.device.accelerator = "h100-sxm";
  run.cluster.device_count = 1024;
  return run;
}

void PlanPreset(benchmark::State& state) {
  const RunSpec run = Llama70b();
  for (auto _ : state) benchmark::DoNotOptimize(PlanRun(run));
}
BENCHMARK(PlanPreset);
BENCHMARK(PlanPreset)->Name("PlanPresetThousandTimes")->Iterations(1000);

void PlanWithSequenceLength(benchmark::State& state) {
  RunSpec run = Llama70b();
  run.training.sequence_length = 8192;
  for (auto _ : state) benchmark::DoNotOptimize(PlanRun(run));
}
BENCHMARK(PlanWithSequenceLength);

void PlanParameterCount(benchmark::State& state) {
  RunSpec run = Llama70b();
  run.model = {};
  run.model.parameter_count = 70'000'000'000;
  for (auto _ : state) benchmark::DoNotOptimize(PlanRun(run));
}
BENCHMARK(PlanParameterCount);

void PlanWithDerivation(benchmark::State& state) {
  RunSpec run = Llama70b();
  run.options.include_derivation = true;
  for (auto _ : state) benchmark::DoNotOptimize(PlanRun(run));
}
BENCHMARK(PlanWithDerivation);

void RefuseAnEmptyRun(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(PlanRun(RunSpec()));
}
BENCHMARK(RefuseAnEmptyRun);

// The most expensive plans that the limits of requests allow.
bool AddWorstPlans() {
  for (const WorstPlan& worst : WorstPlans()) {
    const std::string name = absl::StrReplaceAll(worst.name, {{", ", "/"}, {" ", "_"}});
    const auto plan = [run = worst.run](benchmark::State& state) {
      for (auto _ : state) benchmark::DoNotOptimize(PlanRun(run));
    };
    benchmark::RegisterBenchmark(("WorstPlan/" + name).c_str(), plan)
        ->Unit(benchmark::kMillisecond);
    benchmark::RegisterBenchmark(("WorstPlanOnce/" + name).c_str(), plan)->Iterations(1);
  }
  return true;
}
[[maybe_unused]] const bool kAdded = AddWorstPlans();

// A model of 126 layers: parameters and FLOPs.
CountSpec Llama405b() {
  CountSpec spec;
  spec.model.preset = "llama-3.1-405b";
  spec.step = TrainingStepSpec{.sequences = {{.count = 2048, .length = 8192}}};
  return spec;
}

void Count(benchmark::State& state) {
  const CountSpec spec = Llama405b();
  for (auto _ : state) benchmark::DoNotOptimize(CountModel(spec));
}
BENCHMARK(Count)->Name("CountModel");
BENCHMARK(Count)->Name("CountModelThousandTimes")->Iterations(1000);

void CountConventions(benchmark::State& state) {
  CountSpec spec = Llama405b();
  spec.detail = FlopsDetail::kComponents;
  spec.conventions = true;
  for (auto _ : state) benchmark::DoNotOptimize(CountModel(spec));
}
BENCHMARK(CountConventions)->Name("CountModelWithConventions");

}  // namespace
}  // namespace sextant

BENCHMARK_MAIN();
