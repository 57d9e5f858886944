// One exchange among all GPUs of a group through NCCL, timed on the slowest of them.
#ifndef SEXTANT_GPU_PROBE_CUDA_PEERS_COLLECTIVE_WORKLOAD_H_
#define SEXTANT_GPU_PROBE_CUDA_PEERS_COLLECTIVE_WORKLOAD_H_

#include <array>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/optional.h"
#include "gpu_probe/cuda/peers/communicators.h"
#include "gpu_probe/workload.h"
#include "sextant/v1/calibration.pb.h"

namespace sextant {

struct Collective {
  // ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER or ALL_TO_ALL.
  v1::CollectiveOperation operation;
  // As CollectiveMeasurement counts; a multiple of the ranks' number times 16 bytes.
  int64_t size_bytes;
};

// Data are bf16. The streams are held until the host has queued the calls of all ranks, which for
// small sizes takes it longer than the GPUs.
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
  // Bytes that each rank has at the end.
  int64_t received_bytes() const;

  absl::Status MakeEvents();
  absl::Status Mark(size_t event);
  // Queues one exchange on all ranks.
  absl::Status Enqueue();
  absl::Status EnqueueRank(size_t index);
  absl::Status EnqueueAllToAll(size_t index);
  // Runs `count` exchanges; the seconds that they took.
  absl::StatusOr<double> RunChunk(int64_t count);
  absl::Status CheckRank(size_t index, PeerGroup::Rank& rank) const;

  const Collective collective_;
  const SharedCommunicators communicators_;
  std::vector<std::array<cuda::Event, 2>> events_;  // of each rank: start and end
  absl::Status poisoned_;
  double device_seconds_ = 0;
  double run_seconds_ = 0;  // of one exchange, the last time; 0: not known
};

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_CUDA_PEERS_COLLECTIVE_WORKLOAD_H_
