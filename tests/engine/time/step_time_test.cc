// A step's time from its stages' sums.
#include "engine/time/step_time.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "engine/framework/software_stack.h"

namespace sextant {
namespace {

// Two H100 nodes, PP2 of TP8; 8 micro-batches.
MemoryJob Job() {
  MemoryJob job;
  job.layout.tensor_parallel_size = 8;
  job.layout.pipeline_parallel_size = 2;
  job.pipeline.micro_batch_count = 8;
  job.state.sharding.zero_stage = ZeroStage::kOptimizer;
  return job;
}

// 10 ms forward and 20 backward of kernels, and 2 ms of exchanges in each pass.
StageTime Stage() {
  StageTime out = {.stage_count = 2, .state = {.layer_count = 4}};
  out.layers.forward.kernels = {6e-3, 0, 3e-3, 1e-3};
  out.layers.forward.tensor.within = 2e-3;
  out.layers.input_gradient.kernels = {6e-3, 0, 4e-3, 1e-3};
  out.layers.input_gradient.tensor.within = 2e-3;
  out.layers.weight_gradient.kernels = {6e-3, 0, 2e-3, 1e-3};
  out.state.optimizer = 5e-3;
  return out;
}

class TimedStep {
 public:
  explicit TimedStep(MemoryJob job = Job())
      : job_(std::move(job)),
        node_(**FindNodeType("dgx-h100")),
        links_(&node_, {}, ResolveNetwork(node_, 2, {}).value()),
        exchanges_(links_, job_, false) {
    Set(StackConstant::kGrowthPerDoubling, 0);
    Set(StackConstant::kOverlapContention, 0.4);
  }

  StepEstimate Of(const std::vector<StageTime>& stages, double send_bytes = 0) const {
    return EstimateStep(InputOf(stages, send_bytes));
  }
  StepInput InputOf(const std::vector<StageTime>& stages, double send_bytes) const {
    return {.job = job_,
            .software = software_,
            .exchanges = exchanges_,
            .stages = stages,
            .send_bytes = send_bytes};
  }
  TimedStep& Set(StackConstant constant, double value) {
    given_.of(constant) = value;
    software_ = ConstantsOf(given_, nullptr, DeviceGeneration::kHopper);
    return *this;
  }

 private:
  MemoryJob job_;
  const NodeType& node_;
  LinkTimes links_;
  ExchangePricer exchanges_;
  SoftwareSpec given_ = {.name = "megatron_lm"};
  SoftwareConstants software_;
};

// m (F + B) + (p - 1) (F + B) + optimizer, exchanges of tensor parallel ranks in full.
TEST(StepTime, OfTwoEvenStagesIsTheHandsSum) {
  const StepEstimate step = TimedStep().Of({Stage()});
  const double pass = 10e-3 + 2e-3 + 20e-3 + 2e-3;
  EXPECT_NEAR(step.seconds.expected.value(), 9 * pass + 5e-3, 1e-12);
  EXPECT_NEAR(step.of(StepCause::kMatmul), 8 * 18e-3, 1e-12);
  EXPECT_NEAR(step.of(StepCause::kAttention), 8 * 9e-3, 1e-12);
  EXPECT_NEAR(step.of(StepCause::kMemoryPass), 8 * 3e-3, 1e-12);
  EXPECT_NEAR(step.of(StepCause::kTensorExchange), 8 * 4e-3, 1e-12);
  EXPECT_NEAR(step.of(StepCause::kPipelineBubble), pass, 1e-12);
  EXPECT_NEAR(step.of(StepCause::kOptimizer), 5e-3, 1e-12);
  EXPECT_NEAR(step.bubble_ratio, 1.0 / 9, 1e-9);
  EXPECT_LT(step.seconds.low.value(), step.seconds.expected.value());
  EXPECT_GT(step.seconds.high.value(), step.seconds.expected.value());
}

TEST(StepTime, PartsSumToTheStep) {
  StageTime stage = Stage();
  stage.state.gather.across = stage.state.gather_again.across = 3e-3;
  stage.state.reduce.across = 2e-3;
  stage.state.data.across = 40e-3;
  stage.layers.forward.context.within = 5e-3;
  stage.layers.forward.expert.across = 1e-3;
  stage.layers.launches = 100'000;
  const StepEstimate step =
      TimedStep().Set(StackConstant::kGrowthPerDoubling, 0.01).Of({stage}, 1e8);
  const double sum = std::accumulate(step.parts.begin(), step.parts.end(), 0.0);
  EXPECT_NEAR(sum, step.seconds.expected.value(), 1e-12);
  for (const double part : step.parts) EXPECT_GE(part, 0);
  EXPECT_GT(step.of(StepCause::kHost), 0);
  EXPECT_GT(step.of(StepCause::kPipelineExchange), 0);
  EXPECT_NEAR(step.of(StepCause::kContextExchange), 8 * 2e-3, 1e-12);  // 5 less attention's 3
  // 16 devices are one doubling beyond eight.
  EXPECT_NEAR(step.of(StepCause::kScale), (sum - step.of(StepCause::kScale)) * 0.01, 1e-12);
}

// A stage with a head, 5 ms more forward and 10 backward: half of the micro-batches of both stages
// meet it, and all parts still sum to the pipeline.
TEST(StepTime, ExchangesAmongExpertsAddTheirExposure) {
  StageTime stage = Stage();
  stage.layers.forward.expert.across = 1e-3;
  const double full = TimedStep().Of({stage}).of(StepCause::kExpertExchange);
  EXPECT_NEAR(full, 8 * 1e-3, 1e-12);
  const StepEstimate hidden =
      TimedStep().Set(StackConstant::kExpertExchangeExposure, 0.25).Of({stage});
  EXPECT_NEAR(hidden.of(StepCause::kExpertExchange), full / 4, 1e-12);
}

// Two stages, eight micro-batches, a head whose weight gradient takes 4 ms. Without it the pipeline
// takes nine passes of 34 ms. The last stage then computes 8 x 4 ms of them, 22 of which the first
// stage's last backward pass takes, too. Not put off, each of the last stage's passes takes 4 ms
// longer: 8 x 38 + 34.
TEST(StepTime, DeferredHeadGradientsTakeTheTimeOfTheOthersEnd) {
  StageTime first = Stage();
  first.stage_count = 1;
  first.state = {.layer_count = 4};
  StageTime last = first;
  last.first_stage = 1;
  last.outside.weight_gradient.kernels[0] = 4e-3;
  MemoryJob job = Job();
  const auto seconds = [&](int64_t deferred) {
    job.pipeline.deferred_head_gradients = deferred;
    const StepEstimate step = TimedStep(job).Of({first, last});
    EXPECT_NEAR(std::accumulate(step.parts.begin(), step.parts.end(), 0.0),
                step.seconds.expected.value(), 1e-12);
    EXPECT_NEAR(step.of(StepCause::kMatmul), 8 * (18e-3 + 4e-3), 1e-12);
    return step.seconds.expected.value();
  };
  EXPECT_NEAR(seconds(0), 8 * 38e-3 + 34e-3, 1e-12);
  EXPECT_NEAR(seconds(8), 9 * 34e-3 + 32e-3 - 22e-3, 1e-12);
  EXPECT_EQ(seconds(1'000'000'000), seconds(8));
  // Four hide in the first stage's pass; the last stage's passes take half of 4 ms longer.
  EXPECT_NEAR(seconds(4), 8 * 36e-3 + 34e-3, 1e-12);
}

TEST(StepTime, DualPipesStagesShareTheirWork) {
  MemoryJob job = Job();
  job.pipeline.schedule = PipelineSchedule::kDualPipe;
  StageTime first = Stage();
  first.stage_count = 1;
  StageTime last = first;
  last.first_stage = 1;
  last.layers.forward.kernels[0] += 5e-3;
  last.layers.input_gradient.kernels[0] += 10e-3;
  const StepEstimate step = TimedStep(job).Of({first, last});
  EXPECT_NEAR(step.of(StepCause::kMatmul), 4 * 18e-3 + 4 * 33e-3, 1e-12);
  const StepEstimate swapped = TimedStep(job).Of({first, first});
  EXPECT_GT(step.seconds.expected.value(), swapped.seconds.expected.value() + 4 * 15e-3 - 1e-12);
  EXPECT_GE(step.of(StepCause::kPipelineBubble), 0);
}

// C = 6 of forward's 12 hidden: 0.4 x 6; backward 6 + 4 of 22.
TEST(StepTime, HiddenShardsSlowWhatHidesThem) {
  MemoryJob job = Job();
  job.state.sharding.zero_stage = ZeroStage::kParameters;
  StageTime stage = Stage();
  stage.state.gather.within = stage.state.gather_again.within = 6e-3;
  stage.state.reduce.within = 4e-3;
  const TimedStep of(job);
  EXPECT_NEAR(of.Of({stage}).of(StepCause::kShardExchange), 8 * 0.4 * (6e-3 + 10e-3), 1e-12);
  stage.state.gather.within = stage.state.gather_again.within = 50e-3;  // beyond both passes
  const double forward = (50e-3 - 12e-3) + 0.4 * 12e-3;
  const double backward = (54e-3 - 22e-3) + 0.4 * 22e-3;
  EXPECT_NEAR(of.Of({stage}).of(StepCause::kShardExchange), 8 * (forward + backward), 1e-12);
}

// Forward 12 ms hide 20 of copies, backward 22 hide 20; gradients wait for the step.
TEST(StepTime, AddsWhatOffloadedStateTakes) {
  MemoryJob job = Job();
  job.state.sharding.zero_stage = ZeroStage::kParameters;
  job.state.sharding.offload_optimizer = true;
  StageTime stage = Stage();
  stage.state.offload = {.weights = 20e-3, .copies = 30e-3, .update = 70e-3};
  const StepEstimate before = TimedStep(job).Of({Stage()});
  const StepEstimate step = TimedStep(job).Of({stage});
  EXPECT_NEAR(step.of(StepCause::kHostCopy), 8 * 8e-3 + 30e-3, 1e-12);
  EXPECT_NEAR(step.of(StepCause::kHostOptimizer), 70e-3, 1e-12);
  // A ninth micro-batch waits in the pipeline's bubble.
  EXPECT_NEAR(step.seconds.expected.value(), before.seconds.expected.value() + 9 * 8e-3 + 0.1,
              1e-12);
}

// Nine tenths of what two micro-batches of 34 ms can hide.
TEST(StepTime, PassesHideTheDataExchange) {
  StageTime stage = Stage();
  stage.state.data.across = 40e-3;
  EXPECT_NEAR(TimedStep().Of({stage}).of(StepCause::kDataExchange), 40e-3 * 0.1, 1e-12);
  stage.state.data.across = 100e-3;
  EXPECT_NEAR(TimedStep().Of({stage}).of(StepCause::kDataExchange), 100e-3 - 0.9 * 68e-3, 1e-12);
  TimedStep none;
  none.Set(StackConstant::kDataExchangeOverlap, 0);
  EXPECT_NEAR(none.Of({stage}).of(StepCause::kDataExchange), 100e-3, 1e-12);
}

TEST(StepTime, TheHostAddsWhatTheDeviceWaits) {
  StageTime stage = Stage();
  stage.layers.launches = 5000;  // 40 ms in place of 34
  EXPECT_NEAR(TimedStep().Of({stage}).of(StepCause::kHost), 8 * 6e-3, 1e-12);
  stage.layers.launches = 4000;
  EXPECT_EQ(TimedStep().Of({stage}).of(StepCause::kHost), 0);
  TimedStep eager;
  eager.Set(StackConstant::kHostSecondsPerLayer, 1e-3);
  EXPECT_NEAR(eager.Of({stage}).of(StepCause::kHost), 8 * 4e-3, 1e-12);
}

// 4 layers of 12 ms: 16 forward in place of 12, 32 backward in place of 22. The wait hides shards.
TEST(StepTime, LayersOfExpertsTakeTheHostsTimeAtLeast) {
  MemoryJob job = Job();
  job.state.sharding.zero_stage = ZeroStage::kParameters;
  StageTime stage = Stage();
  stage.layers.launches = 1;
  stage.expert_layers = stage.layers;
  stage.state.expert_layers = 4;
  stage.state.gather.within = stage.state.gather_again.within = 50e-3;
  TimedStep of(job);
  of.Set(StackConstant::kExpertLayerHostSeconds, 12e-3);
  const StepEstimate step = of.Of({stage});
  EXPECT_NEAR(step.of(StepCause::kHost), 8 * (4e-3 + 10e-3), 1e-12);
  const double forward = (50e-3 - 16e-3) + 0.4 * 16e-3;
  const double backward = (50e-3 - 32e-3) + 0.4 * 32e-3;
  EXPECT_NEAR(step.of(StepCause::kShardExchange), 8 * (forward + backward), 1e-12);
}

TEST(StepTime, ScalesWithAllOfItsTimes) {
  const auto scaled = [](double by) {
    StageTime stage = Stage();
    for (PassSeconds* const pass :
         {&stage.layers.forward, &stage.layers.input_gradient, &stage.layers.weight_gradient}) {
      for (double& kernel : pass->kernels) kernel *= by;
      pass->tensor.within *= by;
    }
    stage.state.data.across = 80e-3 * by;
    stage.state.optimizer *= by;
    return TimedStep().Of({stage}).seconds.expected.value();
  };
  EXPECT_NEAR(scaled(0.5), 0.5 * scaled(1), 1e-12);
  EXPECT_NEAR(scaled(3), 3 * scaled(1), 1e-12);
}

// A rate that is a tenth higher saves a part's share less a tenth of an eleventh.
TEST(StepTime, SensitivitiesFollowTheParts) {
  const TimedStep of;
  StepEstimate step = of.Of({Stage()});
  const std::vector<StageTime> stages = {Stage()};
  AddSensitivities(of.InputOf(stages, 0), step);
  ASSERT_EQ(step.sensitivities.size(), 3U);
  EXPECT_EQ(step.sensitivities[0].rate, StepRate::kArithmetic);
  const double arithmetic = 9 * 27e-3 / step.seconds.expected.value();
  EXPECT_NEAR(step.sensitivities[0].saved_share, arithmetic * (1 - 1 / 1.1), 1e-9);
  double sum = 0;
  for (const StepSensitivity& each : step.sensitivities) sum += each.saved_share;
  EXPECT_NEAR(sum, 1 - 1 / 1.1, 1e-9);
}

// sd^2 = 0.03^2 + sum (share x doubt)^2 of 0.144 s of products (0.06), 0.072 of attention (0.15),
// 0.024 of passes over memory (0.25), 0.032 of tensor exchange (0.3), 0.034 of bubble (0.25) and
// 0.005 of the optimizer (0.5) in a step of 0.311 s: sd = 0.0708125. Ends are -1.0 and 0.8 sd.
TEST(StepTime, TheIntervalIsOfItsPartsDoubts) {
  const StepEstimate step = TimedStep().Of({Stage()});
  EXPECT_NEAR(step.seconds.low.value() / step.seconds.expected.value(), 0.9316366, 1e-7);
  EXPECT_NEAR(step.seconds.high.value() / step.seconds.expected.value(), 1.0582853, 1e-7);
}

// Attention of a datasheet: 0.18 to 0.5 standard errors, each 1.2816 of which are an end, of the
// 9 ms of a micro-batch. Instead of 0.15 below and above: sd = 0.0744649 and 0.1311786.
TEST(StepTime, KernelsOfADatasheetAreAtLeastAsUnsureAsItSays) {
  StageTime stage = Stage();
  const auto attention = static_cast<size_t>(KernelKind::kAttention);
  stage.layers.ends[attention] = {.below = 0.18 * 1.2816 * 9e-3, .above = 0.5 * 1.2816 * 9e-3};
  SecondsInterval seconds = TimedStep().Of({stage}).seconds;
  EXPECT_NEAR(seconds.low.value() / seconds.expected.value(), 0.9282400, 1e-7);
  EXPECT_NEAR(seconds.high.value() / seconds.expected.value(), 1.1106472, 1e-7);
  // Ends nearer than the usual doubt say nothing.
  stage.layers.ends[attention] = {.below = 1e-4, .above = 1e-4};
  seconds = TimedStep().Of({stage}).seconds;
  EXPECT_NEAR(seconds.high.value() / seconds.expected.value(), 1.0582853, 1e-7);
}

TEST(SoftwareStack, NamesAreChecked) {
  FieldViolations violations;
  CheckSoftware({.name = "megatron-lmm"}, "layout.software", violations);
  EXPECT_TRUE(violations.Mentions("layout.software.name"));
  EXPECT_EQ(violations.all().size(), 1U);
}

TEST(SoftwareStack, EveryStackWithholdsWhatItsLayoutLacks) {
  for (const SoftwareStack& stack : SoftwareStacks()) {
    for (size_t i = 0; i < kStackConstantCount; ++i) {
      const auto constant = static_cast<StackConstant>(i);
      const StackValue& value = stack.of(constant);
      if (value.source.empty()) continue;
      const SoftwareConstants bare =
          ConstantsOf({.name = stack.name}, nullptr, DeviceGeneration::kHopper).Under({});
      EXPECT_EQ(bare.IsWithheld(constant), value.needs != OverlapNeed::kNothing)
          << stack.name << " " << StackConstantName(constant);
    }
  }
}

}  // namespace
}  // namespace sextant
