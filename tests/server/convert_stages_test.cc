// Stages of a plan to the wire: the memory and the compute of each.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "server/convert/compute.h"
#include "server/convert/plan.h"
#include "tests/server/message_matchers.h"

namespace sextant::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

LedgerRow WeightRow() {
  return {.kind = LedgerKind::kWeight,
          .part = ModelPart::kDecoder,
          .layer_kind = 1,
          .chunk = 5,
          .module = "attention",
          .name = "query",
          .role = "bias",
          .dimensions = {10, 20, 0},
          .data_type = DataType::kBf16,
          .element_bits = 16,
          .elements = 200,
          .scale_bytes = 4,
          .layers = 3,
          .micro_batches = 2,
          .size = Bytes(2424),
          .alive = "always",
          .why = "parameters",
          .source = "docs/memory.md"};
}

// Two stages; every field has a different value.
MemoryEstimate SampleEstimate() {
  StageEstimate first;
  first.memory.phase = PeakPhase::kLayerBackward;
  for (int i = 0; i < kLedgerKindCount; ++i) {
    first.memory.sums[static_cast<size_t>(i)] = Bytes(100 + i);
  }
  first.memory.host = Bytes(11);
  first.memory.allocated = {Bytes(11), Bytes(12), Bytes(13)};
  first.memory.reserved = {Bytes(13), Bytes(14), Bytes(15)};
  first.memory.process = {Bytes(800), Bytes(828), Bytes(900)};
  first.micro_batches_in_flight = {4, 2};
  first.layer_count = 16;
  first.parameter_count = 17;
  first.ledger = {WeightRow()};
  StageEstimate second = first;
  second.memory.phase = PeakPhase::kOptimizerStep;
  second.memory.process = {Bytes(18), Bytes(19), Bytes(20)};
  second.ledger.clear();
  return {
      .stages = {second, first},
      .layer_kinds = {std::string("dense"), std::string("sparse")},
      .peak_stage = 1,
      .zero_stage = ZeroStage::kOptimizer,
      .framework = Framework::kDeepSpeed,
      .usable = Bytes(850),
      .fit_chance = 0.6,
      .host = {.need = Bytes(90),
               .server = {.device_count = 4,
                          .memory = Bytes(100),
                          .name = "dgx-a100",
                          .citation = "a datasheet"},
               .verdict = Verdict::kTight},
      .verdict = Verdict::kTight,
      .data_parallel_size = 21,
      .micro_batch_count = 22,
      .changes = {{.settings = {{"layout.micro_batch_size", int64_t{2}, int64_t{1}},
                                {"layout.sharding.zero_stage", ZeroStage::kNone,
                                 ZeroStage::kGradients}},
                   .cost = ChangeCost::kTime,
                   .cost_text = "more steps",
                   .process = {Bytes(23), Bytes(24), Bytes(25)},
                   .host = Bytes(27)},
                  {.settings = {{"layout.sequence_parallel", false, true}}, .cost_text = "none"}},
      .open_choices = {{{"layout.sequence_parallel", false, true},
                        {Bytes(31), Bytes(32), Bytes(33)},
                        true,
                        true}},
      .changes_considered = 26,
      .search_ended_early = true,
      .unmodelled_settings = {"a.setting"},
      .unmodelled_effect = MemoryEffect::kRaises,
      .recipe = "a_recipe"};
}

v1::Plan WireOf(MemoryEstimate estimate, bool full) {
  Plan plan;
  plan.flops.counts.emplace_back();
  plan.capacity = {.capacity = Bytes(900),
                   .source = CapacitySource::kReported,
                   .reported = Bytes(900),
                   .nominal = Bytes(880),
                   .driver_reserved = Bytes(7),
                   .reserved = Bytes(43),
                   .taken = true};
  plan.memory_estimate = std::move(estimate);
  plan.device_count = 2;
  v1::Plan out;
  PlanTo(std::move(plan), full, &out);
  return out;
}

v1::Memory Wire() { return WireOf(SampleEstimate(), /*full=*/true).memory(); }

TEST(MemoryTo, CarriesTheWhole) {
  v1::Memory wire = Wire();
  EXPECT_THAT(wire.capacity(), EqualsText(R"(
      capacity_bytes: 900 source: CAPACITY_SOURCE_REPORTED reported_bytes: 900 nominal_bytes: 880
      driver_reserved_bytes: 7 reserved_bytes: 43 usable_bytes: 850 reserved_is_taken: true)"));
  ASSERT_EQ(wire.stages_size(), 2);
  EXPECT_EQ(wire.stages(1).stage(), 1);
  EXPECT_TRUE(wire.has_state());
  wire.clear_capacity();
  wire.clear_stages();
  wire.clear_changes();
  wire.clear_state();
  // Headroom of the peak stage: 850 - 900, 850 - 828, 850 - 800.
  EXPECT_THAT(wire, EqualsText(R"(
      scope: MEMORY_SCOPE_LAYOUT peak_stage: 1 data_parallel_size: 21 micro_batch_count: 22
      zero_stage: ZERO_STAGE_OPTIMIZER framework: KIND_DEEPSPEED
      peak_bytes { low: 800 expected: 828 high: 900 }
      headroom_bytes { low: -50 expected: 22 high: 50 }
      changes_considered: 26 changes_search_ended_early: true unmodelled_settings: "a.setting"
      unmodelled_effect: MEMORY_EFFECT_RAISES recipe: "a_recipe" host {
        needed_bytes: 90 server_bytes: 100 device_count: 4 node_type: "dgx-a100"
        citation: "a datasheet" share_bytes: 50 decides_verdict: true })"));
}

// A host decides nothing where it holds the state, or the devices' memory is worse.
TEST(MemoryTo, SaysWhetherTheHostDecides) {
  MemoryEstimate estimate = SampleEstimate();
  estimate.verdict = Verdict::kDoesNotFit;
  EXPECT_FALSE(WireOf(estimate, false).memory().host().decides_verdict());
  estimate.host.verdict = Verdict::kDoesNotFit;
  EXPECT_TRUE(WireOf(estimate, false).memory().host().decides_verdict());
  estimate.host.verdict = estimate.verdict = Verdict::kFits;
  EXPECT_FALSE(WireOf(estimate, false).memory().host().decides_verdict());
  estimate.host.server.memory = absl::nullopt;
  EXPECT_FALSE(WireOf(estimate, false).memory().host().has_server_bytes());
  estimate.host.need = Bytes(0);
  EXPECT_FALSE(WireOf(estimate, false).memory().has_host());
}

TEST(MemoryTo, ABasicViewHasThePeakAndTheCheapestChange) {
  const v1::Plan plan = WireOf(SampleEstimate(), /*full=*/false);
  EXPECT_EQ(plan.verdict(), v1::VERDICT_TIGHT);
  EXPECT_EQ(plan.fit_chance(), 0.6);
  EXPECT_EQ(plan.memory().peak_bytes().expected(), 828);
  EXPECT_EQ(plan.memory().changes_size(), 1);
  EXPECT_EQ(plan.memory().stages_size(), 0);
  EXPECT_FALSE(plan.memory().has_state());
  EXPECT_EQ(plan.sources_size(), 0);
}

TEST(MemoryTo, SaysWhatIsOpen) {
  EXPECT_THAT(WireOf(SampleEstimate(), false).open_choices(0), EqualsText(R"(
      setting { field: "layout.sequence_parallel"
                old_value { enabled: false } new_value { enabled: true } }
      peak_bytes { low: 31 expected: 32 high: 33 } spanned: true decides_verdict: true)"));
}

TEST(MemoryTo, CarriesEachStage) {
  v1::StageMemory stage = Wire().stages(1);
  ASSERT_EQ(stage.sums_size(), kLedgerKindCount);
  for (int i = 0; i < kLedgerKindCount; ++i) {
    EXPECT_EQ(stage.sums(i).kind(), i + 1);
    EXPECT_EQ(stage.sums(i).size_bytes(), 100 + i);
  }
  stage.clear_sums();
  // In all 8 x 100 + 0 + 1 + ... + 7; the row has (200 x 16 / 8 + 4) x 3 x 2 bytes.
  EXPECT_THAT(stage, EqualsText(R"(
      stage: 1 layer_count: 16 parameter_count: 17 peak_phase: PEAK_PHASE_LAYER_BACKWARD
      micro_batches_in_flight: [4, 2] total_bytes: 828 host_bytes: 11
      allocated_bytes { low: 11 expected: 12 high: 13 }
      reserved_bytes { low: 13 expected: 14 high: 15 }
      process_bytes { low: 800 expected: 828 high: 900 }
      ledger {
        kind: LEDGER_KIND_WEIGHT part: MODEL_PART_DECODER layer_kind: "sparse" chunk: 5
        layer_count: 3 name: "attention.query.bias" dimensions: [10, 20]
        element_kind: ELEMENT_KIND_NUMBER data_type: DATA_TYPE_BF16 element_bits: 16 elements: 200
        scale_bytes: 4 micro_batch_count: 2 size_bytes: 2424 alive: "always" why: "parameters"
        source_number: 1 })"));
  EXPECT_EQ(Wire().stages(0).ledger_size(), 0);
  EXPECT_THAT(WireOf(SampleEstimate(), true).sources(), ElementsAre("docs/memory.md"));
}

TEST(MemoryTo, LeavesOutWhatARowLacks) {
  MemoryEstimate estimate = SampleEstimate();
  estimate.stages[0].ledger = {
      {.kind = LedgerKind::kFrameworkReserve, .name = "context", .shape = "b s h"}};
  const v1::Memory wire = WireOf(std::move(estimate), /*full=*/true).memory();
  const v1::LedgerRow& row = wire.stages(0).ledger(0);
  EXPECT_EQ(row.part(), v1::MODEL_PART_UNSPECIFIED);
  EXPECT_EQ(row.source_number(), 0);
  EXPECT_EQ(row.layer_kind(), "");
  EXPECT_FALSE(row.has_chunk());
  EXPECT_EQ(row.name(), "context");
  EXPECT_EQ(row.shape(), "b s h");
  EXPECT_THAT(row.dimensions(), IsEmpty());
}

TEST(MemoryTo, CarriesChanges) {
  const v1::Memory wire = Wire();
  ASSERT_EQ(wire.changes_size(), 2);
  EXPECT_THAT(wire.changes(0), EqualsText(R"(
      settings { field: "layout.micro_batch_size" old_value { number: 2 } new_value { number: 1 } }
      settings { field: "layout.sharding.zero_stage" old_value { enum_name: "ZERO_STAGE_NONE" }
                 new_value { enum_name: "ZERO_STAGE_GRADIENTS" } }
      cost: CHANGE_COST_TIME cost_text: "more steps"
      peak_bytes { low: 23 expected: 24 high: 25 } host_bytes: 27)"));
  EXPECT_THAT(wire.changes(1).settings(0), EqualsText(R"(
      field: "layout.sequence_parallel"
      old_value { enabled: false } new_value { enabled: true })"));
}

// Detects a field of the API that conversion or the tests above lack; state has tests of its own.
TEST(MemoryTo, TheTestKnowsEveryField) {
  v1::Memory wire = Wire();
  wire.clear_state();
  wire.mutable_stages(1)->mutable_ledger(0)->set_shape("b s");  // instead of dimensions
  EXPECT_THAT(UnsetFields(wire), ElementsAre("sextant.v1.Memory.state"));
}

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
  EXPECT_THAT(stage, EqualsText(R"(first_stage: 4 stage_count: 5 flops: 37e12
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
      name: "query_key_value" training_pass: OPERATION_PASS_INPUT_GRADIENT narrow: true
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
  EXPECT_EQ(operation.training_pass(), v1::OPERATION_PASS_UNSPECIFIED);
  EXPECT_EQ(operation.layer_kind(), "");
  EXPECT_EQ(operation.memory_pass().read_bytes(), 25);
  EXPECT_EQ(operation.share(), 0.5);  // 0.25 s of 0.5 s
  EXPECT_EQ(operation.source_number(), 2);
}

// A device that takes no time is a fault elsewhere; a share of it would not be a number.
TEST(ComputeTo, AnOperationOutsideTheLayersHasNoKindAndOfNoTimeNoShare) {
  ComputeEstimate compute = SampleCompute();
  compute.stages[0].operations[0].layer_kind = -1;
  compute.stages[0].micro_batch = {};
  const v1::Plan plan = WireOf(std::move(compute), true);
  EXPECT_EQ(plan.compute().stages(0).operations(0).layer_kind(), "");
  EXPECT_EQ(plan.compute().stages(0).operations(0).share(), 0);
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
    return WireOf(PassWork{1, 2}, static_cast<TracePass>(pass)).training_pass();
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
