// What a calibration must hold, whoever wrote it.
#ifndef SEXTANT_SERVER_CONVERT_CALIBRATION_H_
#define SEXTANT_SERVER_CONVERT_CALIBRATION_H_

#include "absl/strings/string_view.h"
#include "engine/base/field_violation.h"
#include "sextant/v1/calibration.pb.h"

namespace sextant {

// Adds a violation below `path` for each field that is missing or out of its range.
void CheckCalibration(const v1::Calibration& calibration, absl::string_view path,
                      FieldViolations& violations);

}  // namespace sextant

#endif  // SEXTANT_SERVER_CONVERT_CALIBRATION_H_
