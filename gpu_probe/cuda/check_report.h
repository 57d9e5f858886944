// What a kernel that checks results tells.
#ifndef SEXTANT_GPU_PROBE_CUDA_CHECK_REPORT_H_
#define SEXTANT_GPU_PROBE_CUDA_CHECK_REPORT_H_

#include <cstdint>

namespace sextant {

// As kernels/report.cuh has it.
struct GpuCheckReport {
  uint64_t wrong_count = 0;
  uint64_t first_wrong = ~uint64_t{0};
};
static_assert(sizeof(GpuCheckReport) == 16);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_CUDA_CHECK_REPORT_H_
