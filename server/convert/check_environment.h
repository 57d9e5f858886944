// Checks of the environment that a calibration was measured in.
#ifndef SEXTANT_SERVER_CONVERT_CHECK_ENVIRONMENT_H_
#define SEXTANT_SERVER_CONVERT_CHECK_ENVIRONMENT_H_

#include "server/convert/field_checker.h"
#include "sextant/v1/calibration.pb.h"

namespace sextant {

// Adds what is wrong with the environment `m` at `path`.
void CheckEnvironment(const v1::MeasurementEnvironment& m, const MessagePath& path,
                      FieldViolations& violations);

}  // namespace sextant

#endif  // SEXTANT_SERVER_CONVERT_CHECK_ENVIRONMENT_H_
