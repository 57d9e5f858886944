// Time of adding up the memory of a job, without rows: of a stage, of the fullest of 16, of a
// micro-batch's activations and of the model state; and of searching for changes. Those with a
// fixed number of iterations are for counting instructions.
#include <benchmark/benchmark.h>

#include "engine/memory/activations/activations.h"
#include "engine/memory/ledger/memory_model.h"
#include "engine/memory/state/stage_state.h"
#include "engine/memory/transients/stage_transients.h"
#include "engine/model/presets/presets.h"
#include "engine/run/memory_estimate.h"

namespace sextant {
namespace {

// 126 layers.
const ArchitectureSpec& Architecture405b() {
  return FindModelPreset("llama-3.1-405b").value()->architecture;
}

// Llama-3.1-405B as it is trained on 128 GPUs a replica: embedding and head take a layer's place.
MemoryModel ModelOf405b() {
  MemoryJob job;
  job.layout = {.tensor_parallel_size = 8, .pipeline_parallel_size = 16};
  job.layout.layers_per_chunk.assign(16, 8);
  job.layout.layers_per_chunk.front() = job.layout.layers_per_chunk.back() = 7;
  job.batch = {.sequence_length = 8192, .sequence_parallel = true};
  job.pipeline.micro_batch_count = 64;
  job.state.precision = WithDefaults({.gradient_data_type = DataType::kFp32});
  job.state.sharding = {.data_parallel_size = 16, .zero_stage = ZeroStage::kOptimizer};
  return *MemoryModel::Of(Architecture405b(), job);
}

void Peak(benchmark::State& state) {
  const MemoryModel model = ModelOf405b();
  for (auto _ : state) benchmark::DoNotOptimize(model.Peak());
}
BENCHMARK(Peak)->Name("MemoryPeak");
BENCHMARK(Peak)->Name("MemoryPeakThousandTimes")->Iterations(1000);

void MemoryStage(benchmark::State& state, int64_t stage) {
  const MemoryModel model = ModelOf405b();
  for (auto _ : state) benchmark::DoNotOptimize(model.Stage(stage));
}
BENCHMARK_CAPTURE(MemoryStage, inner, 1)->Name("MemoryStage/inner");
BENCHMARK_CAPTURE(MemoryStage, last, 15)->Name("MemoryStage/last");
BENCHMARK_CAPTURE(MemoryStage, last, 15)->Name("MemoryStageThousandTimes")->Iterations(1000);

// A layout's shard of the model, and its micro-batch.
const ParallelLayout kTensor8 = {.tensor_parallel_size = 8};
const MicroBatchSpec kLongBatch = {.sequence_length = 8192, .sequence_parallel = true};

void Activations(benchmark::State& state) {
  const ArchitectureSpec& spec = Architecture405b();
  const LayerPlacement placement(spec, kTensor8);
  const ActivationContext context = {spec, kTensor8, kLongBatch};
  for (auto _ : state) benchmark::DoNotOptimize(ChunkActivations(context, placement, {}));
}
BENCHMARK(Activations)->Name("ChunkActivations");
BENCHMARK(Activations)->Name("ChunkActivationsThousandTimes")->Iterations(1000);

// A stage with the loss: what it keeps, by place, and its temporary tensors.
void Transients(benchmark::State& state) {
  const ArchitectureSpec& spec = Architecture405b();
  const LayerPlacement placement(spec, kTensor8);
  const ActivationContext activations = {spec, kTensor8, kLongBatch};
  const BufferSpec buffers;
  const TransientContext context = {activations, placement, buffers};
  for (auto _ : state) {
    const auto kept = ChunkActivations(activations, placement, {.stage = 0});
    benchmark::DoNotOptimize(StageTransientsOf(context, 0, *kept));
  }
}
BENCHMARK(Transients)->Name("StageTransients");

void State(benchmark::State& state, ZeroStage zero) {
  const ArchitectureSpec& spec = Architecture405b();
  const auto weights = ShardedWeights::Of(spec, "model", kTensor8, "layout");
  const StateSpec kept = {.precision = WithDefaults(PrecisionPolicy()),
                          .sharding = {.data_parallel_size = 16, .zero_stage = zero}};
  const StageStateContext context = {spec, kTensor8, *weights, kept};
  for (auto _ : state) benchmark::DoNotOptimize(StageStateOf(context, 0));
}
BENCHMARK_CAPTURE(State, zero_1, ZeroStage::kOptimizer)->Name("StageState/zero_1");
BENCHMARK_CAPTURE(State, zero_3, ZeroStage::kParameters)->Name("StageState/zero_3");
BENCHMARK_CAPTURE(State, zero_1, ZeroStage::kOptimizer)
    ->Name("StageStateThousandTimes")
    ->Iterations(1000);

// Searching for changes where none helps, for a model on the largest number of stages.
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

void SearchChanges(benchmark::State& state, PipelineSchedule schedule) {
  const ArchitectureSpec& spec = Architecture405b();
  const PrecisionPolicy precision = WithDefaults(PrecisionPolicy());
  const OptimizerSpec optimizer;
  const JobChoice choice = OnStages(schedule);
  const JobContext context = {spec, precision, optimizer};
  FieldViolations violations;
  const auto model = MemoryModel::Of(spec, JobOf(context, choice, violations));
  for (auto _ : state) {
    CallWork work;
    benchmark::DoNotOptimize(
        FindFittingChanges({.context = context,
                            .choice = choice,
                            .model = *model,
                            .limits = {.usable = Bytes(20'000'000'000),
                                       .server = {.memory = Bytes(2'000'000'000'000)}},
                            .work = work}));
  }
}
BENCHMARK_CAPTURE(SearchChanges, one_forward_one_backward, PipelineSchedule::kOneForwardOneBackward)
    ->Name("FittingChanges/1f1b")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(SearchChanges, dualpipe, PipelineSchedule::kDualPipe)
    ->Name("FittingChanges/dualpipe")
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace sextant
