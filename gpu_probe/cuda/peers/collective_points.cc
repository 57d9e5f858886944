#include "gpu_probe/cuda/peers/collective_points.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "gpu_probe/cuda/gpu_workload.h"
#include "gpu_probe/cuda/peers/collective_workload.h"
#include "gpu_probe/enum_text.h"

namespace sextant {
namespace {

constexpr int64_t kCollectiveSizesBytes[] = {int64_t{8} << 10, int64_t{1} << 20, int64_t{32} << 20,
                                             int64_t{512} << 20};

// Sums of more ranks' data would not be exact (kernels/peers.cu).
constexpr size_t kMostExactRanks = 64;

// The share of the bytes that has to leave or reach a rank: nccl-tests' factors.
double BusShare(v1::CollectiveOperation operation, size_t rank_count) {
  const double n = static_cast<double>(rank_count);
  const double once = (n - 1) / n;
  return operation == v1::COLLECTIVE_OPERATION_ALL_REDUCE ? 2 * once : once;
}

// The communicators, there while any workload uses them.
class CommunicatorSource {
 public:
  CommunicatorSource(Nccl nccl, std::shared_ptr<PeerHost> host, int64_t buffer_bytes)
      : nccl_(std::move(nccl)), host_(std::move(host)), buffer_bytes_(buffer_bytes) {}

  const std::string& version() const { return nccl_.version; }
  size_t rank_count() const { return host_->rank_count(); }

  absl::StatusOr<SharedCommunicators> Get() {
    if (SharedCommunicators there = communicators_.lock()) return there;
    SEXTANT_RETURN_IF_ERROR(refused_);
    SEXTANT_ASSIGN_OR_RETURN(SharedPeerGroup group, host_->Group(buffer_bytes_));
    absl::StatusOr<SharedCommunicators> made = Communicators::Create(nccl_, std::move(group));
    refused_ = made.status();
    if (made.ok()) communicators_ = *made;
    return made;
  }

 private:
  const Nccl nccl_;
  const std::shared_ptr<PeerHost> host_;
  const int64_t buffer_bytes_;
  absl::Status refused_;  // asked once: it takes seconds
  std::weak_ptr<Communicators> communicators_;
};

Point CollectivePoint(const Collective& collective,
                      const std::shared_ptr<CommunicatorSource>& source) {
  const double bus_bytes = BusShare(collective.operation, source->rank_count()) *
                           static_cast<double>(collective.size_bytes);
  Point point;
  point.phase = "collective";
  point.label = absl::StrCat(EnumText(collective.operation), " ", collective.size_bytes / 1024,
                             " KiB on ", source->rank_count(), " GPUs");
  point.work = bus_bytes;
  point.unit = "B/s";
  point.minimum_sample_seconds = kGpuSampleSeconds;
  point.make = [=]() -> absl::StatusOr<std::unique_ptr<Workload>> {
    SEXTANT_ASSIGN_OR_RETURN(SharedCommunicators communicators, source->Get());
    return std::make_unique<CollectiveWorkload>(collective, std::move(communicators));
  };
  point.record = [=](const v1::TimeStatistics& time, v1::Calibration* out) {
    v1::CollectiveMeasurement* const measured = out->add_collectives();
    measured->set_operation(collective.operation);
    measured->set_rank_count(static_cast<int64_t>(source->rank_count()));
    measured->set_size_bytes(collective.size_bytes);
    *measured->mutable_time() = time;
    measured->set_bus_bytes_per_second(bus_bytes / time.median_seconds());
    measured->set_engine(absl::StrCat("nccl ", source->version()));
  };
  return point;
}

}  // namespace

std::vector<Point> CollectivePoints(const Nccl& nccl, const std::shared_ptr<PeerHost>& host) {
  std::vector<Point> points;
  if (host->rank_count() > kMostExactRanks) return points;
  const int64_t step_bytes = static_cast<int64_t>(host->rank_count()) * kPeerVectorBytes;
  std::vector<int64_t> sizes_bytes;
  for (const int64_t size : kCollectiveSizesBytes) {
    if (size <= host->most_buffer_bytes()) sizes_bytes.push_back(size / step_bytes * step_bytes);
  }
  if (sizes_bytes.empty()) return points;
  const auto source = std::make_shared<CommunicatorSource>(nccl, host, sizes_bytes.back());
  for (const auto operation :
       {v1::COLLECTIVE_OPERATION_ALL_REDUCE, v1::COLLECTIVE_OPERATION_ALL_GATHER,
        v1::COLLECTIVE_OPERATION_REDUCE_SCATTER, v1::COLLECTIVE_OPERATION_ALL_TO_ALL}) {
    for (const int64_t size_bytes : sizes_bytes) {
      points.push_back(CollectivePoint({.operation = operation, .size_bytes = size_bytes}, source));
    }
  }
  return points;
}

}  // namespace sextant
