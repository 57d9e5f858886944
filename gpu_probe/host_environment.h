// The name of this host, and the software that a measurement ran on, whatever the device.
#ifndef SEXTANT_GPU_PROBE_HOST_ENVIRONMENT_H_
#define SEXTANT_GPU_PROBE_HOST_ENVIRONMENT_H_

#include <string>

#include "sextant/v1/calibration.pb.h"

namespace sextant::probe {

// This host's name; "" where the system reports none.
std::string HostName();

// Adds to the calibration's environment the operating system, kernel and C library, and the
// libraries that its measurements name. Files are read below `root`, which is "" except in tests.
void AddHostEnvironment(const std::string& root, v1::Calibration* calibration);

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_HOST_ENVIRONMENT_H_
