// NCCL among the GPUs of a group, in one process.
#ifndef SEXTANT_GPU_PROBE_CUDA_PEERS_COMMUNICATORS_H_
#define SEXTANT_GPU_PROBE_CUDA_PEERS_COMMUNICATORS_H_

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gpu_probe/cuda/cuda_libraries.h"
#include "gpu_probe/cuda/peers/peer_group.h"

namespace sextant {

// ncclBfloat16 and ncclSum of nccl.h (2.28).
inline constexpr int kNcclBf16 = 9;
inline constexpr int kNcclSum = 0;

// OK for 0; kInternal with the metadata "reason" "nccl" for all else.
absl::Status NcclStatus(Nccl::Status code, absl::string_view call);

// One communicator a rank.
class Communicators {
 public:
  // Takes seconds, and memory of each GPU.
  //
  // Errors: kUnimplemented where NCCL can't be started here, e.g. for want of shared memory.
  static absl::StatusOr<std::shared_ptr<Communicators>> Create(const Nccl& nccl,
                                                               SharedPeerGroup group);
  ~Communicators();
  Communicators(const Communicators&) = delete;
  Communicators& operator=(const Communicators&) = delete;

  const Nccl& nccl() const { return nccl_; }
  PeerGroup& group() const { return *group_; }
  void* communicator(size_t rank) const { return communicators_[rank]; }

 private:
  Communicators(const Nccl& nccl, SharedPeerGroup group);

  const Nccl nccl_;
  const SharedPeerGroup group_;  // outlives the communicators
  std::vector<void*> communicators_;
};

using SharedCommunicators = std::shared_ptr<Communicators>;

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_CUDA_PEERS_COMMUNICATORS_H_
