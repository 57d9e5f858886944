// The gauges of one device.
#ifndef SEXTANT_SERVER_DEVICE_DEVICE_GAUGES_H_
#define SEXTANT_SERVER_DEVICE_DEVICE_GAUGES_H_

#include <vector>

#include "absl/time/time.h"
#include "server/metrics/gauge_families.h"
#include "server/metrics/probe_metrics.h"
#include "server/store/calibration_snapshot.h"
#include "sextant/v1/device.pb.h"

namespace sextant::server {

// One device of this host, with its labels and calibration.
struct GaugedDevice {
  const v1::Device& device;
  Labels labels;                              // DeviceLabels()'s
  const StoredCalibration* stored = nullptr;  // in use; null: never measured, or withdrawn
  absl::Time last_measured = {};              // where there is one in use: in any mode
  bool last_stable = false;                   // likewise: whether that measurement was stable
  bool distrusted = false;                    // the last probe had a wrong result
};

// Adds the fleet's set, at most 16 series, or every figure that the calibration holds.
void AddDeviceGauges(const GaugedDevice& gauged, ProbeMetricsSet set, GaugeFamilies& out);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_DEVICE_DEVICE_GAUGES_H_
