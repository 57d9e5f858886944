// Calibrations in files: each is one sextant.v1.Calibration in proto JSON, as
// sextant-probe --output writes it too.
#ifndef SEXTANT_CLIENT_CALIBRATION_FILE_H_
#define SEXTANT_CLIENT_CALIBRATION_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "sextant/v1/calibration.pb.h"

namespace sextant {

// Where `json` is an answer that holds a calibration (GetCalibrationResponse, or a result of
// RunProbe), that calibration alone; any other text as it is.
std::string UnwrapCalibration(std::string json);

// Writes `calibration` as `file`: all of it, or, where it fails, what was there before. A
// symbolic link is followed.
//
// Errors: kFailedPrecondition where `file` is something else than a regular file, a device
// say; kUnavailable, with the system's own word, where it can't be written.
absl::Status SaveCalibration(const std::string& file, const v1::Calibration& calibration);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_CALIBRATION_FILE_H_
