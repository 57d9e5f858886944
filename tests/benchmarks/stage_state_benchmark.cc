// Time of adding up the model state of a stage of 126 layers, without rows.
#include <benchmark/benchmark.h>

#include "engine/memory/state/stage_state.h"
#include "engine/model/presets/presets.h"

namespace sextant {
namespace {

void State(benchmark::State& state, ZeroStage zero) {
  const ArchitectureSpec& spec = FindModelPreset("llama-3.1-405b").value()->architecture;
  const ParallelLayout layout = {.tensor_parallel_size = 8};
  const auto weights = ShardedWeights::Of(spec, "model", layout, "layout");
  const StateSpec kept = {.precision = WithDefaults(PrecisionPolicy()),
                          .sharding = {.data_parallel_size = 16, .zero_stage = zero}};
  const StageStateContext context = {spec, layout, *weights, kept};
  for (auto _ : state) benchmark::DoNotOptimize(StageStateOf(context, 0));
}
BENCHMARK_CAPTURE(State, zero_1, ZeroStage::kOptimizer)->Name("StageState/zero_1");
BENCHMARK_CAPTURE(State, zero_3, ZeroStage::kParameters)->Name("StageState/zero_3");
// A fixed number of sums, for counting instructions.
BENCHMARK_CAPTURE(State, zero_1, ZeroStage::kOptimizer)
    ->Name("StageStateThousandTimes")
    ->Iterations(1000);

}  // namespace
}  // namespace sextant
