// The report of a calibration for people, which all programs share.
#ifndef SEXTANT_PROTO_TEXT_CALIBRATION_TEXT_H_
#define SEXTANT_PROTO_TEXT_CALIBRATION_TEXT_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "sextant/v1/calibration.pb.h"

namespace sextant::text {

// The device, when and how it was measured, the best of each kind, and then every figure. The age
// is left out where `age_seconds` is absent. `json_flag` is the program's flag that prints the
// whole calibration: of a large grid the text shows a part.
std::string CalibrationText(const v1::Calibration& calibration, std::optional<double> age_seconds,
                            absl::string_view json_flag = "--output=json");

}  // namespace sextant::text

#endif  // SEXTANT_PROTO_TEXT_CALIBRATION_TEXT_H_
