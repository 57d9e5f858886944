// The time of a step, and the search for the layout with the shortest one, to the wire.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "server/convert/layout.h"
#include "server/convert/step_time.h"
#include "tests/server/message_matchers.h"

namespace sextant::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A different value in every field.
StepPlan SampleStep() {
  static const SoftwareStack* const stack = [] {
    auto* out = new SoftwareStack{.name = "own"};
    out->values[0].source = "a measurement";
    return out;
  }();
  StepPlan out;
  out.estimate.seconds = {Seconds(3), Seconds(4), Seconds(6)};
  out.estimate.parts[static_cast<size_t>(StepCause::kMatmul)] = 3;
  out.estimate.parts[static_cast<size_t>(StepCause::kHost)] = 1;
  out.estimate.micro_batch_count = 5;
  out.token_count = 6;
  out.estimate.bubble_ratio = 0.7;
  out.estimate.slowest_stage = 8;
  out.estimate.sensitivities = {{.rate = StepRate::kLink, .saved_share = 0.14}};
  out.calibration = StepCalibration{
      .ratio = 0.9, .predicted = Seconds(10), .distance = 11, .factor = 0.12, .applied = true};
  out.software.stack = stack;
  out.software.values[0] = 17;
  out.software.given[1] = out.software.values[1] = 18;
  out.longest_operations = {{.module = "attention",
                             .name = "output",
                             .pass = TracePass::kRecompute,
                             .bound = OperationBound::kMemory,
                             .launches = 15,
                             .flops = 1,
                             .seconds = Seconds(2),
                             .rate = FlopsPerSecond(16)}};
  KernelSource table;
  table.source = RateSource::kReference;
  table.citation = "a table";
  KernelSource probe;
  probe.source = RateSource::kMeasuredSupplied;
  probe.citation = "a probe";
  probe.measured_unix_seconds = 13;
  out.kernel_sources = {{.source = table, .share = 0.6}, {.source = probe, .share = 0.4}};
  return out;
}

v1::StepTime WireOf(const StepPlan& step, bool full = true, SourceNumbers::List* list = nullptr) {
  SourceNumbers sources(list);
  v1::StepTime out;
  StepTimeTo(step, full, sources, &out);
  return out;
}

TEST(StepTimeTo, CarriesEveryField) {
  SourceNumbers::List sources;
  const v1::StepTime wire = WireOf(SampleStep(), true, &sources);
  EXPECT_THAT(wire, EqualsText(R"(
      seconds { low: 3 expected: 4 high: 6 }
      parts { cause: STEP_CAUSE_MATMUL seconds: 3 share: 0.75 }
      parts { cause: STEP_CAUSE_HOST seconds: 1 share: 0.25 }
      micro_batch_count: 5 token_count: 6 bubble_ratio: 0.7 slowest_stage: 8 software_stack: "own"
      calibration { measured_over_predicted: 0.9 predicted_seconds: 10 distance: 11 applied: true
                    factor: 0.12 }
      kernel_sources { source: RATE_SOURCE_REFERENCE share: 0.6 source_number: 1 }
      kernel_sources { source: RATE_SOURCE_MEASURED_SUPPLIED share: 0.4 source_number: 2
                       measured_time { seconds: 13 } }
      sensitivities { rate: RATE_LINK saved_share: 0.14 }
      longest_operations {
        module: "attention" name: "output" training_pass: OPERATION_PASS_RECOMPUTE
        bound: BOUND_MEMORY seconds: 2 share: 0.5 launches: 15 flops_per_second: 16 }
      assumptions { field: "attention_time_ratio" value: 17 source_number: 3 }
      assumptions { field: "memory_pass_time_ratio" value: 18 from_request: true })"));
  EXPECT_THAT(sources, ElementsAre("a table", "a probe", "a measurement"));
  EXPECT_THAT(UnsetFields(wire), IsEmpty());
}

TEST(StepTimeTo, ABasicViewNamesTheKindsOfItsSources) {
  const v1::StepTime wire = WireOf(SampleStep(), /*full=*/false);
  EXPECT_EQ(wire.parts_size(), 2);
  ASSERT_EQ(wire.kernel_sources_size(), 2);
  EXPECT_EQ(wire.kernel_sources(0).source(), v1::RATE_SOURCE_REFERENCE);
  EXPECT_EQ(wire.kernel_sources(0).source_number(), 0);
  EXPECT_EQ(wire.sensitivities_size() + wire.longest_operations_size() + wire.assumptions_size(),
            0);
}

TEST(StepTimeTo, EnumsKeepTheirNames) {
  const std::string step_time = "engine/time/step_time.h";
  ExpectSameNames({v1::StepCause_descriptor(), step_time, "StepCause"}, [](int cause) {
    StepPlan step = SampleStep();
    step.estimate.parts = {};
    step.estimate.parts[static_cast<size_t>(cause)] = 1;
    return WireOf(step).parts(0).cause();
  });
  ExpectSameNames({v1::StepSensitivity::Rate_descriptor(), step_time, "StepRate"}, [](int rate) {
    StepPlan step = SampleStep();
    step.estimate.sensitivities[0].rate = static_cast<StepRate>(rate);
    return WireOf(step).sensitivities(0).rate();
  });
  ExpectSameNames(
      {v1::StepOperation::Bound_descriptor(), "engine/time/stage_compute.h", "OperationBound"},
      [](int bound) {
        StepPlan step = SampleStep();
        step.longest_operations[0].bound = static_cast<OperationBound>(bound);
        return WireOf(step).longest_operations(0).bound();
      });
}

LayoutOption OptionOf(const LayoutChoice& choice, double seconds) {
  return {.choice = choice,
          .step = {Seconds(seconds - 0.5), Seconds(seconds), Seconds(seconds + 0.5)},
          .process = {Bytes(11), Bytes(12), Bytes(13)},
          .fit_chance = 0.75};
}

// A different value in every field.
LayoutOption SampleOption() {
  return OptionOf({.tensor = 2,
                   .pipeline = 4,
                   .virtual_stages = 1,
                   .context = 3,
                   .expert = 5,
                   .expert_tensor = 6,
                   .micro_batch = 7,
                   .shard_group = 8,
                   .zero_stage = ZeroStage::kParameters,
                   .stays_gathered = true,
                   .recompute = {.policy = RecomputePolicy::kFull,
                                 .layers_per_block = 9,
                                 .norm_outputs = true,
                                 .activation_function = true,
                                 .latent_up_projections = true},
                   .schedule = PipelineSchedule::kDualPipe,
                   .sequence_parallel = true,
                   .offload = Offload::kAll,
                   .loss = LossKind::kChunked},
                  2);
}

TEST(SearchProgressTo, CarriesEveryChoice) {
  v1::SearchProgress wire;
  SearchProgressTo({.searched = 14, .to_search = 15, .layer_count = 8, .best = SampleOption()}, {},
                   &wire);
  EXPECT_EQ(wire.searched_count(), 14);
  EXPECT_EQ(wire.layout_count(), 15);
  wire.mutable_best()->mutable_layout()->mutable_parallel()->clear_layers_per_chunk();
  EXPECT_THAT(wire.best(), EqualsText(R"(
      layout {
        parallel { tensor_parallel_size: 2 pipeline_parallel_size: 4 virtual_stage_count: 1
                   expert_parallel_size: 5 expert_tensor_parallel_size: 6 }
        context_parallel_size: 3 micro_batch_size: 7 schedule: PIPELINE_SCHEDULE_DUALPIPE
        sequence_parallel: true
        sharding { zero_stage: ZERO_STAGE_PARAMETERS shard_group_size: 8
                   reshard_after_forward: false offload_optimizer: true offload_parameters: true }
        kernels { loss: LOSS_CHUNKED recomputed_layers_per_block: 9
                  recompute_norm_outputs: true recompute_activation_function: true
                  recompute_latent_up_projections: true } }
      recompute: RECOMPUTE_POLICY_FULL step_seconds { low: 1.5 expected: 2 high: 2.5 }
      peak_bytes { low: 11 expected: 12 high: 13 } fit_chance: 0.75 tie: true)"));
}

TEST(LayoutSearchTo, CarriesTheSearch) {
  SearchedPlan searched;
  searched.outcome.considered = 16;
  searched.outcome.evaluated = 17;
  searched.outcome.layer_count = 8;
  searched.outcome.pruned[static_cast<size_t>(Pruned::kWeights)] = 18;
  searched.outcome.best = {OptionOf({.tensor = 2}, 2), OptionOf({.tensor = 4}, 3)};
  searched.outcome.front = {OptionOf({.tensor = 8}, 4)};
  searched.sensitivities = {{.rate = StepRate::kNetwork, .slowness = 1.5, .other = 1}};
  searched.lower_bound = Seconds(1);
  v1::PlanRunRequest request;
  request.mutable_training()->set_recompute(v1::RECOMPUTE_POLICY_SELECTIVE);
  v1::LayoutSearchResult wire;
  LayoutSearchTo(searched, request, /*full=*/true, &wire);
  ASSERT_EQ(wire.alternatives_size(), 1);
  ASSERT_EQ(wire.front_size(), 1);
  EXPECT_EQ(wire.chosen().layout().parallel().tensor_parallel_size(), 2);
  EXPECT_EQ(wire.chosen().recompute(), v1::RECOMPUTE_POLICY_SELECTIVE);  // the request's
  EXPECT_TRUE(wire.chosen().tie());
  EXPECT_EQ(wire.alternatives(0).layout().parallel().tensor_parallel_size(), 4);
  EXPECT_FALSE(wire.alternatives(0).tie());
  EXPECT_EQ(wire.front(0).layout().parallel().tensor_parallel_size(), 8);
  EXPECT_THAT(UnsetFields(wire.sensitivities(0)),
              ElementsAre("sextant.v1.ChoiceSensitivity.alternative"));  // 0, the first
  wire.clear_chosen();
  wire.clear_alternatives();
  wire.clear_front();
  EXPECT_NEAR(wire.tie_ratio(), kTieRatio, 0);
  wire.clear_tie_ratio();
  EXPECT_THAT(wire, EqualsText(R"(
      considered_count: 16 evaluated_count: 17 exhaustive: true
      pruned { reason: REASON_WEIGHTS count: 18 }
      sensitivities { rate: RATE_NETWORK slowness: 1.5 } lower_bound_seconds: 1)"));
  // A short answer has the choice alone.
  v1::LayoutSearchResult basic;
  LayoutSearchTo(searched, request, /*full=*/false, &basic);
  EXPECT_EQ(basic.alternatives_size() + basic.front_size() + basic.sensitivities_size(), 0);
}

TEST(LayoutSearchTo, MarksSizesBeyondPublishedRuns) {
  SearchedPlan searched;
  searched.outcome.best = {OptionOf({.virtual_stages = 24}, 2), OptionOf({.context = 64}, 3)};
  v1::LayoutSearchResult wire;
  LayoutSearchTo(searched, {}, /*full=*/true, &wire);
  EXPECT_EQ(wire.chosen().unpublished_sizes_size(), 0);
  ASSERT_EQ(wire.alternatives(0).unpublished_sizes_size(), 1);
  v1::UnpublishedSize& size = *wire.mutable_alternatives(0)->mutable_unpublished_sizes(0);
  EXPECT_THAT(size.source(), ::testing::HasSubstr("NeMo"));
  size.clear_source();
  EXPECT_THAT(size, EqualsText("field: \"context_parallel_size\" size: 64 published_most: 32"));
}

TEST(LayoutSearchTo, ReasonsKeepTheirNames) {
  ExpectSameNames(
      {v1::PrunedLayouts::Reason_descriptor(), "engine/search/layout_space.h", "Pruned"},
      [](int reason) {
        SearchedPlan searched;
        searched.outcome.best = {OptionOf({}, 1)};
        searched.outcome.layer_count = 1;
        searched.outcome.pruned[static_cast<size_t>(reason)] = 1;
        v1::LayoutSearchResult wire;
        LayoutSearchTo(searched, {}, /*full=*/false, &wire);
        return wire.pruned(0).reason();
      });
}

}  // namespace
}  // namespace sextant::server
