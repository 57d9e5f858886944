// What elementwise work tells once all of it was measured.
#ifndef SEXTANT_GPU_PROBE_ELEMENTWISE_SUMMARY_H_
#define SEXTANT_GPU_PROBE_ELEMENTWISE_SUMMARY_H_

#include <cstdint>

#include "sextant/v1/calibration.pb.h"

namespace sextant {

// Fills in the ridge where both ends of the ladder, of `fewest` and `most` multiply-adds an
// element, are there: without them neither rate is the highest.
void FillRidge(int64_t fewest, int64_t most, v1::Calibration* calibration);

// Fills in what fusion gains; takes out a chain of which only one half was measured.
void FillFusionSpeedup(v1::Calibration* calibration);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_ELEMENTWISE_SUMMARY_H_
