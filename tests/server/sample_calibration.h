// A calibration for tests, valid in every field.
#ifndef SEXTANT_TESTS_SERVER_SAMPLE_CALIBRATION_H_
#define SEXTANT_TESTS_SERVER_SAMPLE_CALIBRATION_H_

#include <string>

#include "sextant/v1/calibration.pb.h"

namespace sextant::server {

// A processor's calibration: bf16 at 2 x 1000^3 / 0.001 s = 2e12 FLOP/s, fp32 at half of it,
// matmuls[2] a requested shape in fp32 at 3e12, matmuls[3] sustained bf16 at 1.6e12, matmuls[4]
// another one, a batch in fp8; an element in every list, every optional field set. Attention in a
// window of 100 of 1,000 tokens: 100 x 101 / 2 + 900 x 100 = 95,050 pairs, 2 x 128 x 8 FLOPs each.
// Experts: 1,000 rows of 600 weights. Times are of a millisecond.
v1::Calibration SampleCalibration(const std::string& uuid = "CPU-0123456789abcdef");

}  // namespace sextant::server

#endif  // SEXTANT_TESTS_SERVER_SAMPLE_CALIBRATION_H_
