// The server's violations for a calibration.
#ifndef SEXTANT_TESTS_SERVER_CALIBRATION_FAULTS_H_
#define SEXTANT_TESTS_SERVER_CALIBRATION_FAULTS_H_

#include <functional>
#include <string>
#include <vector>

#include "engine/base/field_violation.h"
#include "server/convert/calibration.h"
#include "sextant/v1/calibration.pb.h"
#include "tests/server/sample_calibration.h"

namespace sextant::server {

using CalibrationChange = std::function<void(v1::Calibration&)>;

inline v1::Calibration ChangedSample(const CalibrationChange& change) {
  v1::Calibration out = SampleCalibration();
  change(out);
  return out;
}

// Paths start with "c".
inline std::vector<FieldViolation> CalibrationFaults(const v1::Calibration& calibration) {
  FieldViolations violations;
  CheckCalibration(calibration, "c", violations);
  return violations.all();
}

inline std::vector<std::string> FaultyFields(const v1::Calibration& calibration) {
  std::vector<std::string> out;
  for (const FieldViolation& v : CalibrationFaults(calibration)) out.push_back(v.field);
  return out;
}

}  // namespace sextant::server

#endif  // SEXTANT_TESTS_SERVER_CALIBRATION_FAULTS_H_
