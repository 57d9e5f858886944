// Collectives among all GPUs of a host through NCCL.
#ifndef SEXTANT_GPU_PROBE_CUDA_PEERS_COLLECTIVE_POINTS_H_
#define SEXTANT_GPU_PROBE_CUDA_PEERS_COLLECTIVE_POINTS_H_

#include <memory>
#include <vector>

#include "gpu_probe/cuda/cuda_libraries.h"
#include "gpu_probe/cuda/peers/peer_host.h"
#include "gpu_probe/point.h"

namespace sextant {

// All-reduce, all-gather, reduce-scatter and all-to-all of 8 KiB and 1, 32 and 512 MiB; sizes that
// memory has no room for are left out. Sizes are cut to what the ranks can share evenly.
std::vector<Point> CollectivePoints(const Nccl& nccl, const std::shared_ptr<PeerHost>& host);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_CUDA_PEERS_COLLECTIVE_POINTS_H_
