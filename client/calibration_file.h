// Calibrations in files: each is one sextant.v1.Calibration in proto JSON, as
// sextant-probe --output writes it too.
#ifndef SEXTANT_CLIENT_CALIBRATION_FILE_H_
#define SEXTANT_CLIENT_CALIBRATION_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sextant/v1/calibration.pb.h"

namespace sextant {

// The calibration that `json` is, or that it holds as an answer (GetCalibrationResponse, or a
// result of RunProbe). Where it names its schema_version, fields that this version does not know
// are passed over: whether to read a newer one is the server's to say.
//
// Errors: kInvalidArgument, saying what is wrong.
absl::StatusOr<v1::Calibration> ReadCalibration(const std::string& json);

// Writes `calibration` as `file`. Errors: as WriteText().
absl::Status SaveCalibration(const std::string& file, const v1::Calibration& calibration);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_CALIBRATION_FILE_H_
