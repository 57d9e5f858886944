// Whole stages by hand: the reference cases, the phases of a peak, buckets and the reserve, and
// which chunk each row is of.
#include "engine/memory/ledger/memory_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string>

#include "engine/memory/ledger/framework_spec.h"
#include "engine/model/presets/presets.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsSupersetOf;

constexpr double kGib = 1073741824.0;

const ArchitectureSpec& PresetNamed(const std::string& name) {
  return FindModelPreset(name).value()->architecture;
}

// Megatron-LM's mixed precision: bf16 weights, fp32 gradients, 18 bytes a parameter.
MemoryJob MegatronJob() {
  MemoryJob job;
  job.state.precision = WithDefaults({.gradient_data_type = DataType::kFp32});
  job.pipeline.micro_batch_count = 64;
  return job;
}

// Case C: Llama-3-70B, s 8192, TP 8, PP 4, DP 2, ZeRO-1.
MemoryJob CaseC() {
  MemoryJob job = MegatronJob();
  job.layout = {.tensor_parallel_size = 8, .pipeline_parallel_size = 4};
  job.batch = {.sequence_length = 8192, .sequence_parallel = true};
  job.state.sharding = {.data_parallel_size = 2, .zero_stage = ZeroStage::kOptimizer};
  return job;
}

StageMemory StageOf(const ArchitectureSpec& spec, const MemoryJob& job, int64_t stage = 0,
                    LedgerRows* rows = nullptr) {
  const auto model = MemoryModel::Of(spec, job);
  EXPECT_THAT(model, IsOk());
  if (!model.ok()) return {};
  const auto memory = model->Stage(stage, rows);
  EXPECT_THAT(memory, IsOk());
  return memory.value_or(StageMemory());
}

double StateGib(const StageMemory& memory) {
  const Bytes state = memory.of(LedgerKind::kWeight) + memory.of(LedgerKind::kGradient) +
                      memory.of(LedgerKind::kMasterWeight) + memory.of(LedgerKind::kOptimizerState);
  return static_cast<double>(state.value()) / kGib;
}

TEST(MemoryModel, OfCaseC) {
  const StageMemory first = StageOf(PresetNamed("llama-3-70b"), CaseC());
  EXPECT_NEAR(StateGib(first), 25.3777, 25.3777e-3);
  EXPECT_EQ(first.InFlightOf(0), 4);
  EXPECT_EQ(first.phase, PeakPhase::kLayerBackward);
  // Hand count, 4 in flight; less what the layer in work has freed, its feed-forward's 6f/t + 2h/t
  // of 8192 tokens: at most 0.2 GiB.
  const double activations = static_cast<double>(first.of(LedgerKind::kActivation).value()) / kGib;
  EXPECT_LE(activations, 20.957 * 1.001);
  EXPECT_GE(activations, 20.957 - 0.2);
  const StageMemory last = StageOf(PresetNamed("llama-3-70b"), CaseC(), 3);
  EXPECT_NEAR(StateGib(last), 25.3778, 25.3778e-3);
  EXPECT_EQ(last.InFlightOf(0), 1);
  // 263 MB are 2 s V/t bytes, and 2 V h/t, as s = h. The loss: fp32 softmax and logits, 788 MB. The
  // head: the logits' gradient and an empty one of its weights, 525 MB, its input's, 17 MB, and its
  // input and that gradient of all tokens, 134 MB each.
  EXPECT_EQ(last.phase, PeakPhase::kHeadBackward);
}

// Case C's last stage keeps 2 s V/t bytes of logits' gradients and 2 s h/t of inputs for each
// micro-batch whose head's weight gradient waits; of all 64 the last one's are in work anyway.
TEST(MemoryModel, DeferredHeadGradientsKeepTheirInputs) {
  const ArchitectureSpec& spec = PresetNamed("llama-3-70b");
  MemoryJob job = CaseC();
  const StageMemory without = StageOf(spec, job, 3);
  const StageMemory first = StageOf(spec, job);
  constexpr int64_t kEach = int64_t{2} * 8192 * (128'256 + 8192) / 8;
  const auto buffers = [](const StageMemory& memory) {
    return memory.of(LedgerKind::kCommunicationBuffer).value();
  };
  job.pipeline.deferred_head_gradients = 8;
  LedgerRows rows;
  const StageMemory eight = StageOf(spec, job, 3, &rows);
  EXPECT_EQ(buffers(eight) - buffers(without), 8 * kEach);
  EXPECT_EQ(eight.counted().value() - without.counted().value(), 8 * kEach);
  EXPECT_THAT(rows, Contains(::testing::Field(&LedgerRow::size, Bytes(8 * kEach))));
  job.pipeline.deferred_head_gradients = kMaxMicroBatches;
  const StageMemory all = StageOf(spec, job, 3, &rows);
  EXPECT_EQ(buffers(all) - buffers(without), 63 * kEach);
  EXPECT_GE(all.counted().value() - without.counted().value(), 63 * kEach);
  EXPECT_LE(all.counted().value() - without.counted().value(), 64 * kEach);
  EXPECT_EQ(StageOf(spec, job).counted().value(), first.counted().value());
}

TEST(MemoryModel, PipelineBuffersAreOfTheEnds) {
  // 2 s h / t bytes: 8192 x 8192 x 2 / 8
  constexpr int64_t kBuffer = 16'777'216;
  const auto buffers = [](int64_t stage) {
    return StageOf(PresetNamed("llama-3-70b"), CaseC(), stage).of(LedgerKind::kCommunicationBuffer);
  };
  EXPECT_EQ(buffers(0), Bytes(kBuffer));      // a gradient from the next stage
  EXPECT_EQ(buffers(1), Bytes(2 * kBuffer));  // and hidden states from before
  EXPECT_EQ(buffers(3), Bytes(kBuffer));
}

// A stage of both ends: its own layers and the opposite's, p + 1 micro-batches together.
TEST(MemoryModel, DualPipeHoldsTwoStages) {
  MemoryJob job = CaseC();
  const StageMemory first = StageOf(PresetNamed("llama-3-70b"), job, 0);
  const StageMemory last = StageOf(PresetNamed("llama-3-70b"), job, 3);
  job.pipeline.schedule = PipelineSchedule::kDualPipe;
  const StageMemory both = StageOf(PresetNamed("llama-3-70b"), job, 0);
  EXPECT_EQ(both.of(LedgerKind::kWeight),
            first.of(LedgerKind::kWeight) + last.of(LedgerKind::kWeight));
  EXPECT_EQ(both.of(LedgerKind::kOptimizerState),
            first.of(LedgerKind::kOptimizerState) + last.of(LedgerKind::kOptimizerState));
  EXPECT_EQ(both.InFlightOf(0) + both.InFlightOf(1), 5);
}

// The last of 4 stages under ZB-H1: one micro-batch held, 3 that wait for weight gradients. Of
// those the head has its input and the logits' gradient in 16 bits, and no softmax in 32.
TEST(MemoryModel, WaitingMicroBatchesKeepNoSoftmax) {
  MemoryJob job = CaseC();
  job.pipeline.schedule = PipelineSchedule::kZeroBubbleH1;
  LedgerRows rows;
  const StageMemory memory = StageOf(PresetNamed("llama-3-70b"), job, 3, &rows);
  EXPECT_EQ(memory.in_flight.Held(0), 1);
  EXPECT_EQ(memory.in_flight.AwaitingWeightGradient(0), 3);
  int64_t softmax = 0;
  int64_t gradient = 0;
  int64_t up_gradient = 0;
  for (const LedgerRow& row : rows) {
    if (row.kind != LedgerKind::kActivation) continue;
    if (row.name == "softmax") softmax += row.size.value();
    if (row.module == "output_head" && row.name == "output_gradient") gradient += row.size.value();
    if (row.name == "up.output_gradient") up_gradient += row.size.value();
  }
  EXPECT_EQ(softmax, int64_t{4} * 8192 * 128256 / 8);
  EXPECT_EQ(gradient, 3 * int64_t{2} * 8192 * 128256 / 8);
  EXPECT_EQ(up_gradient, 3 * int64_t{20} * 2 * 8192 * 28672 / 8);  // 20 layers
}

// Megatron's own formula of interleaved stages: p (1 + (p - 1)/(p v)) micro-batches of a stage.
TEST(MemoryModel, InterleavedStagesHoldMore) {
  MemoryJob job = CaseC();
  job.layout.virtual_stage_count = 2;  // 10 layers a chunk
  LedgerRows rows;
  const StageMemory memory = StageOf(PresetNamed("llama-3-70b"), job, 0, &rows);
  // Chunks of 10 layers: p v + p - 1 = 11 of them.
  EXPECT_EQ(memory.InFlightOf(0) + memory.InFlightOf(1), 11);
}

TEST(MemoryModel, ReserveIsByItsFormula) {
  MemoryJob job = CaseC();
  job.reserve = {.workspace = Bytes(1'000),
                 .fragmentation = {0.1, 0.25, 0.5},
                 .context = {Bytes(1), Bytes(20), Bytes(300)},
                 .communicators = {Bytes(5), Bytes(6), Bytes(7)}};
  const StageMemory bare = StageOf(PresetNamed("llama-3-70b"), CaseC());
  LedgerRows rows;
  const StageMemory memory = StageOf(PresetNamed("llama-3-70b"), job, 0, &rows);
  const int64_t allocated = bare.total().value() + 1'000;
  EXPECT_EQ(memory.allocated.expected, Bytes(allocated));
  EXPECT_NEAR(static_cast<double>(memory.reserved.low.value()),
              1.1 * static_cast<double>(allocated), 1);
  // Distances from what is expected add up in squares.
  const double above = std::hypot(0.25 * static_cast<double>(allocated), 280, 1);
  EXPECT_NEAR(static_cast<double>(memory.process.high.value()),
              1.25 * static_cast<double>(allocated) + 26 + above, 1);
  EXPECT_EQ(memory.of(LedgerKind::kFrameworkReserve).value(),
            memory.process.expected.value() - bare.total().value());
}

TEST(MemoryModel, WhatIsUncountedWidensTheInterval) {
  MemoryJob job = CaseC();
  job.reserve = {.workspace = Bytes(1'000), .uncounted = {-0.01, 0.02, 0.06}};
  const StageMemory bare = StageOf(PresetNamed("llama-3-70b"), CaseC());
  LedgerRows rows;
  const StageMemory memory = StageOf(PresetNamed("llama-3-70b"), job, 0, &rows);
  const double counted = static_cast<double>(bare.total().value() + 1'000);
  EXPECT_NEAR(static_cast<double>(memory.process.low.value()), 0.99 * counted, 1);
  EXPECT_NEAR(static_cast<double>(memory.process.expected.value()), 1.02 * counted, 1);
  EXPECT_NEAR(static_cast<double>(memory.process.high.value()), 1.06 * counted, 1);
  // Fragmentation is a share of all that is allocated.
  job.reserve.fragmentation = {0.5, 0.5, 0.5};
  const StageMemory torn = StageOf(PresetNamed("llama-3-70b"), job);
  EXPECT_NEAR(static_cast<double>(torn.reserved.expected.value()), 1.02 * 1.5 * counted, 2);
  Bytes sum(0);
  for (const LedgerRow& row : rows) sum = sum + row.size;
  EXPECT_EQ(sum, memory.total());
}

TEST(MemoryModel, BucketsAreNoLargerThanWhatGoesThroughThem) {
  MemoryJob job = MegatronJob();
  job.batch = {.sequence_length = 128};
  job.buffers.reduce_bucket_elements = 1'000'000'000'000;
  const ArchitectureSpec& gpt2 = PresetNamed("gpt2");
  const StageMemory memory = StageOf(gpt2, job);
  // At the loss nothing is reduced yet; where the peak is in a backward pass, all gradients fit.
  if (memory.phase == PeakPhase::kLayerBackward || memory.phase == PeakPhase::kHeadBackward) {
    EXPECT_EQ(memory.of(LedgerKind::kCommunicationBuffer), Bytes(4 * 124'439'808));
  }
  job.buffers = {.gather_bucket_elements = 1'000'000'000'000};
  job.batch.sequence_length = 1;
  const StageMemory step = StageOf(gpt2, job);
  EXPECT_EQ(step.phase, PeakPhase::kOptimizerStep);
  EXPECT_EQ(step.of(LedgerKind::kCommunicationBuffer), Bytes(2 * 124'439'808));
  EXPECT_EQ(step.of(LedgerKind::kActivation), Bytes(0));
}

// All that is there at once counts when the optimizer's step is compared with it, what a pipeline
// receives too.
TEST(MemoryModel, ABucketNeverLowersThePeak) {
  MemoryJob job = MegatronJob();
  job.layout.pipeline_parallel_size = 2;
  job.batch = {.sequence_length = 128};
  const ArchitectureSpec& gpt2 = PresetNamed("gpt2");
  const StageMemory without = StageOf(gpt2, job);
  const Bytes beside_state = without.of(LedgerKind::kActivation) +
                             without.of(LedgerKind::kTransient) +
                             without.of(LedgerKind::kCommunicationBuffer);
  ASSERT_GT(without.of(LedgerKind::kCommunicationBuffer), Bytes(4));
  job.buffers.gather_bucket_elements = beside_state.value() / 2 - 1;  // in bf16
  EXPECT_EQ(StageOf(gpt2, job).total(), without.total());
  job.buffers.gather_bucket_elements = beside_state.value() / 2 + 1;
  EXPECT_GT(StageOf(gpt2, job).total(), without.total());
}

TEST(MemoryModel, BucketsOfDualPipeAreOfBothStages) {
  MemoryJob job = MegatronJob();
  job.layout.pipeline_parallel_size = 2;
  job.pipeline.schedule = PipelineSchedule::kDualPipe;
  job.batch = {.sequence_length = 1};
  job.buffers = {.gather_bucket_elements = 1'000'000'000'000};
  const StageMemory memory = StageOf(PresetNamed("gpt2"), job);
  ASSERT_EQ(memory.phase, PeakPhase::kOptimizerStep);
  EXPECT_EQ(memory.of(LedgerKind::kCommunicationBuffer), memory.of(LedgerKind::kWeight));
}

// PyTorch's .grad is there from the backward pass on, Megatron-LM's buffer always.
TEST(MemoryModel, GradientsMayWaitForTheBackwardPass) {
  MemoryJob job = MegatronJob();
  job.batch = {.sequence_length = 1024};
  job.pipeline.micro_batch_count = 1;
  job.buffers.gradient_lifetime = GradientLifetime::kFromBackward;
  const ArchitectureSpec& gpt2 = PresetNamed("gpt2");
  const StageMemory waiting = StageOf(gpt2, job);
  EXPECT_EQ(waiting.of(LedgerKind::kGradient),
            waiting.phase == PeakPhase::kOptimizerStep ? Bytes(4 * 124'439'808) : Bytes(0));
  job.pipeline.micro_batch_count = 2;
  EXPECT_EQ(StageOf(gpt2, job).of(LedgerKind::kGradient), Bytes(4 * 124'439'808));
}

TEST(MemoryModel, FaultsAreNamed) {
  const ArchitectureSpec& llama = PresetNamed("llama-3-70b");
  MemoryJob job = CaseC();
  job.layout.tensor_parallel_size = 7;
  EXPECT_THAT(MemoryModel::Of(llama, job),
              NamesFields(Contains("layout.parallel.tensor_parallel_size")));
  job = CaseC();
  job.batch.sequence_count = 0;
  job.pipeline.micro_batch_count = -1;
  job.state.sharding.data_parallel_size = std::numeric_limits<int64_t>::min();
  EXPECT_THAT(MemoryModel::Of(llama, job),
              NamesFields(IsSupersetOf({"layout.micro_batch_size", "layout.global_batch_size",
                                        "cluster.device_count"})));
}

TEST(MemoryModel, MoreThanAllBytesIsAnError) {
  MemoryJob job = CaseC();
  job.batch.sequence_count = 1'000'000'000;
  job.batch.sequence_length = 1'000'000'000 / 8 * 8;
  const auto model = MemoryModel::Of(PresetNamed("llama-3-70b"), job);
  ASSERT_THAT(model, IsOk());
  EXPECT_FALSE(model->Stage(0).ok());
  EXPECT_FALSE(model->Peak().ok());
}

TEST(Framework, DefaultsAndWhatARunHasOtherwise) {
  const ParallelLayout one_stage;
  EXPECT_TRUE(BuffersOf({}, one_stage).fused_weight_gradient);
  EXPECT_EQ(BuffersOf({}, one_stage).reduce_bucket_elements, 0);
  const BufferSpec deepspeed = BuffersOf({.kind = Framework::kDeepSpeed}, one_stage);
  EXPECT_EQ(deepspeed.reduce_bucket_elements, 500'000'000);
  EXPECT_EQ(BuffersOf({.kind = Framework::kPytorchFsdp}, one_stage).gradient_lifetime,
            GradientLifetime::kFromBackward);
  const ReserveSpec one = ReserveOf({}, {.communicator_count = 1});
  const ReserveSpec three = ReserveOf({}, {.communicator_count = 3});
  EXPECT_EQ(three.communicators.high, one.communicators.high * 3);
  const ReserveSpec given = ReserveOf({.fragmentation_ratio = 0.5, .context_bytes = 7}, {});
  EXPECT_EQ(given.fragmentation.low, 0.5);
  EXPECT_EQ(given.fragmentation.high, 0.5);
  EXPECT_EQ(given.context.low, Bytes(7));
}

// GPT-2's 12 layers on two stages, 16 micro-batches of 512 tokens.
MemoryJob JobOn(PipelineSchedule schedule) {
  MemoryJob job;
  job.layout = {.pipeline_parallel_size = 2};
  job.batch = {.sequence_length = 512};
  job.pipeline = {.schedule = schedule, .micro_batch_count = 16};
  job.state.precision = WithDefaults({.gradient_data_type = DataType::kFp32});
  return job;
}

LedgerRows RowsOf(const MemoryJob& job, int64_t stage, StageMemory* memory = nullptr) {
  const auto model = MemoryModel::Of(FindModelPreset("gpt2").value()->architecture, job);
  EXPECT_THAT(model, IsOk());
  LedgerRows rows;
  if (!model.ok()) return rows;
  const auto stage_memory = model->Stage(stage, &rows);
  EXPECT_THAT(stage_memory, IsOk());
  if (memory != nullptr && stage_memory.ok()) *memory = *stage_memory;
  return rows;
}

// Chunk i of 1, 2, 4 and 5 layers is on stage i % 2.
TEST(LedgerChunks, OfInterleavedStagesHaveTheirLayersAndMicroBatches) {
  MemoryJob job = JobOn(PipelineSchedule::kOneForwardOneBackward);
  job.layout.virtual_stage_count = 2;
  job.layout.layers_per_chunk = {1, 2, 4, 5};
  for (const int64_t stage : {0, 1}) {
    StageMemory memory;
    const LedgerRows rows = RowsOf(job, stage, &memory);
    std::set<int64_t> seen;
    for (const LedgerRow& row : rows) {
      const bool freed = row.name == "freed";
      if (row.kind == LedgerKind::kTransient || freed) {
        EXPECT_EQ(row.chunk, memory.in_flight.chunk) << row.name;
      } else if (row.kind != LedgerKind::kActivation) {
        EXPECT_EQ(row.chunk, -1) << row.name;
      } else {
        ASSERT_THAT(row.chunk, ::testing::AnyOf(0, 1)) << row.name;
        seen.insert(row.chunk);
        EXPECT_EQ(row.micro_batches, memory.in_flight.Held(row.chunk)) << row.name;
        if (row.layer_kind < 0) continue;
        const auto chunk = static_cast<size_t>(2 * row.chunk + stage);
        EXPECT_EQ(row.layers, job.layout.layers_per_chunk[chunk]) << row.name;
      }
    }
    EXPECT_THAT(seen, ElementsAre(0, 1));
  }
}

// By chunk; [0] is of none.
std::array<int64_t, 3> WeightBytes(const LedgerRows& rows) {
  std::array<int64_t, 3> out{};
  for (const LedgerRow& row : rows) {
    if (row.kind != LedgerKind::kWeight) continue;
    out[static_cast<size_t>(row.chunk + 1)] += row.size.value();
  }
  return out;
}

// The first chunk of a stage is what the stage has without its opposite.
TEST(LedgerChunks, OfDualPipeAreAStageAndItsOpposite) {
  const MemoryJob dual = JobOn(PipelineSchedule::kDualPipe);
  const MemoryJob plain = JobOn(PipelineSchedule::kOneForwardOneBackward);
  const int64_t first = WeightBytes(RowsOf(plain, 0))[0];
  const int64_t last = WeightBytes(RowsOf(plain, 1))[0];
  EXPECT_NE(first, last);  // positions
  EXPECT_THAT(WeightBytes(RowsOf(dual, 0)), ElementsAre(0, first, last));
  EXPECT_THAT(WeightBytes(RowsOf(dual, 1)), ElementsAre(0, last, first));
  StageMemory memory;
  std::map<int64_t, int64_t> in_flight;
  for (const LedgerRow& row : RowsOf(dual, 0, &memory)) {
    if (row.kind == LedgerKind::kActivation && row.name != "freed") {
      in_flight[row.chunk] = row.micro_batches;
    }
  }
  EXPECT_EQ(in_flight[0], memory.in_flight.Held(0));
  EXPECT_EQ(in_flight[1], memory.in_flight.Held(1));
}

TEST(LedgerChunks, OfAStageWithOneAreNotSaid) {
  for (const auto schedule :
       {PipelineSchedule::kOneForwardOneBackward, PipelineSchedule::kZeroBubbleH1}) {
    for (const LedgerRow& row : RowsOf(JobOn(schedule), 1)) EXPECT_EQ(row.chunk, -1) << row.name;
  }
}

}  // namespace
}  // namespace sextant
