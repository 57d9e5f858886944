// Times of offloaded state, by hand: 1e9 parameters on a rank, bf16 weights, fp32 gradients, AdamW.
#include "engine/time/offload_time.h"

#include <gtest/gtest.h>

#include "engine/time/optimizer_pass.h"

namespace sextant {
namespace {

constexpr double kOffloadedParameters = 1e9;
constexpr HostRates kRates = {.link = BytesPerSecond(50e9), .update = BytesPerSecond(800e9)};

MemoryJob OffloadJob(ZeroStage stage, GradientOffload way, int64_t micro_batches = 4) {
  MemoryJob out;
  out.state.sharding = {.data_parallel_size = 2, .zero_stage = stage, .offload_optimizer = true};
  PrecisionPolicy& precision = out.state.precision;
  precision.weight_data_type = DataType::kBf16;
  precision.gradient_data_type = precision.optimizer_data_type = DataType::kFp32;
  precision.master_weights = true;
  out.state.optimizer.kind = OptimizerKind::kAdamw;
  out.state.gradient_offload = way;
  out.pipeline.micro_batch_count = micro_batches;
  return out;
}

// Two ranks share out twice as many.
StageWeights Weights() {
  StageWeights out;
  out.by_group[static_cast<size_t>(ShardGroup::kDense)] = {.total = 2'000'000'000,
                                                           .trainable = 2'000'000'000};
  return out;
}

OffloadSeconds WithHostRates(const MemoryJob& job, HostRates rates = kRates) {
  const StageWeights weights = Weights();
  return OffloadSecondsOf({.job = job,
                           .weights = weights,
                           .shard_bytes = 2 * kOffloadedParameters,
                           .node_ranks = 8,
                           .rates = rates});
}

TEST(OptimizerPass, ReadsAndWritesAdamsNumbers) {
  // Gradient, master weight and two moments are read, 16 bytes; the last three and the weight in 16
  // bits written, 14.
  const PassWork pass = OptimizerPass(
      OffloadJob(ZeroStage::kOptimizer, GradientOffload::kAtStep).state, kOffloadedParameters);
  EXPECT_EQ(pass.read_bytes, 16e9);
  EXPECT_EQ(pass.written_bytes, 14e9);
}

TEST(OffloadTime, OnceAStep) {
  const OffloadSeconds out =
      WithHostRates(OffloadJob(ZeroStage::kOptimizer, GradientOffload::kAtStep));
  // 4e9 bytes of gradients there and 2e9 of weights back at 50 GB/s.
  EXPECT_DOUBLE_EQ(out.copies, 0.08 + 0.04);
  // 30e9 bytes at an eighth of 800 GB/s.
  EXPECT_DOUBLE_EQ(out.update, 0.3);
  EXPECT_EQ(out.weights, 0);
  EXPECT_EQ(out.gradients, 0);
}

TEST(OffloadTime, AddedOnTheDevice) {
  const OffloadSeconds out =
      WithHostRates(OffloadJob(ZeroStage::kGradients, GradientOffload::kAddedOnDevice));
  EXPECT_DOUBLE_EQ(out.gradients, 0.08);
  EXPECT_DOUBLE_EQ(out.copies, 0.04);        // weights
  EXPECT_DOUBLE_EQ(out.update, 0.3 + 0.08);  // clipping: 8 bytes a parameter
  EXPECT_EQ(out.addition, 0);
}

TEST(OffloadTime, AddedOnTheHostWithItsWeights) {
  MemoryJob job = OffloadJob(ZeroStage::kParameters, GradientOffload::kAddedOnHost);
  job.state.sharding.offload_parameters = true;
  const OffloadSeconds out = WithHostRates(job);
  EXPECT_DOUBLE_EQ(out.weights, 0.04);
  EXPECT_DOUBLE_EQ(out.gradients, 0.08);
  EXPECT_DOUBLE_EQ(out.addition, 0.12);      // 12 bytes a parameter
  EXPECT_EQ(out.copies, 0);                  // weights stay
  EXPECT_DOUBLE_EQ(out.update, 0.3 + 0.12);  // the norm and clipping: 12 bytes
}

// A rank's part of the host's memory, 100 GB/s, is less than a faster link.
TEST(OffloadTime, CopiesAreNoFasterThanTheHostsMemory) {
  const MemoryJob job = OffloadJob(ZeroStage::kOptimizer, GradientOffload::kAtStep);
  EXPECT_DOUBLE_EQ(WithHostRates(job, {BytesPerSecond(450e9), BytesPerSecond(800e9)}).copies, 0.06);
}

TEST(OffloadTime, NothingWithoutOffloadingOrRates) {
  MemoryJob job = OffloadJob(ZeroStage::kOptimizer, GradientOffload::kAtStep);
  EXPECT_EQ(WithHostRates(job, {}).update, 0);
  EXPECT_EQ(WithHostRates(job, {BytesPerSecond(50e9), {}}).copies, 0);
  job.state.sharding.offload_optimizer = false;
  EXPECT_EQ(WithHostRates(job).update, 0);
}

// Passes of 10 and 20 ms, of which exchanges of shards take 4 and 6.
constexpr ShardPasses kPasses = {
    .forward = 10e-3, .backward = 20e-3, .forward_exchange = 4e-3, .backward_exchange = 6e-3};

TEST(OffloadExposed, PassesHideCopiesAfterExchanges) {
  const MemoryJob job = OffloadJob(ZeroStage::kParameters, GradientOffload::kAddedOnDevice);
  // 6 ms are hidden forward; backward 9 of weights and 3/4 of 8 of earlier gradients up, 8 down:
  // 15 + 6 of 20.
  const OffloadExposed out = ExposedOf({.weights = 9e-3, .gradients = 8e-3}, job, kPasses, 1);
  EXPECT_NEAR(out.forward, 3e-3, 1e-12);
  EXPECT_NEAR(out.backward, 1e-3, 1e-12);
  EXPECT_EQ(out.addition, 0);
}

// An exchange that is not hidden hides no copy: all of it adds.
TEST(OffloadExposed, BeyondAnExchangeAllAdds) {
  ShardPasses passes = kPasses;
  passes.forward_exchange = 12e-3;
  const MemoryJob job = OffloadJob(ZeroStage::kParameters, GradientOffload::kAddedOnDevice);
  EXPECT_NEAR(ExposedOf({.weights = 9e-3}, job, passes, 1).forward, 9e-3, 1e-12);
}

TEST(OffloadExposed, LaterGradientsWaitForTheHost) {
  MemoryJob job = OffloadJob(ZeroStage::kParameters, GradientOffload::kAddedOnHost);
  const OffloadSeconds offload = {.weights = 2e-3, .gradients = 8e-3, .addition = 12e-3};
  const OffloadExposed out = ExposedOf(offload, job, kPasses, 1);
  EXPECT_EQ(out.forward, 0);
  EXPECT_NEAR(out.backward, 6e-3, 1e-12);  // three of four micro-batches
  EXPECT_NEAR(out.addition, 9e-3, 1e-12);
  // A host half as fast: forward 4 and 4 of 10.
  EXPECT_NEAR(ExposedOf(offload, job, kPasses, 2).backward, 12e-3, 1e-12);
  // Reduced once a step, they are sent once.
  job.buffers.deferred_reduction = true;
  EXPECT_EQ(ExposedOf(offload, job, kPasses, 1).backward, 0);
  EXPECT_EQ(ExposedOf(offload, job, kPasses, 1).addition, 0);
}

TEST(OffloadExposed, WeightsThatStayAreCopiedOnce) {
  ShardPasses passes = kPasses;
  passes.gathers_again = false;
  const MemoryJob job = OffloadJob(ZeroStage::kParameters, GradientOffload::kAddedOnHost, 1);
  const OffloadExposed out = ExposedOf({.weights = 40e-3, .gradients = 1e-3}, job, passes, 1);
  EXPECT_NEAR(out.forward, 34e-3, 1e-12);
  EXPECT_EQ(out.backward, 0);
}

}  // namespace
}  // namespace sextant
