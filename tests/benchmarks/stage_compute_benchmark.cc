// Time of tracing and pricing all operations of one pipeline stage, nothing kept between stages.
#include <benchmark/benchmark.h>

#include "absl/strings/string_view.h"
#include "engine/hardware/catalogue.h"
#include "engine/model/presets/presets.h"
#include "engine/time/stage_compute.h"

namespace sextant {
namespace {

struct Case {
  absl::string_view preset;
  ParallelLayout layout;
  DataType narrow = DataType::kUnspecified;
};

// 64 H100s in 4 stages.
const Case kLlama70b = {"llama-3-70b", {.tensor_parallel_size = 8, .pipeline_parallel_size = 4}};

// 2,048 H100s in 16 stages, in 8 bits.
const Case kDeepSeekV3 = {"deepseek-v3",
                          {.pipeline_parallel_size = 16,
                           .layers_per_chunk = {4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 3, 3, 3},
                           .expert_parallel_size = 64},
                          DataType::kFp8E4m3};

void Stage(benchmark::State& state, const Case& which) {
  const ArchitectureSpec& spec = FindModelPreset(which.preset).value()->architecture;
  MemoryJob job = {.layout = which.layout};
  job.batch.sequence_length = 4096;
  job.batch.sequence_parallel = which.layout.tensor_parallel_size > 1;
  job.state.precision = WithDefaults(PrecisionPolicy());
  job.state.sharding.data_parallel_size = which.layout.expert_parallel_size;
  job.pipeline.micro_batch_count = 64;
  const auto model = MemoryModel::Of(spec, job);
  const auto pricer = OperationPricer::Of(PlacedProduct(*FindAccelerator("h100-sxm").value()),
                                          {.narrow = which.narrow});
  const ComputeInput in = {.spec = spec, .model = *model, .types = {.narrow = which.narrow}};
  for (auto _ : state) {
    PricedOperations priced(**pricer);
    ModelOperations operations(in, priced);
    benchmark::DoNotOptimize(ComputeOf(in, operations, 1));
  }
}
BENCHMARK_CAPTURE(Stage, llama_70b, kLlama70b)->Name("StageCompute/llama_70b");
BENCHMARK_CAPTURE(Stage, deepseek_v3, kDeepSeekV3)->Name("StageCompute/deepseek_v3");
// A fixed number of stages, for counting instructions.
BENCHMARK_CAPTURE(Stage, llama_70b, kLlama70b)->Name("StageComputeThousandTimes")->Iterations(1000);

}  // namespace
}  // namespace sextant
