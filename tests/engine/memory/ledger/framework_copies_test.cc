// Frameworks' memory in addition to model state, copies and buffers that are allocated once, by
// hand, for GPT-2: 12 layers of h = 768, 12 heads, 50,257 tokens, 1,024 positions, a tied head.
#include "engine/memory/ledger/framework_copies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "engine/memory/ledger/framework_spec.h"
#include "engine/memory/ledger/memory_model.h"
#include "engine/memory/ledger/standing_buffers.h"
#include "engine/model/presets/presets.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

constexpr int64_t kHidden = 768;
constexpr int64_t kTable = 50'257 * kHidden;
constexpr int64_t kLayerSize = 12 * kHidden * kHidden + 13 * kHidden;
// Numbers of a layer's matrices and their biases, of 3h, h, 4h and h.
constexpr int64_t kCastLayer = 12 * kHidden * kHidden + 9 * kHidden;
// Both tables, 12 layers, and the final norm's 2h.
constexpr int64_t kAll = kTable + 1024 * kHidden + 12 * kLayerSize + 2 * kHidden;
constexpr int64_t kFirstOfTwoStages = kTable + 1024 * kHidden + 6 * kLayerSize;

const ArchitectureSpec& Gpt2() { return FindModelPreset("gpt2").value()->architecture; }

MemoryJob JobOn(Framework framework, const ParallelLayout& layout = {}) {
  MemoryJob job;
  job.layout = layout;
  job.batch = {.sequence_length = 128};
  job.pipeline.micro_batch_count = 8;
  job.state.precision = WithDefaults({.gradient_data_type = DataType::kFp32});
  job.buffers = BuffersOf({.kind = framework}, layout);
  return job;
}

struct Held {
  StageMemory memory;
  LedgerRows rows;

  int64_t SizeOf(absl::string_view term) const {
    int64_t out = 0;
    for (const LedgerRow& row : rows) out += row.term == term ? row.size.value() : 0;
    return out;
  }
  int64_t Named(absl::string_view name) const {
    int64_t out = 0;
    for (const LedgerRow& row : rows) out += row.name == name ? row.size.value() : 0;
    return out;
  }
};

Held FirstStage(const MemoryJob& job, const ArchitectureSpec& spec = Gpt2()) {
  Held out;
  const auto model = MemoryModel::Of(spec, job);
  EXPECT_THAT(model, IsOk());
  if (!model.ok()) return out;
  const auto memory = model->Stage(0, &out.rows);
  EXPECT_THAT(memory, IsOk());
  out.memory = memory.value_or(StageMemory());
  Bytes sum(0);
  for (const LedgerRow& row : out.rows) sum = sum + row.size;
  EXPECT_EQ(sum, out.memory.total());
  return out;
}

// The result of `count` for the model of `job`.
template <typename Count>
auto CountOf(const MemoryJob& job, const ArchitectureSpec& spec, Count count) {
  const auto model = MemoryModel::Of(spec, job);
  EXPECT_THAT(model, IsOk());
  using Counted = decltype(count(std::declval<CopiesContext>()));
  if (!model.ok()) return Counted();
  return count(CopiesContext{.job = job,
                             .state = {.spec = spec,
                                       .layout = job.layout,
                                       .weights = model->weights(),
                                       .state = job.state,
                                       .context_parallel_size = 1}});
}

FrameworkCopies CopiesOf(const MemoryJob& job, const ArchitectureSpec& spec = Gpt2(),
                         int64_t stage = 0) {
  return CountOf(job, spec,
                 [stage](const CopiesContext& in) { return FrameworkCopiesOf(in, stage); });
}

TEST(ComputedGradients, StayBesideWiderOnes) {
  const Held held = FirstStage(JobOn(Framework::kDeepSpeed));
  EXPECT_EQ(held.memory.of(LedgerKind::kGradient), Bytes((4 + 2) * kAll));
  EXPECT_EQ(held.SizeOf("computed_gradient"), 2 * kAll);
  EXPECT_EQ(held.SizeOf("gradient"), 4 * kAll);
  for (const LedgerRow& row : held.rows) {
    if (row.kind != LedgerKind::kGradient) continue;
    EXPECT_EQ(row.data_type, row.term == "computed_gradient" ? DataType::kBf16 : DataType::kFp32);
  }
  EXPECT_EQ(FirstStage(JobOn(Framework::kMegatronLm)).SizeOf("computed_gradient"), 0);
}

TEST(ComputedGradients, AreOfTheBf16OptimizerAlone) {
  MemoryJob job = JobOn(Framework::kDeepSpeed);
  job.state.sharding = {.data_parallel_size = 2, .zero_stage = ZeroStage::kOptimizer};
  EXPECT_EQ(FirstStage(job).memory.of(LedgerKind::kGradient), Bytes(6 * kAll));
  job.state.sharding.zero_stage = ZeroStage::kGradients;
  EXPECT_EQ(FirstStage(job).SizeOf("computed_gradient"), 0);
  job.state.sharding = {.offload_optimizer = true};
  EXPECT_EQ(FirstStage(job).SizeOf("computed_gradient"), 0);
  job = JobOn(Framework::kDeepSpeed);
  job.state.precision = WithDefaults({.gradient_data_type = DataType::kBf16});
  EXPECT_EQ(FirstStage(job).memory.of(LedgerKind::kGradient), Bytes(2 * kAll));
}

// The only micro-batch's are computed after the peak, but are present in the optimizer's step.
TEST(ComputedGradients, WaitForTheFirstBackwardPass) {
  MemoryJob job = JobOn(Framework::kDeepSpeed);
  job.pipeline.micro_batch_count = 1;
  job.batch.sequence_length = 1024;
  job.batch.sequence_count = 16;
  job.buffers.gather_bucket_elements = 0;
  const Held held = FirstStage(job);
  ASSERT_NE(held.memory.phase, PeakPhase::kOptimizerStep);
  EXPECT_EQ(held.memory.of(LedgerKind::kGradient), Bytes(4 * kAll));
  job.batch = {.sequence_length = 1};
  job.buffers.reduce_bucket_elements = 0;
  job.buffers.gather_bucket_elements = 1'000'000'000'000;
  const Held step = FirstStage(job);
  ASSERT_EQ(step.memory.phase, PeakPhase::kOptimizerStep);
  EXPECT_EQ(step.memory.of(LedgerKind::kGradient), Bytes(6 * kAll));
}

MemoryJob FsdpJob(int64_t stages) {
  MemoryJob job = JobOn(Framework::kPytorchFsdp, {.pipeline_parallel_size = stages});
  job.state.precision =
      WithDefaults({.weight_data_type = DataType::kFp32, .gradient_data_type = DataType::kFp32});
  job.state.sharding = {.data_parallel_size = 4, .zero_stage = ZeroStage::kParameters};
  return job;
}

TEST(WholeGradients, AreInPlaceOfShardsUnderAPipeline) {
  const Held held = FirstStage(FsdpJob(2));
  EXPECT_EQ(held.SizeOf("whole_gradient"), 4 * kFirstOfTwoStages);
  EXPECT_EQ(held.memory.of(LedgerKind::kGradient), Bytes(0));
  // Without a pipeline each micro-batch's are reduced: a quarter, each tensor's divisible by 4.
  const Held shards = FirstStage(FsdpJob(1));
  EXPECT_EQ(shards.SizeOf("whole_gradient"), 0);
  EXPECT_EQ(shards.memory.of(LedgerKind::kGradient), Bytes(kAll));
}

TEST(WholeGradients, AreWhereReductionWaits) {
  MemoryJob job = FsdpJob(1);
  job.buffers.deferred_reduction = true;
  EXPECT_EQ(FirstStage(job).SizeOf("whole_gradient"), 4 * kAll);
  job.pipeline.micro_batch_count = 1;
  EXPECT_EQ(FirstStage(job).SizeOf("whole_gradient"), 0);
  job = FsdpJob(2);
  job.buffers.gradient_lifetime = GradientLifetime::kAlways;
  EXPECT_EQ(FirstStage(job).SizeOf("whole_gradient"), 0);
  job = FsdpJob(2);
  job.state.sharding.data_parallel_size = 1;
  EXPECT_EQ(FirstStage(job).SizeOf("whole_gradient"), 0);
  job = FsdpJob(2);
  job.state.sharding.zero_stage = ZeroStage::kGradients;
  EXPECT_EQ(FirstStage(job).SizeOf("whole_gradient"), 0);
}

TEST(WholeGradients, OfDualPipeAreOfBothStages) {
  MemoryJob job = FsdpJob(2);
  job.pipeline.schedule = PipelineSchedule::kDualPipe;
  // The head's stage has a copy of the table, and the final norm.
  EXPECT_EQ(FirstStage(job).SizeOf("whole_gradient"), 4 * (kAll + kTable));
}

MemoryJob AutocastJob() {
  MemoryJob job = JobOn(Framework::kPytorchFsdp);
  job.state.precision = WithDefaults({.weight_data_type = DataType::kFp32});
  return job;
}

// The table is looked up in as it is, but the head multiplies with it.
TEST(CastWeights, AreOfMatricesFromForwardToBackward) {
  const FrameworkCopies copies = CopiesOf(AutocastJob());
  EXPECT_EQ(copies.forward_casts, Bytes(2 * (12 * kCastLayer + kTable)));
  EXPECT_EQ(copies.head_casts, copies.forward_casts);
  EXPECT_EQ(copies.layer_casts, copies.forward_casts);
  const Held held = FirstStage(AutocastJob());
  EXPECT_EQ(Bytes(held.SizeOf("cast_weight")), copies.forward_casts);
}

TEST(CastWeights, OfLayersComputedAgainAreOfABlock) {
  MemoryJob job = AutocastJob();
  job.batch.recomputation.policy = RecomputePolicy::kFull;
  const FrameworkCopies one = CopiesOf(job);
  EXPECT_EQ(one.forward_casts, Bytes(2 * (12 * kCastLayer + kTable)));
  EXPECT_EQ(one.head_casts, Bytes(2 * kTable));
  EXPECT_EQ(one.layer_casts, Bytes(2 * kCastLayer));
  job.batch.recomputation.layers_per_block = 3;
  EXPECT_EQ(CopiesOf(job).layer_casts, Bytes(2 * 3 * kCastLayer));
  FirstStage(job);
}

TEST(CastWeights, OfAPipelineStayThroughout) {
  MemoryJob job = AutocastJob();
  job.layout.pipeline_parallel_size = 2;
  job.batch.recomputation.policy = RecomputePolicy::kFull;
  EXPECT_EQ(CopiesOf(job).layer_casts, Bytes(2 * 6 * kCastLayer));
  EXPECT_EQ(CopiesOf(job, Gpt2(), 1).layer_casts, Bytes(2 * (6 * kCastLayer + kTable)));
}

TEST(CastWeights, AreOfWiderWeightsThatNothingGathers) {
  MemoryJob job = AutocastJob();
  job.state.precision = WithDefaults({.weight_data_type = DataType::kBf16});
  EXPECT_EQ(CopiesOf(job).forward_casts, Bytes(0));
  job = AutocastJob();
  job.state.sharding = {.data_parallel_size = 4, .zero_stage = ZeroStage::kParameters};
  EXPECT_EQ(CopiesOf(job).forward_casts, Bytes(0));
  job = AutocastJob();
  job.buffers = BuffersOf({.kind = Framework::kMegatronLm}, {});
  EXPECT_EQ(CopiesOf(job).forward_casts, Bytes(0));
}

// Autograd keeps casts of layers that nothing trains; no cache does.
TEST(CastWeights, OfFrozenLayersAreNotCached) {
  ArchitectureSpec spec = Gpt2();
  spec.decoder.layers = {{.layer_kind = 0, .count = 5, .frozen = true},
                         {.layer_kind = 0, .count = 7}};
  MemoryJob job = AutocastJob();
  EXPECT_EQ(CopiesOf(job, spec).forward_casts, Bytes(2 * (12 * kCastLayer + kTable)));
  job.batch.recomputation.policy = RecomputePolicy::kFull;
  EXPECT_EQ(CopiesOf(job, spec).forward_casts, Bytes(2 * (7 * kCastLayer + kTable)));
}

// PyTorch's pipelines have a buffer to receive each of a step's 8 micro-batches in, and keep what a
// stage sent on of each of the 2 in flight; 128 tokens of h in bf16 are one.
TEST(FrameworkCopies, PipelinesOfPytorchKeepBuffersAndOutputs) {
  constexpr int64_t kSent = 128 * kHidden * 2;
  MemoryJob job = JobOn(Framework::kTorchtitan, {.pipeline_parallel_size = 2});
  job.batch.keeps_stage_outputs = true;
  const Held kept = FirstStage(job);
  EXPECT_EQ(kept.Named("received_output_gradient"), 8 * kSent);
  EXPECT_EQ(kept.Named("stage_output"), 2 * kSent);
  const Held none = FirstStage(JobOn(Framework::kMegatronLm, {.pipeline_parallel_size = 2}));
  EXPECT_EQ(none.Named("received_output_gradient"), kSent);
  EXPECT_EQ(none.Named("stage_output"), 0);
}

// The step of DeepSpeed's optimizer makes a flat copy of a rank's bf16 gradients, 2 bytes each, and
// one in fp32. Neither is at the peak of this job, but the allocator reserves both.
TEST(FrameworkCopies, FlatCopiesOfTheStepAreReserved) {
  MemoryJob job = JobOn(Framework::kDeepSpeed);
  job.batch.sequence_count = 64;
  job.state.precision = WithDefaults(PrecisionPolicy());
  const Held held = FirstStage(job);
  ASSERT_NE(held.memory.phase, PeakPhase::kOptimizerStep);
  EXPECT_EQ(held.memory.step_cache, Bytes((2 + 4) * kAll));
  EXPECT_EQ(held.Named("step_cache"), (2 + 4) * kAll);
  job.state.precision = WithDefaults({.gradient_data_type = DataType::kFp32});
  EXPECT_EQ(FirstStage(job).memory.step_cache, Bytes(0));
  job = JobOn(Framework::kMegatronLm);
  job.state.precision = WithDefaults(PrecisionPolicy());
  EXPECT_EQ(FirstStage(job).memory.step_cache, Bytes(0));
}

TEST(Framework, FsdpUnderAPipelineKeepsWhatIsWhole) {
  const ParallelLayout one;
  const ParallelLayout two = {.pipeline_parallel_size = 2};
  const auto defers = [](const FrameworkSpec& framework, const ParallelLayout& layout) {
    return BuffersOf(framework, layout).deferred_reduction;
  };
  EXPECT_TRUE(defers({.kind = Framework::kPytorchFsdp}, two));
  EXPECT_FALSE(defers({.kind = Framework::kPytorchFsdp}, one));
  EXPECT_FALSE(defers({.kind = Framework::kMegatronLm}, two));
  EXPECT_TRUE(defers({.kind = Framework::kMegatronLm, .deferred_reduction = true}, one));
  EXPECT_FALSE(defers({.kind = Framework::kPytorchFsdp, .deferred_reduction = false}, two));
  EXPECT_FALSE(DefaultReshardAfterForward(TraitsOf(Framework::kPytorchFsdp), two));
  EXPECT_TRUE(DefaultReshardAfterForward(TraitsOf(Framework::kPytorchFsdp), one));
  EXPECT_TRUE(DefaultReshardAfterForward(TraitsOf(Framework::kDeepSpeed), two));
}

constexpr int64_t kBatchTokens = 4 * 1024;

// 50,257 entries, padded by 47.
const ArchitectureSpec& Model() {
  static const ArchitectureSpec padded = [] {
    ArchitectureSpec out = Gpt2();
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
  job.state.precision = WithDefaults({}, framework.traits(), OptimizerKind::kAdamw);
  job.buffers = BuffersOf(framework, layout);
  return job;
}

StandingBuffers On(const MemoryJob& job, bool has_head = true) {
  return CountOf(job, Model(), [has_head](const CopiesContext& in) {
    return StandingBuffersOf(in, 0, has_head);
  });
}

// Queries, keys and values are one 3h x h; the attention's output is h x h; up is 4h x h and down
// h x 4h. Two ranks halve each.
TEST(StandingBuffers, OnePlaceholderForEachShape) {
  const StandingBuffers one = On(JobOf({.kind = Framework::kMegatronLm}));
  EXPECT_EQ(one.placeholder_gradients, Bytes(2 * (3 + 1 + 4 + 4) * kHidden * kHidden));
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
  EXPECT_EQ(On(job).global_buffer, Bytes(2 * kBatchTokens * kHidden));
  EXPECT_EQ(On(job, false).global_buffer, Bytes(0));
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

// 4 ranks' tokens, of which 2 tensor parallel ranks that share each expert hold half.
TEST(StandingBuffers, TheGlobalBufferHoldsTheTokensThatExpertsGather) {
  MemoryJob job = JobOf({.kind = Framework::kMegatronLm},
                        {.tensor_parallel_size = 2, .expert_parallel_size = 4});
  job.state.sharding.data_parallel_size = 4;
  job.batch.expert_dispatch = ExpertDispatch::kAllGather;
  const auto buffer = [&job] {
    return CountOf(job, FindModelPreset("mixtral-8x7b").value()->architecture,
                   [](const CopiesContext& in) { return GlobalBufferOf(in, false); });
  };
  EXPECT_EQ(buffer(), Bytes(2 * (kBatchTokens / 2) * 4 * 2 * 4096));
  job.batch.expert_dispatch = ExpertDispatch::kAllToAll;
  EXPECT_EQ(buffer(), Bytes(0));
}

// Megatron-LM's own attention keeps one layer's scores of all pairs there.
TEST(StandingBuffers, TheGlobalBufferHoldsUnfusedScores) {
  MemoryJob job = JobOf({.kind = Framework::kMegatronLm, .transformer_engine = false},
                        {.tensor_parallel_size = 2});
  job.batch.attention = AttentionKernel::kUnfused;
  EXPECT_EQ(On(job, false).global_buffer, Bytes(2 * kBatchTokens * (12 / 2) * 1024));
}

// ZeRO++'s second shard: 2 N bytes over the ranks that divide it.
TEST(StandingBuffers, ASecondShardIsDivided) {
  MemoryJob job = JobOf({.kind = Framework::kDeepSpeed});
  job.state.sharding = {.data_parallel_size = 16, .zero_stage = ZeroStage::kParameters};
  EXPECT_EQ(On(job).secondary_weights, Bytes(0));
  job.state.sharding.secondary_group_size = 8;
  const int64_t parameters = 124'439'808 + 47 * kHidden;
  EXPECT_EQ(On(job).secondary_weights, Bytes(2 * ((parameters + 7) / 8)));
  EXPECT_EQ(On(job).total(), On(job).secondary_weights);
}

// DistributedDataParallel's buckets hold all gradients once more, in fp32.
TEST(StandingBuffers, BucketsOfSeveralRanks) {
  MemoryJob job = JobOf({.kind = Framework::kPytorchDdp});
  EXPECT_EQ(On(job).gradient_buckets, Bytes(0));
  job.state.sharding.data_parallel_size = 2;
  EXPECT_EQ(On(job).gradient_buckets, Bytes(4 * (124'439'808 + 47 * kHidden)));
}

}  // namespace
}  // namespace sextant
