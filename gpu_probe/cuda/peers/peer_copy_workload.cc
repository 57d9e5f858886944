#include "gpu_probe/cuda/peers/peer_copy_workload.h"

#include <utility>

#include "engine/base/status_macros.h"
#include "gpu_probe/cuda/cuda_fault.h"

namespace sextant {

PeerCopyWorkload::PeerCopyWorkload(const PeerCopy& copy, SharedPeerGroup group)
    : GpuWorkload(group->rank(0).session, HostPart::kQueues),
      copy_(copy),
      group_(std::move(group)) {}

void PeerCopyWorkload::Poison() { poisoned_ = group_->Poison(copy_.to, copy_.size_bytes); }

absl::Status PeerCopyWorkload::Enqueue() {
  SEXTANT_RETURN_IF_ERROR(poisoned_);
  const PeerGroup::Rank& from = group_->rank(copy_.from);
  const PeerGroup::Rank& to = group_->rank(copy_.to);
  return CudaStatus(
      session().driver().to_peer(to.to.address(), to.session->context(), from.from.address(),
                                 from.session->context(), static_cast<size_t>(copy_.size_bytes),
                                 session().stream()),
      "cuMemcpyPeerAsync");
}

absl::Status PeerCopyWorkload::Check() {
  SEXTANT_RETURN_IF_ERROR(group_->MayGoOn());
  return group_->On(copy_.to, [this](PeerGroup::Rank& rank) -> absl::Status {
    const auto count = static_cast<uint64_t>(copy_.size_bytes / kPeerVectorBytes);
    const auto report = rank.check->Run("check_peer_parts", PeerGrid(static_cast<int64_t>(count)),
                                        rank.to.address(), count, count,
                                        /*first*/ uint64_t{0}, static_cast<unsigned>(copy_.from));
    SEXTANT_RETURN_IF_ERROR(report.status());
    return PeerCheckStatus(*report, group_->uuid(copy_.to));
  });
}

}  // namespace sextant
