// The highest rate of a GPU's matrix units.
#ifndef SEXTANT_GPU_PROBE_CLOCK_LIMIT_H_
#define SEXTANT_GPU_PROBE_CLOCK_LIMIT_H_

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

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_CLOCK_LIMIT_H_
