#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "server/convert/compute.h"
#include "server/convert/plan.h"

namespace sextant::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

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

void ExpectSeconds(const v1::Interval& interval, double low, double expected, double high) {
  EXPECT_EQ(interval.low(), low);
  EXPECT_EQ(interval.expected(), expected);
  EXPECT_EQ(interval.high(), high);
}

TEST(ComputeTo, CarriesEachStage) {
  const v1::Plan plan = WireOf(SampleCompute(), /*full=*/true);
  ASSERT_EQ(plan.compute().stages_size(), 1);
  const v1::StageCompute& stage = plan.compute().stages(0);
  EXPECT_EQ(stage.first_stage(), 4);
  EXPECT_EQ(stage.stage_count(), 5);
  ExpectSeconds(stage.forward_seconds(), 27, 28, 29);
  ExpectSeconds(stage.backward_seconds(), 30, 31, 32);
  ExpectSeconds(stage.micro_batch_seconds(), 0.5, 1, 2);
  ExpectSeconds(stage.step_seconds(), 0.3, 0.5, 0.7);
  EXPECT_EQ(stage.flops(), 37e12);
  EXPECT_EQ(stage.host().launches(), 33);
  ExpectSeconds(stage.host().seconds(), 34, 35, 36);
  EXPECT_TRUE(stage.host().bound());
  EXPECT_EQ(stage.operations_size(), 5);
  EXPECT_EQ(stage.step_operations_size(), 1);
  EXPECT_THAT(plan.sources(), ElementsAre("table B", "table A"));
}

TEST(ComputeTo, CarriesEachOperation) {
  const v1::TimedOperation operation = WireStage().operations(0);
  EXPECT_EQ(operation.part(), v1::MODEL_PART_DECODER);
  EXPECT_EQ(operation.layer_kind(), "sparse");
  EXPECT_EQ(operation.layer_count(), 3);
  EXPECT_EQ(operation.module(), "attention");
  EXPECT_EQ(operation.name(), "query_key_value");
  EXPECT_EQ(operation.pass(), v1::OPERATION_PASS_INPUT_GRADIENT);
  EXPECT_TRUE(operation.narrow());
  EXPECT_EQ(operation.launches(), 6);   // 2 in each of 3 layers
  EXPECT_EQ(operation.flops(), 21e12);  // 7e12 in each of 3 layers
  ExpectSeconds(operation.seconds(), 0.2, 0.25, 0.5);
  EXPECT_EQ(operation.share(), 0.25);  // of 1 s
  EXPECT_EQ(operation.basis(), v1::KERNEL_BASIS_OUTSIDE_GRID);
  EXPECT_EQ(operation.source_number(), 1);
}

TEST(ComputeTo, CarriesTheSizesOfKernels) {
  const v1::StageCompute stage = WireStage();
  const v1::MatmulExtent& matmul = stage.operations(0).matmul();
  EXPECT_EQ(matmul.batch_count(), 6);
  EXPECT_EQ(matmul.m(), 7);
  EXPECT_EQ(matmul.n(), 8);
  EXPECT_EQ(matmul.k(), 9);
  const v1::GroupedMatmulExtent& grouped = stage.operations(1).grouped_matmul();
  EXPECT_EQ(grouped.expert_count(), 10);
  EXPECT_EQ(grouped.rows_per_expert(), 11.5);
  EXPECT_EQ(grouped.n(), 12);
  EXPECT_EQ(grouped.k(), 13);
  const v1::AttentionExtent& attention = stage.operations(2).attention();
  EXPECT_EQ(attention.batch_count(), 14);
  EXPECT_EQ(attention.query_count(), 15);
  EXPECT_EQ(attention.key_count(), 16);
  EXPECT_EQ(attention.key_value_head_count(), 17);
  EXPECT_EQ(attention.head_count(), 18);
  EXPECT_EQ(attention.query_key_head_size(), 19);
  EXPECT_EQ(attention.value_head_size(), 20);
  EXPECT_TRUE(attention.causal());
  EXPECT_EQ(attention.window_size(), 21);
  const v1::MemoryTraffic& pass = stage.operations(3).memory_pass();
  EXPECT_EQ(pass.read_bytes(), 22);
  EXPECT_EQ(pass.written_bytes(), 23);
  EXPECT_TRUE(pass.sums_rows());
}

TEST(ComputeTo, ExchangesHaveATimeAloneAndNoShare) {
  const v1::TimedOperation operation = WireStage().operations(4);
  EXPECT_EQ(operation.collective().kind(), v1::CollectiveExtent::KIND_REDUCE_SCATTER);
  EXPECT_EQ(operation.collective().group(), v1::CollectiveExtent::GROUP_EXPERT);
  EXPECT_EQ(operation.collective().size_bytes(), 24);
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
  EXPECT_EQ(v1::Compute::descriptor()->field_count(), 1);
  EXPECT_EQ(v1::StageCompute::descriptor()->field_count(), 10);
  EXPECT_EQ(v1::HostWork::descriptor()->field_count(), 3);
  EXPECT_EQ(v1::TimedOperation::descriptor()->field_count(), 18);
  EXPECT_EQ(v1::MatmulExtent::descriptor()->field_count(), 4);
  EXPECT_EQ(v1::GroupedMatmulExtent::descriptor()->field_count(), 4);
  EXPECT_EQ(v1::AttentionExtent::descriptor()->field_count(), 9);
  EXPECT_EQ(v1::MemoryTraffic::descriptor()->field_count(), 3);
  EXPECT_EQ(v1::CollectiveExtent::descriptor()->field_count(), 3);
}

TEST(ComputeTo, KeepsPasses) {
  const std::pair<TracePass, v1::OperationPass> passes[] = {
      {TracePass::kForward, v1::OPERATION_PASS_FORWARD},
      {TracePass::kRecompute, v1::OPERATION_PASS_RECOMPUTE},
      {TracePass::kInputGradient, v1::OPERATION_PASS_INPUT_GRADIENT},
      {TracePass::kWeightGradient, v1::OPERATION_PASS_WEIGHT_GRADIENT}};
  for (const auto& [pass, expected] : passes) {
    ComputeEstimate compute = SampleCompute();
    compute.stages[0].operations[0].op.pass = pass;
    const v1::Plan plan = WireOf(std::move(compute), true);
    EXPECT_EQ(plan.compute().stages(0).operations(0).pass(), expected);
  }
}

// The engine has no names of these.
TEST(ComputeTo, ExchangesKeepTheirKindAndGroup) {
  using Extent = v1::CollectiveExtent;
  const std::pair<CollectiveKind, Extent::Kind> kinds[] = {
      {CollectiveKind::kAllGather, Extent::KIND_ALL_GATHER},
      {CollectiveKind::kReduceScatter, Extent::KIND_REDUCE_SCATTER},
      {CollectiveKind::kAllReduce, Extent::KIND_ALL_REDUCE},
      {CollectiveKind::kAllToAll, Extent::KIND_ALL_TO_ALL},
      {CollectiveKind::kRing, Extent::KIND_RING}};
  const std::pair<TraceGroup, Extent::Group> groups[] = {
      {TraceGroup::kTensor, Extent::GROUP_TENSOR},
      {TraceGroup::kContext, Extent::GROUP_CONTEXT},
      {TraceGroup::kExpert, Extent::GROUP_EXPERT},
      {TraceGroup::kExpertTensor, Extent::GROUP_EXPERT_TENSOR}};
  for (const auto& [kind, wire_kind] : kinds) {
    for (const auto& [group, wire_group] : groups) {
      ComputeEstimate compute = SampleCompute();
      compute.stages[0].operations = {Timed(CollectiveWork{kind, group, 1})};
      const v1::Plan plan = WireOf(std::move(compute), true);
      const Extent& wire = plan.compute().stages(0).operations(0).collective();
      EXPECT_EQ(wire.kind(), wire_kind);
      EXPECT_EQ(wire.group(), wire_group);
    }
  }
}

}  // namespace
}  // namespace sextant::server
