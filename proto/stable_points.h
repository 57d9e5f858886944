// How many of a calibration's times are stable.
#ifndef SEXTANT_PROTO_STABLE_POINTS_H_
#define SEXTANT_PROTO_STABLE_POINTS_H_

#include <cstdint>

#include "sextant/v1/calibration.pb.h"

namespace sextant {

struct PointCounts {
  int64_t all = 0;
  int64_t stable = 0;

  // As DeviceCalibration::HasFewStablePoints() of engine/hardware/calibration.h.
  bool AreFewStable() const { return 2 * stable < all; }
};

// Counts every measured time of `calibration`, the two of its fusion apart.
inline PointCounts CountPoints(const v1::Calibration& calibration) {
  PointCounts out;
  const auto count = [&out](const v1::TimeStatistics& time) {
    ++out.all;
    if (time.stable()) ++out.stable;
  };
  const auto count_all = [&count](const auto& measurements) {
    for (const auto& measured : measurements) count(measured.time());
  };
  count_all(calibration.matmuls());
  count_all(calibration.registers());
  count_all(calibration.attentions());
  count_all(calibration.experts());
  count_all(calibration.streams());
  count_all(calibration.elementwise());
  count_all(calibration.launches());
  count_all(calibration.collectives());
  count_all(calibration.host_copies());
  if (calibration.has_fusion()) {
    count(calibration.fusion().unfused_time());
    count(calibration.fusion().fused_time());
  }
  return out;
}

}  // namespace sextant

#endif  // SEXTANT_PROTO_STABLE_POINTS_H_
