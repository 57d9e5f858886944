// The other GPUs of a host: admitted by their guards, locked, and opened while they take part.
#ifndef SEXTANT_GPU_PROBE_CUDA_PEERS_PEER_HOST_H_
#define SEXTANT_GPU_PROBE_CUDA_PEERS_PEER_HOST_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpu_probe/cuda/cuda_backend.h"
#include "gpu_probe/cuda/cuda_system.h"
#include "gpu_probe/cuda/gpu_session.h"
#include "gpu_probe/cuda/peers/peer_group.h"
#include "gpu_probe/device_lock.h"

namespace sextant {

// What NCCL may take of a GPU's memory for itself, which nobody tells. Believed, not measured.
inline constexpr int64_t kNcclBytes = int64_t{512} << 20;

class PeerHost {
 public:
  // Admits and locks all GPUs that CUDA sees but that of `home`. `sleep` waits for that many
  // seconds. Absent where there is no other.
  //
  // Errors: AdmitGpu()'s, CheckComputeCapability()'s and DeviceLock::Take()'s of the first that may
  // not take part.
  static absl::StatusOr<std::unique_ptr<PeerHost>> Admit(
      const CudaSystem& system, const SharedSession& home,
      const std::function<void(double seconds)>& sleep);

  // Of the measured GPU and all others.
  size_t rank_count() const { return peers_.size() + 1; }
  // The UUID of a rank.
  const std::string& uuid(size_t rank) const;
  // Bytes of each of the two buffers that a GPU can have.
  int64_t most_buffer_bytes() const { return most_buffer_bytes_; }

  // All of them with buffers of `buffer_bytes`; those that are open already where there are some.
  // They are closed with the last that holds them, which must be before this is gone.
  //
  // Errors: kUnimplemented where a peer may not be worked on any more; PeerGroup::Open()'s.
  absl::StatusOr<SharedPeerGroup> Group(int64_t buffer_bytes);

  // Guard::MayGoOn()'s of the peers while they are open.
  absl::Status MayGoOn();

 private:
  struct Peer {
    Gpu gpu;
    Admission admission;
    DeviceLock lock;
  };
  PeerHost(const SharedSession& home, std::vector<Peer> peers);

  const SharedSession home_;
  std::vector<Peer> peers_;
  int64_t most_buffer_bytes_ = 0;
  std::weak_ptr<PeerGroup> group_;
};

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_CUDA_PEERS_PEER_HOST_H_
