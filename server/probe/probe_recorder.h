// Handles the events of one probe: sends them to the caller, keeps calibrations, counts.
#ifndef SEXTANT_SERVER_PROBE_PROBE_RECORDER_H_
#define SEXTANT_SERVER_PROBE_PROBE_RECORDER_H_

#include <cstddef>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/types/optional.h"
#include "server/metrics/probe_metrics.h"
#include "server/store/calibration_store.h"
#include "sextant/v1/calibration.pb.h"
#include "sextant/v1/hardware_service.pb.h"

namespace sextant::server {

using SendProbeResponse = std::function<void(const v1::RunProbeResponse&)>;

// The device of a call that the probe measures.
struct RecordedDevice {
  std::string uuid;
  bool with_shapes = false;  // of the caller's: the result is not kept
  size_t index = 0;          // among `count` devices, measured one after another
  size_t count = 1;
  double elapsed_seconds = 0;  // since the first of them was begun
};

class ProbeRecorder {
 public:
  // All outlive it.
  ProbeRecorder(const RecordedDevice& device, CalibrationStore& store, ProbeMetrics& metrics,
                const SendProbeResponse& send)
      : device_(device), store_(store), metrics_(metrics), send_(send) {}

  // Sends progress, and holds a calibration until Keep(); a wrong result takes its device's
  // calibration out of use at once.
  //
  // Errors: kInvalidArgument where the event makes no sense.
  absl::Status Record(const v1::ProbeEvent& event);

  // Keeps and sends the calibration once the probe has ended well. A probe that fails in the end
  // may have measured wrongly before.
  void Keep();

  // True where the calibration lacks points that were planned.
  bool partial() const { return measured_.has_value() && measured_->coverage_ratio() < 1; }

 private:
  absl::Status RecordProgress(const v1::ProbeProgress& progress);
  absl::Status RecordCalibration(const v1::Calibration& calibration);
  absl::Status RecordFailure(const v1::ProbeFailure& failure);

  const RecordedDevice& device_;
  CalibrationStore& store_;
  ProbeMetrics& metrics_;
  const SendProbeResponse& send_;
  bool ended_ = false;  // there was a calibration or a failure
  absl::optional<v1::Calibration> measured_;
};

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_PROBE_PROBE_RECORDER_H_
