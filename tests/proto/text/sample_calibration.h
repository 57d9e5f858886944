// A calibration whose numbers are worked by hand, for tests of what is printed.
#ifndef SEXTANT_TESTS_PROTO_TEXT_SAMPLE_CALIBRATION_H_
#define SEXTANT_TESTS_PROTO_TEXT_SAMPLE_CALIBRATION_H_

#include "sextant/v1/calibration.pb.h"

namespace sextant::text {

// A processor of 8 cores, with figures of every kind that processors have, measured 2025-11-21
// 12:00:00 UTC.
v1::Calibration SampleCalibration();

}  // namespace sextant::text

#endif  // SEXTANT_TESTS_PROTO_TEXT_SAMPLE_CALIBRATION_H_
