// A calibration for people.
#ifndef SEXTANT_CLIENT_CALIBRATION_TEXT_H_
#define SEXTANT_CLIENT_CALIBRATION_TEXT_H_

#include <optional>
#include <string>

#include "sextant/v1/calibration.pb.h"
#include "sextant/v1/hardware_service.pb.h"

namespace sextant {

// The device, when and how it was measured, the best of each kind, and then every figure.
// `age_seconds` is left out where it is not given.
std::string CalibrationText(const v1::Calibration& calibration, std::optional<double> age_seconds);

// The same of a calibration that the server holds.
std::string HeldCalibrationText(const v1::GetCalibrationResponse& response);

// The same of one that was measured just now, and what became of it.
std::string ProbeResultText(const v1::RunProbeResponse::Result& result);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_CALIBRATION_TEXT_H_
