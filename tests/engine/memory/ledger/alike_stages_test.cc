// Which stages are alike, and that taking them together changes no peak.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/memory/ledger/memory_model.h"
#include "engine/model/presets/presets.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::ElementsAre;

const ArchitectureSpec& Preset(const std::string& name) {
  return FindModelPreset(name).value()->architecture;
}

MemoryJob JobOf(const ParallelLayout& layout) {
  MemoryJob job;
  job.layout = layout;
  job.batch = {.sequence_length = 4096};
  job.pipeline.micro_batch_count = 32;
  job.state.precision = WithDefaults(PrecisionPolicy());
  job.state.sharding = {.data_parallel_size = 8};
  return job;
}

std::vector<bool> AlikeOf(const ArchitectureSpec& spec, const MemoryJob& job) {
  const auto model = MemoryModel::Of(spec, job);
  EXPECT_THAT(model, IsOk());
  std::vector<bool> out;
  for (int64_t stage = 0; model.ok() && stage < model->stage_count(); ++stage) {
    out.push_back(model->IsAsBefore(stage));
  }
  return out;
}

// The second of a run is the first that is as the one before it.
TEST(AlikeStages, AreInnerOnesWithTheSameLayers) {
  const ArchitectureSpec& llama = Preset("llama-3-8b");  // 32 layers
  EXPECT_THAT(AlikeOf(llama, JobOf({.pipeline_parallel_size = 4})),
              ElementsAre(false, false, true, false));
  EXPECT_THAT(
      AlikeOf(llama, JobOf({.pipeline_parallel_size = 4, .layers_per_chunk = {7, 9, 8, 8}})),
      ElementsAre(false, false, false, false));
  MemoryJob dual = JobOf({.pipeline_parallel_size = 6, .layers_per_chunk = {5, 5, 6, 6, 5, 5}});
  EXPECT_THAT(AlikeOf(llama, dual), ElementsAre(false, false, false, true, false, false));
  dual.pipeline.schedule = PipelineSchedule::kDualPipe;  // each with the layers of its opposite
  EXPECT_THAT(AlikeOf(llama, dual), ElementsAre(false, false, false, true, false, false));
}

// As many layers in all, but not in each chunk.
TEST(AlikeStages, HaveTheSameChunks) {
  MemoryJob job = JobOf({.pipeline_parallel_size = 4,
                         .virtual_stage_count = 2,
                         .layers_per_chunk = {4, 3, 5, 4, 4, 5, 3, 4}});
  EXPECT_THAT(AlikeOf(Preset("llama-3-8b"), job), ElementsAre(false, false, false, false));
  job.layout.layers_per_chunk = {4, 5, 5, 4, 4, 3, 3, 4};
  EXPECT_THAT(AlikeOf(Preset("llama-3-8b"), job), ElementsAre(false, false, true, false));
}

// Three dense layers and one of experts stand on the first inner stage.
TEST(AlikeStages, HaveTheSameKindsOfLayers) {
  const ArchitectureSpec& deepseek = Preset("deepseek-v3");
  MemoryJob job = JobOf({.pipeline_parallel_size = 6, .layers_per_chunk = {1, 12, 12, 12, 12, 12}});
  EXPECT_THAT(AlikeOf(deepseek, job), ElementsAre(false, false, false, true, true, false));
}

TEST(AlikeStages, AreNoneOfTwoStacksOrFrozenLayers) {
  ArchitectureSpec frozen = Preset("llama-3-8b");
  frozen.decoder.layers[0].frozen = true;
  EXPECT_THAT(AlikeOf(frozen, JobOf({.pipeline_parallel_size = 4})),
              ElementsAre(false, false, false, false));
}

// Stage by stage, each by itself.
TEST(AlikeStages, ChangeNoPeak) {
  for (const char* name : {"llama-3-8b", "mixtral-8x7b"}) {
    for (const PipelineSchedule schedule :
         {PipelineSchedule::kOneForwardOneBackward, PipelineSchedule::kGPipe,
          PipelineSchedule::kZeroBubbleH1, PipelineSchedule::kZeroBubbleH2,
          PipelineSchedule::kDualPipe}) {
      for (const int64_t bucket : {int64_t{0}, int64_t{1} << 40}) {
        // Ends with fewer layers, so that the peak is on an inner stage.
        MemoryJob job =
            JobOf({.pipeline_parallel_size = 8, .layers_per_chunk = {1, 5, 5, 5, 5, 5, 5, 1}});
        job.pipeline.schedule = schedule;
        job.buffers.gather_bucket_elements = bucket;  // some in the optimizer step
        const auto model = MemoryModel::Of(Preset(name), job);
        ASSERT_THAT(model, IsOk());
        StagePeak most;
        for (int64_t stage = 0; stage < model->stage_count(); ++stage) {
          const auto memory = model->Stage(stage);
          ASSERT_THAT(memory, IsOk());
          if (memory->total() > most.memory.total()) most = {stage, *memory};
        }
        const auto peak = model->Peak();
        ASSERT_THAT(peak, IsOk());
        EXPECT_EQ(peak->stage, most.stage) << name;
        EXPECT_EQ(peak->memory.sums, most.memory.sums);
        EXPECT_EQ(peak->memory.phase, most.memory.phase);
        EXPECT_EQ(peak->memory.InFlightOf(0), most.memory.InFlightOf(0));
      }
    }
  }
}

}  // namespace
}  // namespace sextant
