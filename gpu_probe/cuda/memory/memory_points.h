// The measurements of a GPU's memory, of its elementwise work and of its link to the host.
#ifndef SEXTANT_GPU_PROBE_CUDA_MEMORY_MEMORY_POINTS_H_
#define SEXTANT_GPU_PROBE_CUDA_MEMORY_MEMORY_POINTS_H_

#include <vector>

#include "gpu_probe/cuda/gpu_session.h"
#include "gpu_probe/point.h"
#include "sextant/v1/calibration.pb.h"
#include "sextant/v1/probe.pb.h"

namespace sextant::probe {

// Passes over memory and caches, the elementwise ladder, fusion, launches, copies between host and
// GPU, and the multiprocessors' arithmetic. QUICK: the copy in memory, and those with the host.
std::vector<Point> GpuMemoryPoints(v1::ProbeMode mode, const SharedSession& session);

// Fills in figures computed from those: the ridge, and the speed-up by fusion.
void SummariseGpuMemory(v1::Calibration* calibration);

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_CUDA_MEMORY_MEMORY_POINTS_H_
