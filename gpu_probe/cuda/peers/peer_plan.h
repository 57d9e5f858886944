// The part of a GPU's plan that involves the host's other GPUs: copies to and from each of them.
// Collectives are in collectives.h.
#ifndef SEXTANT_GPU_PROBE_CUDA_PEERS_PEER_PLAN_H_
#define SEXTANT_GPU_PROBE_CUDA_PEERS_PEER_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "gpu_probe/cuda/cuda_libraries.h"
#include "gpu_probe/cuda/cuda_system.h"
#include "gpu_probe/cuda/gpu_session.h"
#include "gpu_probe/cuda/gpu_workload.h"
#include "gpu_probe/cuda/peers/peer_group.h"
#include "gpu_probe/point.h"

namespace sextant::probe {

// One of the ranks is 0, whose GPU performs the copy.
struct PeerCopy {
  size_t from = 0;
  size_t to = 0;
  int64_t size_bytes = 0;  // a multiple of 16
};

// One copy from a GPU's memory to another's by a copy engine.
std::unique_ptr<Workload> PeerCopyWorkload(const PeerCopy& copy, SharedPeerGroup group);

// CollectiveMeasurement.engine of copies.
inline constexpr char kCopyEngine[] = "copy engine";

// 256 MiB, or less where memory is too small. Of all pairs in both directions only the slowest copy
// is recorded, as SEND_RECEIVE, with a note that names it.
std::vector<Point> PeerCopyPoints(const std::shared_ptr<PeerHost>& host);

struct PeerSurroundings {
  const CudaSystem& system;
  SharedSession home;  // of the GPU that is measured
  CudaLibrarySearch search;
  std::function<void(double seconds)> sleep;
};

// Adds copies and, with NCCL, collectives among all GPUs that CUDA sees, if there are several and
// all may take part; their guards are then asked during the measurement, too. Otherwise a note says
// why not.
void AddPeers(const PeerSurroundings& surroundings, ProbePlan* plan);

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_CUDA_PEERS_PEER_PLAN_H_
