// Time of adding up the activations of one micro-batch of a model of 126 layers, without rows.
#include <benchmark/benchmark.h>

#include "engine/memory/activations/activations.h"
#include "engine/memory/transients/stage_transients.h"
#include "engine/model/presets/presets.h"

namespace sextant {
namespace {

void Activations(benchmark::State& state) {
  const ArchitectureSpec& spec = FindModelPreset("llama-3.1-405b").value()->architecture;
  const ParallelLayout layout = {.tensor_parallel_size = 8};
  const MicroBatchSpec batch = {.sequence_length = 8192, .sequence_parallel = true};
  const LayerPlacement placement(spec, layout);
  const ActivationContext context = {spec, layout, batch};
  for (auto _ : state) benchmark::DoNotOptimize(ChunkActivations(context, placement, {}));
}
BENCHMARK(Activations)->Name("ChunkActivations");
// A fixed number of sums, for counting instructions.
BENCHMARK(Activations)->Name("ChunkActivationsThousandTimes")->Iterations(1000);

// A stage with the loss: what it keeps, by place, and its temporary tensors.
void Transients(benchmark::State& state) {
  const ArchitectureSpec& spec = FindModelPreset("llama-3.1-405b").value()->architecture;
  const ParallelLayout layout = {.tensor_parallel_size = 8};
  const MicroBatchSpec batch = {.sequence_length = 8192, .sequence_parallel = true};
  const LayerPlacement placement(spec, layout);
  const ActivationContext activations = {spec, layout, batch};
  const BufferSpec buffers;
  const TransientContext context = {activations, placement, buffers};
  for (auto _ : state) {
    const auto kept = ChunkActivations(activations, placement, {.stage = 0});
    benchmark::DoNotOptimize(StageTransientsOf(context, 0, *kept));
  }
}
BENCHMARK(Transients)->Name("StageTransients");

}  // namespace
}  // namespace sextant
