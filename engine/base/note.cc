#include "engine/base/note.h"

#include <utility>

namespace sextant {

NoteSubject SubjectOf(NoteKind kind) {
  const bool about_model = kind == NoteKind::kNameTaken || kind == NoteKind::kTextModelAlone ||
                           kind == NoteKind::kBaseTrained;
  if (kind <= NoteKind::kAttentionNotCounted || about_model) return NoteSubject::kArithmetic;
  if (kind <= NoteKind::kOptimizerIn8Bits || kind == NoteKind::kCapacityNominal ||
      kind == NoteKind::kVocabularyPadded) {
    return NoteSubject::kMemory;
  }
  const bool economics =
      (kind >= NoteKind::kPriceMissing && kind <= NoteKind::kFacilityPowerMissing) ||
      kind == NoteKind::kBudgetExceeded || kind == NoteKind::kPowerMeasured;
  return economics ? NoteSubject::kEconomics : NoteSubject::kTime;
}

bool IsWarning(NoteKind kind) {
  switch (kind) {
    case NoteKind::kActivationsNotCounted:
    case NoteKind::kPeakUnknown:
    case NoteKind::kMeasuredAbovePeak:
    case NoteKind::kDevicesNotMeasured:
    case NoteKind::kRateUnstable:
    case NoteKind::kCalibrationPartial:
    case NoteKind::kNoMeasurementLeft:
    case NoteKind::kHostLinkUnknown:
    case NoteKind::kOperationsNotTimed:
    case NoteKind::kHostBound:
    case NoteKind::kStepNotPredicted:
    case NoteKind::kDeadlineMissed:
    case NoteKind::kBudgetExceeded:
    case NoteKind::kSlowestDevice:
    case NoteKind::kTensorAcrossServers:
    case NoteKind::kFewMicroBatches:
    case NoteKind::kTextModelAlone:
    case NoteKind::kFleetUnread:
    case NoteKind::kFleetStale:
    case NoteKind::kFleetDevicesUnhealthy:
    case NoteKind::kBaseTrained:
    case NoteKind::kNodesAssumed:
    case NoteKind::kSoftwarePublished:
    case NoteKind::kMixersNotMeasured:
      return true;
    default:
      return false;
  }
}

Note& AddNote(Notes& out, NoteKind kind, std::string text, absl::string_view field) {
  Note& note = out.emplace_back(Note{.kind = kind, .text = std::move(text)});
  if (!field.empty()) note.fields.emplace_back(field);
  return note;
}

}  // namespace sextant
