// Properties of a predicted step, over random layouts of published models.
#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "engine/run/plan.h"
#include "engine/run/resolve.h"
#include "engine/run/step_predictor.h"
#include "engine/time/step_time.h"
#include "tests/engine/run/h100_runs.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

constexpr uint32_t kRuns = 500;
// Where the host decides, its time is a third of the forward and two thirds of the backward pass,
// whichever has more to wait for: of 6,000 runs that moves one, of interleaved stages, by 2e-5.
constexpr double kTolerance = 1 + 1e-4;

class Draw {
 public:
  explicit Draw(uint32_t seed) : random_(seed) {}

  int64_t Below(int64_t count) {
    return std::uniform_int_distribution<int64_t>(0, count - 1)(random_);
  }
  // 1, 2, 4, ... 2^most.
  int64_t Power(int64_t most) { return int64_t{1} << Below(most + 1); }

 private:
  std::mt19937 random_;
};

// A run whose sizes go together; the same for the same seed.
RunSpec DrawRun(uint32_t seed) {
  constexpr absl::string_view kPresets[] = {"llama-3-8b", "llama-2-13b",  "llama-3-70b",
                                            "gpt3-175b",  "mixtral-8x7b", "qwen3-30b-a3b"};
  constexpr Framework kFrameworks[] = {Framework::kMegatronLm, Framework::kMegatronBridge,
                                       Framework::kTorchtitan, Framework::kDeepSpeed};
  constexpr absl::string_view kNodes[][2] = {
      {"h100-sxm", "hgx-h100"}, {"a100-sxm-80", "hgx-a100"}, {"b200-sxm", "hgx-b200"}};
  Draw draw(seed);
  RunSpec run;
  const int64_t preset = draw.Below(6);
  run.model.preset = kPresets[preset];
  run.model.changes.vocabulary_multiple = 1024;
  run.training.token_count = 1'000'000'000'000;
  run.training.sequence_length = (preset == 3 ? 512 : 1024) * draw.Power(preset == 3 ? 2 : 3);
  run.training.recompute = static_cast<RecomputePolicy>(draw.Below(3));
  RunLayout& layout = run.layout.emplace();
  ParallelLayout parallel;
  parallel.tensor_parallel_size = draw.Power(preset == 5 ? 2 : 3);
  parallel.pipeline_parallel_size = draw.Power(2);
  if (parallel.pipeline_parallel_size > 1) parallel.virtual_stage_count = draw.Power(1);
  layout.context_parallel_size = draw.Power(1);
  const int64_t data = draw.Power(4);
  if (preset >= 4) {
    while (parallel.expert_parallel_size < 8 && draw.Below(2) == 0 &&
           data * *layout.context_parallel_size % (2 * parallel.expert_parallel_size) == 0) {
      parallel.expert_parallel_size *= 2;
    }
  }
  layout.zero_stage = static_cast<ZeroStage>(draw.Below(4));
  layout.micro_batch_size = draw.Power(1);
  layout.global_batch_size =
      data * *layout.micro_batch_size * parallel.pipeline_parallel_size * (1 + draw.Below(6));
  layout.framework = {.kind = kFrameworks[draw.Below(4)], .named = true};
  const auto& [accelerator, node] = kNodes[draw.Below(3)];
  run.cluster.device.accelerator = accelerator;
  run.cluster.node_type = node;
  run.cluster.network.bytes_per_second = 12.5e9 * static_cast<double>(draw.Power(3));
  run.cluster.device_count = parallel.tensor_parallel_size * parallel.pipeline_parallel_size *
                             *layout.context_parallel_size * data;
  layout.parallel = AsGiven(parallel);
  return run;
}

// The same with state in host memory, where the stage of ZeRO divides it. Every second run leaves
// the weights on the devices.
RunSpec Offloaded(RunSpec run, uint32_t seed) {
  const ZeroStage stage = *run.layout->zero_stage;
  run.layout->sharding.offload_optimizer = stage != ZeroStage::kNone;
  run.layout->sharding.offload_parameters = stage == ZeroStage::kParameters && seed % 2 == 0;
  run.cluster.host_memory_bytes_per_second = 600e9;  // of boards that come without processors
  return run;
}

std::string Words(const RunSpec& run) {
  const ParallelLayout parallel = LayoutOf(run.layout->parallel);
  return absl::StrCat(
      run.model.preset, " on ", run.cluster.device_count, " ", run.cluster.device.accelerator,
      " of ", run.cluster.network.bytes_per_second, " B/s, TP", parallel.tensor_parallel_size,
      " PP", parallel.pipeline_parallel_size, "x", parallel.virtual_stage_count, " CP",
      *run.layout->context_parallel_size, " EP", parallel.expert_parallel_size, " ZeRO-",
      static_cast<int>(*run.layout->zero_stage), ", ", *run.layout->global_batch_size,
      " sequences of ", *run.training.sequence_length, " in ", *run.layout->micro_batch_size,
      ", framework ", static_cast<int>(run.layout->framework.kind), ", recompute ",
      static_cast<int>(*run.training.recompute), ", offloads ",
      run.layout->sharding.offload_optimizer, run.layout->sharding.offload_parameters);
}

// Nothing where a framework refuses what was drawn, such as DeepSpeed stage 2 under a pipeline.
absl::optional<StepEstimate> StepOf(const RunSpec& run) {
  const absl::StatusOr<Plan> plan = PlanRun(run);
  if (!plan.ok()) return absl::nullopt;
  if (!plan->step.has_value()) {
    ADD_FAILURE() << "no step of " << Words(run);
    return absl::nullopt;
  }
  return plan->step->estimate;
}

absl::optional<double> SecondsOf(const RunSpec& run) {
  const absl::optional<StepEstimate> step = StepOf(run);
  return step.has_value() ? absl::make_optional(step->seconds.expected.value()) : absl::nullopt;
}

// Calls `check(run, step)` for runs that can be planned until it has returned true, which tells
// that it compared them, kRuns times.
template <typename Check>
void ForEachRun(const Check& check, bool offloaded = false) {
  uint32_t compared = 0;
  for (uint32_t seed = 0; compared < kRuns && !testing::Test::HasFailure(); ++seed) {
    ASSERT_LT(seed, 20 * kRuns) << "only " << compared << " runs are compared";
    const RunSpec run = offloaded ? Offloaded(DrawRun(seed), seed) : DrawRun(seed);
    const absl::optional<StepEstimate> step = StepOf(run);
    if (step.has_value() && check(run, *step)) ++compared;
  }
}

// The input of a step's estimate, with everything it refers to.
class StepInputs {
 public:
  explicit StepInputs(RunSpec run) : run_(std::move(run)) {
    absl::StatusOr<ResolvedRun> resolved = Resolve(run_, FieldViolations());
    EXPECT_THAT(resolved, IsOk()) << Words(run_);
    resolved_ = *std::move(resolved);
    CallWork unbounded;
    predictor_ = StepPredictor::Of(run_, resolved_, unbounded).value();
    const MemoryJob& job = resolved_.memory->job();
    exchanges_.emplace(predictor_->ExchangesOf(job));
    const ComputeInput compute = predictor_->ComputeOf(*resolved_.memory);
    const StepPredictor::Device& device = predictor_->devices().front();
    PricedOperations priced(device.pricer);
    ModelOperations operations(compute, priced);
    CallWork work;
    EXPECT_THAT(AppendStageTimes(predictor_->StagesOf(compute, device, *exchanges_), operations,
                                 work, stages_),
                IsOk());
    input_.emplace(predictor_->StepOf(job, *exchanges_, stages_));
  }
  StepInputs(const StepInputs&) = delete;
  StepInputs& operator=(const StepInputs&) = delete;

  const StepInput& get() const { return *input_; }

 private:
  const RunSpec run_;
  ResolvedRun resolved_;
  std::unique_ptr<const StepPredictor> predictor_;
  absl::optional<ExchangePricer> exchanges_;
  std::vector<StageTime> stages_;
  absl::optional<StepInput> input_;
};

void ExpectPartsSum(bool offloaded) {
  const auto check = [](const RunSpec& run, const StepEstimate& step) {
    const double seconds = step.seconds.expected.value();
    EXPECT_GT(seconds, 0) << Words(run);
    EXPECT_NEAR(std::accumulate(step.parts.begin(), step.parts.end(), 0.0), seconds, 1e-9 * seconds)
        << Words(run);
    for (const double part : step.parts) EXPECT_GE(part, 0) << Words(run);
    EXPECT_LE(step.seconds.low.value(), seconds) << Words(run);
    EXPECT_GE(step.seconds.high.value(), seconds) << Words(run);
    return true;
  };
  ForEachRun(check, offloaded);
}

TEST(StepProperties, PartsSumToTheStep) { ExpectPartsSum(/*offloaded=*/false); }
TEST(StepProperties, PartsSumToAnOffloadedStep) { ExpectPartsSum(/*offloaded=*/true); }

void ExpectNoSlowing(bool offloaded) {
  const auto check = [](const RunSpec& run, const StepEstimate& step) {
    const double before = step.seconds.expected.value();
    const StepInputs inputs(run);
    EXPECT_NEAR(EstimateStep(inputs.get()).seconds.expected.value(), before, 1e-9 * before)
        << Words(run);
    for (size_t i = 0; i < kStepRateCount; ++i) {
      double slower = before;
      for (const double slowness : {0.9, 0.5, 0.1}) {
        const double faster =
            StepSecondsWhere(inputs.get(), static_cast<StepRate>(i), slowness).value();
        EXPECT_LE(faster, slower * kTolerance) << Words(run) << ": rate " << i << " x " << slowness;
        slower = faster;
      }
    }
    return true;
  };
  ForEachRun(check, offloaded);
}

TEST(StepProperties, HigherRatesNeverSlowAStep) { ExpectNoSlowing(/*offloaded=*/false); }
TEST(StepProperties, HigherRatesNeverSlowAnOffloadedStep) { ExpectNoSlowing(/*offloaded=*/true); }

// With memory twice as fast, and with a PCIe 6 link.
TEST(StepProperties, AFasterHostNeverSlowsAnOffloadedStep) {
  const auto check = [](RunSpec run, const StepEstimate& step) {
    if (!run.layout->sharding.offload_optimizer) return false;
    const double before = step.seconds.expected.value() * kTolerance;
    RunSpec memory = run;
    *memory.cluster.host_memory_bytes_per_second *= 2;
    EXPECT_LT(SecondsOf(memory).value_or(before), step.seconds.expected.value()) << Words(run);
    run.cluster.host_link_bytes_per_second = 121e9;
    EXPECT_LE(SecondsOf(run).value_or(before), before) << Words(run);
    return true;
  };
  ForEachRun(check, /*offloaded=*/true);
}

TEST(StepProperties, OffloadingNeverSpeedsAStepUp) {
  const auto check = [](RunSpec run, const StepEstimate& step) {
    StateSharding& sharding = run.layout->sharding;
    if (!sharding.offload_optimizer) return false;
    sharding.offload_optimizer = sharding.offload_parameters = false;
    EXPECT_LT(SecondsOf(run).value_or(1e9), step.seconds.expected.value()) << Words(run);
    return true;
  };
  ForEachRun(check, /*offloaded=*/true);
}

TEST(StepProperties, AFasterNetworkNeverSlowsAStep) {
  ForEachRun([](RunSpec run, const StepEstimate& step) {
    run.cluster.network.bytes_per_second = 1.5 * run.cluster.network.bytes_per_second;
    const absl::optional<double> faster = SecondsOf(run);
    EXPECT_TRUE(faster.has_value());
    EXPECT_LE(faster.value_or(0), step.seconds.expected.value() * kTolerance) << Words(run);
    return true;
  });
}

TEST(StepProperties, AllRatesTwiceAsHighHalveAStep) {
  StepSlowness half;
  half.of.fill(0.5);
  ForEachRun([&half](const RunSpec& run, const StepEstimate& step) {
    const double before = step.seconds.expected.value();
    const StepInputs inputs(run);
    EXPECT_NEAR(StepSecondsWhere(inputs.get(), half).value(), before / 2, 1e-9 * before)
        << Words(run);
    return true;
  });
}

TEST(StepProperties, ShorterSequencesNeverTakeLonger) {
  ForEachRun([](RunSpec run, const StepEstimate& step) {
    run.training.sequence_length = *run.training.sequence_length / 2;
    const absl::optional<double> shorter = SecondsOf(run);
    EXPECT_LE(shorter.value_or(0), step.seconds.expected.value() * kTolerance) << Words(run);
    return shorter.has_value();
  });
}

TEST(StepProperties, SmallerBatchesNeverTakeLonger) {
  ForEachRun([](RunSpec run, const StepEstimate& step) {
    run.layout->global_batch_size = *run.layout->global_batch_size * 2;
    const absl::optional<double> larger = SecondsOf(run);
    if (!larger.has_value()) return false;
    EXPECT_GE(*larger * kTolerance, step.seconds.expected.value()) << Words(run);
    return true;
  });
}

// At otherwise equal settings it moves more bytes.
TEST(StepProperties, ZeroStage3IsNeverFasterThanStage1) {
  ForEachRun([](RunSpec run, const StepEstimate&) {
    run.layout->zero_stage = ZeroStage::kOptimizer;
    const absl::optional<double> stage_1 = SecondsOf(run);
    run.layout->zero_stage = ZeroStage::kParameters;
    const absl::optional<double> stage_3 = SecondsOf(run);
    if (!stage_1.has_value() || !stage_3.has_value()) return false;
    EXPECT_GE(*stage_3 * kTolerance, *stage_1) << Words(run);
    return true;
  });
}

// One micro-batch on twice as many stages of twice as many devices: its passes take as long, and
// there are more sends. What follows the passes is left out: each stage updates half as much.
TEST(StepProperties, MoreStagesWithOneMicroBatchAreSlower) {
  const auto passes = [](const StepEstimate& step) {
    return step.seconds.expected.value() - step.of(StepCause::kDataExchange) -
           step.of(StepCause::kOptimizer) - step.of(StepCause::kScale);
  };
  ForEachRun([&passes](RunSpec run, const StepEstimate&) {
    RunLayout& layout = *run.layout;
    ParallelSizes& parallel = layout.parallel;
    parallel.virtual_stage_count = 1;
    layout.zero_stage = ZeroStage::kOptimizer;
    layout.global_batch_size = *layout.micro_batch_size * run.cluster.device_count /
                               (*parallel.pipeline_parallel_size * *parallel.tensor_parallel_size *
                                *layout.context_parallel_size);
    const absl::optional<StepEstimate> fewer = StepOf(run);
    *parallel.pipeline_parallel_size *= 2;
    run.cluster.device_count *= 2;
    const absl::optional<StepEstimate> more = StepOf(run);
    if (!fewer.has_value() || !more.has_value()) return false;
    EXPECT_GE(passes(*more) * kTolerance, passes(*fewer)) << Words(run);
    return true;
  });
}

}  // namespace
}  // namespace sextant
