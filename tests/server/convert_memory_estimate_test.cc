#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
          .data_type = "bf16",
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
  return {.stages = {second, first},
          .layer_kinds = {std::string("dense"), std::string("sparse")},
          .peak_stage = 1,
          .usable = Bytes(850),
          .verdict = Verdict::kTight,
          .data_parallel_size = 21,
          .micro_batch_count = 22,
          .changes = {{.settings = {{"layout.micro_batch_size", "2", "1"}, {"a", "b", "c"}},
                       .cost = "more steps",
                       .process = {Bytes(23), Bytes(24), Bytes(25)}}},
          .changes_considered = 26,
          .assumptions = {std::string("One."), std::string("Two.")}};
}

v1::MemoryEstimate Wire() {
  v1::MemoryEstimate out;
  MemoryEstimateTo(SampleEstimate(), &out);
  return out;
}

void ExpectInterval(const v1::BytesInterval& interval, int64_t low, int64_t expected,
                    int64_t high) {
  EXPECT_EQ(interval.low(), low);
  EXPECT_EQ(interval.expected(), expected);
  EXPECT_EQ(interval.high(), high);
}

TEST(MemoryEstimateTo, CarriesTheWhole) {
  const v1::MemoryEstimate wire = Wire();
  ASSERT_EQ(wire.stages_size(), 2);
  EXPECT_EQ(wire.stages(0).stage(), 0);
  EXPECT_EQ(wire.stages(1).stage(), 1);
  EXPECT_EQ(wire.peak_stage(), 1);
  EXPECT_EQ(wire.usable_bytes(), 850);
  // Headroom of the peak stage: 850 - 900, 850 - 828, 850 - 800.
  ExpectInterval(wire.headroom_bytes(), -50, 22, 50);
  EXPECT_EQ(wire.data_parallel_size(), 21);
  EXPECT_EQ(wire.micro_batch_count(), 22);
  EXPECT_EQ(wire.changes_considered(), 26);
  EXPECT_THAT(wire.assumptions(), ElementsAre("One.", "Two."));
}

TEST(MemoryEstimateTo, CarriesEachStage) {
  const v1::StageMemory stage = Wire().stages(1);
  EXPECT_EQ(stage.layer_count(), 16);
  EXPECT_EQ(stage.parameter_count(), 17);
  EXPECT_EQ(stage.moment(), v1::PEAK_PHASE_LAYER_BACKWARD);
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

TEST(MemoryEstimateTo, CarriesEachRow) {
  const v1::StageMemory stage = Wire().stages(1);
  ASSERT_EQ(stage.ledger_size(), 1);
  const v1::LedgerRow& row = stage.ledger(0);
  EXPECT_EQ(row.kind(), v1::LEDGER_KIND_WEIGHT);
  EXPECT_EQ(row.part(), "decoder");
  EXPECT_EQ(row.layer_kind(), "sparse");
  EXPECT_EQ(row.chunk(), 5);
  EXPECT_EQ(row.layer_count(), 3);
  EXPECT_EQ(row.name(), "attention.query.bias");
  EXPECT_EQ(row.shape(), "");
  EXPECT_THAT(row.dimensions(), ElementsAre(10, 20));
  EXPECT_EQ(row.data_type(), "bf16");
  EXPECT_EQ(row.element_bits(), 16);
  EXPECT_EQ(row.elements(), 200);
  EXPECT_EQ(row.scale_bytes(), 4);
  EXPECT_EQ(row.micro_batch_count(), 2);
  EXPECT_EQ(row.size_bytes(), 2424);  // (200 x 16 / 8 + 4) x 3 x 2
  EXPECT_EQ(row.alive(), "always");
  EXPECT_EQ(row.why(), "parameters");
  EXPECT_EQ(row.source(), "docs/memory.md");
}

TEST(MemoryEstimateTo, LeavesOutWhatARowLacks) {
  MemoryEstimate estimate = SampleEstimate();
  estimate.stages[0].ledger = {
      {.kind = LedgerKind::kFrameworkReserve, .name = "context", .shape = "b s h"}};
  v1::MemoryEstimate wire;
  MemoryEstimateTo(std::move(estimate), &wire);
  const v1::LedgerRow& row = wire.stages(0).ledger(0);
  EXPECT_EQ(row.part(), "");
  EXPECT_EQ(row.layer_kind(), "");
  EXPECT_FALSE(row.has_chunk());
  EXPECT_EQ(row.name(), "context");
  EXPECT_EQ(row.shape(), "b s h");
  EXPECT_THAT(row.dimensions(), IsEmpty());
}

TEST(MemoryEstimateTo, CarriesChanges) {
  const v1::MemoryEstimate wire = Wire();
  ASSERT_EQ(wire.changes_size(), 1);
  const v1::FittingChange& change = wire.changes(0);
  ASSERT_EQ(change.settings_size(), 2);
  EXPECT_EQ(change.settings(0).field(), "layout.micro_batch_size");
  EXPECT_EQ(change.settings(0).from(), "2");
  EXPECT_EQ(change.settings(0).to(), "1");
  EXPECT_EQ(change.settings(1).field(), "a");
  EXPECT_EQ(change.cost(), "more steps");
  ExpectInterval(change.process_bytes(), 23, 24, 25);
}

// Detects a field that is added to the API but not to the conversion or to the tests above.
TEST(MemoryEstimateTo, TheTestKnowsEveryField) {
  EXPECT_EQ(v1::MemoryEstimate::descriptor()->field_count(), 9);
  EXPECT_EQ(v1::StageMemory::descriptor()->field_count(), 12);
  EXPECT_EQ(v1::LedgerRow::descriptor()->field_count(), 17);
  EXPECT_EQ(v1::FittingChange::descriptor()->field_count(), 3);
}

// The wire and the engine use the same names.
TEST(LayoutEnums, KindsAndMomentsHaveTheSameNames) {
  for (int i = 0; i < kLedgerKindCount; ++i) {
    const auto kind = static_cast<LedgerKind>(i);
    EXPECT_EQ(absl::StrCat("LEDGER_KIND_", absl::AsciiStrToUpper(LedgerKindName(kind))),
              v1::LedgerKind_Name(LedgerKindTo(kind)));
  }
  for (int i = 0; i < kPeakPhaseCount; ++i) {
    const auto moment = static_cast<PeakPhase>(i);
    EXPECT_EQ(absl::StrCat("PEAK_PHASE_", absl::AsciiStrToUpper(PeakPhaseName(moment))),
              v1::PeakPhase_Name(PeakPhaseTo(moment)));
  }
}

TEST(LayoutEnums, VerdictsLeaveAsThemselves) {
  EXPECT_EQ(VerdictTo(Verdict::kFits), v1::VERDICT_FITS);
  EXPECT_EQ(VerdictTo(Verdict::kTight), v1::VERDICT_TIGHT);
  EXPECT_EQ(VerdictTo(Verdict::kDoesNotFit), v1::VERDICT_DOES_NOT_FIT);
}

}  // namespace
}  // namespace sextant::server
