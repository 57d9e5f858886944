// Plain passes over arrays of doubles.
#ifndef SEXTANT_GPU_PROBE_HOST_MEMORY_PASS_KERNELS_H_
#define SEXTANT_GPU_PROBE_HOST_MEMORY_PASS_KERNELS_H_

#include <cstdint>

#include "gpu_probe/host/simd.h"
#include "sextant/v1/calibration.pb.h"

namespace sextant::probe {

using MemoryPassOperation = v1::StreamMeasurement::Operation;

// The arrays of one pass. An operation uses those of its formula (calibration.proto), but its
// output is always in `c`.
struct MemoryPassSpan {
  const double* a = nullptr;
  const double* b = nullptr;
  double* c = nullptr;
  int64_t count = 0;
  double scalar = 0;
  // True where stores bypass the caches, so that no line is read before it is written. `c` must
  // then be a multiple of 16 bytes.
  bool past_caches = false;
};

// One pass. Returns READ's sum; 0 for the others.
using MemoryPassKernel = double (*)(MemoryPassOperation operation, const MemoryPassSpan& span);

// The kernel for a level of this processor.
MemoryPassKernel MemoryPassKernelOf(SimdLevel level);

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_HOST_MEMORY_PASS_KERNELS_H_
