#include "gpu_probe/cuda/peers/peer_group.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "gpu_probe/cuda/cuda_fault.h"

namespace sextant::probe {
namespace {

// bf16 of all bits set is NaN, and not an integer.
constexpr unsigned char kPeerPoison = 0xFF;

constexpr int64_t kMaxPeerBlocks = 1024;

// CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED of cuda.h: enabled by a library, in the shared context.
constexpr int kReachedAlready = 704;

absl::StatusOr<PeerGroup::Rank> RankOn(const SharedSession& session, size_t index,
                                       int64_t buffer_bytes) {
  PeerGroup::Rank rank;
  rank.session = session;
  SEXTANT_ASSIGN_OR_RETURN(rank.from, DeviceMemory::Allocate(session, buffer_bytes));
  SEXTANT_ASSIGN_OR_RETURN(rank.to, DeviceMemory::Allocate(session, buffer_bytes));
  SEXTANT_ASSIGN_OR_RETURN(rank.check, GpuCheck::Create(session));
  const int64_t vector_count = buffer_bytes / kPeerVectorBytes;
  SEXTANT_RETURN_IF_ERROR(session->Launch("fill_peer_data", PeerGrid(vector_count),
                                          rank.from.address(), static_cast<uint64_t>(vector_count),
                                          static_cast<unsigned>(index)));
  SEXTANT_RETURN_IF_ERROR(session->Synchronize());
  return rank;
}

// Memory of a group in addition to its buffers.
constexpr int64_t kSmallBytes = int64_t{1} << 20;

int64_t BufferBytesUnder(int64_t cap_bytes) {
  const int64_t left_bytes = cap_bytes - std::min(kNcclBytes, cap_bytes / 2) - kSmallBytes;
  return std::max<int64_t>(0, left_bytes / 2 / kPeerVectorBytes * kPeerVectorBytes);
}

}  // namespace

LaunchShape PeerGrid(int64_t vector_count) { return LaunchOver(vector_count, kMaxPeerBlocks); }

absl::Status PeerCheckStatus(const GpuCheckReport& report, const std::string& uuid) {
  if (report.wrong_count == 0) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat(report.wrong_count, " pieces of 16 bytes that ", uuid,
                   " received are wrong, the first of them number ", report.first_wrong,
                   "; don't trust these GPUs or their links before they are looked at"));
}

absl::StatusOr<SharedPeerGroup> PeerGroup::Open(std::vector<SharedSession> sessions,
                                                int64_t buffer_bytes) {
  SharedPeerGroup group(new PeerGroup);
  group->buffer_bytes_ = buffer_bytes;
  for (size_t i = 0; i < sessions.size(); ++i) {
    absl::Status made = sessions[i]->MakeCurrent();
    if (made.ok()) {
      absl::StatusOr<Rank> rank = RankOn(sessions[i], i, buffer_bytes);
      made = rank.status();
      if (rank.ok()) group->ranks_.push_back(*std::move(rank));
    }
    const absl::Status home = sessions.front()->MakeCurrent();
    SEXTANT_RETURN_IF_ERROR(made);
    SEXTANT_RETURN_IF_ERROR(home);
  }
  SEXTANT_RETURN_IF_ERROR(group->EnableReach());
  return group;
}

PeerGroup::~PeerGroup() {
  if (ranks_.empty()) return;
  const SharedSession home = ranks_.front().session;
  // Memory is freed on its own GPU. A failure here follows an earlier one.
  for (Rank& rank : ranks_) {
    (void)rank.session->MakeCurrent();
    rank = {};
  }
  (void)home->MakeCurrent();
}

bool PeerGroup::Reaches(size_t from, size_t to) const {
  int can = 0;
  const GpuSession& source = *ranks_[from].session;
  const int code = source.driver().can_access_peer(&can, source.gpu().ordinal,
                                                   ranks_[to].session->gpu().ordinal);
  return code == 0 && can != 0;
}

absl::Status PeerGroup::EnableReach() {
  return OnEach([this](size_t index, Rank& rank) {
    for (size_t other = 0; other < size(); ++other) {
      if (other == index || !Reaches(index, other)) continue;
      const int code =
          rank.session->driver().enable_peer(ranks_[other].session->context(), /*flags=*/0);
      if (code != kReachedAlready) {
        SEXTANT_RETURN_IF_ERROR(CudaStatus(code, "cuCtxEnablePeerAccess"));
      }
    }
    return absl::OkStatus();
  });
}

absl::Status PeerGroup::On(size_t index, const std::function<absl::Status(Rank& rank)>& work) {
  absl::Status done = ranks_[index].session->MakeCurrent();
  if (done.ok()) done = work(ranks_[index]);
  done.Update(ranks_.front().session->MakeCurrent());
  return done;
}

absl::Status PeerGroup::OnEach(const std::function<absl::Status(size_t index, Rank& rank)>& work) {
  for (size_t i = 0; i < size(); ++i) {
    SEXTANT_RETURN_IF_ERROR(On(i, [&](Rank& rank) { return work(i, rank); }));
  }
  return absl::OkStatus();
}

absl::Status PeerGroup::Poison(size_t index, int64_t size_bytes) {
  return On(index, [&](Rank& rank) -> absl::Status {
    SEXTANT_RETURN_IF_ERROR(rank.session->Fill(rank.to.address(), kPeerPoison, size_bytes));
    return rank.session->Synchronize();
  });
}

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

}  // namespace sextant::probe
