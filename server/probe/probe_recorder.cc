#include "server/probe/probe_recorder.h"

#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "engine/base/field_violation.h"
#include "engine/base/status_macros.h"
#include "engine/base/text.h"
#include "engine/base/version.h"
#include "server/convert/annotate_calibration.h"
#include "server/convert/calibration.h"
#include "server/convert/message_fields.h"

namespace sextant::server {
namespace {

constexpr size_t kMaxTextBytes = 256;

using Result = v1::RunProbeResponse::Result;

// "full".
std::string ModeText(const StoredCalibration& stored) {
  return EnumLabel(v1::ProbeMode_Name(stored.calibration.mode()), "PROBE_MODE_");
}

// "full calibration of 2026-01-31T12:00:00Z".
std::string NameText(const StoredCalibration& stored) {
  return absl::StrCat(ModeText(stored), " calibration of ",
                      UtcText(stored.calibration.measured_time().seconds()));
}

v1::RunProbeResponse::UnusedReason UnusedReasonFrom(CalibrationMerit merit) {
  switch (merit) {
    case CalibrationMerit::kStable:
      return v1::RunProbeResponse::UNUSED_REASON_UNSTABLE;
    case CalibrationMerit::kFuller:
      return v1::RunProbeResponse::UNUSED_REASON_LESS_FULL;
    default:
      return v1::RunProbeResponse::UNUSED_REASON_OLDER;
  }
}

// Says why the calibration in use is better than the new one.
std::string MeritText(const CalibrationStore::Kept& kept) {
  switch (kept.merit) {
    case CalibrationMerit::kStable:
      return "its rates are stable, and those of this one are not";
    case CalibrationMerit::kFuller:
      if (kept.in_use->facts.thoroughness != kept.stored->facts.thoroughness) {
        return absl::StrCat("a ", ModeText(*kept.stored), " one is less thorough");
      }
      return absl::StrFormat("it covers %.0f %% of its mode's points, this one %.0f %%",
                             100 * kept.in_use->facts.coverage_ratio,
                             100 * kept.stored->facts.coverage_ratio);
    default:
      return "by its time stamp it was measured later, so the clock was set back since";
  }
}

std::string UnusedText(const CalibrationStore::Kept& kept) {
  std::string out =
      absl::StrCat("The ", NameText(*kept.in_use), " stays in use: ", MeritText(kept), ".");
  if (kept.better == nullptr) {
    absl::StrAppend(&out, " This one is kept too.");
  } else if (kept.better == kept.in_use) {
    absl::StrAppend(&out, " This one is not kept.");
  } else {
    absl::StrAppend(&out, " This one is not kept: the ", NameText(*kept.better), " is better.");
  }
  return out;
}

void InUseTo(const StoredCalibration* in_use, Result* out) {
  if (in_use == nullptr) return;
  out->set_in_use_mode(in_use->calibration.mode());
  *out->mutable_in_use_measured_time() = in_use->calibration.measured_time();
}

void KeptTo(const CalibrationStore::Kept& kept, Result* out) {
  out->set_fingerprint(kept.stored->fingerprint);
  out->set_storage_warning(kept.warning);
  out->set_kept(kept.better == nullptr);
  out->set_in_use(kept.in_use == kept.stored);
  InUseTo(kept.in_use.get(), out);
  if (out->in_use()) return;
  out->set_unused_reason(UnusedReasonFrom(kept.merit));
  out->set_unused_text(UnusedText(kept));
}

}  // namespace

absl::Status ProbeRecorder::Record(const v1::ProbeEvent& event) {
  if (event.has_progress()) return RecordProgress(event.progress());
  if (event.has_device()) return absl::InvalidArgumentError("a device, though none was asked for");
  if (ended_) return absl::InvalidArgumentError("a result more than there are devices");
  SEXTANT_RETURN_IF_ERROR(event.has_calibration() ? RecordCalibration(event.calibration())
                                                  : RecordFailure(event.failure()));
  ended_ = true;
  return absl::OkStatus();
}

absl::Status ProbeRecorder::RecordProgress(const v1::ProbeProgress& progress) {
  FieldViolations violations;
  violations.RequireRange("progress", "fraction", progress.fraction(), {.low = 0, .high = 1});
  violations.RequireRange("progress", "elapsed_seconds", progress.elapsed_seconds(),
                          {.low = 0, .high = std::numeric_limits<double>::max()});
  SEXTANT_RETURN_IF_ERROR(violations.ToStatus());
  v1::RunProbeResponse response;
  *response.mutable_progress() = progress;
  // The fraction over all devices together.
  response.mutable_progress()->set_fraction(
      (static_cast<double>(device_.index) + progress.fraction()) /
      static_cast<double>(device_.count));
  response.mutable_progress()->set_elapsed_seconds(device_.elapsed_seconds +
                                                   progress.elapsed_seconds());
  response.mutable_progress()->set_phase(Clip(progress.phase(), kMaxTextBytes));
  response.mutable_progress()->set_figure(Clip(progress.figure(), kMaxTextBytes));
  send_(response);
  return absl::OkStatus();
}

absl::Status ProbeRecorder::RecordCalibration(const v1::Calibration& calibration) {
  FieldViolations violations;
  CheckCalibration(calibration, "calibration", violations);
  SEXTANT_RETURN_IF_ERROR(violations.ToStatus());
  const std::string& uuid = calibration.device().uuid();
  if (uuid != device_.uuid) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a calibration of device ", Clip(uuid, kMaxTextBytes), ", which was not asked for"));
  }
  measured_ = calibration;
  ClearAnnotations(&*measured_);
  return absl::OkStatus();
}

void ProbeRecorder::Keep() {
  if (!measured_.has_value()) return;
  v1::RunProbeResponse response;
  v1::RunProbeResponse::Result& result = *response.mutable_result();
  *result.mutable_calibration() = *measured_;
  if (device_.with_shapes) {
    result.set_fingerprint(CalibrationFingerprint(result.calibration()));
    result.set_unused_reason(v1::RunProbeResponse::UNUSED_REASON_REQUESTED_SHAPES);
    result.set_unused_text(
        "Requested shapes are not a search for the device's best rates: plans go on as before.");
    const auto snapshot = store_.snapshot();
    InUseTo(snapshot->Find(device_.uuid, {.now = absl::Now()}), &result);
  } else {
    KeptTo(store_.Keep(result.calibration()), &result);
  }
  if (result.calibration().device().kind() == v1::DEVICE_KIND_GPU) metrics_.SetGpuState("ok");
  AnnotateCalibration(result.mutable_calibration());
  result.set_engine_version(std::string(EngineVersion()));
  send_(response);
}

absl::Status ProbeRecorder::RecordFailure(const v1::ProbeFailure& failure) {
  if (failure.kind() == v1::ProbeFailure::KIND_UNSUPPORTED && !failure.reason().empty()) {
    metrics_.SetGpuState(failure.reason());
  }
  if (failure.kind() != v1::ProbeFailure::KIND_MISMATCH) return absl::OkStatus();
  metrics_.CountMismatch(failure);
  store_.Distrust(device_.uuid);
  return absl::OkStatus();
}

}  // namespace sextant::server
