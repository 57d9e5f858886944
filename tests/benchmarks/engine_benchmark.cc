// Time of a plan in the engine, without the wire.
#include <benchmark/benchmark.h>

#include "engine/run/plan.h"

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
// A fixed number of plans, for counting instructions.
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

}  // namespace
}  // namespace sextant

BENCHMARK_MAIN();
