// Sums of a stage and of the fullest stage allocate nothing, however many layers and stages there
// are.
#include <gtest/gtest.h>

#include <string>

#include "engine/memory/ledger/framework_copies.h"
#include "engine/memory/ledger/framework_spec.h"
#include "engine/memory/ledger/memory_model.h"
#include "engine/model/presets/presets.h"
#include "tests/engine/model/flops/counting_allocator.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

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

}  // namespace
}  // namespace sextant
