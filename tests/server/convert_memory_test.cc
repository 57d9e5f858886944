#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iterator>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "server/convert/enums.h"
#include "server/convert/plan.h"

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

void ExpectInterval(const v1::Interval& interval, double low, double expected, double high) {
  EXPECT_EQ(interval.low(), low);
  EXPECT_EQ(interval.expected(), expected);
  EXPECT_EQ(interval.high(), high);
}

TEST(MemoryTo, CarriesTheWhole) {
  const v1::Memory wire = Wire();
  EXPECT_EQ(wire.scope(), v1::MEMORY_SCOPE_LAYOUT);
  ASSERT_EQ(wire.stages_size(), 2);
  EXPECT_EQ(wire.stages(0).stage(), 0);
  EXPECT_EQ(wire.stages(1).stage(), 1);
  EXPECT_EQ(wire.peak_stage(), 1);
  ExpectInterval(wire.peak_bytes(), 800, 828, 900);
  // Headroom of the peak stage: 850 - 900, 850 - 828, 850 - 800.
  ExpectInterval(wire.headroom_bytes(), -50, 22, 50);
  EXPECT_EQ(wire.data_parallel_size(), 21);
  EXPECT_EQ(wire.micro_batch_count(), 22);
  EXPECT_EQ(wire.changes_considered(), 26);
  EXPECT_TRUE(wire.changes_search_ended_early());
  EXPECT_TRUE(wire.has_state());
}

TEST(MemoryTo, CarriesTheCapacity) {
  const v1::DeviceCapacity capacity = Wire().capacity();
  EXPECT_EQ(capacity.capacity_bytes(), 900);
  EXPECT_EQ(capacity.source(), v1::CAPACITY_SOURCE_REPORTED);
  EXPECT_EQ(capacity.reported_bytes(), 900);
  EXPECT_EQ(capacity.nominal_bytes(), 880);
  EXPECT_EQ(capacity.driver_reserved_bytes(), 7);
  EXPECT_EQ(capacity.reserved_bytes(), 43);
  EXPECT_EQ(capacity.usable_bytes(), 850);
}

TEST(MemoryTo, ABasicViewHasThePeakAndTheCheapestChange) {
  const v1::Plan plan = WireOf(SampleEstimate(), /*full=*/false);
  EXPECT_EQ(plan.verdict(), v1::VERDICT_TIGHT);
  EXPECT_EQ(plan.fit_chance(), 0.6);
  ExpectInterval(plan.memory().peak_bytes(), 800, 828, 900);
  EXPECT_EQ(plan.memory().changes_size(), 1);
  EXPECT_EQ(plan.memory().stages_size(), 0);
  EXPECT_FALSE(plan.memory().has_state());
  EXPECT_EQ(plan.sources_size(), 0);
}

TEST(MemoryTo, CarriesEachStage) {
  const v1::StageMemory stage = Wire().stages(1);
  EXPECT_EQ(stage.layer_count(), 16);
  EXPECT_EQ(stage.parameter_count(), 17);
  EXPECT_EQ(stage.peak_phase(), v1::PEAK_PHASE_LAYER_BACKWARD);
  EXPECT_THAT(stage.micro_batches_in_flight(), ElementsAre(4, 2));
  ASSERT_EQ(stage.sums_size(), kLedgerKindCount);
  for (int i = 0; i < kLedgerKindCount; ++i) {
    EXPECT_EQ(stage.sums(i).kind(), i + 1);
    EXPECT_EQ(stage.sums(i).size_bytes(), 100 + i);
  }
  EXPECT_EQ(stage.total_bytes(), 828);  // 8 x 100 + 0 + 1 + ... + 7
  EXPECT_EQ(stage.host_bytes(), 11);
  EXPECT_EQ(stage.allocated_bytes().low(), 11);
  EXPECT_EQ(stage.allocated_bytes().expected(), 12);
  EXPECT_EQ(stage.allocated_bytes().high(), 13);
  ExpectInterval(stage.reserved_bytes(), 13, 14, 15);
  ExpectInterval(stage.process_bytes(), 800, 828, 900);
  EXPECT_EQ(Wire().stages(0).ledger_size(), 0);
}

TEST(MemoryTo, CarriesEachRow) {
  const v1::StageMemory stage = Wire().stages(1);
  ASSERT_EQ(stage.ledger_size(), 1);
  const v1::LedgerRow& row = stage.ledger(0);
  EXPECT_EQ(row.kind(), v1::LEDGER_KIND_WEIGHT);
  EXPECT_EQ(row.part(), v1::MODEL_PART_DECODER);
  EXPECT_EQ(row.layer_kind(), "sparse");
  EXPECT_EQ(row.chunk(), 5);
  EXPECT_EQ(row.layer_count(), 3);
  EXPECT_EQ(row.name(), "attention.query.bias");
  EXPECT_EQ(row.shape(), "");
  EXPECT_THAT(row.dimensions(), ElementsAre(10, 20));
  EXPECT_EQ(row.element_kind(), v1::ELEMENT_KIND_NUMBER);
  EXPECT_EQ(row.data_type(), v1::DATA_TYPE_BF16);
  EXPECT_EQ(row.element_bits(), 16);
  EXPECT_EQ(row.elements(), 200);
  EXPECT_EQ(row.scale_bytes(), 4);
  EXPECT_EQ(row.micro_batch_count(), 2);
  EXPECT_EQ(row.size_bytes(), 2424);  // (200 x 16 / 8 + 4) x 3 x 2
  EXPECT_EQ(row.alive(), "always");
  EXPECT_EQ(row.why(), "parameters");
  EXPECT_EQ(row.source_number(), 1);
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
  const v1::FittingChange& change = wire.changes(0);
  ASSERT_EQ(change.settings_size(), 2);
  EXPECT_EQ(change.settings(0).field(), "layout.micro_batch_size");
  EXPECT_EQ(change.settings(0).from().number(), 2);
  EXPECT_EQ(change.settings(0).to().number(), 1);
  EXPECT_EQ(change.settings(1).field(), "layout.sharding.zero_stage");
  EXPECT_EQ(change.settings(1).from().enum_name(), "ZERO_STAGE_NONE");
  EXPECT_EQ(change.settings(1).to().enum_name(), "ZERO_STAGE_GRADIENTS");
  EXPECT_EQ(change.cost(), v1::CHANGE_COST_TIME);
  EXPECT_EQ(change.cost_text(), "more steps");
  ExpectInterval(change.peak_bytes(), 23, 24, 25);
  EXPECT_TRUE(wire.changes(1).settings(0).from().has_enabled());
  EXPECT_FALSE(wire.changes(1).settings(0).from().enabled());
  EXPECT_TRUE(wire.changes(1).settings(0).to().enabled());
}

// Detects a field that is added to the API but not to the conversion or to the tests above.
TEST(MemoryTo, TheTestKnowsEveryField) {
  EXPECT_EQ(v1::Memory::descriptor()->field_count(), 14);
  EXPECT_EQ(v1::DeviceCapacity::descriptor()->field_count(), 7);
  EXPECT_EQ(v1::StageMemory::descriptor()->field_count(), 12);
  EXPECT_EQ(v1::LedgerRow::descriptor()->field_count(), 18);
  EXPECT_EQ(v1::FittingChange::descriptor()->field_count(), 4);
}

TEST(LayoutEnums, KeepKindsPhasesAndParts) {
  const std::pair<LedgerKind, v1::LedgerKind> kinds[] = {
      {LedgerKind::kWeight, v1::LEDGER_KIND_WEIGHT},
      {LedgerKind::kGradient, v1::LEDGER_KIND_GRADIENT},
      {LedgerKind::kMasterWeight, v1::LEDGER_KIND_MASTER_WEIGHT},
      {LedgerKind::kOptimizerState, v1::LEDGER_KIND_OPTIMIZER_STATE},
      {LedgerKind::kActivation, v1::LEDGER_KIND_ACTIVATION},
      {LedgerKind::kTransient, v1::LEDGER_KIND_TRANSIENT},
      {LedgerKind::kCommunicationBuffer, v1::LEDGER_KIND_COMMUNICATION_BUFFER},
      {LedgerKind::kFrameworkReserve, v1::LEDGER_KIND_FRAMEWORK_RESERVE}};
  static_assert(std::size(kinds) == kLedgerKindCount);
  for (const auto& [kind, expected] : kinds) EXPECT_EQ(LedgerKindTo(kind), expected);
  const std::pair<PeakPhase, v1::PeakPhase> phases[] = {
      {PeakPhase::kForward, v1::PEAK_PHASE_FORWARD},
      {PeakPhase::kLoss, v1::PEAK_PHASE_LOSS},
      {PeakPhase::kHeadBackward, v1::PEAK_PHASE_HEAD_BACKWARD},
      {PeakPhase::kLayerBackward, v1::PEAK_PHASE_LAYER_BACKWARD},
      {PeakPhase::kOptimizerStep, v1::PEAK_PHASE_OPTIMIZER_STEP}};
  static_assert(std::size(phases) == kPeakPhaseCount);
  for (const auto& [phase, expected] : phases) EXPECT_EQ(PeakPhaseTo(phase), expected);
  for (int i = 0; i < kModelPartCount; ++i) {
    const auto part = static_cast<ModelPart>(i);
    EXPECT_EQ(absl::StrCat("MODEL_PART_", absl::AsciiStrToUpper(ModelPartName(part))),
              v1::ModelPart_Name(ModelPartTo(part)));
  }
  for (const EstimateKind kind :
       {EstimateKind::kLowerBound, EstimateKind::kTextbook, EstimateKind::kMeasuredBound}) {
    EXPECT_EQ(absl::StrCat("ESTIMATE_KIND_", absl::AsciiStrToUpper(EstimateKindName(kind))),
              v1::EstimateKind_Name(EstimateKindTo(kind)));
  }
}

TEST(LayoutEnums, VerdictsLeaveAsThemselves) {
  EXPECT_EQ(VerdictTo(Verdict::kFits), v1::VERDICT_FITS);
  EXPECT_EQ(VerdictTo(Verdict::kTight), v1::VERDICT_TIGHT);
  EXPECT_EQ(VerdictTo(Verdict::kDoesNotFit), v1::VERDICT_DOES_NOT_FIT);
  EXPECT_EQ(VerdictTo(Verdict::kStateFits), v1::VERDICT_STATE_FITS);
}

}  // namespace
}  // namespace sextant::server
