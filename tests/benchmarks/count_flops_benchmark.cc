// What counting the FLOPs of a model of 126 layers costs: parameters, masks and passes, without
// the breakdown, and with it and every convention.
#include <benchmark/benchmark.h>

#include "engine/model/architecture/dense_decoder.h"
#include "engine/model/architecture/model_weights.h"
#include "engine/model/flops/count_flops.h"
#include "engine/model/flops/flops_by_convention.h"
#include "engine/model/presets.h"

namespace sextant {
namespace {

ArchitectureSpec Llama405b() {
  return *DenseDecoder((*FindModelPreset("llama-3.1-405b"))->transformer, "model");
}

TrainingStepSpec Step() { return {.sequences = {{.count = 2048, .length = 8192}}}; }

void CountTotals(benchmark::State& state) {
  const ArchitectureSpec spec = Llama405b();
  const TrainingStepSpec step = Step();
  for (auto _ : state) {
    benchmark::DoNotOptimize(CountFlops(spec, WeightsOf(spec), step, FlopsDetail::kTotals));
  }
}
BENCHMARK(CountTotals);

void CheckAndCountTotals(benchmark::State& state) {
  const ArchitectureSpec spec = Llama405b();
  const TrainingStepSpec step = Step();
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        CheckAndCountFlops(spec, step, {"model", "step"}, FlopsDetail::kTotals));
  }
}
BENCHMARK(CheckAndCountTotals);
// A fixed number of counts, for counting instructions.
BENCHMARK(CheckAndCountTotals)->Name("CountFlopsThousandTimes")->Iterations(1000);

void CountConventions(benchmark::State& state) {
  const ArchitectureSpec spec = Llama405b();
  const TrainingStepSpec step = Step();
  for (auto _ : state) {
    const WeightTensors tensors = WeightsOf(spec);
    const StepFlops flops = CountFlops(spec, tensors, step, FlopsDetail::kComponents);
    benchmark::DoNotOptimize(FlopsByConvention({spec, tensors, step, flops}));
  }
}
BENCHMARK(CountConventions);

}  // namespace
}  // namespace sextant
