// The passes over memory of a calibration, for predictions.
#ifndef SEXTANT_SERVER_CONVERT_STREAM_PASSES_H_
#define SEXTANT_SERVER_CONVERT_STREAM_PASSES_H_

#include "engine/hardware/kernels/stream_calibration.h"
#include "sextant/v1/calibration.pb.h"

namespace sextant {

// Of a calibration that CheckCalibration() found in order. Where the ladder is missing, arithmetic
// is the registers'.
StreamCalibration StreamPassesFrom(const v1::Calibration& calibration);

}  // namespace sextant

#endif  // SEXTANT_SERVER_CONVERT_STREAM_PASSES_H_
