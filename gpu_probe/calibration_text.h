// A calibration, and a list of devices, as text for people: at most 99 columns, each figure
// with its unit.
#ifndef SEXTANT_GPU_PROBE_CALIBRATION_TEXT_H_
#define SEXTANT_GPU_PROBE_CALIBRATION_TEXT_H_

#include <string>
#include <vector>

#include "sextant/v1/calibration.pb.h"
#include "sextant/v1/device.pb.h"

namespace sextant {

// Figures that are not stable are marked so, beside their spread.
std::string CalibrationText(const v1::Calibration& calibration);

// A line a device.
std::string DevicesText(const std::vector<v1::Device>& devices);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_CALIBRATION_TEXT_H_
