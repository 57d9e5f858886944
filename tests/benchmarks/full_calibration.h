// A calibration as large as the probe's fullest, for benchmarks.
#ifndef SEXTANT_TESTS_BENCHMARKS_FULL_CALIBRATION_H_
#define SEXTANT_TESTS_BENCHMARKS_FULL_CALIBRATION_H_

#include <string>

#include "sextant/v1/calibration.pb.h"

namespace sextant {

// A calibration of the processor `uuid`: three data types of 42 matrix multiplications each and a
// sustained one, and about as many of the other measurements as sextant-probe --mode=full writes.
// Invented, but valid for plans.
v1::Calibration FullCalibration(const std::string& uuid);

}  // namespace sextant

#endif  // SEXTANT_TESTS_BENCHMARKS_FULL_CALIBRATION_H_
