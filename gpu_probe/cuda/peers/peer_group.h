// Several GPUs of a host that exchange data, ranks 0 to size() - 1, each with its session and two
// buffers. Rank 0 is the measured GPU; the others are admitted by their guards, locked, and opened
// while they take part. Used by one thread.
#ifndef SEXTANT_GPU_PROBE_CUDA_PEERS_PEER_GROUP_H_
#define SEXTANT_GPU_PROBE_CUDA_PEERS_PEER_GROUP_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpu_probe/cuda/cuda_system.h"
#include "gpu_probe/cuda/gpu_list.h"
#include "gpu_probe/cuda/gpu_session.h"
#include "gpu_probe/cuda/guard.h"
#include "gpu_probe/device_lock.h"

namespace sextant::probe {

class PeerGroup {
 public:
  struct Rank {
    SharedSession session;
    DeviceMemory from;  // the rank's data of kernels/peers.cu; never changes
    DeviceMemory to;    // received data
    GpuCheck check;
  };

  // Fills the ranks' data into buffers of `buffer_bytes`, a multiple of 16, on each of `sessions`;
  // the first is the measured GPU's. Enables direct access between GPUs that support it.
  //
  // Errors: kResourceExhausted; CudaStatus()'s.
  static absl::StatusOr<std::shared_ptr<PeerGroup>> Open(std::vector<SharedSession> sessions,
                                                         int64_t buffer_bytes);
  ~PeerGroup();
  PeerGroup(const PeerGroup&) = delete;
  PeerGroup& operator=(const PeerGroup&) = delete;

  size_t size() const { return ranks_.size(); }
  Rank& rank(size_t index) { return ranks_[index]; }
  const std::string& uuid(size_t index) const { return ranks_[index].session->device().uuid(); }
  int64_t buffer_bytes() const { return buffer_bytes_; }
  // True where rank `from` can write to the memory of rank `to` directly, not through the host.
  bool Reaches(size_t from, size_t to) const;

  // Runs `work` with the GPU of `index` current, then makes the measured GPU current again.
  absl::Status On(size_t index, const std::function<absl::Status(Rank& rank)>& work);
  // On() for each rank in turn, up to the first error.
  absl::Status OnEach(const std::function<absl::Status(size_t index, Rank& rank)>& work);

  // Sets `ask`, which checks that the other GPUs may still be used. Call MayGoOn() after each pass,
  // since they may be closed before the next check elsewhere. Unset: they always may.
  void set_may_go_on(std::function<absl::Status()> ask) { may_go_on_ = std::move(ask); }
  absl::Status MayGoOn() const { return may_go_on_ ? may_go_on_() : absl::OkStatus(); }

  // Fills the first `size_bytes` of rank `index`'s receive buffer with a value that no exchange
  // produces, and waits for that.
  absl::Status Poison(size_t index, int64_t size_bytes);

 private:
  PeerGroup() = default;
  absl::Status EnableReach();

  std::vector<Rank> ranks_;
  int64_t buffer_bytes_ = 0;
  std::function<absl::Status()> may_go_on_;
};

using SharedPeerGroup = std::shared_ptr<PeerGroup>;

// Eight bf16 numbers.
inline constexpr int64_t kPeerVectorBytes = 16;

// The grid of kernels over `vector_count` vectors.
LaunchShape PeerGrid(int64_t vector_count);

// kDataLoss where `report` counts wrong elements, naming `uuid`, the GPU that holds them.
absl::Status PeerCheckStatus(const GpuCheckReport& report, const std::string& uuid);

// GPU memory that NCCL may take for itself, which is not documented. Believed, not measured.
inline constexpr int64_t kNcclBytes = int64_t{512} << 20;

// The other GPUs of a host: admitted by their guards, locked, and opened while they take part.
class PeerHost {
 public:
  // Admits and locks all GPUs that CUDA sees except that of `home`. `sleep` waits for that many
  // seconds. Absent where there is no other GPU.
  //
  // Errors: AdmitGpu()'s, CheckComputeCapability()'s and DeviceLock::Take()'s of the first GPU that
  // may not take part.
  static absl::StatusOr<std::unique_ptr<PeerHost>> Admit(
      const CudaSystem& system, const SharedSession& home,
      const std::function<void(double seconds)>& sleep);

  // The measured GPU and all others.
  size_t rank_count() const { return peers_.size() + 1; }
  // The UUID of a rank.
  const std::string& uuid(size_t rank) const;
  // The largest size of a GPU's two buffers.
  int64_t most_buffer_bytes() const { return most_buffer_bytes_; }

  // Returns all GPUs with buffers of `buffer_bytes`; those that are open already, if any. They are
  // closed with the last reference, which must be dropped before this object is destroyed.
  //
  // Errors: kUnimplemented where a peer may no longer be used; PeerGroup::Open()'s.
  absl::StatusOr<SharedPeerGroup> Group(int64_t buffer_bytes);

  // Guard::MayGoOn() of the peers while they are open.
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

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_CUDA_PEERS_PEER_GROUP_H_
