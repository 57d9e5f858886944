// What becomes of the events of one probe: shown to the caller, kept for plans, counted.
#ifndef SEXTANT_SERVER_PROBE_RECORDER_H_
#define SEXTANT_SERVER_PROBE_RECORDER_H_

#include <cstddef>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "server/calibration_store.h"
#include "server/convert/probe_spec.h"
#include "server/probe_metrics.h"
#include "sextant/v1/hardware_service.pb.h"
#include "sextant/v1/probe_event.pb.h"

namespace sextant {

using SendProbeResponse = std::function<void(const v1::RunProbeResponse&)>;

class ProbeRecorder {
 public:
  // All outlive it.
  ProbeRecorder(const ProbeSpec& spec, CalibrationStore& store, ProbeMetrics& metrics,
                const SendProbeResponse& send)
      : spec_(spec), store_(store), metrics_(metrics), send_(send) {}

  // Sends progress, and holds a calibration until Keep(); a wrong result takes its device's
  // calibration out of use at once.
  //
  // Errors: kInvalidArgument where the event makes no sense.
  absl::Status Record(const v1::ProbeEvent& event);

  // Keeps and sends the calibrations: the probe has ended well. One that fails in the end, on
  // whatever device, may have measured none rightly.
  void Keep();

  // Whether a calibration lacks some of what was planned.
  bool partial() const { return partial_; }

 private:
  absl::Status RecordProgress(const v1::ProbeProgress& progress);
  absl::Status RecordCalibration(const v1::Calibration& calibration);
  absl::Status RecordFailure(const v1::ProbeFailure& failure);
  void Keep(const v1::Calibration& calibration);

  const ProbeSpec& spec_;
  CalibrationStore& store_;
  ProbeMetrics& metrics_;
  const SendProbeResponse& send_;
  size_t ended_count_ = 0;  // devices that have a calibration or a failure
  std::vector<v1::Calibration> measured_;
  bool partial_ = false;
};

}  // namespace sextant

#endif  // SEXTANT_SERVER_PROBE_RECORDER_H_
