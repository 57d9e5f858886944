#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "server/convert/notes.h"
#include "tests/server/wire_notes.h"

namespace sextant::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// The proto's name of a kind's number, as note.h spells it: NOTE_KIND_PEAK_UNKNOWN is kPeakUnknown.
std::string EngineName(const std::string& wire) {
  std::string out = "k";
  bool upper = true;
  for (const char c : wire.substr(std::string("NOTE_KIND_").size())) {
    if (c != '_') out += upper ? c : absl::ascii_tolower(static_cast<unsigned char>(c));
    upper = c == '_';
  }
  return out;
}

// Each with its name, so that a kind that moves in one list alone is found.
#define SEXTANT_KIND(kind) \
  { NoteKind::kind, #kind }
constexpr struct {
  NoteKind kind;
  const char* name;
} kKinds[] = {
    SEXTANT_KIND(kFlopsConvention),
    SEXTANT_KIND(kSequenceLength),
    SEXTANT_KIND(kRecomputation),
    SEXTANT_KIND(kAttentionNotCounted),
    SEXTANT_KIND(kSharedEvenly),
    SEXTANT_KIND(kActivationsGiven),
    SEXTANT_KIND(kActivationsNotCounted),
    SEXTANT_KIND(kNarrowGradients),
    SEXTANT_KIND(kDeferredReduction),
    SEXTANT_KIND(kWeightsStayGathered),
    SEXTANT_KIND(kWeightsCast),
    SEXTANT_KIND(kBatchSizeChosen),
    SEXTANT_KIND(kSequenceParallelChosen),
    SEXTANT_KIND(kFrameworkBuffers),
    SEXTANT_KIND(kReserveEstimated),
    SEXTANT_KIND(kDeviceCapacity),
    SEXTANT_KIND(kNothingReserved),
    SEXTANT_KIND(kOptimizerIn8Bits),
    SEXTANT_KIND(kPeakUnknown),
    SEXTANT_KIND(kPeak),
    SEXTANT_KIND(kMeasuredAbovePeak),
    SEXTANT_KIND(kMeasuredBound),
    SEXTANT_KIND(kDevicesNotMeasured),
    SEXTANT_KIND(kRateUnstable),
    SEXTANT_KIND(kCalibrationPartial),
    SEXTANT_KIND(kDeviceIsProcessor),
    SEXTANT_KIND(kAgeLimitsNothing),
    SEXTANT_KIND(kCatalogue),
    SEXTANT_KIND(kNothingFails),
    SEXTANT_KIND(kMfuAssumed),
    SEXTANT_KIND(kPriceMissing),
    SEXTANT_KIND(kPowerMissing),
    SEXTANT_KIND(kPowerLimitDrawn),
    SEXTANT_KIND(kHostPowerMissing),
    SEXTANT_KIND(kFacilityPowerMissing),
    SEXTANT_KIND(kMeasurementsTooOld),
    SEXTANT_KIND(kOtherPowerLimits),
    SEXTANT_KIND(kPowerLimitAssumed),
    SEXTANT_KIND(kPowerLimitUnknown),
    SEXTANT_KIND(kNoMeasurementLeft),
    SEXTANT_KIND(kDatasheetPeaks),
    SEXTANT_KIND(kGeneralRateUnknown),
    SEXTANT_KIND(kLaunchesFree),
    SEXTANT_KIND(kBurstTimes),
    SEXTANT_KIND(kSustainedTimes),
    SEXTANT_KIND(kHostLinkUnknown),
    SEXTANT_KIND(kHostCopiesAlone),
    SEXTANT_KIND(kCollectiveNotMeasured),
    SEXTANT_KIND(kLinksIdle),
    SEXTANT_KIND(kNetworkNotModelled),
    SEXTANT_KIND(kNetworkUnused),
    SEXTANT_KIND(kSingleRank),
    SEXTANT_KIND(kCapacityNominal),
    SEXTANT_KIND(kVocabularyPadded),
    SEXTANT_KIND(kProductUnaligned),
    SEXTANT_KIND(kOperationsAssumed),
    SEXTANT_KIND(kOperationsNotTimed),
    SEXTANT_KIND(kHostBound),
    SEXTANT_KIND(kStepAssumed),
    SEXTANT_KIND(kStepNotPredicted),
    SEXTANT_KIND(kStepOpen),
    SEXTANT_KIND(kStepCalibrated),
    SEXTANT_KIND(kInterruptionsAssumed),
    SEXTANT_KIND(kDeadlineMissed),
    SEXTANT_KIND(kBudgetExceeded),
    SEXTANT_KIND(kSlowestDevice),
    SEXTANT_KIND(kPowerMeasured),
    SEXTANT_KIND(kTensorAcrossServers),
    SEXTANT_KIND(kFewMicroBatches),
    SEXTANT_KIND(kNameTaken),
    SEXTANT_KIND(kTextModelAlone),
    SEXTANT_KIND(kFleetRates),
    SEXTANT_KIND(kFleetUnread),
    SEXTANT_KIND(kFleetStale),
    SEXTANT_KIND(kFleetDevicesUnhealthy),
    SEXTANT_KIND(kBaseTrained),
};
#undef SEXTANT_KIND

TEST(NoteTo, GivesEachKindTheProtosOfItsName) {
  ASSERT_EQ(std::size(kKinds), static_cast<size_t>(kNoteKindCount));
  EXPECT_EQ(v1::NoteKind_MAX, kNoteKindCount);
  for (const auto& [kind, name] : kKinds) {
    v1::Note wire;
    NoteTo({kind, "text"}, &wire);
    EXPECT_EQ(EngineName(v1::NoteKind_Name(wire.kind())), name);
  }
}

TEST(NoteTo, KeepsAllOfANote) {
  v1::Note wire;
  NoteTo({.kind = NoteKind::kDeviceCapacity,
          .text = "cluster.x is 5.",
          .values = {{"capacity_bytes", 5}, {"other_bytes", 0.5}},
          .fields = {"cluster.x", "cluster.y"}},
         &wire);
  EXPECT_EQ(wire.kind(), v1::NOTE_KIND_DEVICE_CAPACITY);
  EXPECT_EQ(wire.subject(), v1::NOTE_SUBJECT_MEMORY);
  EXPECT_EQ(wire.text(), "cluster.x is 5.");
  EXPECT_THAT(wire.fields(), ElementsAre("cluster.x", "cluster.y"));
  ASSERT_EQ(wire.values_size(), 2);
  EXPECT_EQ(wire.values(0).name(), "capacity_bytes");
  EXPECT_EQ(wire.values(0).value(), 5);
  EXPECT_EQ(wire.values(1).name(), "other_bytes");
  EXPECT_EQ(wire.values(1).value(), 0.5);
}

// The first kind of each subject.
TEST(NoteTo, SaysTheSubject) {
  const auto subject = [](NoteKind kind) {
    v1::Note wire;
    NoteTo({kind, ""}, &wire);
    return wire.subject();
  };
  EXPECT_EQ(subject(NoteKind::kFlopsConvention), v1::NOTE_SUBJECT_ARITHMETIC);
  EXPECT_EQ(subject(NoteKind::kSharedEvenly), v1::NOTE_SUBJECT_MEMORY);
  EXPECT_EQ(subject(NoteKind::kPeak), v1::NOTE_SUBJECT_TIME);
  EXPECT_EQ(subject(NoteKind::kPriceMissing), v1::NOTE_SUBJECT_ECONOMICS);
}

TEST(NotesTo, PartsWarningsFromAssumptions) {
  const Notes notes = {
      {NoteKind::kPeak, "a"}, {NoteKind::kPeakUnknown, "b"}, {NoteKind::kLinksIdle, "c"}};
  NoteList warnings;
  NoteList assumptions;
  NotesTo(notes, &warnings, &assumptions);
  EXPECT_THAT(warnings, ElementsAre(IsWireNote(v1::NOTE_KIND_PEAK_UNKNOWN, "b")));
  EXPECT_THAT(assumptions, ElementsAre(IsWireNote(v1::NOTE_KIND_PEAK, "a"),
                                       IsWireNote(v1::NOTE_KIND_LINKS_IDLE, "c")));
  NoteList alone;
  NotesTo(notes, &alone, nullptr);
  EXPECT_THAT(alone, ElementsAre(IsWireNote(v1::NOTE_KIND_PEAK_UNKNOWN, "b")));
}

TEST(SourceNumbers, SendEachSourceOnceAndNumberThemFromOne) {
  SourceNumbers::List list;
  SourceNumbers sources(&list);
  EXPECT_EQ(sources.Of("a sheet"), 1);
  EXPECT_EQ(sources.Of("a table"), 2);
  EXPECT_EQ(sources.Of("a sheet"), 1);
  EXPECT_EQ(sources.Of(""), 0);
  EXPECT_THAT(list, ElementsAre("a sheet", "a table"));
}

TEST(SourceNumbers, AreZeroWhereAnAnswerHasNoSources) {
  SourceNumbers sources(nullptr);
  EXPECT_EQ(sources.Of("a sheet"), 0);
  EXPECT_EQ(sources.Of("another"), 0);
}

}  // namespace
}  // namespace sextant::server
