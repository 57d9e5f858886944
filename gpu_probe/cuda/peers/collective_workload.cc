#include "gpu_probe/cuda/peers/collective_workload.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "gpu_probe/cuda/cuda_fault.h"
#include "gpu_probe/cuda/gpu_workload.h"

namespace sextant {
namespace {

// Queued at a time: no more than a GPU's queue takes, or than a tenant should wait for.
constexpr int64_t kMostQueuedCalls = 256;

constexpr int64_t kBf16Bytes = 2;

void* Pointer(cuda::Address address) { return reinterpret_cast<void*>(address); }
std::size_t Bf16Count(int64_t size_bytes) {
  return static_cast<std::size_t>(size_bytes / kBf16Bytes);
}

}  // namespace

CollectiveWorkload::CollectiveWorkload(const Collective& collective,
                                       SharedCommunicators communicators)
    : collective_(collective), communicators_(std::move(communicators)) {}

CollectiveWorkload::~CollectiveWorkload() {
  for (const auto& pair : events_) {
    for (const cuda::Event event : pair) {
      if (event != nullptr) (void)group().rank(0).session->driver().drop_event(event);
    }
  }
}

int64_t CollectiveWorkload::received_bytes() const {
  return collective_.operation == v1::COLLECTIVE_OPERATION_REDUCE_SCATTER ? part_bytes()
                                                                          : collective_.size_bytes;
}

void CollectiveWorkload::Poison() {
  poisoned_ = absl::OkStatus();
  for (size_t i = 0; i < group().size(); ++i) {
    poisoned_.Update(group().Poison(i, received_bytes()));
  }
}

absl::Status CollectiveWorkload::MakeEvents() {
  if (!events_.empty()) return absl::OkStatus();
  events_.resize(group().size());
  return group().OnEach([this](size_t index, PeerGroup::Rank& rank) {
    for (cuda::Event& event : events_[index]) {
      SEXTANT_RETURN_IF_ERROR(CudaStatus(
          rank.session->driver().make_event(&event, cuda::kTimedEvent), "cuEventCreate"));
    }
    return absl::OkStatus();
  });
}

absl::Status CollectiveWorkload::Mark(size_t event) {
  return group().OnEach([&](size_t index, PeerGroup::Rank& rank) {
    return CudaStatus(
        rank.session->driver().record_event(events_[index][event], rank.session->stream()),
        "cuEventRecord");
  });
}

absl::Status CollectiveWorkload::EnqueueAllToAll(size_t index) {
  const Nccl& nccl = communicators_->nccl();
  PeerGroup::Rank& rank = group().rank(index);
  void* const communicator = communicators_->communicator(index);
  void* const stream = rank.session->stream();
  const std::size_t count = Bf16Count(part_bytes());
  for (int peer = 0; peer < static_cast<int>(rank_count()); ++peer) {
    const auto offset = static_cast<cuda::Address>(peer * part_bytes());
    SEXTANT_RETURN_IF_ERROR(NcclStatus(nccl.send(Pointer(rank.from.address() + offset), count,
                                                 kNcclBf16, peer, communicator, stream),
                                       "ncclSend"));
    SEXTANT_RETURN_IF_ERROR(NcclStatus(nccl.receive(Pointer(rank.to.address() + offset), count,
                                                    kNcclBf16, peer, communicator, stream),
                                       "ncclRecv"));
  }
  return absl::OkStatus();
}

absl::Status CollectiveWorkload::EnqueueRank(size_t index) {
  const Nccl& nccl = communicators_->nccl();
  PeerGroup::Rank& rank = group().rank(index);
  const void* const from = Pointer(rank.from.address());
  void* const to = Pointer(rank.to.address());
  void* const communicator = communicators_->communicator(index);
  void* const stream = rank.session->stream();
  switch (collective_.operation) {
    case v1::COLLECTIVE_OPERATION_ALL_REDUCE:
      return NcclStatus(nccl.all_reduce(from, to, Bf16Count(collective_.size_bytes), kNcclBf16,
                                        kNcclSum, communicator, stream),
                        "ncclAllReduce");
    case v1::COLLECTIVE_OPERATION_REDUCE_SCATTER:
      return NcclStatus(nccl.reduce_scatter(from, to, Bf16Count(part_bytes()), kNcclBf16, kNcclSum,
                                            communicator, stream),
                        "ncclReduceScatter");
    case v1::COLLECTIVE_OPERATION_ALL_GATHER:
      return NcclStatus(
          nccl.all_gather(from, to, Bf16Count(part_bytes()), kNcclBf16, communicator, stream),
          "ncclAllGather");
    default:
      return EnqueueAllToAll(index);
  }
}

absl::Status CollectiveWorkload::Enqueue() {
  const Nccl& nccl = communicators_->nccl();
  SEXTANT_RETURN_IF_ERROR(NcclStatus(nccl.group_start(), "ncclGroupStart"));
  absl::Status queued;
  for (size_t i = 0; i < group().size() && queued.ok(); ++i) queued = EnqueueRank(i);
  // Ended in any case, or NCCL would wait for the end for ever.
  const Nccl::Status ended = nccl.group_end();
  SEXTANT_RETURN_IF_ERROR(queued);
  return NcclStatus(ended, "ncclGroupEnd");
}

absl::StatusOr<double> CollectiveWorkload::RunChunk(int64_t count) {
  const bool holds = run_seconds_ > 0;  // the first exchange makes what it needs, and may wait
  const auto queue = [&]() -> absl::Status {
    if (holds) {
      SEXTANT_RETURN_IF_ERROR(
          group().OnEach([](size_t, PeerGroup::Rank& rank) { return rank.session->Hold(); }));
    }
    SEXTANT_RETURN_IF_ERROR(Mark(0));
    for (int64_t i = 0; i < count; ++i) SEXTANT_RETURN_IF_ERROR(Enqueue());
    return Mark(1);
  };
  const absl::Status queued = queue();
  for (size_t i = 0; i < group().size(); ++i) group().rank(i).session->Release();
  SEXTANT_RETURN_IF_ERROR(queued);
  double slowest_seconds = 0;
  const auto wait = [&](size_t index, PeerGroup::Rank& rank) -> absl::Status {
    const CudaDriver& cuda = rank.session->driver();
    const auto& [start, end] = events_[index];
    SEXTANT_RETURN_IF_ERROR(CudaStatus(cuda.wait_event(end), "cuEventSynchronize"));
    float milliseconds = 0;
    SEXTANT_RETURN_IF_ERROR(
        CudaStatus(cuda.elapsed(&milliseconds, start, end), "cuEventElapsedTime"));
    slowest_seconds = std::max(slowest_seconds, static_cast<double>(milliseconds) * 1e-3);
    return absl::OkStatus();
  };
  SEXTANT_RETURN_IF_ERROR(group().OnEach(wait));
  return slowest_seconds;
}

absl::Status CollectiveWorkload::Run(int64_t repetition_count) {
  SEXTANT_RETURN_IF_ERROR(poisoned_);
  SEXTANT_RETURN_IF_ERROR(MakeEvents());
  int64_t chunk = 1;
  if (run_seconds_ > 0) {
    const double fitting = kMostQueuedSeconds / run_seconds_;
    chunk = static_cast<int64_t>(std::clamp(fitting, 1.0, static_cast<double>(kMostQueuedCalls)));
  }
  double seconds = 0;
  for (int64_t done = 0; done < repetition_count; done += chunk) {
    SEXTANT_ASSIGN_OR_RETURN(const double more_seconds,
                             RunChunk(std::min(chunk, repetition_count - done)));
    seconds += more_seconds;
  }
  device_seconds_ = seconds;
  run_seconds_ = seconds / static_cast<double>(repetition_count);
  return absl::OkStatus();
}

absl::Status CollectiveWorkload::CheckRank(size_t index, PeerGroup::Rank& rank) const {
  const auto count = static_cast<uint64_t>(received_bytes() / kPeerVectorBytes);
  const auto part = static_cast<uint64_t>(part_bytes() / kPeerVectorBytes);
  const LaunchShape grid = PeerGrid(static_cast<int64_t>(count));
  const bool own_part = collective_.operation == v1::COLLECTIVE_OPERATION_REDUCE_SCATTER ||
                        collective_.operation == v1::COLLECTIVE_OPERATION_ALL_TO_ALL;
  const uint64_t first = own_part ? index * part : 0;
  const bool summed = collective_.operation == v1::COLLECTIVE_OPERATION_ALL_REDUCE ||
                      collective_.operation == v1::COLLECTIVE_OPERATION_REDUCE_SCATTER;
  const auto report =
      summed ? rank.check->Run("check_peer_sum", grid, rank.to.address(), count, first,
                               static_cast<unsigned>(rank_count()))
             : rank.check->Run("check_peer_parts", grid, rank.to.address(), count, part, first,
                               /*first_rank*/ 0U);
  SEXTANT_RETURN_IF_ERROR(report.status());
  return PeerCheckStatus(*report, group().uuid(index));
}

absl::Status CollectiveWorkload::Check() {
  SEXTANT_RETURN_IF_ERROR(group().MayGoOn());
  return group().OnEach(
      [this](size_t index, PeerGroup::Rank& rank) { return CheckRank(index, rank); });
}

}  // namespace sextant
