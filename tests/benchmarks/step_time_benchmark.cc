// Time of predicting one step of a layout, cold: nothing is kept between layouts but the device's
// models. Those with a fixed number of iterations are for counting instructions.
#include <benchmark/benchmark.h>

#include "absl/strings/string_view.h"
#include "engine/hardware/catalogue.h"
#include "engine/memory/ledger/memory_model.h"
#include "engine/model/presets/presets.h"
#include "engine/run/step_plan.h"
#include "engine/time/stage_compute.h"

namespace sextant {
namespace {

RunSpec StepRunOn(absl::string_view preset, int64_t devices, int64_t sequences) {
  RunSpec run;
  run.model.preset = preset;
  run.training.token_count = 1'000'000'000'000;
  run.training.sequence_length = 4096;
  run.training.recompute = RecomputePolicy::kNone;
  run.cluster.device.accelerator = "h100-sxm";
  run.cluster.device_count = devices;
  run.cluster.node_type = "dgx-h100";
  run.layout = RunLayout{};
  run.layout->zero_stage = ZeroStage::kOptimizer;
  run.layout->global_batch_size = sequences;
  run.layout->parallel.virtual_stage_count = 1;
  run.layout->framework = {.kind = Framework::kMegatronBridge, .named = true};
  return run;
}

// 64 devices in 4 stages.
RunSpec Llama70bStep() {
  RunSpec run = StepRunOn("llama-3.1-70b", 64, 128);
  run.layout->parallel = {.tensor_parallel_size = 8, .pipeline_parallel_size = 4};
  return run;
}

// 2,048 devices in 16 stages, in 8 bits.
RunSpec DeepSeekV3() {
  RunSpec run = StepRunOn("deepseek-v3", 2048, 15360);
  run.training.precision.compute_data_type = DataType::kFp8E4m3;
  run.layout->parallel = {.pipeline_parallel_size = 16,
                          .layers_per_chunk = {4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 3, 3, 3},
                          .expert_parallel_size = 64};
  return run;
}

void Step(benchmark::State& state, const RunSpec& run) {
  const auto resolved = Resolve(run, {});
  CallWork work;
  for (auto _ : state) benchmark::DoNotOptimize(PlanStep(run, *resolved, work));
}
BENCHMARK_CAPTURE(Step, llama_70b, Llama70bStep())->Name("StepTime/llama_70b");
BENCHMARK_CAPTURE(Step, deepseek_v3, DeepSeekV3())->Name("StepTime/deepseek_v3");
BENCHMARK_CAPTURE(Step, llama_70b, Llama70bStep())->Name("StepTimeThousandTimes")->Iterations(1000);

// Memory and time of one layout. A function of its own, for counting its instructions.
[[gnu::noinline]] void PlanLayout(const RunSpec& run, const ResolvedRun& resolved,
                                  const MemoryJob& job) {
  CallWork work;
  const auto memory = MemoryModelOf(resolved.shape, resolved.padded, job);
  benchmark::DoNotOptimize(memory->Peak());
  benchmark::DoNotOptimize(PlanStep(run, resolved, work));
}

void Layout(benchmark::State& state, const RunSpec& run) {
  const auto resolved = Resolve(run, {});
  const MemoryJob job = resolved->memory->job();
  CallWork work;
  benchmark::DoNotOptimize(PlanStep(run, *resolved, work));  // fits the device's models
  for (auto _ : state) PlanLayout(run, *resolved, job);
}
BENCHMARK_CAPTURE(Layout, llama_70b, Llama70bStep())->Name("LayoutMemoryAndTime/llama_70b");
BENCHMARK_CAPTURE(Layout, deepseek_v3, DeepSeekV3())->Name("LayoutMemoryAndTime/deepseek_v3");
BENCHMARK_CAPTURE(Layout, llama_70b, Llama70bStep())
    ->Name("LayoutThousandTimes/llama_70b")
    ->Iterations(1000);
BENCHMARK_CAPTURE(Layout, deepseek_v3, DeepSeekV3())
    ->Name("LayoutThousandTimes/deepseek_v3")
    ->Iterations(1000);

// Tracing and pricing all operations of one pipeline stage, nothing kept between stages.
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
BENCHMARK_CAPTURE(Stage, llama_70b, kLlama70b)->Name("StageComputeThousandTimes")->Iterations(1000);

}  // namespace
}  // namespace sextant
