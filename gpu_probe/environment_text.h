// The host, software and settings of a calibration, as text.
#ifndef SEXTANT_GPU_PROBE_ENVIRONMENT_TEXT_H_
#define SEXTANT_GPU_PROBE_ENVIRONMENT_TEXT_H_

#include <string>

#include "sextant/v1/calibration.pb.h"

namespace sextant {

// "" where the calibration has none.
std::string EnvironmentText(const v1::Calibration& calibration);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_ENVIRONMENT_TEXT_H_
