// Copies between the host's memory and a GPU's.
#ifndef SEXTANT_GPU_PROBE_CUDA_MEMORY_HOST_COPIES_H_
#define SEXTANT_GPU_PROBE_CUDA_MEMORY_HOST_COPIES_H_

#include <vector>

#include "gpu_probe/cuda/gpu_session.h"
#include "gpu_probe/point.h"
#include "sextant/v1/probe.pb.h"

namespace sextant {

// Both directions. QUICK: 64 MiB of pinned memory. Otherwise sizes from 64 KiB to 256 MiB of pinned
// memory and of pageable memory, FULL more of them. What does not fit twice into the memory that
// the probe may take of the GPU is left out, with a note.
std::vector<Point> HostCopyPoints(v1::ProbeMode mode, const SharedSession& session);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_CUDA_MEMORY_HOST_COPIES_H_
