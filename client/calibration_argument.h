// A calibration whose file is an argument.
#ifndef SEXTANT_CLIENT_CALIBRATION_ARGUMENT_H_
#define SEXTANT_CLIENT_CALIBRATION_ARGUMENT_H_

#include <grpcpp/support/status.h>

#include <istream>
#include <string>

#include "sextant/v1/calibration.pb.h"

namespace sextant {

// Reads `file`, "-" being `in`. Errors: what the user is to be told, naming the file.
grpc::Status ReadCalibrationArgument(const std::string& file, std::istream& in,
                                     v1::Calibration* out);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_CALIBRATION_ARGUMENT_H_
