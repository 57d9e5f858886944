// Kinds of layers that are alike, stages that are alike, and many kinds change no figure.
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/memory/ledger/memory_model.h"
#include "tests/engine/memory/ledger/random_job.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

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
