#include "server/calibration_age.h"

namespace sextant {

double MeasuredUnixSeconds(const v1::Calibration& calibration) {
  const auto& measured = calibration.measured_time();
  return static_cast<double>(measured.seconds()) + 1e-9 * static_cast<double>(measured.nanos());
}

double CalibrationAgeSeconds(const v1::Calibration& calibration,
                             std::chrono::system_clock::time_point now) {
  const double now_seconds = std::chrono::duration<double>(now.time_since_epoch()).count();
  return now_seconds - MeasuredUnixSeconds(calibration);
}

}  // namespace sextant
