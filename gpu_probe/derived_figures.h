// Figures that no measurement gives by itself: the highest rate that a GPU's clock allows, the
// ridge, and the speed-up by fusion.
#ifndef SEXTANT_GPU_PROBE_DERIVED_FIGURES_H_
#define SEXTANT_GPU_PROBE_DERIVED_FIGURES_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "sextant/v1/calibration.pb.h"

namespace sextant::probe {

// The most FLOPs of dense matrix multiplication in `type` that one multiprocessor of that compute
// capability ("9.0") does in a clock (INT8: operations); 0: not known. docs/health.md, "Rules", has
// the sources.
double DenseFlopsPerClock(absl::string_view compute_capability, v1::DataType type);

// DenseFlopsPerClock() times multiprocessors and `hertz`, in FLOP/s; 0: not known, or the device
// does not report it.
double ClockLimit(const v1::Device& device, v1::DataType type, double hertz);

// Fills in the ridge where both ends of the ladder, `fewest` and `most` multiply-adds an element,
// were measured: without them neither rate is the highest.
void FillRidge(int64_t fewest, int64_t most, v1::Calibration* calibration);

// Fills in the speed-up by fusion; removes a chain of which only one half was measured.
void FillFusionSpeedup(v1::Calibration* calibration);

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_DERIVED_FIGURES_H_
