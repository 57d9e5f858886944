#include "engine/base/note.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sextant {
namespace {

using ::testing::ElementsAre;

// The groups of note.h, by their first and last kinds.
TEST(SubjectOf, IsThatOfTheKindsGroup) {
  EXPECT_EQ(SubjectOf(NoteKind::kFlopsConvention), NoteSubject::kArithmetic);
  EXPECT_EQ(SubjectOf(NoteKind::kAttentionNotCounted), NoteSubject::kArithmetic);
  EXPECT_EQ(SubjectOf(NoteKind::kSharedEvenly), NoteSubject::kMemory);
  EXPECT_EQ(SubjectOf(NoteKind::kOptimizerIn8Bits), NoteSubject::kMemory);
  EXPECT_EQ(SubjectOf(NoteKind::kPeakUnknown), NoteSubject::kTime);
  EXPECT_EQ(SubjectOf(NoteKind::kMfuAssumed), NoteSubject::kTime);
  EXPECT_EQ(SubjectOf(NoteKind::kPriceMissing), NoteSubject::kEconomics);
  EXPECT_EQ(SubjectOf(NoteKind::kFacilityPowerMissing), NoteSubject::kEconomics);
  EXPECT_EQ(SubjectOf(NoteKind::kMeasurementsTooOld), NoteSubject::kTime);
  EXPECT_EQ(SubjectOf(NoteKind::kSingleRank), NoteSubject::kTime);
  EXPECT_EQ(SubjectOf(NoteKind::kCapacityNominal), NoteSubject::kMemory);
  EXPECT_EQ(SubjectOf(NoteKind::kDeadlineMissed), NoteSubject::kTime);
  EXPECT_EQ(SubjectOf(NoteKind::kBudgetExceeded), NoteSubject::kEconomics);
  EXPECT_EQ(SubjectOf(NoteKind::kPowerMeasured), NoteSubject::kEconomics);
  EXPECT_EQ(SubjectOf(NoteKind::kFewMicroBatches), NoteSubject::kTime);
  EXPECT_EQ(SubjectOf(NoteKind::kNameTaken), NoteSubject::kArithmetic);
  EXPECT_EQ(SubjectOf(NoteKind::kBaseTrained), NoteSubject::kArithmetic);
  EXPECT_EQ(SubjectOf(NoteKind::kNodesAssumed), NoteSubject::kTime);
}

// Those that note.proto calls a warning.
TEST(IsWarning, AreTheKindsThatMayChangeADecision) {
  std::vector<NoteKind> warnings;
  for (int kind = 0; kind < kNoteKindCount; ++kind) {
    if (IsWarning(static_cast<NoteKind>(kind))) warnings.push_back(static_cast<NoteKind>(kind));
  }
  EXPECT_THAT(
      warnings,
      ElementsAre(
          NoteKind::kActivationsNotCounted, NoteKind::kPeakUnknown, NoteKind::kMeasuredAbovePeak,
          NoteKind::kDevicesNotMeasured, NoteKind::kRateUnstable, NoteKind::kCalibrationPartial,
          NoteKind::kNoMeasurementLeft, NoteKind::kHostLinkUnknown, NoteKind::kOperationsNotTimed,
          NoteKind::kHostBound, NoteKind::kStepNotPredicted, NoteKind::kDeadlineMissed,
          NoteKind::kBudgetExceeded, NoteKind::kSlowestDevice, NoteKind::kTensorAcrossServers,
          NoteKind::kFewMicroBatches, NoteKind::kTextModelAlone, NoteKind::kFleetUnread,
          NoteKind::kFleetStale, NoteKind::kFleetDevicesUnhealthy, NoteKind::kBaseTrained,
          NoteKind::kNodesAssumed, NoteKind::kSoftwarePublished, NoteKind::kMixersNotMeasured));
}

}  // namespace
}  // namespace sextant
