// The assumptions and warnings of an answer: typed for programs, in sentences for people.
#ifndef SEXTANT_ENGINE_BASE_NOTE_H_
#define SEXTANT_ENGINE_BASE_NOTE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace sextant {

// sextant.v1.NoteKind says what each means and which values it has. The order is the same.
enum class NoteKind {
  kFlopsConvention,
  kSequenceLength,
  kRecomputation,
  kAttentionNotCounted,

  kSharedEvenly,
  kActivationsGiven,
  kActivationsNotCounted,
  kNarrowGradients,
  kDeferredReduction,
  kWeightsStayGathered,
  kWeightsCast,
  kBatchSizeChosen,
  kSequenceParallelChosen,
  kFrameworkBuffers,
  kReserveEstimated,
  kDeviceCapacity,
  kNothingReserved,
  kOptimizerIn8Bits,

  kPeakUnknown,
  kPeak,
  kMeasuredAbovePeak,
  kMeasuredBound,
  kDevicesNotMeasured,
  kRateUnstable,
  kCalibrationPartial,
  kDeviceIsProcessor,
  kAgeLimitsNothing,
  kCatalogue,
  kNothingFails,
  kMfuAssumed,

  kPriceMissing,
  kPowerMissing,
  kPowerLimitDrawn,
  kHostPowerMissing,
  kFacilityPowerMissing,

  kMeasurementsTooOld,
  kOtherPowerLimits,
  kPowerLimitAssumed,
  kPowerLimitUnknown,
  kNoMeasurementLeft,

  kDatasheetPeaks,
  kGeneralRateUnknown,
  kLaunchesFree,
  kBurstTimes,
  kSustainedTimes,

  kHostLinkUnknown,
  kHostCopiesAlone,
  kCollectiveNotMeasured,
  kLinksIdle,
  kNetworkNotModelled,
  kNetworkUnused,
  kSingleRank,

  kCapacityNominal,
  kVocabularyPadded,

  kProductUnaligned,

  kOperationsAssumed,
  kOperationsNotTimed,
  kHostBound,
  kStepAssumed,
  kStepNotPredicted,
  kStepOpen,
  kStepCalibrated,

  kInterruptionsAssumed,
  kDeadlineMissed,
  kBudgetExceeded,
  kSlowestDevice,
  kPowerMeasured,

  kTensorAcrossServers,
  kFewMicroBatches,
  kNameTaken,
  kTextModelAlone,

  kFleetRates,
  kFleetUnread,
  kFleetStale,
  kFleetDevicesUnhealthy,

  kBaseTrained,
  kNodesAssumed,
  kSoftwarePublished,

  kMixersNotMeasured,
};
inline constexpr int kNoteKindCount = static_cast<int>(NoteKind::kMixersNotMeasured) + 1;

enum class NoteSubject { kArithmetic, kMemory, kTime, kEconomics };

NoteSubject SubjectOf(NoteKind kind);

// True for what a program should look at before it relies on the answer.
bool IsWarning(NoteKind kind);

struct NoteValue {
  template <typename Number>
  NoteValue(absl::string_view literal, Number number)
      : name(literal), value(static_cast<double>(number)) {}

  absl::string_view name;  // a literal, with its unit: "capacity_bytes"
  double value;

  friend bool operator==(const NoteValue&, const NoteValue&) = default;
};

struct Note {
  NoteKind kind;
  std::string text;  // full sentences; names `fields` as they are spelt there
  std::vector<NoteValue> values = {};
  std::vector<std::string> fields = {};  // paths of request fields that would settle it
  std::vector<std::string> names = {};   // of the catalogue's rows that it is about
};

using Notes = std::vector<Note>;

// Appends a note about `field`, unless that is empty, to `out` and returns it.
Note& AddNote(Notes& out, NoteKind kind, std::string text, absl::string_view field = "");

}  // namespace sextant

#endif  // SEXTANT_ENGINE_BASE_NOTE_H_
