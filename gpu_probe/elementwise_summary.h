// The figures of elementwise work that need several measurements.
#ifndef SEXTANT_GPU_PROBE_ELEMENTWISE_SUMMARY_H_
#define SEXTANT_GPU_PROBE_ELEMENTWISE_SUMMARY_H_

#include <cstdint>

#include "sextant/v1/calibration.pb.h"

namespace sextant::probe {

// Fills in the ridge where both ends of the ladder, `fewest` and `most` multiply-adds an element,
// were measured: without them neither rate is the highest.
void FillRidge(int64_t fewest, int64_t most, v1::Calibration* calibration);

// Fills in the speed-up by fusion; removes a chain of which only one half was measured.
void FillFusionSpeedup(v1::Calibration* calibration);

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_ELEMENTWISE_SUMMARY_H_
