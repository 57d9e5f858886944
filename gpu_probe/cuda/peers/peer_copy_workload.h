// One copy from a GPU's memory to another's by a copy engine.
#ifndef SEXTANT_GPU_PROBE_CUDA_PEERS_PEER_COPY_WORKLOAD_H_
#define SEXTANT_GPU_PROBE_CUDA_PEERS_PEER_COPY_WORKLOAD_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "gpu_probe/cuda/gpu_workload.h"
#include "gpu_probe/cuda/peers/peer_group.h"

namespace sextant {

// One of the ranks is 0, whose GPU does the copying.
struct PeerCopy {
  size_t from = 0;
  size_t to = 0;
  int64_t size_bytes = 0;  // a multiple of 16
};

class PeerCopyWorkload : public GpuWorkload {
 public:
  PeerCopyWorkload(const PeerCopy& copy, SharedPeerGroup group);

  void Poison() override;
  absl::Status Check() override;

 private:
  absl::Status Enqueue() override;

  const PeerCopy copy_;
  const SharedPeerGroup group_;
  absl::Status poisoned_;
};

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_CUDA_PEERS_PEER_COPY_WORKLOAD_H_
