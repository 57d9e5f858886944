// Properties of any job of any model.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <functional>

#include "engine/memory/ledger/memory_model.h"
#include "tests/engine/memory/ledger/random_job.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

constexpr uint32_t kJobs = 300;

void ForEachJob(const std::function<void(RandomJob&)>& check) {
  for (uint32_t seed = 0; seed < kJobs; ++seed) {
    SCOPED_TRACE(seed);
    RandomJob job = DrawJob(seed);
    check(job);
  }
}

// The memory of every stage; empty on an error.
std::vector<StageMemory> StagesOf(const RandomJob& job) {
  std::vector<StageMemory> out;
  const auto model = MemoryModel::Of(job.spec, job.job);
  EXPECT_THAT(model, IsOk());
  if (!model.ok()) return out;
  for (int64_t stage = 0; stage < model->stage_count(); ++stage) {
    const auto memory = model->Stage(stage);
    EXPECT_THAT(memory, IsOk());
    if (memory.ok()) out.push_back(*memory);
  }
  return out;
}

Bytes ModelStateOf(const StageMemory& memory) {
  return memory.of(LedgerKind::kWeight) + memory.of(LedgerKind::kGradient) +
         memory.of(LedgerKind::kMasterWeight) + memory.of(LedgerKind::kOptimizerState);
}

// Bytes of whole elements; else bits, rounded up. What was freed is negative.
int64_t StoredBytes(const LedgerRow& row) {
  if (row.element_bits % 8 == 0) return row.elements * (row.element_bits / 8);
  return (row.elements * row.element_bits + 7) / 8;
}

TEST(LedgerProperties, RowsAddUpToEachSumAndToTheTotal) {
  ForEachJob([](const RandomJob& job) {
    const auto model = MemoryModel::Of(job.spec, job.job);
    ASSERT_THAT(model, IsOk());
    for (int64_t stage = 0; stage < model->stage_count(); ++stage) {
      LedgerRows rows;
      const auto memory = model->Stage(stage, &rows);
      ASSERT_THAT(memory, IsOk());
      std::array<Bytes, kLedgerKindCount> sums{};
      for (const LedgerRow& row : rows) {
        EXPECT_EQ(row.size.value(),
                  (StoredBytes(row) + row.scale_bytes) * row.layers * row.micro_batches);
        EXPECT_FALSE(row.alive.empty() || row.why.empty() || row.source.empty());
        Bytes& sum = sums[static_cast<size_t>(row.kind)];
        sum = sum + row.size;
      }
      EXPECT_EQ(sums, memory->sums);
      Bytes total(0);
      for (const Bytes sum : sums) total = total + sum;
      EXPECT_EQ(total, memory->total());
      EXPECT_LE(memory->process.low, memory->process.expected);
      EXPECT_LE(memory->process.expected, memory->process.high);
      EXPECT_LE(memory->allocated.low, memory->reserved.low);
    }
  });
}

TEST(LedgerProperties, PeakIsTheFullestStage) {
  ForEachJob([](const RandomJob& job) {
    const auto model = MemoryModel::Of(job.spec, job.job);
    ASSERT_THAT(model, IsOk());
    const auto peak = model->Peak();
    ASSERT_THAT(peak, IsOk());
    int64_t fullest = 0;
    const std::vector<StageMemory> stages = StagesOf(job);
    for (size_t stage = 1; stage < stages.size(); ++stage) {
      const bool more = stages[stage].total() > stages[static_cast<size_t>(fullest)].total();
      if (more) fullest = static_cast<int64_t>(stage);
    }
    EXPECT_EQ(peak->stage, fullest);
    EXPECT_EQ(peak->memory.sums, stages[static_cast<size_t>(fullest)].sums);
  });
}

TEST(LedgerProperties, StateNeverGrowsWithTheZeroStage) {
  ForEachJob([](RandomJob& job) {
    // Gradients that wait for the backward pass are in no sum at some points.
    job.job.buffers.gradient_lifetime = GradientLifetime::kAlways;
    std::vector<Bytes> last;
    for (int zero = 0; zero <= 3; ++zero) {
      job.job.state.sharding.zero_stage = static_cast<ZeroStage>(zero);
      const std::vector<StageMemory> stages = StagesOf(job);
      for (size_t i = 0; i < stages.size(); ++i) {
        if (zero == 0) continue;
        EXPECT_LE(ModelStateOf(stages[i]), last[i]);
      }
      last.clear();
      for (const StageMemory& stage : stages) last.push_back(ModelStateOf(stage));
    }
  });
}

// All that is held for backward passes and while they run. Where these are split, the peak may move
// to a point at which more micro-batches wait for weight gradients and nothing has been freed, so
// that activations alone may be more.
TEST(LedgerProperties, MoreRecomputationKeepsNoMore) {
  ForEachJob([](RandomJob& job) {
    const PipelineSchedule schedule = job.job.pipeline.schedule;
    const bool splits = schedule == PipelineSchedule::kZeroBubbleH1 ||
                        schedule == PipelineSchedule::kZeroBubbleH2 ||
                        schedule == PipelineSchedule::kDualPipe;
    const auto kept = [splits](const StageMemory& stage) {
      const Bytes activations = stage.of(LedgerKind::kActivation);
      return splits ? activations + stage.of(LedgerKind::kTransient) : activations;
    };
    std::vector<Bytes> last;
    for (const RecomputePolicy policy :
         {RecomputePolicy::kNone, RecomputePolicy::kSelective, RecomputePolicy::kFull}) {
      job.job.batch.recomputation = {.policy = policy};
      const std::vector<StageMemory> stages = StagesOf(job);
      for (size_t i = 0; i < stages.size(); ++i) {
        if (policy == RecomputePolicy::kNone) continue;
        EXPECT_LE(kept(stages[i]), last[i]) << i;
      }
      last.clear();
      for (const StageMemory& stage : stages) last.push_back(kept(stage));
    }
  });
}

TEST(LedgerProperties, ATwiceAsLargeMicroBatchNeverHoldsLess) {
  ForEachJob([](RandomJob& job) {
    const std::vector<StageMemory> once = StagesOf(job);
    job.job.batch.sequence_count *= 2;
    const std::vector<StageMemory> twice = StagesOf(job);
    ASSERT_EQ(once.size(), twice.size());
    for (size_t i = 0; i < once.size(); ++i) {
      EXPECT_GE(twice[i].total(), once[i].total());
    }
  });
}

TEST(LedgerProperties, MoreMicroBatchesNeverHoldLess) {
  ForEachJob([](RandomJob& job) {
    const std::vector<StageMemory> once = StagesOf(job);
    job.job.pipeline.micro_batch_count *= 2;
    const std::vector<StageMemory> twice = StagesOf(job);
    for (size_t i = 0; i < once.size(); ++i) {
      EXPECT_GE(twice[i].total(), once[i].total());
    }
  });
}

}  // namespace
}  // namespace sextant
