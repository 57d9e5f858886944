// What it takes to start a kernel that does nothing.
#ifndef SEXTANT_GPU_PROBE_CUDA_MEMORY_GPU_LAUNCHES_H_
#define SEXTANT_GPU_PROBE_CUDA_MEMORY_GPU_LAUNCHES_H_

#include <vector>

#include "gpu_probe/cuda/gpu_session.h"
#include "gpu_probe/point.h"

namespace sextant {

// By one call of the host a kernel, and by recordings of kMostRecordedRuns.
std::vector<Point> GpuLaunchPoints(const SharedSession& session);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_CUDA_MEMORY_GPU_LAUNCHES_H_
