// All that is measured of a GPU's memory, of its elementwise work and of its link with the host.
#ifndef SEXTANT_GPU_PROBE_CUDA_MEMORY_MEMORY_POINTS_H_
#define SEXTANT_GPU_PROBE_CUDA_MEMORY_MEMORY_POINTS_H_

#include <vector>

#include "gpu_probe/cuda/gpu_session.h"
#include "gpu_probe/point.h"
#include "sextant/v1/calibration.pb.h"
#include "sextant/v1/probe.pb.h"

namespace sextant {

// Passes over memory and caches, the elementwise ladder, fusion, launches, copies between host and
// GPU, and the multiprocessors' arithmetic. QUICK: the copy in memory, and those with the host.
std::vector<Point> GpuMemoryPoints(v1::ProbeMode mode, const SharedSession& session);

// Fills in what is computed from those figures: the ridge, and what fusion gains.
void SummariseGpuMemory(v1::Calibration* calibration);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_CUDA_MEMORY_MEMORY_POINTS_H_
