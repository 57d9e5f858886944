// The passes over a GPU's memory of a plan.
#ifndef SEXTANT_GPU_PROBE_CUDA_MEMORY_GPU_STREAM_POINTS_H_
#define SEXTANT_GPU_PROBE_CUDA_MEMORY_GPU_STREAM_POINTS_H_

#include <vector>

#include "gpu_probe/cuda/gpu_session.h"
#include "gpu_probe/point.h"
#include "sextant/v1/probe.pb.h"

namespace sextant {

// All operations on arrays as large as the memory cap allows (QUICK: the copy alone), and copies of
// 64 KiB to that in steps of 4. What does not fit is left out, with a note.
std::vector<Point> GpuStreamPoints(v1::ProbeMode mode, const SharedSession& session);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_CUDA_MEMORY_GPU_STREAM_POINTS_H_
