// Time of adding up the memory of a job, without rows: of a stage, and of the fullest of 16.
#include <benchmark/benchmark.h>

#include "engine/memory/ledger/memory_model.h"
#include "engine/model/presets/presets.h"

namespace sextant {
namespace {

// Llama-3.1-405B as it is trained on 128 GPUs a replica: embedding and head take a layer's place.
MemoryModel Llama405B() {
  MemoryJob job;
  job.layout = {.tensor_parallel_size = 8, .pipeline_parallel_size = 16};
  job.layout.layers_per_chunk.assign(16, 8);
  job.layout.layers_per_chunk.front() = job.layout.layers_per_chunk.back() = 7;
  job.batch = {.sequence_length = 8192, .sequence_parallel = true};
  job.pipeline.micro_batch_count = 64;
  job.state.precision = WithDefaults({.gradient_data_type = DataType::kFp32});
  job.state.sharding = {.data_parallel_size = 16, .zero_stage = ZeroStage::kOptimizer};
  return *MemoryModel::Of(FindModelPreset("llama-3.1-405b").value()->architecture, job);
}

void Peak(benchmark::State& state) {
  const MemoryModel model = Llama405B();
  for (auto _ : state) benchmark::DoNotOptimize(model.Peak());
}
BENCHMARK(Peak)->Name("MemoryPeak");
// A fixed number of peaks, for counting instructions.
BENCHMARK(Peak)->Name("MemoryPeakThousandTimes")->Iterations(1000);

void Stage(benchmark::State& state, int64_t stage) {
  const MemoryModel model = Llama405B();
  for (auto _ : state) benchmark::DoNotOptimize(model.Stage(stage));
}
BENCHMARK_CAPTURE(Stage, inner, 1)->Name("MemoryStage/inner");
BENCHMARK_CAPTURE(Stage, last, 15)->Name("MemoryStage/last");
BENCHMARK_CAPTURE(Stage, last, 15)->Name("MemoryStageThousandTimes")->Iterations(1000);

}  // namespace
}  // namespace sextant
