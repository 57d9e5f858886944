// Time of searching for changes where none helps, for a model on the largest number of stages.
#include <benchmark/benchmark.h>

#include "engine/model/presets/presets.h"
#include "engine/run/memory_estimate.h"

namespace sextant {
namespace {

constexpr int64_t kStages = 4096;
constexpr int64_t kLayers = 126;

JobChoice OnStages(PipelineSchedule schedule) {
  JobChoice out;
  out.layout.parallel = {.tensor_parallel_size = 2, .pipeline_parallel_size = kStages};
  out.layout.parallel.layers_per_chunk.assign(kStages, 0);
  for (size_t i = 0; i < kLayers; ++i) out.layout.parallel.layers_per_chunk[i] = 1;
  out.layout.schedule = schedule;
  out.layout.micro_batch_size = 64;
  out.layout.kernels = {.attention = AttentionKernel::kUnfused, .loss = LossKind::kPlain};
  out.sequence_length = 8192;
  out.device_count = 2 * kStages * 16;
  return out;
}

void Search(benchmark::State& state, PipelineSchedule schedule) {
  const ArchitectureSpec& spec = FindModelPreset("llama-3.1-405b").value()->architecture;
  const PrecisionPolicy precision = WithDefaults(PrecisionPolicy());
  const OptimizerSpec optimizer;
  const JobChoice choice = OnStages(schedule);
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        FindFittingChanges({spec, precision, optimizer}, choice, Bytes(20'000'000'000), {}));
  }
}
BENCHMARK_CAPTURE(Search, one_forward_one_backward, PipelineSchedule::kOneForwardOneBackward)
    ->Name("FittingChanges/1f1b")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Search, dualpipe, PipelineSchedule::kDualPipe)
    ->Name("FittingChanges/dualpipe")
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace sextant
