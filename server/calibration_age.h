// When a calibration was measured, and how old it is.
#ifndef SEXTANT_SERVER_CALIBRATION_AGE_H_
#define SEXTANT_SERVER_CALIBRATION_AGE_H_

#include <chrono>

#include "sextant/v1/calibration.pb.h"

namespace sextant {

// Its measurement in Unix time.
double MeasuredUnixSeconds(const v1::Calibration& calibration);

// Seconds from its measurement to `now`; negative where the clock has been set back since, and
// it seems to come from the future.
double CalibrationAgeSeconds(const v1::Calibration& calibration,
                             std::chrono::system_clock::time_point now);

}  // namespace sextant

#endif  // SEXTANT_SERVER_CALIBRATION_AGE_H_
