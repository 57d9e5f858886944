#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "server/convert/compute.h"
#include "server/convert/plan.h"
#include "tests/server/enum_names.h"
#include "tests/server/message_matchers.h"

namespace sextant::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Every field has a different value, so that a dropped or swapped one is detected.
TimedOperation Timed(TraceWork work) {
  return {.part = ModelPart::kDecoder,
          .layer_kind = 1,
          .layers = 3,
          .op = {.module = "attention",
                 .name = "query_key_value",
                 .pass = TracePass::kInputGradient,
                 .work = work,
                 .narrow = true,
                 .launches = 2,
                 .flops = 7e12},
          .time = {.expected = Seconds(0.25),
                   .low = Seconds(0.2),
                   .high = Seconds(0.5),
                   .basis = KernelBasis::kOutsideGrid},
          .source = 1};
}

ComputeEstimate SampleCompute() {
  StageCompute stage;
  stage.first_stage = 4;
  stage.stage_count = 5;
  stage.operations = {
      Timed(MatmulWork{6, 7, 8, 9}), Timed(GroupedMatmulWork{10, 11.5, 12, 13}),
      Timed(AttentionWork{.batch = 14,
                          .queries = 15,
                          .keys = 16,
                          .heads = 18,
                          .key_value_heads = 17,
                          .query_key_head_size = 19,
                          .value_head_size = 20,
                          .causal = true,
                          .window = 21}),
      Timed(PassWork{22, 23, true}),
      Timed(CollectiveWork{CollectiveKind::kReduceScatter, TraceGroup::kExpert, 24})};
  stage.step_operations = {Timed(PassWork{25, 26})};
  stage.step_operations.front().source = 0;
  stage.forward = {Seconds(27), Seconds(28), Seconds(29)};
  stage.backward = {Seconds(30), Seconds(31), Seconds(32)};
  stage.micro_batch = {Seconds(0.5), Seconds(1), Seconds(2)};
  stage.step = {Seconds(0.3), Seconds(0.5), Seconds(0.7)};
  stage.host = {.launches = 33, .seconds = {Seconds(34), Seconds(35), Seconds(36)}, .bound = true};
  stage.flops = 37e12;
  return {.stages = {stage}, .sources = {{.citation = "table A"}, {.citation = "table B"}}};
}

v1::Plan WireOf(ComputeEstimate compute, bool full) {
  Plan plan;
  plan.flops.counts.emplace_back();
  plan.memory_estimate.emplace();
  plan.memory_estimate->stages.resize(1);
  plan.memory_estimate->layer_kinds = {std::string("dense"), std::string("sparse")};
  plan.compute = std::move(compute);
  v1::Plan out;
  PlanTo(std::move(plan), full, &out);
  return out;
}

v1::StageCompute WireStage() { return WireOf(SampleCompute(), /*full=*/true).compute().stages(0); }

TEST(ComputeTo, CarriesEachStage) {
  const v1::Plan plan = WireOf(SampleCompute(), /*full=*/true);
  EXPECT_THAT(plan.sources(), ElementsAre("table B", "table A"));
  ASSERT_EQ(plan.compute().stages_size(), 1);
  v1::StageCompute stage = plan.compute().stages(0);
  EXPECT_EQ(stage.operations_size(), 5);
  EXPECT_EQ(stage.step_operations_size(), 1);
  stage.clear_operations();
  stage.clear_step_operations();
  EXPECT_THAT(stage, EqualsText(R"(
      first_stage: 4 stage_count: 5 flops: 37e12
      forward_seconds { low: 27 expected: 28 high: 29 }
      backward_seconds { low: 30 expected: 31 high: 32 }
      micro_batch_seconds { low: 0.5 expected: 1 high: 2 }
      step_seconds { low: 0.3 expected: 0.5 high: 0.7 }
      host { launches: 33 seconds { low: 34 expected: 35 high: 36 } bound: true })"));
}

// 2 launches and 7e12 FLOPs in each of 3 layers; 0.25 s of 1 s.
TEST(ComputeTo, CarriesEachOperation) {
  EXPECT_THAT(WireStage().operations(0), EqualsText(R"(
      part: MODEL_PART_DECODER layer_kind: "sparse" layer_count: 3 module: "attention"
      name: "query_key_value" pass: OPERATION_PASS_INPUT_GRADIENT narrow: true
      launches: 6 flops: 21e12 seconds { low: 0.2 expected: 0.25 high: 0.5 } share: 0.25
      basis: KERNEL_BASIS_OUTSIDE_GRID source_number: 1
      matmul { batch_count: 6 m: 7 n: 8 k: 9 })"));
}

TEST(ComputeTo, CarriesTheSizesOfKernels) {
  const v1::StageCompute stage = WireStage();
  EXPECT_THAT(stage.operations(1).grouped_matmul(),
              EqualsText("expert_count: 10 rows_per_expert: 11.5 n: 12 k: 13"));
  EXPECT_THAT(stage.operations(2).attention(), EqualsText(R"(
      batch_count: 14 query_count: 15 key_count: 16 key_value_head_count: 17 head_count: 18
      query_key_head_size: 19 value_head_size: 20 causal: true window_size: 21)"));
  EXPECT_THAT(stage.operations(3).memory_pass(),
              EqualsText("read_bytes: 22 written_bytes: 23 sums_rows: true"));
}

TEST(ComputeTo, ExchangesHaveATimeAloneAndNoShare) {
  const v1::TimedOperation operation = WireStage().operations(4);
  EXPECT_THAT(operation.collective(),
              EqualsText("kind: KIND_REDUCE_SCATTER group: GROUP_EXPERT size_bytes: 24"));
  EXPECT_EQ(operation.launches(), 6);
  EXPECT_EQ(operation.seconds().expected(), 0.25);
  EXPECT_EQ(operation.share(), 0);
  EXPECT_EQ(operation.basis(), v1::KERNEL_BASIS_UNSPECIFIED);
  EXPECT_EQ(operation.source_number(), 0);
}

TEST(ComputeTo, OperationsOfTheStepAreOfNoPartAndNoPass) {
  const v1::TimedOperation operation = WireStage().step_operations(0);
  EXPECT_EQ(operation.part(), v1::MODEL_PART_UNSPECIFIED);
  EXPECT_EQ(operation.pass(), v1::OPERATION_PASS_UNSPECIFIED);
  EXPECT_EQ(operation.layer_kind(), "");
  EXPECT_EQ(operation.memory_pass().read_bytes(), 25);
  EXPECT_EQ(operation.share(), 0.5);  // 0.25 s of 0.5 s
  EXPECT_EQ(operation.source_number(), 2);
}

TEST(ComputeTo, AnOperationOutsideTheLayersHasNoKind) {
  ComputeEstimate compute = SampleCompute();
  compute.stages[0].operations[0].layer_kind = -1;
  EXPECT_EQ(WireOf(std::move(compute), true).compute().stages(0).operations(0).layer_kind(), "");
}

// A device that takes no time is a fault elsewhere; a share of it would not be a number.
TEST(ComputeTo, OfNoTimeThereIsNoShare) {
  ComputeEstimate compute = SampleCompute();
  compute.stages[0].micro_batch = {};
  EXPECT_EQ(WireOf(std::move(compute), true).compute().stages(0).operations(0).share(), 0);
}

TEST(ComputeTo, ABasicViewHasNone) {
  const v1::Plan plan = WireOf(SampleCompute(), /*full=*/false);
  EXPECT_FALSE(plan.has_compute());
  EXPECT_EQ(plan.sources_size(), 0);
}

// Detects a field that is added to the API but not to the conversion or to the tests above.
TEST(ComputeTo, TheTestKnowsEveryField) {
  EXPECT_THAT(UnsetFields(WireOf(SampleCompute(), true).compute()), IsEmpty());
}

// The operation of a stage that does `work` in `pass`.
v1::TimedOperation WireOf(TraceWork work, TracePass pass) {
  ComputeEstimate compute = SampleCompute();
  compute.stages[0].operations = {Timed(work)};
  compute.stages[0].operations[0].op.pass = pass;
  return WireOf(std::move(compute), true).compute().stages(0).operations(0);
}

TEST(ComputeTo, PassesAndExchangesKeepTheirNames) {
  const std::string header = "engine/model/trace/trace.h";
  ExpectSameNames({v1::OperationPass_descriptor(), header, "TracePass"}, [](int pass) {
    return WireOf(PassWork{1, 2}, static_cast<TracePass>(pass)).pass();
  });
  using Extent = v1::CollectiveExtent;
  const auto exchange = [](int kind, int group) -> Extent {
    return WireOf(
               CollectiveWork{static_cast<CollectiveKind>(kind), static_cast<TraceGroup>(group), 1},
               TracePass::kForward)
        .collective();
  };
  ExpectSameNames({Extent::Kind_descriptor(), header, "CollectiveKind"},
                  [&](int kind) { return exchange(kind, 0).kind(); });
  ExpectSameNames({Extent::Group_descriptor(), header, "TraceGroup"},
                  [&](int group) { return exchange(0, group).group(); });
}

}  // namespace
}  // namespace sextant::server
