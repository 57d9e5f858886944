// Collectives among all GPUs of a host through NCCL, timed on the slowest of them.
#ifndef SEXTANT_GPU_PROBE_CUDA_PEERS_COLLECTIVES_H_
#define SEXTANT_GPU_PROBE_CUDA_PEERS_COLLECTIVES_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "gpu_probe/cuda/cuda_libraries.h"
#include "gpu_probe/cuda/peers/peer_group.h"
#include "gpu_probe/point.h"
#include "sextant/v1/calibration.pb.h"

namespace sextant::probe {

// ncclBfloat16 and ncclSum of nccl.h (2.28).
inline constexpr int kNcclBf16 = 9;
inline constexpr int kNcclSum = 0;

// NCCL among the GPUs of a group, in one process, with one communicator a rank.
class Communicators;
using SharedCommunicators = std::shared_ptr<Communicators>;

// Takes seconds, and memory of each GPU.
//
// Errors: kUnimplemented where NCCL can't be started here, e.g. for lack of shared memory.
absl::StatusOr<SharedCommunicators> StartNccl(const Nccl& nccl, SharedPeerGroup group);

struct Collective {
  // ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER or ALL_TO_ALL.
  v1::CollectiveOperation operation;
  // Bytes as CollectiveMeasurement counts them; a multiple of the number of ranks times 16.
  int64_t size_bytes;
};

// One exchange among all GPUs of a group, timed on the slowest of them. Data are bf16. The streams
// are held until the host has queued the calls of all ranks, which for small sizes takes longer
// than the exchange on the GPUs.
std::unique_ptr<Workload> CollectiveWorkload(const Collective& collective,
                                             SharedCommunicators communicators);

// All-reduce, all-gather, reduce-scatter and all-to-all of 8 KiB and 1, 32 and 512 MiB; sizes that
// don't fit into memory are left out. Sizes are rounded down to what the ranks can share evenly.
std::vector<Point> CollectivePoints(const Nccl& nccl, const std::shared_ptr<PeerHost>& host);

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_CUDA_PEERS_COLLECTIVES_H_
