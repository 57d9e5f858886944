// Each assumption about the software that a request can change changes the time of a step, in the
// direction that its name says, and is among the answer's. A stack's overlaps need their layouts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "engine/base/field_violation.h"
#include "engine/base/note.h"
#include "engine/framework/software_stack.h"
#include "tests/engine/run/h100_runs.h"
#include "tests/engine/run/plan_parts.h"

namespace sextant {
namespace {

using Constant = StackConstant;
using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::Not;

RunSpec On(RunSpec run, Framework framework) {
  run.training.recompute = RecomputePolicy::kNone;
  run.layout->parallel.virtual_stage_count = 1;
  run.layout->framework = {.kind = framework, .named = true};
  return run;
}

// 64 H100 in eight DGX: TP8 PP4 DP2 in chunks, ZeRO-1.
RunSpec Dense() {
  RunSpec run = On(RunOnH100s("llama-3-70b", 64, 128), Framework::kMegatronLm);
  run.layout->parallel.tensor_parallel_size = 8;
  run.layout->parallel.pipeline_parallel_size = 4;
  run.layout->parallel.virtual_stage_count = 5;
  run.layout->zero_stage = ZeroStage::kOptimizer;
  return run;
}

RunSpec Narrow() {
  RunSpec run = Dense();
  run.training.precision.compute_data_type = DataType::kFp8E4m3;
  return run;
}

RunSpec Sharded() {
  RunSpec run = On(RunOnH100s("llama-3.1-8b", 64, 64), Framework::kPytorchFsdp);
  run.layout->zero_stage = ZeroStage::kParameters;
  return run;
}

// 64 experts on 32 devices of four servers.
RunSpec Experts() {
  RunSpec run = On(RunOnH100s("deepseek-v2-lite", 32, 128), Framework::kMegatronLm);
  run.layout->parallel.expert_parallel_size = 32;
  run.layout->zero_stage = ZeroStage::kOptimizer;
  return run;
}

// A hidden size of 14,400 over four devices, and heads of 180, as in some of BLOOM's trials.
RunSpec Misaligned() {
  RunSpec run = On(RunOnH100s("", 8, 8, 2048), Framework::kMegatronLm);
  run.model.transformer = {.layer_count = 4,
                           .hidden_size = 14'400,
                           .feed_forward_size = 57'600,
                           .attention_head_count = 80,
                           .vocabulary_size = 51'200,
                           .feed_forward_kind = FeedForwardKind::kPlain,
                           .norm_kind = NormKind::kLayerNorm};
  run.layout->parallel.tensor_parallel_size = 4;
  run.layout->attention = AttentionKernel::kUnfused;
  return run;
}

// A model so small that the host can't start its kernels as fast as the device runs them.
RunSpec Small() { return On(RunOnH100s("pythia-70m", 1, 8, 512), Framework::kPytorchDdp); }

double SecondsWith(RunSpec run, Constant constant, double value) {
  run.layout->software.of(constant) = value;
  const Plan plan = PlannedStep(run);
  EXPECT_EQ(plan.step->software.of(constant), value);
  EXPECT_TRUE(plan.step->software.IsGiven(constant));
  return plan.step->estimate.seconds.expected.value();
}

TEST(StepAssumptions, ChangeTheStepAsTheirNamesSay) {
  const struct {
    Constant constant;
    RunSpec run;
    double faster;
    double slower;
  } cases[] = {
      {Constant::kAttentionTimeRatio, Dense(), 1, 1.5},
      {Constant::kMemoryPassTimeRatio, Dense(), 1, 1.5},
      {Constant::kTensorExchangeExposure, Dense(), 0.5, 1},
      {Constant::kDataExchangeOverlap, Dense(), 0.9, 0},
      {Constant::kOverlapContention, Sharded(), 0.2, 0.6},
      {Constant::kHostSecondsPerLayer, Dense(), 0, 1e-3},
      {Constant::kBroadcastSecondsPerRank, Dense(), 0, 1e-2},
      {Constant::kGrowthPerDoubling, Dense(), 0, 0.01},
      {Constant::kSustainedTimeRatio, Dense(), 1, 1.2},
      {Constant::kNarrowSustainedTimeRatio, Narrow(), 1, 1.2},
      {Constant::kNarrowProductTimeRatio, Narrow(), 1, 1.5},
      {Constant::kExpertTimeRatio, Experts(), 1, 1.5},
      {Constant::kExpertLayerHostSeconds, Experts(), 0, 0.1},
      {Constant::kOneCopyPerNode, Experts(), 1, 0},
      {Constant::kPipelineExchangeExposure, Dense(), 0.3, 1},
      {Constant::kExpertExchangeExposure, Experts(), 0, 1},
      {Constant::kGradientAdditionOverlap, Dense(), 1, 0},
      {Constant::kMisalignedProductTimeRatio, Misaligned(), 1, 1.3},
      {Constant::kMisalignedHeadTimeRatio, Misaligned(), 1, 2},
      {Constant::kOptimizerTimeRatio, Dense(), 1, 3},
      {Constant::kKernelLaunchSeconds, Small(), 1e-6, 2e-5},
      {Constant::kAllReducesGradients, Dense(), 0, 1},
  };
  ASSERT_EQ(sizeof(cases) / sizeof(cases[0]), kStackConstantCount);
  for (const auto& c : cases) {
    EXPECT_LT(SecondsWith(c.run, c.constant, c.faster), SecondsWith(c.run, c.constant, c.slower))
        << StackConstantName(c.constant);
  }
}

// A default of a stack, or of the rule of misaligned sizes, equals the same value given by the
// request: defaults use the same model.
TEST(StepAssumptions, GivenAsTheyAreChangeNothing) {
  const auto expected = [](const RunSpec& run) {
    return PlannedStep(run).step->estimate.seconds.expected.value();
  };
  for (const RunSpec& run : {Dense(), Sharded(), Experts(), Small()}) {
    const SoftwareConstants software = PlannedStep(run).step->software;
    RunSpec given = run;
    for (size_t i = 0; i < kStackConstantCount; ++i) {
      const auto constant = static_cast<Constant>(i);
      if (software.stack->of(constant).source.empty()) continue;
      if (constant == Constant::kExpertTimeRatio) continue;  // of wide products alone
      given.layout->software.of(constant) = software.of(constant);
    }
    EXPECT_EQ(expected(given), expected(run)) << run.model.preset;
  }
  EXPECT_NEAR(SecondsWith(Misaligned(), Constant::kMisalignedProductTimeRatio, 1.3),
              expected(Misaligned()), 1e-12);
  EXPECT_NEAR(SecondsWith(Misaligned(), Constant::kMisalignedHeadTimeRatio, 2),
              expected(Misaligned()), 1e-12);
}

// Gradients of half the bytes take less to add, to exchange and to apply.
TEST(StepAssumptions, NarrowerGradientsAreFaster) {
  RunSpec run = Dense();
  run.training.precision.gradient_data_type = DataType::kFp32;
  const double wide = PlannedStep(run).step->estimate.seconds.expected.value();
  run.training.precision.gradient_data_type = DataType::kBf16;
  EXPECT_LT(PlannedStep(run).step->estimate.seconds.expected.value(), wide);
}

// By hand: of 2 bytes reduced and 2 gathered a parameter, fp8 leaves 1 of those gathered for the
// matrices of layers, which are 97 % of the 70B: 3.03 of 4. Megatron-LM gathers bf16.
TEST(StepAssumptions, MegatronBridgeGathersMatricesInFp8) {
  const auto exchange = [](Framework framework, DataType type) {
    RunSpec run = Dense();
    run.layout->framework.kind = framework;
    run.training.precision.compute_data_type = type;
    run.training.precision.gradient_data_type = DataType::kBf16;
    run.layout->software.name = "generic";
    run.layout->software.of(Constant::kDataExchangeOverlap) = 0;
    return PlannedStep(run).step->estimate.of(StepCause::kDataExchange);
  };
  const double wide = exchange(Framework::kMegatronBridge, DataType::kBf16);
  EXPECT_NEAR(exchange(Framework::kMegatronBridge, DataType::kFp8) / wide, 3.03 / 4, 0.05);
  EXPECT_DOUBLE_EQ(exchange(Framework::kMegatronLm, DataType::kFp8),
                   exchange(Framework::kMegatronLm, DataType::kBf16));
}

// By hand: what the optimizer takes grows by the ratio, and nothing else does.
TEST(StepAssumptions, TheOptimizersRatioIsOfItsStepAlone) {
  RunSpec run = Sharded();
  const Plan once = PlannedStep(run);
  run.layout->software.of(Constant::kOptimizerTimeRatio) = 4;
  const Plan four = PlannedStep(run);
  const auto part = [](const Plan& plan, StepCause cause) { return plan.step->estimate.of(cause); };
  EXPECT_GT(part(four, StepCause::kOptimizer), 2 * part(once, StepCause::kOptimizer));
  EXPECT_LT(part(four, StepCause::kOptimizer), 4 * part(once, StepCause::kOptimizer));
  EXPECT_DOUBLE_EQ(part(four, StepCause::kMatmul), part(once, StepCause::kMatmul));
  EXPECT_DOUBLE_EQ(part(four, StepCause::kMemoryPass), part(once, StepCause::kMemoryPass));
}

// Eight experts on 32 H100: PP2 of EP8.
RunSpec InTwoStages(PipelineSchedule schedule) {
  RunSpec run = RunOnH100s("mixtral-8x7b", 32, 128);
  run.layout->parallel.pipeline_parallel_size = 2;
  run.layout->parallel.expert_parallel_size = 8;
  run.layout->schedule = schedule;
  return run;
}

RunSpec InSequence(bool divided) {
  RunSpec run = Dense();
  run.layout->sequence_parallel = divided;
  return run;
}

RunSpec Divided(ZeroStage stage) {
  RunSpec run = Dense();
  run.layout->zero_stage = stage;
  return run;
}

// Seconds of exchanges of data parallel ranks a step, of 8B on 64 H100 in `count` micro-batches; as
// wide as its weights, gradients are half of what a rank sends in one.
double DataExchange(ZeroStage stage, int64_t count, double hidden) {
  RunSpec run = On(RunOnH100s("llama-3.1-8b", 64, 64 * count), Framework::kDeepSpeed);
  run.training.precision.gradient_data_type = DataType::kBf16;
  run.layout->zero_stage = stage;
  run.layout->software.of(Constant::kDataExchangeOverlap) = hidden;
  run.layout->software.of(Constant::kBroadcastSecondsPerRank) = 0;
  return PlannedStep(run).step->estimate.of(StepCause::kDataExchange);
}

TEST(ZeroStages, TwoReducesInEveryMicroBatch) {
  const double once = DataExchange(ZeroStage::kOptimizer, 1, 0);
  EXPECT_GT(once, 0);
  EXPECT_EQ(DataExchange(ZeroStage::kOptimizer, 8, 0), once);
  EXPECT_EQ(DataExchange(ZeroStage::kGradients, 1, 0), once);
  EXPECT_NEAR(DataExchange(ZeroStage::kGradients, 8, 0) / once, 1 + 7 * 0.5, 1e-9);
  const double overlapped = DataExchange(ZeroStage::kGradients, 8, 0.9);
  EXPECT_NEAR(overlapped / once, 0.1 * (1 + 7 * 0.5), 1e-9);
}

std::vector<std::string> FieldsOfWithheld(const Plan& plan) {
  std::vector<std::string> out;
  for (const Note& note : plan.notes) {
    if (note.kind == NoteKind::kStepAssumed && !note.fields.empty()) out.push_back(note.fields[0]);
  }
  return out;
}

// A stack hides an exchange only under layouts that its source says it of: under others the step is
// that of a request which says that nothing is hidden.
TEST(StackOverlaps, NeedTheirLayout) {
  const struct {
    std::string stack;
    Constant constant;
    StepCause cause;
    RunSpec with;
    RunSpec without;
    double hidden;
    double nothing_hidden;
    std::string field;
  } cases[] = {
      {"deepseek", Constant::kExpertExchangeExposure, StepCause::kExpertExchange,
       InTwoStages(PipelineSchedule::kDualPipe),
       InTwoStages(PipelineSchedule::kOneForwardOneBackward), 0, 1, "layout.schedule"},
      {"deepseek", Constant::kExpertExchangeExposure, StepCause::kExpertExchange,
       InTwoStages(PipelineSchedule::kDualPipe), Experts(), 0, 1, "layout.schedule"},
      {"megatron_bridge", Constant::kTensorExchangeExposure, StepCause::kTensorExchange,
       InSequence(true), InSequence(false), 0.55, 1, "layout.sequence_parallel"},
      {"megascale", Constant::kTensorExchangeExposure, StepCause::kTensorExchange, InSequence(true),
       InSequence(false), 0.5, 1, "layout.sequence_parallel"},
      {"megatron_bridge", Constant::kDataExchangeOverlap, StepCause::kDataExchange,
       Divided(ZeroStage::kOptimizer), Divided(ZeroStage::kNone), 0.9, 0,
       "layout.sharding.zero_stage"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.stack + " " + std::string(StackConstantName(c.constant)));
    RunSpec with = c.with;
    RunSpec without = c.without;
    with.layout->software.name = c.stack;
    without.layout->software.name = c.stack;
    const Plan granted = PlannedStep(with);
    const Plan withheld = PlannedStep(without);
    EXPECT_EQ(granted.step->software.of(c.constant), c.hidden);
    EXPECT_EQ(withheld.step->software.of(c.constant), c.nothing_hidden);
    EXPECT_THAT(FieldsOfWithheld(granted), Not(Contains(c.field)));
    EXPECT_THAT(FieldsOfWithheld(withheld), Contains(c.field));
    const auto exchange = [&](double value) {
      RunSpec given = without;
      given.layout->software.of(c.constant) = value;
      return PlannedStep(given).step->estimate.of(c.cause);
    };
    EXPECT_EQ(withheld.step->estimate.of(c.cause), exchange(c.nothing_hidden));
    EXPECT_GT(withheld.step->estimate.of(c.cause), exchange(c.hidden));
  }
}

// One rank exchanges nothing that could be hidden.
TEST(StackOverlaps, AreNotMissedWhereNothingIsExchanged) {
  RunSpec run = Sharded();
  run.layout->software.name = "deepseek";
  EXPECT_THAT(FieldsOfWithheld(PlannedStep(run)), IsEmpty());
}

// BLOOM's run on A100s: Megatron-DeepSpeed's stack is named where the request names no software.
TEST(StepAssumptions, NameThePublishedRunsSoftware) {
  RunSpec run = RunOnH100s("bloom-176b", 40, 40, 2048);
  run.cluster.device.accelerator = "a100-sxm-80";
  run.cluster.node_type = "dgx-a100";
  run.layout->parallel.tensor_parallel_size = 4;
  run.layout->parallel.pipeline_parallel_size = 10;
  const auto suggests = [&run] {
    for (const Note& note : PlannedStep(run).notes) {
      if (note.fields == std::vector<std::string>{"layout.software.name"}) {
        return absl::StrContains(note.text, "layout.software.name = megatron_deepspeed");
      }
    }
    return false;
  };
  EXPECT_TRUE(suggests());
  run.layout->software.name = "megatron_deepspeed";
  EXPECT_FALSE(suggests());
  run.layout->software.name = "";
  run.layout->framework = {.kind = Framework::kMegatronLm, .named = true};
  EXPECT_FALSE(suggests());
  run.layout->framework = {};
  run.model.preset = "gpt3-175b";  // 96 layers
  run.layout->parallel.pipeline_parallel_size = 4;
  run.cluster.device_count = 16;
  EXPECT_FALSE(suggests());
}

// The stacks that are named exist.
TEST(StepAssumptions, PublishedStacksAreInTheTable) {
  const PublishedStack* const known = PublishedStackOf("deepseek-v3", "h800-sxm");
  ASSERT_NE(known, nullptr);
  FieldViolations violations;
  CheckSoftware({.name = known->stack}, "software", violations);
  EXPECT_TRUE(violations.empty());
  EXPECT_EQ(PublishedStackOf("deepseek-v3", "h100-sxm"), nullptr);
}

}  // namespace
}  // namespace sextant
