// The buckets in which DeepSpeed reduces gradients.
#include <gtest/gtest.h>

#include "engine/memory/ledger/framework_spec.h"
#include "engine/memory/ledger/memory_model.h"
#include "engine/model/presets/presets.h"

namespace sextant {
namespace {

// Those of GPT-2, whose gradients take 0.5 GB.
Bytes CommunicationBuffersOf(const MemoryJob& job) {
  const auto model = MemoryModel::Of(FindModelPreset("gpt2").value()->architecture, job);
  if (!model.ok()) return Bytes(0);
  const auto memory = model->Stage(0);
  return memory.ok() ? memory->of(LedgerKind::kCommunicationBuffer) : Bytes(0);
}

TEST(ReduceBuckets, AreAsLargeAsTheySayWhereTheyAreAllocated) {
  MemoryJob job;
  job.state.precision = WithDefaults({.gradient_data_type = DataType::kFp32});
  job.batch = {.sequence_length = 128};
  job.buffers.reduce_bucket_elements = 1'000'000'000;
  job.buffers.reduce_bucket_whole = true;
  EXPECT_EQ(CommunicationBuffersOf(job), Bytes(4'000'000'000));
  job.buffers.reduce_bucket_count = 2;
  EXPECT_EQ(CommunicationBuffersOf(job), Bytes(8'000'000'000));
}

struct Buckets {
  int64_t count = 0;
  bool whole = false;
  friend bool operator==(const Buckets&, const Buckets&) = default;
};

// `overlap`: what a run says of the stack's constant.
Buckets BucketsOf(const FrameworkSpec& framework, ZeroStage stage,
                  absl::optional<double> overlap = {}, int64_t stages = 1) {
  MemoryJob job = {.layout = {.pipeline_parallel_size = stages}};
  job.state.sharding.zero_stage = stage;
  job.buffers = BuffersOf(framework, job.layout);
  SoftwareSpec software;
  software.of(StackConstant::kDataExchangeOverlap) = overlap;
  FillBuckets(framework, {software, DeviceGeneration::kHopper}, job);
  return {job.buffers.reduce_bucket_count, job.buffers.reduce_bucket_whole};
}

// overlap_comm has a second one at stages 1 and 2; a pipeline copies what it reduces.
TEST(ReduceBuckets, OneIsFilledWhileTheOtherIsReduced) {
  FrameworkSpec deepspeed = {
      .kind = Framework::kDeepSpeed, .named = true, .code = ModelCode::kTransformers};
  EXPECT_EQ(BucketsOf(deepspeed, ZeroStage::kNone), (Buckets{1, false}));
  EXPECT_EQ(BucketsOf(deepspeed, ZeroStage::kOptimizer), (Buckets{2, true}));
  EXPECT_EQ(BucketsOf(deepspeed, ZeroStage::kGradients), (Buckets{2, true}));
  EXPECT_EQ(BucketsOf(deepspeed, ZeroStage::kGradients, 0), (Buckets{1, true}));
  EXPECT_EQ(BucketsOf(deepspeed, ZeroStage::kParameters), (Buckets{1, true}));
  EXPECT_EQ(BucketsOf(deepspeed, ZeroStage::kOptimizer, {}, 2), (Buckets{1, false}));
  deepspeed.code = ModelCode::kMegatron;
  EXPECT_EQ(BucketsOf(deepspeed, ZeroStage::kOptimizer), (Buckets{1, false}));
  const FrameworkSpec fsdp = {.kind = Framework::kPytorchFsdp, .named = true};
  EXPECT_EQ(BucketsOf(fsdp, ZeroStage::kParameters), (Buckets{1, false}));
}

}  // namespace
}  // namespace sextant
