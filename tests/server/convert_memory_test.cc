#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

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
      .verdict = Verdict::kTight,
      .data_parallel_size = 21,
      .micro_batch_count = 22,
      .changes = {{.settings = {{"layout.micro_batch_size", int64_t{2}, int64_t{1}},
                                {"layout.sharding.zero_stage", ZeroStage::kNone,
                                 ZeroStage::kGradients}},
                   .cost = ChangeCost::kTime,
                   .cost_text = "more steps",
                   .process = {Bytes(23), Bytes(24), Bytes(25)}},
                  {.settings = {{"layout.sequence_parallel", false, true}}, .cost_text = "none"}},
      .changes_considered = 26,
      .search_ended_early = true};
}

v1::Plan WireOf(MemoryEstimate estimate, bool full) {
  Plan plan;
  plan.flops.counts.emplace_back();
  plan.capacity = {.capacity = Bytes(900),
                   .source = CapacitySource::kReported,
                   .reported = Bytes(900),
                   .nominal = Bytes(880),
                   .driver_reserved = Bytes(7),
                   .reserved = Bytes(43)};
  plan.memory_estimate = std::move(estimate);
  v1::Plan out;
  PlanTo(std::move(plan), full, &out);
  return out;
}

v1::Memory Wire() { return WireOf(SampleEstimate(), /*full=*/true).memory(); }

TEST(MemoryTo, CarriesTheWhole) {
  v1::Memory wire = Wire();
  EXPECT_THAT(wire.capacity(), EqualsText(R"(
      capacity_bytes: 900 source: CAPACITY_SOURCE_REPORTED reported_bytes: 900 nominal_bytes: 880
      driver_reserved_bytes: 7 reserved_bytes: 43 usable_bytes: 850)"));
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
      changes_considered: 26 changes_search_ended_early: true)"));
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
      settings { field: "layout.micro_batch_size" from { number: 2 } to { number: 1 } }
      settings { field: "layout.sharding.zero_stage" from { enum_name: "ZERO_STAGE_NONE" }
                 to { enum_name: "ZERO_STAGE_GRADIENTS" } }
      cost: CHANGE_COST_TIME cost_text: "more steps"
      peak_bytes { low: 23 expected: 24 high: 25 })"));
  EXPECT_THAT(wire.changes(1).settings(0), EqualsText(R"(
      field: "layout.sequence_parallel" from { enabled: false } to { enabled: true })"));
}

// Detects a field that is added to the API but not to the conversion or to the tests above. The
// state has tests of its own.
TEST(MemoryTo, TheTestKnowsEveryField) {
  v1::Memory wire = Wire();
  wire.clear_state();
  wire.mutable_stages(1)->mutable_ledger(0)->set_shape("b s");  // instead of dimensions
  EXPECT_THAT(UnsetFields(wire), ElementsAre("sextant.v1.Memory.state"));
}

}  // namespace
}  // namespace sextant::server
