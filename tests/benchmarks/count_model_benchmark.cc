// Time of counting a model of 126 layers: parameters and FLOPs, without the breakdown, and with it
// and every convention.
#include <benchmark/benchmark.h>

#include "engine/model/count_model.h"

namespace sextant {
namespace {

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
// A fixed number of counts, for counting instructions.
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
