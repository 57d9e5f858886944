// What a GPU's plan has beside the GPU itself: exchanges with the host's other GPUs.
#ifndef SEXTANT_GPU_PROBE_CUDA_PEERS_PEER_PLAN_H_
#define SEXTANT_GPU_PROBE_CUDA_PEERS_PEER_PLAN_H_

#include <functional>

#include "gpu_probe/cuda/cuda_libraries.h"
#include "gpu_probe/cuda/cuda_system.h"
#include "gpu_probe/cuda/gpu_session.h"
#include "gpu_probe/point.h"

namespace sextant {

struct PeerSurroundings {
  const CudaSystem& system;
  SharedSession home;  // of the GPU that is measured
  CudaLibrarySearch search;
  std::function<void(double seconds)> sleep;
};

// Adds copies and, with NCCL, collectives among all GPUs that CUDA sees, if there are several and
// each may take part; its guard is then asked whether the plan may go on. A note says why not.
void AddPeers(const PeerSurroundings& surroundings, ProbePlan* plan);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_CUDA_PEERS_PEER_PLAN_H_
