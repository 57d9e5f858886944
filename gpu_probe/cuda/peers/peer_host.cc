#include "gpu_probe/cuda/peers/peer_host.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"

namespace sextant {
namespace {

// What a group takes beside its buffers.
constexpr int64_t kSmallBytes = int64_t{1} << 20;

int64_t BufferBytesUnder(int64_t cap_bytes) {
  const int64_t left_bytes = cap_bytes - std::min(kNcclBytes, cap_bytes / 2) - kSmallBytes;
  return std::max<int64_t>(0, left_bytes / 2 / kPeerVectorBytes * kPeerVectorBytes);
}

}  // namespace

absl::StatusOr<std::unique_ptr<PeerHost>> PeerHost::Admit(
    const CudaSystem& system, const SharedSession& home,
    const std::function<void(double seconds)>& sleep) {
  SEXTANT_ASSIGN_OR_RETURN(const std::vector<Gpu> gpus, ListGpus(system));
  std::vector<Peer> peers;
  for (const Gpu& gpu : gpus) {
    const std::string& uuid = gpu.device.uuid();
    if (uuid == home->device().uuid()) continue;
    SEXTANT_RETURN_IF_ERROR(CheckComputeCapability(gpu.device));
    SEXTANT_ASSIGN_OR_RETURN(DeviceLock lock, DeviceLock::Take(LockFolder(), uuid));
    SEXTANT_ASSIGN_OR_RETURN(Admission admission, AdmitGpu(system, uuid, sleep));
    peers.push_back({.gpu = gpu, .admission = std::move(admission), .lock = std::move(lock)});
  }
  if (peers.empty()) return nullptr;
  return std::unique_ptr<PeerHost>(new PeerHost(home, std::move(peers)));
}

PeerHost::PeerHost(const SharedSession& home, std::vector<Peer> peers)
    : home_(home), peers_(std::move(peers)) {
  int64_t cap_bytes = home_->memory_cap_bytes();
  for (const Peer& peer : peers_) cap_bytes = std::min(cap_bytes, peer.admission.memory_cap_bytes);
  most_buffer_bytes_ = BufferBytesUnder(cap_bytes);
}

const std::string& PeerHost::uuid(size_t rank) const {
  return rank == 0 ? home_->device().uuid() : peers_[rank - 1].gpu.device.uuid();
}

absl::StatusOr<SharedPeerGroup> PeerHost::Group(int64_t buffer_bytes) {
  if (SharedPeerGroup open = group_.lock()) return open;
  std::vector<SharedSession> sessions = {home_};
  for (Peer& peer : peers_) {
    const absl::Status idle = peer.admission.guard.MayGoOn(/*own_bytes=*/0);
    if (!idle.ok()) return absl::UnimplementedError(idle.message());
    absl::StatusOr<SharedSession> session = GpuSession::Open(
        {.driver = home_->driver(),
         .gpu = peer.gpu,
         .memory_cap_bytes = std::min(home_->memory_cap_bytes(), peer.admission.memory_cap_bytes),
         .images = home_->images()});
    SEXTANT_RETURN_IF_ERROR(home_->MakeCurrent());
    SEXTANT_RETURN_IF_ERROR(session.status());
    sessions.push_back(*std::move(session));
  }
  SEXTANT_ASSIGN_OR_RETURN(SharedPeerGroup made,
                           PeerGroup::Open(std::move(sessions), buffer_bytes));
  group_ = made;
  made->set_may_go_on([this] { return MayGoOn(); });
  return made;
}

absl::Status PeerHost::MayGoOn() {
  const SharedPeerGroup open = group_.lock();
  if (open == nullptr) return absl::OkStatus();
  for (size_t i = 0; i < peers_.size(); ++i) {
    const int64_t own_bytes = open->rank(i + 1).session->allocated_bytes() + kNcclBytes;
    SEXTANT_RETURN_IF_ERROR(peers_[i].admission.guard.MayGoOn(own_bytes));
  }
  return absl::OkStatus();
}

}  // namespace sextant
