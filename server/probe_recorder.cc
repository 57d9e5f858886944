#include "server/probe_recorder.h"

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
  // Of all devices together.
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
  } else {
    const CalibrationStore::Kept kept = store_.Keep(result.calibration());
    result.set_fingerprint(kept.stored->fingerprint);
    result.set_storage_warning(kept.warning);
    result.set_in_use(true);
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

}  // namespace sextant
