// Several GPUs of a host that exchange data, ranks 0 to size() - 1: each with its session and two
// buffers. Rank 0 is the GPU that is measured. Used by one thread.
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
#include "gpu_probe/cuda/gpu_check.h"
#include "gpu_probe/cuda/gpu_session.h"

namespace sextant {

class PeerGroup {
 public:
  struct Rank {
    SharedSession session;
    DeviceMemory from;  // the rank's data of kernels/peers.cu, which stay
    DeviceMemory to;    // what it received
    std::unique_ptr<GpuCheck> check;
  };

  // Fills the ranks' data into buffers of `buffer_bytes`, a multiple of 16, on each of `sessions`,
  // of which the first is the measured GPU's. Lets GPUs that can reach each other's memory do so.
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
  // Whether rank `from` can write to the memory of rank `to`, rather than by way of the host.
  bool Reaches(size_t from, size_t to) const;

  // Has `work` done by the thread whose calls go to the GPU of `index`; those after it go to the
  // measured GPU again.
  absl::Status On(size_t index, const std::function<absl::Status(Rank& rank)>& work);
  // The same on each rank in turn, up to the first error.
  absl::Status OnEach(const std::function<absl::Status(size_t index, Rank& rank)>& work);

  // Whether the GPUs beside the measured one may be worked on further, by `ask`: to be asked after
  // each pass, since they may be closed before anybody else asks. Unset: they always may.
  void set_may_go_on(std::function<absl::Status()> ask) { may_go_on_ = std::move(ask); }
  absl::Status MayGoOn() const { return may_go_on_ ? may_go_on_() : absl::OkStatus(); }

  // Fills the first `size_bytes` that rank `index` has received with what no exchange leaves, and
  // waits for that.
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

// kDataLoss where `report` tells of elements that are wrong, naming `uuid`, the GPU that holds
// them.
absl::Status PeerCheckStatus(const GpuCheckReport& report, const std::string& uuid);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_CUDA_PEERS_PEER_GROUP_H_
