// Plain passes over arrays of doubles.
#ifndef SEXTANT_GPU_PROBE_HOST_STREAM_KERNELS_H_
#define SEXTANT_GPU_PROBE_HOST_STREAM_KERNELS_H_

#include <cstdint>

#include "gpu_probe/host/simd.h"
#include "sextant/v1/calibration.pb.h"

namespace sextant {

using StreamOperation = v1::StreamMeasurement::Operation;

// The arrays of one pass. An operation uses those that its formula names (calibration.proto),
// its output in `c` whatever the letter there.
struct StreamSpan {
  const double* a = nullptr;
  const double* b = nullptr;
  double* c = nullptr;
  int64_t count = 0;
  double scalar = 0;
  // Whether stores go past the caches, so that no line is read before it is written. `c` must
  // then lie at a multiple of 16 bytes.
  bool past_caches = false;
};

// One pass. Returns READ's sum; 0 for the others.
using StreamKernel = double (*)(StreamOperation operation, const StreamSpan& span);

// The kernel for a level that this processor has.
StreamKernel StreamKernelOf(SimdLevel level);

// Bytes that a pass over arrays of `count` elements reads and writes.
double StreamBytes(StreamOperation operation, int64_t count);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_HOST_STREAM_KERNELS_H_
