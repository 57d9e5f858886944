// Plans under a layout: the job that a request becomes, what is refused, the verdict and what to
// change.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "engine/model/presets/presets.h"
#include "engine/run/job.h"
#include "engine/run/memory_estimate.h"
#include "engine/run/plan.h"
#include "tests/engine/run/h100_runs.h"
#include "tests/engine/run/plan_parts.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

TEST(LayoutPlan, DataParallelSizeAndMicroBatchesFollow) {
  const MemoryEstimate memory = EstimateOf(Tp8Pp4());
  EXPECT_THAT(memory.stages, SizeIs(4));
  EXPECT_EQ(memory.data_parallel_size, 2);  // 64 / (8 x 4)
  EXPECT_EQ(memory.micro_batch_count, 32);  // 64 / (2 x 1)
  EXPECT_EQ(memory.stages[0].layer_count, 20);
  EXPECT_EQ(memory.stages[0].micro_batches_in_flight, std::vector<int64_t>{4});
  EXPECT_EQ(memory.stages[3].micro_batches_in_flight, std::vector<int64_t>{1});
}

TEST(LayoutPlan, WithoutGlobalBatchTheScheduleIsFull) {
  RunSpec run = Tp8Pp4();
  run.layout->global_batch_size = absl::nullopt;
  const Plan plan = Planned(run);
  EXPECT_EQ(plan.memory_estimate->micro_batch_count, 8);
  EXPECT_THAT(TextsOf(plan.notes), Contains(HasSubstr("A step has 8 micro-batches on each of 2")));
}

// By default FSDP under a pipeline reduces once a step and keeps gathered weights; a given number
// of units gathered ahead has them freed.
TEST(LayoutPlan, FsdpUnderAPipelineKeepsWhatIsWhole) {
  constexpr char kGradients[] = "Gradients add up unsharded";
  constexpr char kWeights[] = "Gathered weights stay";
  const auto assumptions = [](const RunSpec& run) {
    const auto plan = PlanRun(run);
    EXPECT_THAT(plan, IsOk());
    return plan.ok() ? TextsOf(plan->notes) : std::vector<std::string>();
  };
  RunSpec run = Tp8Pp4();
  run.layout->framework.kind = Framework::kTorchtitan;
  EXPECT_THAT(assumptions(run), Contains(HasSubstr(kGradients)));
  EXPECT_THAT(assumptions(run), Contains(HasSubstr(kWeights)));
  const Bytes whole = EstimateOf(run).peak().total();
  run.layout->framework.deferred_reduction = false;
  EXPECT_THAT(assumptions(run), Not(Contains(HasSubstr(kGradients))));
  EXPECT_LT(EstimateOf(run).peak().total(), whole);
  const Bytes gathered = EstimateOf(run).peak().total();
  run.layout->reshard_after_forward = true;
  EXPECT_THAT(assumptions(run), Not(Contains(HasSubstr(kWeights))));
  EXPECT_LT(EstimateOf(run).peak().total(), gathered);
  run.layout->reshard_after_forward = absl::nullopt;
  run.layout->sharding.prefetched_unit_count = 2;
  EXPECT_THAT(assumptions(run), Not(Contains(HasSubstr(kWeights))));
  run.layout->sharding.prefetched_unit_count = 1;
  run.layout->zero_stage = ZeroStage::kOptimizer;
  EXPECT_THAT(assumptions(run), Not(Contains(HasSubstr(kWeights))));
}

TEST(LayoutPlan, ReductionIsDeferredOfShardsAlone) {
  RunSpec run = Tp8Pp4();
  run.layout->framework.deferred_reduction = true;
  EXPECT_THAT(PlanRun(run), NamesFields(ElementsAre("layout.framework.deferred_reduction")));
  run.layout->zero_stage = ZeroStage::kParameters;
  EXPECT_THAT(PlanRun(run), IsOk());
}

TEST(LayoutPlan, SaysWhereAutocastKeepsWhatItCasts) {
  RunSpec run = Tp8Pp4();
  run.layout->framework.kind = Framework::kPytorchFsdp;
  run.layout->zero_stage = ZeroStage::kNone;
  run.training.precision.weight_data_type = DataType::kFp32;
  const Plan cast = Planned(run);
  EXPECT_THAT(TextsOf(cast.notes), Contains(HasSubstr("torch.autocast")));
  run.layout->framework.kind = Framework::kMegatronLm;
  const Plan none = Planned(run);
  EXPECT_THAT(TextsOf(none.notes), Not(Contains(HasSubstr("torch.autocast"))));
}

TEST(LayoutPlan, WithoutLayoutThereIsNoEstimate) {
  RunSpec run = Tp8Pp4();
  run.layout = absl::nullopt;
  const Plan plan = Planned(run);
  EXPECT_FALSE(plan.memory_estimate.has_value());
}

TEST(LayoutPlan, RefusesWhatContradictsIt) {
  struct Case {
    const char* field;
    void (*change)(RunSpec& run);
  };
  const Case cases[] = {
      {"training.activation_bytes", [](RunSpec& run) { run.training.activation_bytes = 1; }},
      {"training.sequence_length", [](RunSpec& run) { run.training.sequence_length.reset(); }},
      {"layout",
       [](RunSpec& run) {
         run.model.preset = "";
         run.model.parameter_count = 70'000'000'000;
         run.training.sequence_length.reset();
       }},
      {"options.include_ledger",
       [](RunSpec& run) {
         run.layout.reset();
         run.options.include_ledger = run.options.full = true;
       }},
      {"options.include_operations",
       [](RunSpec& run) {
         run.layout.reset();
         run.options.include_operations = run.options.full = true;
       }},
      {"options.include_operations",  // and no full view
       [](RunSpec& run) { run.options.include_operations = true; }},
      {"cluster.device_count", [](RunSpec& run) { run.cluster.device_count = 65; }},
      {"layout.global_batch_size", [](RunSpec& run) { run.layout->global_batch_size = 63; }},
      {"layout.global_batch_size",
       [](RunSpec& run) {
         run.layout->schedule = PipelineSchedule::kGPipe;
         run.layout->global_batch_size.reset();
       }},
  };
  for (const Case& c : cases) {
    RunSpec run = Tp8Pp4();
    c.change(run);
    EXPECT_THAT(PlanRun(run), NamesFields(ElementsAre(c.field)));
  }
}

TEST(LayoutPlan, RefusesSizesThatDoNotDivideTheModel) {
  RunSpec run = Tp8Pp4();
  run.layout->parallel.tensor_parallel_size = 7;
  run.cluster.device_count = 56;
  run.layout->global_batch_size = 64;
  EXPECT_THAT(PlanRun(run), NamesFields(Contains("layout.parallel.tensor_parallel_size")));

  run = Tp8Pp4();
  run.layout->parallel.pipeline_parallel_size = 3;
  run.cluster.device_count = 48;
  EXPECT_THAT(PlanRun(run), NamesFields(Contains(HasSubstr("layout.parallel."))));
}

// Other violations are reported together with a missing length or missing devices.
TEST(LayoutPlan, NamesItsFaultsBesideThoseOfTheRun) {
  RunSpec run = Tp8Pp4();
  run.training.sequence_length = absl::nullopt;
  run.training.recompute = RecomputePolicy::kFull;
  run.layout->parallel.tensor_parallel_size = 7;
  run.layout->kernels.loss_chunk_tokens = 5;
  run.layout->sharding.offload_parameters = true;
  run.cluster.device_count = 0;
  FieldViolations found;
  found.Add("cluster.device_count", "is required");
  EXPECT_THAT(PlanRun(run, found),
              NamesFields(UnorderedElementsAre("training.sequence_length", "training.recompute",
                                               "layout.parallel.tensor_parallel_size",
                                               "layout.kernels.loss_chunk_tokens",
                                               "layout.sharding.offload_parameters",  // of stage 3
                                               "cluster.device_count")));
  // Violations of the precision policy as well.
  run = Tp8Pp4();
  run.training.precision.weight_data_type = DataType::kInt8;
  run.layout->micro_batch_size = 0;
  EXPECT_THAT(PlanRun(run), NamesFields(IsSupersetOf({"training.precision.weight_data_type",
                                                      "layout.micro_batch_size"})));
}

// And nothing else: fields that would go with them are valid.
TEST(LayoutPlan, FindsNoFaultWithWhatWouldGoWithTheRest) {
  RunSpec run = Tp8Pp4();
  run.model.preset = "mixtral-8x7b";
  run.layout->parallel = {.tensor_parallel_size = 2, .expert_parallel_size = 8};
  run.layout->context_parallel_size = 4;
  run.layout->schedule = PipelineSchedule::kGPipe;
  run.training.sequence_length = absl::nullopt;
  run.cluster.device_count = 0;
  FieldViolations found;
  found.Add("cluster.device_count", "is required");
  EXPECT_THAT(PlanRun(run, found), NamesFields(UnorderedElementsAre("training.sequence_length",
                                                                    "cluster.device_count")));
  run.training.sequence_length = 8192;
  run.cluster.device_count = 65;  // 2 x 4 x 8 and one
  run.layout->zero_stage = ZeroStage::kOptimizer;
  run.layout->sharding.shard_group_size = 8;
  EXPECT_THAT(PlanRun(run), NamesFields(ElementsAre("cluster.device_count")));
  run.layout->parallel.tensor_parallel_size = 0;
  EXPECT_THAT(PlanRun(run), NamesFields(ElementsAre("layout.parallel.tensor_parallel_size")));
}

// The advice is in sequences, as in the request.
TEST(LayoutPlan, SaysWhichGlobalBatchWillDo) {
  RunSpec run = Tp8Pp4();
  run.layout->parallel.virtual_stage_count = 2;
  run.layout->micro_batch_size = 2;
  run.layout->global_batch_size = 24;  // 6 micro-batches of 2 x 2 sequences, in rounds of 4
  EXPECT_THAT(PlanRun(run), HasViolation("layout.global_batch_size", HasSubstr("write 32")));
  run.layout->global_batch_size = 32;
  EXPECT_THAT(PlanRun(run), IsOk());

  run = Tp8Pp4();
  run.layout->schedule = PipelineSchedule::kDualPipe;
  run.layout->global_batch_size = 4;  // 2 micro-batches; 8 at least
  EXPECT_THAT(PlanRun(run), HasViolation("layout.global_batch_size", HasSubstr("write 16")));
  run.layout->global_batch_size = 18;  // 9
  EXPECT_THAT(PlanRun(run), HasViolation("layout.global_batch_size", HasSubstr("write 20")));
  run.layout->global_batch_size = 20;
  EXPECT_THAT(PlanRun(run), IsOk());
  run.layout->global_batch_size = 16;  // 8: two a stage
  EXPECT_THAT(PlanRun(run), IsOk());
}

// One sequence on each of two data parallel ranks is a micro-batch.
TEST(LayoutPlan, SaysHowManyMicroBatchesAreTooMany) {
  RunSpec run = Tp8Pp4();
  run.layout->global_batch_size = 4'000'000'002;
  const absl::Status status = PlanRun(run).status();
  EXPECT_THAT(status, NamesFields(ElementsAre("layout.global_batch_size")));
  EXPECT_THAT(status, HasViolation("layout.global_batch_size",
                                   HasSubstr("is 4000000002, which makes 2000000001 micro-batches "
                                             "of 2 sequences on all ranks: write 2000000000")));
}

// Under DualPipe a stage holds as much as its opposite.
TEST(LayoutPlan, ThePeakIsOfTheFirstStageThatHoldsAsMuch) {
  RunSpec run = Tp8Pp4();
  run.layout->schedule = PipelineSchedule::kDualPipe;
  const MemoryEstimate memory = EstimateOf(run);
  ASSERT_THAT(memory.stages, SizeIs(4));
  EXPECT_LT(memory.peak_stage, 2);
  const auto opposite = static_cast<size_t>(3 - memory.peak_stage);
  EXPECT_EQ(memory.stages[opposite].memory.total(), memory.peak().total());
}

MemoryJob JobOfRun(const RunSpec& run, DataType compute) {
  const ArchitectureSpec& spec = FindModelPreset(run.model.preset).value()->architecture;
  const PrecisionPolicy precision = WithDefaults(PrecisionPolicy{.compute_data_type = compute});
  FieldViolations violations;
  MemoryJob job = JobOf({spec, precision, run.training.optimizer}, ChoiceOf(run), violations);
  EXPECT_TRUE(violations.empty());
  return job;
}

// 8 tensor, 4 pipeline and 2 data parallel ranks: three groups, and none of one rank.
TEST(LayoutPlan, ReservesMemoryForEachGroupThatARankIsIn) {
  const auto reserved = [](int64_t groups) {
    return ReserveOf(FrameworkSpec(), {.communicator_count = groups}).communicators.expected;
  };
  const MemoryJob job = JobOfRun(Tp8Pp4(), DataType::kBf16);
  EXPECT_EQ(job.reserve.communicators.expected, reserved(3));
  EXPECT_GT(reserved(3), reserved(2));
}

TEST(LayoutPlan, ComputesInSixteenBitsAtLeast) {
  const auto computes = [](DataType asked) {
    return JobOfRun(Tp8Pp4(), asked).batch.compute_data_type;
  };
  EXPECT_EQ(computes(DataType::kFp8), DataType::kBf16);
  EXPECT_EQ(computes(DataType::kFp16), DataType::kFp16);
  EXPECT_EQ(computes(DataType::kTf32), DataType::kTf32);
}

TEST(LayoutPlan, SumsBeyondAllBytesNameTheirField) {
  RunSpec run = Tp8Pp4();
  run.training.sequence_length = 1'000'000'000;
  run.layout->micro_batch_size = 1'000'000'000;
  run.layout->global_batch_size = absl::nullopt;
  EXPECT_THAT(PlanRun(run), NamesFields(ElementsAre("layout.micro_batch_size")));
}

TEST(LayoutPlan, WhatTheModelHasNotIsNotIgnored) {
  RunSpec run = Tp8Pp4();
  run.layout->kernels.recomputation.latent_up_projections = true;
  EXPECT_THAT(PlanRun(run),
              NamesFields(ElementsAre("layout.kernels.recompute_latent_up_projections")));
}

TEST(LayoutPlan, NamesFieldsAsTheRequestDoes) {
  for (const int64_t bad : {int64_t{-1}, int64_t{0}, std::numeric_limits<int64_t>::max()}) {
    RunSpec run = Tp8Pp4();
    run.layout->micro_batch_size = bad;
    run.layout->global_batch_size = absl::nullopt;
    EXPECT_THAT(PlanRun(run), NamesFields(Contains("layout.micro_batch_size"))) << bad;

    run = Tp8Pp4();
    run.layout->context_parallel_size = bad;
    EXPECT_THAT(PlanRun(run), NamesFields(Not(IsEmpty()))) << bad;

    run = Tp8Pp4();
    run.layout->parallel.tensor_parallel_size = bad;
    EXPECT_THAT(PlanRun(run), NamesFields(Not(IsEmpty()))) << bad;

    run = Tp8Pp4();
    run.layout->sharding.shard_group_size = bad == 0 ? -5 : bad;
    EXPECT_THAT(PlanRun(run), NamesFields(Contains("layout.sharding.shard_group_size"))) << bad;
  }
  RunSpec run = Tp8Pp4();
  run.layout->kernels.loss_chunk_tokens = 5;
  EXPECT_THAT(PlanRun(run), NamesFields(ElementsAre("layout.kernels.loss_chunk_tokens")));
  run = Tp8Pp4();
  run.layout->kernels.recomputation.layers_per_block = 5;
  EXPECT_THAT(PlanRun(run), NamesFields(ElementsAre("layout.kernels.recomputed_layers_per_block")));
}

// The interval holds 80 %: a tenth of the chance lies beyond each end.
TEST(Chance, OfALimitByHand) {
  EXPECT_EQ(ChanceAtMost({1, 2, 4}, 2), 0.5);
  EXPECT_NEAR(ChanceAtMost({1, 2, 4}, 4), 0.9, 1e-12);
  EXPECT_NEAR(ChanceAtMost({1, 2, 4}, 1), 0.1, 1e-12);
  EXPECT_EQ(ChanceAtMost({2, 2, 2}, 2), 1);
  EXPECT_EQ(ChanceAtMost({2, 2, 2}, 1.9), 0);
}

TEST(LayoutPlan, ChanceOfFittingByHand) {
  const BytesInterval process = {Bytes(90), Bytes(100), Bytes(120)};
  EXPECT_DOUBLE_EQ(FitChance(process, Bytes(100)), 0.5);
  EXPECT_NEAR(FitChance(process, Bytes(90)), 0.1, 1e-12);
  EXPECT_NEAR(FitChance(process, Bytes(120)), 0.9, 1e-12);
  // Half of the way to the high end is 0.6408 standard deviations: Phi(0.6408) = 0.7392.
  EXPECT_NEAR(FitChance(process, Bytes(110)), 0.7392, 1e-4);
  const BytesInterval exact = {Bytes(100), Bytes(100), Bytes(100)};
  EXPECT_EQ(FitChance(exact, Bytes(100)), 1);
  EXPECT_EQ(FitChance(exact, Bytes(99)), 0);
}

TEST(LayoutPlan, ThresholdsAreTheRequests) {
  EXPECT_EQ(VerdictOf(0.6, {}), Verdict::kTight);
  EXPECT_EQ(VerdictOf(0.6, {.fits = 0.6}), Verdict::kFits);
  EXPECT_EQ(VerdictOf(0.3, {.does_not_fit = 0.4}), Verdict::kDoesNotFit);
}

TEST(LayoutPlan, VerdictIsByTheEndsOfTheInterval) {
  const BytesInterval process = {Bytes(90), Bytes(100), Bytes(110)};
  EXPECT_EQ(VerdictOf(FitChance(process, Bytes(110)), {}), Verdict::kFits);
  EXPECT_EQ(VerdictOf(FitChance(process, Bytes(109)), {}), Verdict::kTight);
  EXPECT_EQ(VerdictOf(FitChance(process, Bytes(90)), {}), Verdict::kTight);
  EXPECT_EQ(VerdictOf(FitChance(process, Bytes(89)), {}), Verdict::kDoesNotFit);
}

TEST(LayoutPlan, LedgersAddUpToEveryStage) {
  RunSpec run = Tp8Pp4();
  run.options.include_ledger = run.options.full = true;
  const MemoryEstimate memory = EstimateOf(run);
  for (const StageEstimate& stage : memory.stages) {
    Bytes rows(0);
    for (const LedgerRow& row : stage.ledger) rows = rows + row.size;
    EXPECT_EQ(rows, stage.memory.total());
    Bytes sums(0);
    for (const Bytes sum : stage.memory.sums) sums = sums + sum;
    EXPECT_EQ(sums, stage.memory.total());
  }
}

}  // namespace
}  // namespace sextant
