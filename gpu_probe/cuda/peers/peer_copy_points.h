// Copies between the measured GPU and each other, each way.
#ifndef SEXTANT_GPU_PROBE_CUDA_PEERS_PEER_COPY_POINTS_H_
#define SEXTANT_GPU_PROBE_CUDA_PEERS_PEER_COPY_POINTS_H_

#include <memory>
#include <vector>

#include "gpu_probe/cuda/peers/peer_host.h"
#include "gpu_probe/point.h"

namespace sextant {

// CollectiveMeasurement.engine of copies.
inline constexpr char kCopyEngine[] = "copy engine";

// 256 MiB, less where memory for it is too little. Of all pairs and both ways only the slowest
// copy is recorded, as SEND_RECEIVE, with a note that names it.
std::vector<Point> PeerCopyPoints(const std::shared_ptr<PeerHost>& host);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_CUDA_PEERS_PEER_COPY_POINTS_H_
