// Measurements sorted by the devices that they are of.
#ifndef SEXTANT_GPU_PROBE_HEALTH_FLEET_H_
#define SEXTANT_GPU_PROBE_HEALTH_FLEET_H_

#include <cstdint>
#include <string>
#include <vector>

#include "gpu_probe/health/figures.h"
#include "sextant/v1/calibration.pb.h"

namespace sextant {

// A sound calibration that has at least one figure.
struct MeasuredDevice {
  v1::Calibration calibration;
  std::vector<Figure> figures;
  bool beyond_limit = false;  // one of its rates can't be: no reference for anything

  const v1::Device& device() const { return calibration.device(); }
  int64_t unix_seconds() const { return calibration.measured_time().seconds(); }
};

// One device: its newest measurement, which is judged, and those before it, oldest first.
struct KnownDevice {
  MeasuredDevice newest;
  std::vector<MeasuredDevice> older;
};

// By UUID. The same measurement given twice counts once: a copy of itself is no history.
std::vector<KnownDevice> GroupByDevice(std::vector<MeasuredDevice> all);

// Whether two measurements are of devices that should be equally fast: the same product, as many
// cores or multiprocessors, and the same power limit to within a watt, or none told by both.
bool IsAlike(const v1::Device& a, const v1::Device& b);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_HEALTH_FLEET_H_
