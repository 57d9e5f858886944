// The host, software and settings of a calibration.
#ifndef SEXTANT_CLIENT_ENVIRONMENT_TEXT_H_
#define SEXTANT_CLIENT_ENVIRONMENT_TEXT_H_

#include <string>

#include "sextant/v1/calibration.pb.h"

namespace sextant {

// "" where the calibration has none.
std::string EnvironmentSection(const v1::Calibration& calibration);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_ENVIRONMENT_TEXT_H_
