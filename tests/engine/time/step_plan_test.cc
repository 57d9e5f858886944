// The predicted step of whole runs: properties that any run has, and what keeps it from being
// predicted.
#include "engine/run/step_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "engine/run/plan.h"
#include "tests/engine/run/h100_runs.h"
#include "tests/engine/run/plan_parts.h"
#include "tests/support/note_matchers.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// 64 H100 in eight DGX, 70B parameters: TP8 PP4 DP2, ZeRO-1.
RunSpec Llama70b() {
  RunSpec run = RunOnH100s("llama-3-70b", 64, 128, 8192);
  run.training.recompute = RecomputePolicy::kNone;
  run.layout->parallel.tensor_parallel_size = 8;
  run.layout->parallel.pipeline_parallel_size = 4;
  run.layout->parallel.virtual_stage_count = 1;
  run.layout->zero_stage = ZeroStage::kOptimizer;
  run.layout->framework = {.kind = Framework::kMegatronLm, .named = true};
  return run;
}

double PlanSecondsOf(const RunSpec& run) {
  return PlannedStep(run).step.value_or(StepPlan()).estimate.seconds.expected.value();
}

TEST(StepPlan, LeadsTheEstimates) {
  const Plan plan = PlannedStep(Llama70b());
  ASSERT_FALSE(plan.estimates.empty());
  const TimeEstimate& predicted = plan.estimates.front();
  EXPECT_EQ(predicted.kind, EstimateKind::kPredicted);
  // 1e12 tokens in steps of 128 x 8,192.
  const double steps = 1e12 / (128.0 * 8192);
  EXPECT_NEAR(predicted.duration.value(), steps * PlanSecondsOf(Llama70b()), 1e-6);
  EXPECT_LT(predicted.low.value(), predicted.duration.value());
  EXPECT_GT(predicted.high.value(), predicted.duration.value());
  EXPECT_GT(predicted.duration.value(), plan.estimate(EstimateKind::kLowerBound)->duration.value());
  // By the definition of MFU: FLOPs over peak x devices x time.
  const double flops = plan.flops.used().run.value();
  EXPECT_NEAR(*predicted.mfu, flops / (64 * 989.4e12 * predicted.duration.value()), 1e-3);
}

TEST(StepPlan, FewerTokensNeverSlowAStep) {
  RunSpec run = Llama70b();
  const double long_sequences = PlanSecondsOf(run);
  run.training.sequence_length = 4096;
  EXPECT_LT(PlanSecondsOf(run), long_sequences);
  run = Llama70b();
  run.layout->global_batch_size = 64;
  EXPECT_LT(PlanSecondsOf(run), long_sequences);
}

// One rank has nothing to divide: its gradients are added up as under any other stage.
TEST(StepPlan, ZeroStage3OfOneRankIsStage1) {
  RunSpec run = Llama70b();
  run.cluster.device_count = 32;
  const double stage_1 = PlanSecondsOf(run);
  run.layout->zero_stage = ZeroStage::kParameters;
  EXPECT_NEAR(PlanSecondsOf(run), stage_1, 1e-9 * stage_1);
}

TEST(StepPlan, RecomputationCostsTime) {
  RunSpec run = Llama70b();
  const double none = PlanSecondsOf(run);
  run.training.recompute = RecomputePolicy::kFull;
  const double full = PlanSecondsOf(run);
  // A forward pass more of three, and its exchanges.
  EXPECT_GT(full, 1.2 * none);
  EXPECT_LT(full, 1.4 * none);
}

// With one micro-batch a stage waits for all others.
TEST(StepPlan, MoreStagesWithOneMicroBatchWaitMore) {
  double before = 0;
  for (const int64_t stages : {2, 4, 8}) {
    RunSpec run = Llama70b();
    run.layout->parallel.pipeline_parallel_size = stages;
    run.layout->global_batch_size = 8 / stages;
    const double ratio = PlannedStep(run).step->estimate.bubble_ratio;
    EXPECT_GT(ratio, before);
    before = ratio;
  }
}

TEST(StepPlan, SaysWhatIsMissing) {
  const auto why = [](const RunSpec& run, const char* words) {
    const Plan plan = Planned(run);
    EXPECT_FALSE(plan.step.has_value());
    EXPECT_EQ(plan.estimate(EstimateKind::kPredicted), nullptr);
    EXPECT_THAT(plan.notes, Contains(IsNote(NoteKind::kStepNotPredicted, HasSubstr(words))));
    EXPECT_THAT(NoteOf(plan, NoteKind::kStepNotPredicted).fields, ElementsAre(words));
  };
  RunSpec run = Llama70b();
  run.layout->global_batch_size.reset();
  why(run, "layout.global_batch_size");
  run = Llama70b();
  run.cluster.node_type = "";
  why(run, "cluster.network");
  run.cluster.device.accelerator = "rtx-5090";
  why(run, "cluster.node_type");
}

TEST(StepPlan, RefusesSeveralServersWithoutANetwork) {
  RunSpec run = Llama70b();
  run.cluster.node_type = "hgx-h100";
  EXPECT_THAT(PlanRun(run), NamesFields(std::vector<std::string>{"cluster.network"}));
  run.cluster.network.name = "ib-ndr";
  EXPECT_THAT(PlanRun(run), IsOk());
  run.cluster.node_type = "dgx-a100";
  EXPECT_THAT(PlanRun(run), NamesFields(std::vector<std::string>{"cluster.node_type"}));
  run.cluster.node_type = "dgx-h1000";
  EXPECT_THAT(PlanRun(run), NamesFields(std::vector<std::string>{"cluster.node_type"}));
}

TEST(StepPlan, RefusesSizesThatDoNotGoTogether) {
  const auto refused = [](void (*change)(RunSpec&), const char* field) {
    RunSpec run = Llama70b();
    change(run);
    EXPECT_THAT(PlanRun(run), NamesFields(std::vector<std::string>{field}));
  };
  refused([](RunSpec& run) { run.cluster.device_count = 65; }, "cluster.device_count");
  refused([](RunSpec& run) { run.layout->micro_batch_size = 3; }, "layout.global_batch_size");
  refused([](RunSpec& run) { run.layout->global_batch_size = 129; }, "layout.global_batch_size");
}

TEST(StepPlan, OpenChoicesWidenTheInterval) {
  RunSpec run = Llama70b();
  const StepPlan closed = *PlannedStep(run).step;
  run.training.recompute.reset();
  const Plan open = PlannedStep(run);
  EXPECT_EQ(open.step->estimate.seconds.expected.value(), closed.estimate.seconds.expected.value());
  EXPECT_GT(open.step->estimate.seconds.high.value(), closed.estimate.seconds.high.value());
  EXPECT_THAT(open.notes, Contains(IsNote(NoteKind::kStepOpen, HasSubstr("training.recompute"))));
  EXPECT_THAT(PlannedStep(Llama70b()).notes,
              Not(Contains(IsNote(NoteKind::kStepOpen, HasSubstr("")))));
}

// Twice as slow as predicted on its own layout: the run's has seven eighths of that error, in
// logarithms, and is surer.
TEST(StepPlan, AMeasuredStepCalibratesItsNeighbours) {
  RunSpec run = Llama70b();
  const StepEstimate alone = PlannedStep(run).step->estimate;
  MeasuredStep measured = {.layout = *run.layout};
  measured.layout.parallel.pipeline_parallel_size = 8;
  RunSpec other = run;
  other.layout = measured.layout;
  measured.seconds = 2 * PlanSecondsOf(other);
  run.measured_step = measured;
  const Plan plan = PlannedStep(run);
  const StepEstimate& step = plan.step->estimate;
  const double factor = std::pow(2, 14. / 16);
  EXPECT_NEAR(step.seconds.expected.value(), factor * alone.seconds.expected.value(), 1e-9);
  EXPECT_NEAR(step.of(StepCause::kMatmul), factor * alone.of(StepCause::kMatmul), 1e-9);
  EXPECT_NEAR(plan.step->calibration->ratio, 2, 1e-9);
  EXPECT_NEAR(plan.step->calibration->factor, factor, 1e-9);
  EXPECT_EQ(plan.step->calibration->distance, 2);  // PP4 to PP8, DP2 to DP1
  EXPECT_LT(step.seconds.high.value() / step.seconds.expected.value(), 1.08);
  EXPECT_THAT(plan.notes, Contains(IsNote(NoteKind::kStepCalibrated, HasSubstr("multiplied"))));
  EXPECT_NEAR(plan.estimates.front().duration.value(),
              1e12 / (128.0 * 8192) * step.seconds.expected.value(), 1e-6);
}

TEST(StepPlan, AMeasuredStepFarAwaySaysLess) {
  RunSpec run = Llama70b();
  const SecondsInterval alone = PlannedStep(run).step->estimate.seconds;
  MeasuredStep measured = {.seconds = 100, .layout = *run.layout};
  measured.layout.parallel.tensor_parallel_size = 1;
  measured.layout.parallel.pipeline_parallel_size = 16;
  run.measured_step = measured;
  const Plan plan = PlannedStep(run);
  const StepCalibration& found = *plan.step->calibration;
  EXPECT_EQ(found.distance, 6);  // TP8 to 1, PP4 to 16, DP2 to 4
  EXPECT_NEAR(found.factor, std::pow(found.ratio, 10. / 16), 1e-12);
  // As sure as without it.
  const SecondsInterval& step = plan.step->estimate.seconds;
  EXPECT_NEAR(step.expected.value(), alone.expected.value() * found.factor, 1e-9);
  EXPECT_NEAR(step.low.value(), alone.low.value() * found.factor, 1e-9);
  EXPECT_NEAR(step.high.value(), alone.high.value() * found.factor, 1e-9);
}

TEST(StepPlan, OtherRecomputationIsTwoDoublings) {
  RunSpec run = Llama70b();
  run.measured_step =
      MeasuredStep{.seconds = 100, .layout = *run.layout, .recompute = RecomputePolicy::kFull};
  EXPECT_EQ(PlannedStep(run).step->calibration->distance, 2);
}

// The least that a step of `plan`'s run takes on 64 H100s, of 989.4e12 FLOP/s each.
double LeastSecondsOf(const Plan& plan) {
  return plan.flops.hardware->hardware_per_token.value() * 128 * 8192 / (64 * 989.4e12);
}

TEST(StepPlan, AMeasuredStepTakesWhatItsFlopsTakeAtThePeak) {
  RunSpec run = Llama70b();
  const double least = LeastSecondsOf(PlannedStep(run));
  run.measured_step = MeasuredStep{.seconds = 1.0001 * least, .layout = *run.layout};
  const Plan plan = PlannedStep(run);
  EXPECT_LE(*plan.estimates.front().hfu, 1);
  EXPECT_GT(*plan.estimates.front().hfu, 0.999);
  run.measured_step->seconds = 0.9999 * least;
  EXPECT_THAT(PlanRun(run), HasViolation("measured_step.seconds", HasSubstr("9.894e+14 FLOP/s")));
}

// 8.03e9 parameters of 14 bytes (bf16, and three numbers in fp32) on 8 H100s: 14.05 GB each, less
// 50 MiB of cache, read and written at 3.35e12 B/s: 8.36 ms, and 8.39 ms without the cache. Its
// FLOPs take 5.8 ms.
TEST(StepPlan, AMeasuredStepOfFewTokensTakesWhatItsBytesTake) {
  RunSpec run = RunOnH100s("llama-3-8b", 8, 8, 128);
  run.measured_step = MeasuredStep{.seconds = 0.00837, .layout = *run.layout};
  EXPECT_THAT(PlanRun(run), IsOk());
  run.measured_step->seconds = 0.00835;
  EXPECT_THAT(PlanRun(run), HasViolation("measured_step.seconds", HasSubstr("bytes a second")));
}

// A step that is possible, but far shorter than predicted for its slow software.
TEST(StepPlan, AMeasuredStepMakesNoOtherImpossible) {
  RunSpec run = Llama70b();
  const double least = LeastSecondsOf(PlannedStep(run));
  run.measured_step = MeasuredStep{.seconds = 2 * least, .layout = *run.layout};
  run.measured_step->layout.software.of(StackConstant::kHostSecondsPerLayer) = 1;
  EXPECT_THAT(PlanRun(run), HasViolation("measured_step.seconds", HasSubstr("give at least")));
}

TEST(StepPlan, APeakIsNotBelowThePrediction) {
  RunSpec run = Llama70b();
  const double hfu = *PlannedStep(run).estimates.front().hfu;
  run.cluster.peak_flops_per_second = 1.001 * hfu * 989.4e12;
  EXPECT_NEAR(*PlannedStep(run).estimates.front().hfu, 1 / 1.001, 1e-9);
  run.cluster.peak_flops_per_second = 0.999 * hfu * 989.4e12;
  EXPECT_THAT(PlanRun(run), HasViolation("cluster.peak_flops_per_second", HasSubstr("HFU")));
}

TEST(StepPlan, AMeasuredStepsErrorsAreItsFields) {
  RunSpec run = Llama70b();
  run.measured_step = MeasuredStep{.seconds = -1, .layout = *run.layout};
  EXPECT_THAT(PlanRun(run), NamesFields(std::vector<std::string>{"measured_step.seconds"}));
  run.measured_step->seconds = 1;
  run.measured_step->layout.parallel.tensor_parallel_size = 3;
  EXPECT_THAT(PlanRun(run), NamesFields(Contains(HasSubstr("measured_step.layout"))));
  run = Llama70b();
  run.measured_step = MeasuredStep{.seconds = 1, .layout = *run.layout};
  run.layout->global_batch_size.reset();
  EXPECT_THAT(PlanRun(run), NamesFields(std::vector<std::string>{"measured_step"}));
}

// Gigantic and tiny runs.
TEST(StepPlan, OfAMillionDevicesIsFinite) {
  RunSpec run = Llama70b();
  run.cluster.device_count = 1'000'000;
  run.layout->parallel.pipeline_parallel_size = 1;
  run.layout->global_batch_size = 125'000;
  EXPECT_GT(PlanSecondsOf(run), 0);
  run = Llama70b();
  run.model.preset = "gpt2";
  run.training.sequence_length = 1;
  run.cluster.device_count = 1;
  run.layout = RunLayout{};
  run.layout->global_batch_size = 1;
  EXPECT_GT(PlanSecondsOf(run), 0);
}

// An H100's products and attention are of published measurements, its passes over memory of the
// datasheet's bandwidth; exchanges have no share.
TEST(StepPlan, NamesTheSourcesOfItsKernels) {
  RunSpec run = Llama70b();
  const std::vector<KernelTimeShare> basic = PlannedStep(run).step->kernel_sources;
  run.options.full = run.options.include_operations = true;
  const Plan plan = PlannedStep(run);
  ASSERT_EQ(basic.size(), plan.step->kernel_sources.size());
  for (size_t i = 0; i < basic.size(); ++i) {
    EXPECT_EQ(basic[i].share, plan.step->kernel_sources[i].share);
  }
  double sum = 0;
  double datasheet = 0;
  double before = 1;
  for (const KernelTimeShare& each : plan.step->kernel_sources) {
    EXPECT_LE(each.share, before) << each.source.citation;
    before = each.share;
    sum += each.share;
    if (each.source.source == RateSource::kDatasheet) datasheet += each.share;
  }
  EXPECT_NEAR(sum, 1, 1e-12);
  const StageCompute* slowest = &plan.compute->stages.front();
  for (const StageCompute& stage : plan.compute->stages) {
    if (stage.micro_batch.expected > slowest->micro_batch.expected) slowest = &stage;
  }
  double all = 0;
  double passes = 0;
  for (const TimedOperation& op : slowest->operations) {
    const auto kind = KernelKindOf(op.op);
    if (!kind.has_value()) continue;
    all += op.time.expected.value();
    if (*kind == KernelKind::kMemoryPass) passes += op.time.expected.value();
  }
  EXPECT_GT(passes, 0);
  EXPECT_NEAR(datasheet, passes / all, 1e-12);
}

// The stage's operations as they are listed, of all micro-batches.
TEST(StepPlan, NamesTheLongestOperations) {
  RunSpec run = Llama70b();
  EXPECT_TRUE(PlannedStep(run).step->longest_operations.empty());
  run.options.full = run.options.include_operations = true;
  const Plan plan = PlannedStep(run);
  const std::vector<LongOperation>& longest = plan.step->longest_operations;
  ASSERT_EQ(longest.size(), kLongestOperations);
  EXPECT_EQ(longest.front().module, "feed_forward");
  EXPECT_EQ(longest.front().bound, OperationBound::kArithmetic);
  EXPECT_GT(longest.front().rate.value(), 300e12);
  const StageCompute* slowest = &plan.compute->stages.front();
  for (const StageCompute& stage : plan.compute->stages) {
    if (stage.micro_batch.expected > slowest->micro_batch.expected) slowest = &stage;
  }
  double before = 1e300;
  bool exchanges = false;
  for (const LongOperation& each : longest) {
    EXPECT_LE(each.seconds.value(), before);
    before = each.seconds.value();
    double sum = 0;
    for (const TimedOperation& op : slowest->operations) {
      if (op.op.module == each.module && op.op.name == each.name && op.op.pass == each.pass) {
        sum += op.time.expected.value();
      }
    }
    const auto count = static_cast<double>(plan.step->estimate.micro_batch_count);
    EXPECT_NEAR(each.seconds.value(), count * sum, 1e-9 * before) << each.module << each.name;
    exchanges = exchanges || each.bound == OperationBound::kExchange;
  }
  EXPECT_TRUE(exchanges);
}

// For a frozen 70B model, stage 3 gathers 0.5625 bytes a weight in place of 2; adapters alone have
// gradients to reduce. 64 GPUs of 8 servers.
TEST(StepPlan, QuantisedWeightsAreGatheredAsTheyAreStored) {
  RunSpec run = Llama70b();
  run.layout->parallel = {};
  run.layout->zero_stage = ZeroStage::kParameters;
  const double whole = PlanSecondsOf(run);
  run.model.changes.base_frozen = true;
  run.model.changes.adapters.emplace();
  run.model.changes.adapters->rank = 16;
  run.model.changes.adapters->targets = {{"attention", "query"}};
  const auto exchange = [](const RunSpec& of) {
    return PlannedStep(of).step->estimate.parts[static_cast<size_t>(StepCause::kShardExchange)];
  };
  const double frozen = exchange(run);
  EXPECT_LT(PlanSecondsOf(run), 0.75 * whole);
  run.layout->frozen.data_type = DataType::kFp4;
  EXPECT_GT(frozen, 0);
  EXPECT_LT(exchange(run), 0.5 * frozen);
}

// A mixture whose experts are on 8 devices: DeepEP's kernels copy and sum tokens, which the passes
// `permute` and `combine` do otherwise.
TEST(StepPlan, ADispatcherCopiesTokensItself) {
  RunSpec run = Llama70b();
  run.model.preset = "mixtral-8x7b";
  run.training.sequence_length = 4096;
  run.cluster.device_count = 8;
  run.layout->parallel = {};
  run.layout->parallel.expert_parallel_size = 8;
  absl::optional<double>& once = run.layout->software.of(StackConstant::kOneCopyPerNode);
  const auto passes = [&](double value) {
    once = value;
    return PlannedStep(run).step.value_or(StepPlan()).estimate.of(StepCause::kMemoryPass);
  };
  EXPECT_LT(passes(1), 0.95 * passes(0));
  run.layout->parallel.expert_parallel_size = 1;  // nothing is exchanged
  EXPECT_EQ(passes(1), passes(0));
}

}  // namespace
}  // namespace sextant
