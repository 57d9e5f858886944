// How far predictions of a device's matrix multiplications are from its own measurements.
#ifndef SEXTANT_SERVER_CONVERT_MATMUL_ERRORS_H_
#define SEXTANT_SERVER_CONVERT_MATMUL_ERRORS_H_

#include <vector>

#include "sextant/v1/calibration.pb.h"

namespace sextant {

// |predicted / measured - 1| over shapes that the fit had not seen.
struct MatmulError {
  v1::DataType data_type = v1::DATA_TYPE_UNSPECIFIED;
  double median = 0;
  double p90 = 0;
};

// Of each data type of which `calibration`, which CheckCalibration() found in order, has shapes
// enough to fit a model to. Fits it, which takes milliseconds.
std::vector<MatmulError> MatmulErrorsOf(const v1::Calibration& calibration);

}  // namespace sextant

#endif  // SEXTANT_SERVER_CONVERT_MATMUL_ERRORS_H_
