#include "server/probe_recorder.h"

#include <algorithm>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "engine/base/clip.h"
#include "engine/base/field_violation.h"
#include "engine/base/status_macros.h"
#include "engine/base/version.h"
#include "server/convert/annotate_calibration.h"
#include "server/convert/calibration.h"

namespace sextant {
namespace {

constexpr size_t kMaxTextBytes = 256;

}  // namespace

absl::Status ProbeRecorder::Record(const v1::ProbeEvent& event) {
  if (event.has_progress()) return RecordProgress(event.progress());
  if (event.has_device()) return absl::InvalidArgumentError("a device, though none was asked for");
  if (ended_count_ == spec_.device_uuids.size()) {
    return absl::InvalidArgumentError("a result more than there are devices");
  }
  SEXTANT_RETURN_IF_ERROR(event.has_calibration() ? RecordCalibration(event.calibration())
                                                  : RecordFailure(event.failure()));
  ++ended_count_;
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
  if (std::find(spec_.device_uuids.begin(), spec_.device_uuids.end(), uuid) ==
      spec_.device_uuids.end()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a calibration of device ", Clip(uuid, kMaxTextBytes), ", which was not asked for"));
  }
  measured_.push_back(calibration);
  ClearAnnotations(&measured_.back());
  partial_ = partial_ || calibration.coverage_ratio() < 1;
  return absl::OkStatus();
}

void ProbeRecorder::Keep() {
  for (const v1::Calibration& calibration : measured_) Keep(calibration);
}

void ProbeRecorder::Keep(const v1::Calibration& calibration) {
  v1::RunProbeResponse response;
  v1::RunProbeResponse::Result& result = *response.mutable_result();
  *result.mutable_calibration() = calibration;
  if (spec_.with_shapes) {
    result.set_fingerprint(CalibrationFingerprint(result.calibration()));
  } else {
    const CalibrationStore::Kept kept = store_.Keep(result.calibration());
    result.set_fingerprint(kept.stored->fingerprint);
    result.set_storage_warning(kept.warning);
    result.set_in_use(true);
  }
  AnnotateCalibration(result.mutable_calibration());
  result.set_engine_version(std::string(EngineVersion()));
  send_(response);
}

absl::Status ProbeRecorder::RecordFailure(const v1::ProbeFailure& failure) {
  if (failure.kind() != v1::ProbeFailure::KIND_MISMATCH) return absl::OkStatus();
  metrics_.CountMismatch(failure);
  store_.Distrust(spec_.device_uuids[ended_count_]);
  return absl::OkStatus();
}

}  // namespace sextant
