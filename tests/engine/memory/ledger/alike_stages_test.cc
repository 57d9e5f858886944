// Which stages are alike, and that alike stages and alike kinds of layers, taken together, change
// no figure.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/memory/ledger/memory_model.h"
#include "engine/model/presets/presets.h"
#include "tests/engine/memory/ledger/random_job.h"
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

constexpr int kCopies = 12;  // more than are looked up in turn

// Leaves out the kinds of no layer, which no model may have.
ArchitectureSpec WithoutUnused(ArchitectureSpec spec) {
  std::vector<int> index(spec.layer_kinds.size(), -1);
  const auto use = [&index](int kind) { index[static_cast<size_t>(kind)] = 0; };
  for (const StackSpec* stack : {&spec.encoder, &spec.decoder}) {
    for (const LayerRun& run : stack->layers) use(run.layer_kind);
  }
  if (spec.multi_token_prediction.has_value()) use(spec.multi_token_prediction->layer_kind);
  std::vector<LayerSpec> used;
  for (size_t i = 0; i < index.size(); ++i) {
    if (index[i] < 0) continue;
    index[i] = static_cast<int>(used.size());
    used.push_back(spec.layer_kinds[i]);
  }
  spec.layer_kinds = used;
  const auto rename = [&index](int& kind) { kind = index[static_cast<size_t>(kind)]; };
  for (StackSpec* stack : {&spec.encoder, &spec.decoder}) {
    for (LayerRun& run : stack->layers) rename(run.layer_kind);
  }
  if (spec.multi_token_prediction.has_value()) rename(spec.multi_token_prediction->layer_kind);
  return spec;
}

// Gives each kind kCopies names, in the order of kinds, for its layers in turn.
ArchitectureSpec WithManyNames(const ArchitectureSpec& spec) {
  ArchitectureSpec out = spec;
  out.layer_kinds.clear();
  for (const LayerSpec& kind : spec.layer_kinds) {
    for (int i = 0; i < kCopies; ++i) {
      out.layer_kinds.push_back(kind);
      out.layer_kinds.back().name = absl::StrCat(kind.name, " ", i);
    }
  }
  int turn = 0;
  for (StackSpec* stack : {&out.encoder, &out.decoder}) {
    std::vector<LayerRun> runs;
    for (const LayerRun& run : stack->layers) {
      for (int64_t i = 0; i < run.count; ++i) {
        runs.push_back({run.layer_kind * kCopies + turn++ % kCopies, 1, run.frozen});
      }
    }
    stack->layers = runs;
  }
  if (out.multi_token_prediction.has_value()) out.multi_token_prediction->layer_kind *= kCopies;
  return WithoutUnused(std::move(out));
}

// Each rank's share of a tensor is rounded up for all layers of a kind together, and casts are
// counted for blocks of one kind.
MemoryJob Undivided(MemoryJob job) {
  job.state.sharding.zero_stage = ZeroStage::kNone;
  job.state.optimizer = {};
  job.batch.recomputation.layers_per_block = 1;
  return job;
}

void ExpectEqual(const StageMemory& a, const StageMemory& b, uint32_t seed) {
  EXPECT_EQ(a.sums, b.sums) << seed;
  EXPECT_EQ(a.phase, b.phase) << seed;
  EXPECT_EQ(a.host, b.host) << seed;
  EXPECT_EQ(a.total(), b.total()) << seed;
}

// Where the steps of several layers hold as much, the kept and transient bytes of the first one are
// listed; which is the first depends on the order of kinds.
StageMemory WithOneSum(StageMemory memory) {
  Bytes& kept = memory.sums[static_cast<size_t>(LedgerKind::kActivation)];
  Bytes& made = memory.sums[static_cast<size_t>(LedgerKind::kTransient)];
  kept = kept + made;
  made = Bytes(0);
  return memory;
}

TEST(AlikeKinds, HaveTheMemoryOfOneKind) {
  for (uint32_t seed = 0; seed < 500; ++seed) {
    const RandomJob drawn = DrawJob(seed);
    const ArchitectureSpec many = WithManyNames(drawn.spec);
    const auto one = MemoryModel::Of(drawn.spec, Undivided(drawn.job));
    const auto model = MemoryModel::Of(many, Undivided(drawn.job));
    ASSERT_THAT(one, IsOk());
    ASSERT_THAT(model, IsOk());
    for (int64_t stage = 0; stage < one->stage_count(); ++stage) {
      const auto a = one->Stage(stage);
      const auto b = model->Stage(stage);
      ASSERT_THAT(a, IsOk());
      ASSERT_THAT(b, IsOk());
      ExpectEqual(WithOneSum(*a), WithOneSum(*b), seed);
    }
  }
}

// Gives kinds different sizes, so that none is alike: rows, which are computed one by one, add up
// to the sums, which are shared.
TEST(AlikeKinds, AreNotMistakenForOthers) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    const RandomJob drawn = DrawJob(seed);
    ArchitectureSpec many = WithManyNames(drawn.spec);
    const int64_t step = drawn.job.layout.tensor_parallel_size;
    for (size_t i = 0; i < many.layer_kinds.size(); ++i) {
      LayerSpec& kind = many.layer_kinds[i];
      const int64_t more = step * static_cast<int64_t>(i * i % 17);
      if (kind.feed_forward.has_value()) kind.feed_forward->size += more;
    }
    const auto model = MemoryModel::Of(many, drawn.job);
    ASSERT_THAT(model, IsOk());
    for (int64_t stage = 0; stage < model->stage_count(); ++stage) {
      LedgerRows rows;
      const auto memory = model->Stage(stage, &rows);
      ASSERT_THAT(memory, IsOk());
      Bytes sum(0);
      for (const LedgerRow& row : rows) sum = sum + row.size;
      EXPECT_EQ(sum, memory->total()) << seed;
    }
  }
}

TEST(AlikeKinds, AndStagesInTurnHaveWhatEachHasAlone) {
  for (uint32_t seed = 0; seed < 500; ++seed) {
    const RandomJob drawn = DrawJob(seed);
    const ArchitectureSpec spec = seed % 2 == 0 ? drawn.spec : WithManyNames(drawn.spec);
    const auto model = MemoryModel::Of(spec, drawn.job);
    ASSERT_THAT(model, IsOk());
    CallWork work;
    StagePeak most;
    const auto compare = [&](int64_t stage, const StageMemory& memory, const LedgerRows& rows) {
      EXPECT_TRUE(rows.empty());
      const auto alone = model->Stage(stage);
      EXPECT_THAT(alone, IsOk());
      ExpectEqual(memory, *alone, seed);
      if (memory.total() > most.memory.total()) most = {stage, memory};
      return absl::OkStatus();
    };
    ASSERT_THAT(model->ForEachStage(false, work, compare), IsOk());
    const auto peak = model->Peak();
    ASSERT_THAT(peak, IsOk());
    EXPECT_EQ(peak->stage, most.stage) << seed;
    ExpectEqual(peak->memory, most.memory, seed);
  }
}

}  // namespace
}  // namespace sextant
