// Collectives among all GPUs of a host through NCCL, timed on the slowest of them.
#ifndef SEXTANT_GPU_PROBE_CUDA_PEERS_COLLECTIVES_H_
#define SEXTANT_GPU_PROBE_CUDA_PEERS_COLLECTIVES_H_

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "gpu_probe/cuda/cuda_libraries.h"
#include "gpu_probe/cuda/peers/peer_group.h"
#include "gpu_probe/point.h"
#include "sextant/v1/calibration.pb.h"

namespace sextant::probe {

// ncclBfloat16 and ncclSum of nccl.h (2.28).
inline constexpr int kNcclBf16 = 9;
inline constexpr int kNcclSum = 0;

// OK for 0; otherwise kInternal with the metadata "reason" "nccl".
absl::Status NcclStatus(Nccl::Status code, absl::string_view call);

// NCCL among the GPUs of a group, in one process, with one communicator a rank.
class Communicators {
 public:
  // Takes seconds, and memory of each GPU.
  //
  // Errors: kUnimplemented where NCCL can't be started here, e.g. for lack of shared memory.
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

struct Collective {
  // ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER or ALL_TO_ALL.
  v1::CollectiveOperation operation;
  // Bytes as CollectiveMeasurement counts them; a multiple of the number of ranks times 16.
  int64_t size_bytes;
};

// One exchange among all GPUs of a group, timed on the slowest of them. Data are bf16. The streams
// are held until the host has queued the calls of all ranks, which for small sizes takes longer
// than the exchange on the GPUs.
class CollectiveWorkload : public Workload {
 public:
  CollectiveWorkload(const Collective& collective, SharedCommunicators communicators);
  ~CollectiveWorkload() override;

  void Poison() override;
  absl::Status Run(int64_t repetition_count) override;
  absl::optional<double> DeviceSeconds() const override { return device_seconds_; }
  absl::Status Check() override;

 private:
  PeerGroup& group() const { return communicators_->group(); }
  int64_t rank_count() const { return static_cast<int64_t>(group().size()); }
  int64_t part_bytes() const { return collective_.size_bytes / rank_count(); }
  // Bytes that each rank holds at the end.
  int64_t received_bytes() const;

  absl::Status MakeEvents();
  absl::Status Mark(size_t event);
  // Queues one exchange on all ranks.
  absl::Status Enqueue();
  absl::Status EnqueueRank(size_t index);
  absl::Status EnqueueAllToAll(size_t index);
  // Runs `count` exchanges, and returns their seconds.
  absl::StatusOr<double> RunChunk(int64_t count);
  absl::Status CheckRank(size_t index, PeerGroup::Rank& rank) const;

  const Collective collective_;
  const SharedCommunicators communicators_;
  std::vector<std::array<cuda::Event, 2>> events_;  // of each rank: start and end
  absl::Status poisoned_;
  double device_seconds_ = 0;
  double run_seconds_ = 0;  // of one exchange, in the latest call; 0: not known
};

// All-reduce, all-gather, reduce-scatter and all-to-all of 8 KiB and 1, 32 and 512 MiB; sizes that
// don't fit into memory are left out. Sizes are rounded down to what the ranks can share evenly.
std::vector<Point> CollectivePoints(const Nccl& nccl, const std::shared_ptr<PeerHost>& host);

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_CUDA_PEERS_COLLECTIVES_H_
