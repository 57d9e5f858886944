// Times of offloaded state, by hand: of 1e9 parameters on a rank, bf16 weights, fp32 gradients,
// AdamW, and of steps of whole runs.
#include "engine/time/offload_time.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "engine/run/plan.h"
#include "engine/time/model_operations.h"
#include "tests/engine/run/h100_runs.h"
#include "tests/engine/run/plan_parts.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

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

constexpr double kParameters = 8'030'261'248;

// Eight H100 of one DGX, Llama-3 8B on eight data parallel ranks.
RunSpec Offloaded(Framework framework, ZeroStage stage) {
  RunSpec run = RunOnH100s("llama-3-8b", 8, 16, 8192);
  run.training.recompute = RecomputePolicy::kFull;
  run.training.recompute = RecomputePolicy::kNone;
  run.layout->zero_stage = stage;
  run.layout->sharding.offload_optimizer = true;
  run.layout->framework = {.kind = framework, .named = true};
  run.options.full = true;
  return run;
}

double PartOf(const RunSpec& run, StepCause cause) {
  return PlannedStep(run).step.value_or(StepPlan()).estimate.of(cause);
}

// A DGX H100's memory: 2 x 8 channels x 4.8e9 x 8 = 614.4 GB/s, half of it reached: 38.4 a device,
// less than the link's 0.82 of 63.
constexpr double kUpdateRate = 614.4e9 / 2;
constexpr double kCopyRate = kUpdateRate / 8;

TEST(OffloadPlan, MegatronsStepByHand) {
  const RunSpec run = Offloaded(Framework::kMegatronLm, ZeroStage::kOptimizer);
  // fp32 gradients there, bf16 weights back; 30 bytes a parameter on the host.
  EXPECT_NEAR(PartOf(run, StepCause::kHostCopy), kParameters / 8 * 6 / kCopyRate, 1e-9);
  EXPECT_NEAR(PartOf(run, StepCause::kHostOptimizer), kParameters * 30 / kUpdateRate, 1e-9);
}

TEST(OffloadPlan, DeepSpeedsStepByHand) {
  RunSpec run = Offloaded(Framework::kDeepSpeed, ZeroStage::kGradients);
  // Gradients in 16 bits are hidden; weights come back; 28 bytes a parameter and 4 to clip.
  EXPECT_NEAR(PartOf(run, StepCause::kHostCopy), kParameters / 8 * 2 / kCopyRate, 1e-9);
  EXPECT_NEAR(PartOf(run, StepCause::kHostOptimizer), kParameters * 32 / kUpdateRate, 1e-9);
}

TEST(OffloadPlan, FsdpsStepByHand) {
  RunSpec run = Offloaded(Framework::kTorchtitan, ZeroStage::kParameters);
  run.layout->sharding.offload_parameters = true;
  // fp32 weights, their own master: 28 bytes and 12 for norm and clipping; of two micro-batches the
  // second one's gradients wait, 4 bytes, and are added, 12.
  EXPECT_NEAR(PartOf(run, StepCause::kHostOptimizer), kParameters * 52 / kUpdateRate, 1e-9);
  EXPECT_NEAR(PartOf(run, StepCause::kHostCopy), kParameters / 8 * 4 / kCopyRate, 1e-9);
}

// One device has the host to itself: copies are the link's.
TEST(OffloadPlan, OneDeviceSharesTheHostWithNone) {
  RunSpec run = Offloaded(Framework::kMegatronLm, ZeroStage::kOptimizer);
  run.cluster.device_count = 1;
  EXPECT_NEAR(PartOf(run, StepCause::kHostCopy), kParameters * 6 / (0.82 * 63e9), 1e-9);
  run.cluster.host_link_bytes_per_second = 100e9;
  run.cluster.host_memory_bytes_per_second = 400e9;
  EXPECT_NEAR(PartOf(run, StepCause::kHostCopy), kParameters * 6 / 82e9, 1e-9);
  EXPECT_NEAR(PartOf(run, StepCause::kHostOptimizer), kParameters * 30 / 200e9, 1e-9);
}

// The rates are the answer's, once each and with their sources; without offloading they are not.
TEST(OffloadPlan, NamesTheHostsRates) {
  RunSpec run = Offloaded(Framework::kMegatronLm, ZeroStage::kOptimizer);
  const auto count = [](const Plan& plan, absl::string_view quantity) {
    int out = 0;
    for (const Rate& rate : plan.rates) out += rate.quantity == quantity ? 1 : 0;
    return out;
  };
  const Plan plan = PlannedStep(run);
  EXPECT_EQ(count(plan, "host_copy_bytes_per_second"), 1);
  EXPECT_EQ(count(plan, "host_update_bytes_per_second"), 1);
  const Rate update = RateOf(plan, "host_update_bytes_per_second");
  EXPECT_EQ(update.value, kUpdateRate);
  EXPECT_EQ(update.source, RateSource::kDatasheet);
  EXPECT_THAT(update.citation, HasSubstr("host memory of a dgx-h100: 2 x Xeon 8480C"));
  run.layout->sharding.offload_optimizer = false;
  EXPECT_EQ(count(PlannedStep(run), "host_update_bytes_per_second"), 0);
  EXPECT_EQ(PartOf(run, StepCause::kHostOptimizer), 0);
}

TEST(OffloadPlan, SaysWhichRateIsMissing) {
  RunSpec run = Offloaded(Framework::kMegatronLm, ZeroStage::kOptimizer);
  run.cluster.node_type = "hgx-h100";  // sold with any processors
  const auto missing = [](const RunSpec& of) {
    const Plan plan = Planned(of);
    EXPECT_FALSE(plan.step.has_value());
    return NoteOf(plan, NoteKind::kStepNotPredicted).fields;
  };
  EXPECT_THAT(missing(run), ElementsAre("cluster.host_memory_bytes_per_second"));
  run.cluster.host_memory_bytes_per_second = 600e9;
  EXPECT_GT(PartOf(run, StepCause::kHostOptimizer), 0);
  run.cluster.device.accelerator = "gb200";  // whose link to Grace is not known
  run.cluster.node_type = "";
  EXPECT_THAT(missing(run), ElementsAre("cluster.host_link_bytes_per_second"));
  run.cluster.host_link_bytes_per_second = 225e9;
  EXPECT_GT(PartOf(run, StepCause::kHostOptimizer), 0);
}

// The slowest and the fastest host that a request can have.
TEST(OffloadPlan, TheEndsOfTheRange) {
  RunSpec run = Offloaded(Framework::kTorchtitan, ZeroStage::kParameters);
  run.layout->sharding.offload_parameters = true;
  for (const auto& [link, memory] : {std::pair{1e6, 1e6}, {1e13, 1e15}, {1e6, 1e15}}) {
    run.cluster.host_link_bytes_per_second = link;
    run.cluster.host_memory_bytes_per_second = memory;
    const double seconds = PlannedStep(run).step->estimate.seconds.expected.value();
    EXPECT_TRUE(std::isfinite(seconds) && seconds > 0) << link << " " << memory;
  }
}

// A step that offloads says nothing of one that does not.
TEST(OffloadPlan, AMeasuredStepIsOfItsOwnPlaceOfState) {
  RunSpec run = Offloaded(Framework::kMegatronLm, ZeroStage::kOptimizer);
  MeasuredStep& measured = run.measured_step.emplace();
  measured.seconds = 10;
  measured.layout = *run.layout;
  EXPECT_TRUE(PlannedStep(run).step->calibration->applied);
  measured.layout.sharding.offload_optimizer = false;
  const Plan plan = PlannedStep(run);
  EXPECT_FALSE(plan.step->calibration->applied);
  EXPECT_EQ(plan.step->calibration->factor, 1);
}

}  // namespace
}  // namespace sextant
