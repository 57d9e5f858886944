// How a GPU is connected and set up, for the calibration.
#ifndef SEXTANT_GPU_PROBE_CUDA_GPU_ENVIRONMENT_H_
#define SEXTANT_GPU_PROBE_CUDA_GPU_ENVIRONMENT_H_

#include <string>

#include "gpu_probe/cuda/nvml.h"
#include "sextant/v1/calibration.pb.h"

namespace sextant {

// Fills what NVML tells of the GPU named `uuid`: its links, clocks that are set, default power
// limit, persistence. What it does not tell, or tells as a value that can't be, stays absent.
void DescribeLinksAndLimits(const Nvml& nvml, const std::string& uuid,
                            v1::MeasurementEnvironment* out);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_CUDA_GPU_ENVIRONMENT_H_
