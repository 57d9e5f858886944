#include "server/calibration_age.h"

namespace sextant {

double CalibrationAgeSeconds(const v1::Calibration& calibration,
                             std::chrono::system_clock::time_point now) {
  const double now_seconds = std::chrono::duration<double>(now.time_since_epoch()).count();
  const auto& measured = calibration.measured_time();
  const double measured_seconds =
      static_cast<double>(measured.seconds()) + 1e-9 * static_cast<double>(measured.nanos());
  return now_seconds - measured_seconds;
}

}  // namespace sextant
