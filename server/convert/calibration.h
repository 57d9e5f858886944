// A Calibration of the wire: whether it makes sense, its name, and what plans use of it.
#ifndef SEXTANT_SERVER_CONVERT_CALIBRATION_H_
#define SEXTANT_SERVER_CONVERT_CALIBRATION_H_

#include <string>

#include "absl/strings/string_view.h"
#include "engine/base/field_violation.h"
#include "engine/hardware/calibration.h"
#include "sextant/v1/calibration.pb.h"

namespace sextant {

// Appends to `violations` what is wrong with `calibration`, under paths that start with `path`
// (e.g. "cluster.calibrations[0]"): a schema that this version does not read, missing fields,
// figures out of range, rates that are not what their own shapes and times give. After the
// first few dozen violations it looks no further. What the server fills is not looked at.
void CheckCalibration(const v1::Calibration& calibration, absl::string_view path,
                      FieldViolations& violations);

// The same for the same measurement, whoever holds it: what the server fills does not count.
std::string CalibrationFingerprint(const v1::Calibration& calibration);

// What plans use of a calibration that CheckCalibration() found in order. Texts point into it.
DeviceCalibration DeviceCalibrationFrom(const v1::Calibration& calibration,
                                        std::string fingerprint);

// Both: empty where it is at fault, or where so much is that there is no use in looking at it.
DeviceCalibration CheckedCalibrationFrom(const v1::Calibration& calibration, absl::string_view path,
                                         FieldViolations& violations);

}  // namespace sextant

#endif  // SEXTANT_SERVER_CONVERT_CALIBRATION_H_
