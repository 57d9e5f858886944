// One device's gauges.
#ifndef SEXTANT_SERVER_DEVICE_GAUGES_H_
#define SEXTANT_SERVER_DEVICE_GAUGES_H_

#include <vector>

#include "absl/time/time.h"
#include "server/calibration_snapshot.h"
#include "server/convert/matmul_errors.h"
#include "server/gauge_families.h"
#include "server/options.h"
#include "sextant/v1/device.pb.h"

namespace sextant {

// What is known of one device of this host.
struct GaugedDevice {
  const v1::Device& device;
  Labels labels;                              // DeviceLabels()'s
  const StoredCalibration* stored = nullptr;  // in use; null: never measured, or withdrawn
  absl::Time last_measured = {};              // where there is one in use: in any mode
  bool distrusted = false;                    // the last probe had a wrong result
  std::vector<MatmulError> matmul_errors = {};
};

// Adds the fleet's set, at most 16 series, or every figure that the calibration holds.
void AddDeviceGauges(const GaugedDevice& gauged, ProbeMetricsSet set, GaugeFamilies& out);

}  // namespace sextant

#endif  // SEXTANT_SERVER_DEVICE_GAUGES_H_
