// Buffers that frameworks allocate once, by hand, for GPT-2: 12 layers of h = 768, 12 heads.
#include "engine/memory/ledger/standing_buffers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/memory/ledger/framework_spec.h"
#include "engine/memory/ledger/memory_model.h"
#include "engine/model/presets/presets.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

constexpr int64_t kHiddenSize = 768;
constexpr int64_t kTokens = 4 * 1024;

// 50,257 entries, padded by 47.
const ArchitectureSpec& Model() {
  static const ArchitectureSpec padded = [] {
    ArchitectureSpec out = FindModelPreset("gpt2").value()->architecture;
    out.embedding.padded_vocabulary_size = 50'304;
    return out;
  }();
  return padded;
}

MemoryJob JobOf(const FrameworkSpec& framework, const ParallelLayout& layout = {}) {
  MemoryJob job;
  job.layout = layout;
  job.batch = {.sequence_count = 4,
               .sequence_length = 1024,
               .sequence_parallel = layout.tensor_parallel_size > 1};
  job.state.precision = WithDefaults({}, framework.traits());
  job.buffers = BuffersOf(framework, layout);
  return job;
}

StandingBuffers On(const MemoryJob& job, int64_t stage = 0, bool has_head = true) {
  const auto model = MemoryModel::Of(Model(), job);
  EXPECT_THAT(model, IsOk());
  if (!model.ok()) return {};
  return StandingBuffersOf({.job = job,
                            .state = {.spec = Model(),
                                      .layout = job.layout,
                                      .weights = model->weights(),
                                      .state = job.state,
                                      .context_parallel_size = 1}},
                           stage, has_head);
}

// Queries, keys and values are one 3h x h; the attention's output is h x h; up is 4h x h and down
// h x 4h. Two ranks halve each.
TEST(StandingBuffers, OnePlaceholderForEachShape) {
  const StandingBuffers one = On(JobOf({.kind = Framework::kMegatronLm}));
  EXPECT_EQ(one.placeholder_gradients, Bytes(2 * (3 + 1 + 4 + 4) * kHiddenSize * kHiddenSize));
  const StandingBuffers two =
      On(JobOf({.kind = Framework::kMegatronLm}, {.tensor_parallel_size = 2}));
  EXPECT_EQ(two.placeholder_gradients, Bytes(one.placeholder_gradients.value() / 2));
  EXPECT_EQ(On(JobOf({.transformer_engine = false})).placeholder_gradients, Bytes(0));
  EXPECT_EQ(On(JobOf({.fused_weight_gradient = false})).placeholder_gradients, Bytes(0));
  EXPECT_EQ(On(JobOf({.kind = Framework::kPytorchFsdp})).total(), Bytes(0));
}

// The head's input, gathered from the ranks that divide its tokens, in bf16; on the stage that has
// a head.
TEST(StandingBuffers, TheGlobalBufferHoldsTheHeadsInput) {
  const MemoryJob job = JobOf({.kind = Framework::kMegatronLm}, {.tensor_parallel_size = 2});
  EXPECT_EQ(On(job).global_buffer, Bytes(2 * kTokens * kHiddenSize));
  EXPECT_EQ(On(job, 0, false).global_buffer, Bytes(0));
  EXPECT_EQ(On(JobOf({.kind = Framework::kMegatronLm})).global_buffer, Bytes(0));
  // The head's backward pass then gathers into it: nothing is counted twice.
  LedgerRows rows;
  ASSERT_THAT(MemoryModel::Of(Model(), job)->Stage(0, &rows), IsOk());
  int buffers = 0;
  for (const LedgerRow& row : rows) {
    EXPECT_NE(row.name, "gathered_input");
    buffers += row.name == "global_buffer" ? 1 : 0;
  }
  EXPECT_EQ(buffers, 1);
}

// Megatron-LM's own attention keeps one layer's scores of all pairs there.
TEST(StandingBuffers, TheGlobalBufferHoldsUnfusedScores) {
  MemoryJob job = JobOf({.kind = Framework::kMegatronLm, .transformer_engine = false},
                        {.tensor_parallel_size = 2});
  job.batch.attention = AttentionKernel::kUnfused;
  EXPECT_EQ(On(job, 0, false).global_buffer, Bytes(2 * kTokens * (12 / 2) * 1024));
}

// DistributedDataParallel's buckets hold all gradients once more, in fp32.
TEST(StandingBuffers, BucketsOfSeveralRanks) {
  MemoryJob job = JobOf({.kind = Framework::kPytorchDdp});
  EXPECT_EQ(On(job).gradient_buckets, Bytes(0));
  job.state.sharding.data_parallel_size = 2;
  EXPECT_EQ(On(job).gradient_buckets, Bytes(4 * (124'439'808 + 47 * kHiddenSize)));
}

}  // namespace
}  // namespace sextant
