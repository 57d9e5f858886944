// Sums without rows allocate nothing, however many layers and stages there are.
#include <gtest/gtest.h>

#include <string>

#include "engine/memory/activations/activations.h"
#include "engine/memory/ledger/framework_copies.h"
#include "engine/memory/ledger/framework_spec.h"
#include "engine/memory/ledger/memory_model.h"
#include "engine/memory/schedule/in_flight.h"
#include "engine/memory/state/stage_state.h"
#include "engine/memory/transients/stage_transients.h"
#include "engine/model/presets/presets.h"
#include "tests/engine/model/flops/counting_allocator.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

TEST(ActivationsAllocation, OfSumsIsNone) {
  const ParallelLayout layout;
  for (const char* name : {"llama-3.1-405b", "deepseek-v3", "mixtral-8x7b"}) {
    const auto preset = FindModelPreset(name);
    ASSERT_TRUE(preset.ok()) << name;
    const ArchitectureSpec& spec = (*preset)->architecture;
    const LayerPlacement placement(spec, layout);
    MicroBatchSpec batch = {.sequence_length = 4096};
    for (const auto policy :
         {RecomputePolicy::kNone, RecomputePolicy::kSelective, RecomputePolicy::kFull}) {
      batch.recomputation.policy = policy;
      const ActivationContext context = {spec, layout, batch};
      const int64_t before = AllocationCount();
      const auto kept = ChunkActivations(context, placement, {.stage = 0});
      EXPECT_EQ(AllocationCount() - before, 0) << name;
      EXPECT_GT(kept->total(), Bytes(0));
      ActivationTensors rows;
      EXPECT_EQ(ChunkActivations(context, placement, {.stage = 0}, &rows)->total(), kept->total());
      EXPECT_GT(AllocationCount() - before, 0);  // the count counts
    }
  }
}

// Chunks, flows of gradients that are there already, and transients.
TEST(ActivationsAllocation, OfTransientsIsNone) {
  const ParallelLayout layout = {.pipeline_parallel_size = 2, .virtual_stage_count = 1};
  const BufferSpec buffers = {.fused_weight_gradient = false};
  for (const char* name : {"llama-3.1-405b", "mixtral-8x7b"}) {
    const ArchitectureSpec& spec = (*FindModelPreset(name))->architecture;
    const LayerPlacement placement(spec, layout);
    const GradientFlow flow(spec);
    for (const auto policy : {RecomputePolicy::kNone, RecomputePolicy::kFull}) {
      const MicroBatchSpec batch = {.sequence_length = 4096, .recomputation = {.policy = policy}};
      const ActivationContext activations = {spec, layout, batch, &flow};
      const TransientContext context = {activations, placement, buffers};
      const int64_t before = AllocationCount();
      const auto kept = ChunkActivations(activations, placement, {.stage = 1, .chunk = 0});
      const auto transients = StageTransientsOf(context, 1, *kept);
      EXPECT_EQ(AllocationCount() - before, 0) << name;
      EXPECT_GT(transients->At(StagePhase::kLayer).added, Bytes(0));
    }
  }
}

MemoryModel ModelOf(const std::string& preset, const PipelineSpec& pipeline, ZeroStage zero,
                    RecomputePolicy recompute) {
  MemoryJob job;
  // 126 layers of Llama-3.1-405B, 32 of Mixtral.
  job.layout = {.tensor_parallel_size = 8, .pipeline_parallel_size = 2};
  job.batch = {
      .sequence_length = 4096, .sequence_parallel = true, .recomputation = {.policy = recompute}};
  job.pipeline = pipeline;
  job.state.precision = WithDefaults(PrecisionPolicy());
  job.state.sharding = {.data_parallel_size = 16, .zero_stage = zero};
  return *MemoryModel::Of(FindModelPreset(preset).value()->architecture, job);
}

TEST(MemoryAllocation, OfSumsIsNone) {
  for (const char* preset : {"llama-3.1-405b", "mixtral-8x7b"}) {
    for (const ZeroStage zero : {ZeroStage::kOptimizer, ZeroStage::kParameters}) {
      for (const RecomputePolicy recompute : {RecomputePolicy::kNone, RecomputePolicy::kFull}) {
        for (const PipelineSchedule schedule :
             {PipelineSchedule::kOneForwardOneBackward, PipelineSchedule::kZeroBubbleH2,
              PipelineSchedule::kDualPipe}) {
          const MemoryModel model =
              ModelOf(preset, {.schedule = schedule, .micro_batch_count = 64}, zero, recompute);
          const int64_t before = AllocationCount();
          const auto stage = model.Stage(1);
          const auto peak = model.Peak();
          EXPECT_EQ(AllocationCount() - before, 0) << preset;
          ASSERT_THAT(stage, IsOk());
          ASSERT_THAT(peak, IsOk());
          LedgerRows rows;
          EXPECT_EQ(model.Stage(1, &rows)->total(), stage->total());
          EXPECT_GT(AllocationCount() - before, 0);  // the count counts
        }
      }
    }
  }
}

// Frameworks' other memory is summed without a list, too.
TEST(MemoryAllocation, OfFrameworksCopiesIsNone) {
  const ArchitectureSpec& spec = FindModelPreset("llama-3.1-405b").value()->architecture;
  const struct {
    Framework framework;
    ZeroStage zero;
    DataType weight;
    RecomputePolicy recompute;
  } cases[] = {
      {Framework::kDeepSpeed, ZeroStage::kOptimizer, DataType::kBf16, RecomputePolicy::kNone},
      {Framework::kPytorchFsdp, ZeroStage::kParameters, DataType::kFp32, RecomputePolicy::kNone},
      {Framework::kPytorchFsdp, ZeroStage::kNone, DataType::kFp32, RecomputePolicy::kFull}};
  for (const auto& c : cases) {
    MemoryJob job;
    job.layout = {.pipeline_parallel_size = c.recompute == RecomputePolicy::kFull ? 1 : 2};
    job.batch = {.sequence_length = 4096, .recomputation = {.policy = c.recompute}};
    job.pipeline.micro_batch_count = 64;
    job.state.precision =
        WithDefaults({.weight_data_type = c.weight, .gradient_data_type = DataType::kFp32});
    job.state.sharding = {.data_parallel_size = 16, .zero_stage = c.zero};
    job.buffers = BuffersOf({.kind = c.framework}, job.layout);
    ASSERT_TRUE(KeepsComputedGradients(job) || KeepsWholeGradients(job) || CastsWeights(job));
    const auto model = MemoryModel::Of(spec, job);
    ASSERT_THAT(model, IsOk());
    const int64_t before = AllocationCount();
    const auto peak = model->Peak();
    EXPECT_EQ(AllocationCount() - before, 0) << TraitsOf(c.framework).name;
    ASSERT_THAT(peak, IsOk());
  }
}

TEST(InFlightAllocation, IsNone) {
  const ParallelLayout layout = {.pipeline_parallel_size = 8};
  const ParallelLayout interleaved = {.pipeline_parallel_size = 8, .virtual_stage_count = 3};
  const std::vector<ChunkBytes> chunks(3, {.held = Bytes(5), .backward_work = Bytes(1)});
  for (int i = 0; i < 6; ++i) {
    const bool interleave = i == 5;
    const PipelineSpec pipeline = {.schedule = static_cast<PipelineSchedule>(interleave ? 0 : i),
                                   .micro_batch_count = 64};
    const int64_t before = AllocationCount();
    const absl::StatusOr<InFlight> in_flight =
        InFlight::Of(pipeline, interleave ? interleaved : layout);
    int64_t held = 0;
    for (int64_t stage = 0; stage < 8; ++stage) {
      in_flight->ForEachPoint(stage, [&](const InFlightPoint& point) { held += point.Held(0); });
      const absl::Span<const ChunkBytes> of_stage(chunks.data(),
                                                  static_cast<size_t>(in_flight->chunk_count()));
      held += in_flight->Peak(stage, of_stage)->size.value();
    }
    EXPECT_EQ(AllocationCount() - before, 0) << i;
    EXPECT_GT(held, 0);
  }
}

TEST(StateAllocation, OfSumsIsNone) {
  const ParallelLayout layout;
  for (const char* name : {"llama-3.1-405b", "deepseek-v3", "mixtral-8x7b"}) {
    const auto preset = FindModelPreset(name);
    ASSERT_TRUE(preset.ok()) << name;
    const ArchitectureSpec& spec = (*preset)->architecture;
    const auto weights = ShardedWeights::Of(spec, "model", layout, "layout");
    ASSERT_TRUE(weights.ok()) << name;
    StateSpec state = {.precision = WithDefaults(PrecisionPolicy())};
    state.sharding.data_parallel_size = 8;
    for (const auto zero : {ZeroStage::kNone, ZeroStage::kOptimizer, ZeroStage::kParameters}) {
      for (const auto kind : {OptimizerKind::kAdamw, OptimizerKind::kMuon}) {
        state.sharding.zero_stage = zero;
        state.optimizer.kind = kind;
        const StageStateContext context = {spec, layout, *weights, state};
        const int64_t before = AllocationCount();
        const absl::StatusOr<StageState> sums = StageStateOf(context, 0);
        EXPECT_EQ(AllocationCount() - before, 0) << name;
        LedgerRows rows;
        EXPECT_EQ(StageStateOf(context, 0, &rows)->total(), sums->total());
        EXPECT_GT(sums->total(), Bytes(0));
        EXPECT_GT(AllocationCount() - before, 0);  // the count counts
      }
    }
  }
}

}  // namespace
}  // namespace sextant
