#include "gpu_probe/cuda/peers/collectives.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "engine/base/status_macros.h"
#include "gpu_probe/cuda/gpu_workload.h"
#include "proto/text/enum_names.h"

namespace sextant::probe {
namespace {

// The most calls queued at a time: limited by a GPU's queue, and by how long other processes may
// have to wait.
constexpr int64_t kMaxQueuedCalls = 256;

constexpr int64_t kBf16Bytes = 2;

void* Pointer(cuda::Address address) { return reinterpret_cast<void*>(address); }
std::size_t Bf16Count(int64_t size_bytes) {
  return static_cast<std::size_t>(size_bytes / kBf16Bytes);
}

constexpr int64_t kCollectiveSizesBytes[] = {int64_t{8} << 10, int64_t{1} << 20, int64_t{32} << 20,
                                             int64_t{512} << 20};

// Sums of more ranks' data would not be exact (kernels/peers.cu).
constexpr size_t kMaxExactRanks = 64;

// The share of the bytes that must leave or reach a rank: nccl-tests' factors.
double BusShare(v1::CollectiveOperation operation, size_t rank_count) {
  const double n = static_cast<double>(rank_count);
  const double once = (n - 1) / n;
  return operation == v1::COLLECTIVE_OPERATION_ALL_REDUCE ? 2 * once : once;
}

}  // namespace

class Communicators {
 public:
  Communicators(const Nccl& its_nccl, SharedPeerGroup its_group)
      : nccl_(its_nccl), group_(std::move(its_group)), communicators_(group_->size(), nullptr) {}
  Communicators(const Communicators&) = delete;
  Communicators& operator=(const Communicators&) = delete;
  ~Communicators() {
    for (void* const communicator : communicators_) {
      if (communicator != nullptr) (void)nccl_.comm_abort(communicator);
    }
    (void)group_->rank(0).session->MakeCurrent();
  }

  absl::Status Start() {
    std::vector<int> ordinals;
    for (size_t i = 0; i < group_->size(); ++i) {
      ordinals.push_back(group_->rank(i).session->gpu().ordinal);
    }
    const absl::Status started = nccl_.comm_init_all.Checked(
        communicators_.data(), static_cast<int>(ordinals.size()), ordinals.data());
    // NCCL may have made another GPU current.
    SEXTANT_RETURN_IF_ERROR(group_->rank(0).session->MakeCurrent());
    if (started.ok()) return started;
    return absl::UnimplementedError(
        absl::StrCat("NCCL ", nccl_.version, " can't be started among this host's GPUs (",
                     started.message(), "); containers need shared memory, e.g. --shm-size=1g"));
  }

  const Nccl& nccl() const { return nccl_; }
  PeerGroup& group() const { return *group_; }
  void* communicator(size_t rank) const { return communicators_[rank]; }

 private:
  const Nccl nccl_;
  const SharedPeerGroup group_;  // outlives the communicators
  std::vector<void*> communicators_;
};

namespace {

class Exchange : public Workload {
 public:
  Exchange(const Collective& collective, SharedCommunicators communicators)
      : collective_(collective), communicators_(std::move(communicators)) {}
  ~Exchange() override {
    for (const auto& pair : events_) {
      for (const cuda::Event event : pair) {
        if (event != nullptr) (void)group().rank(0).session->driver().drop_event(event);
      }
    }
  }

  void Poison() override {
    poisoned_ = absl::OkStatus();
    for (size_t i = 0; i < group().size(); ++i) {
      poisoned_.Update(group().Poison(i, received_bytes()));
    }
  }
  absl::Status Run(int64_t repetition_count) override {
    SEXTANT_RETURN_IF_ERROR(poisoned_);
    SEXTANT_RETURN_IF_ERROR(MakeEvents());
    int64_t chunk = 1;
    if (run_seconds_ > 0) {
      const double fitting = kMaxQueuedSeconds / run_seconds_;
      chunk = static_cast<int64_t>(std::clamp(fitting, 1.0, static_cast<double>(kMaxQueuedCalls)));
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

  absl::optional<double> DeviceSeconds() const override { return device_seconds_; }
  absl::Status Check() override {
    SEXTANT_RETURN_IF_ERROR(group().MayGoOn());
    return group().OnEach(
        [this](size_t index, PeerGroup::Rank& rank) { return CheckRank(index, rank); });
  }

 private:
  PeerGroup& group() const { return communicators_->group(); }
  int64_t rank_count() const { return static_cast<int64_t>(group().size()); }
  int64_t part_bytes() const { return collective_.size_bytes / rank_count(); }
  // Bytes that each rank holds at the end.
  int64_t received_bytes() const {
    return collective_.operation == v1::COLLECTIVE_OPERATION_REDUCE_SCATTER
               ? part_bytes()
               : collective_.size_bytes;
  }

  absl::Status MakeEvents() {
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

  absl::Status Mark(size_t event) {
    return group().OnEach([&](size_t index, PeerGroup::Rank& rank) {
      return CudaStatus(
          rank.session->driver().record_event(events_[index][event], rank.session->stream()),
          "cuEventRecord");
    });
  }

  // Queues one exchange on all ranks.
  absl::Status Enqueue() {
    const Nccl& nccl = communicators_->nccl();
    SEXTANT_RETURN_IF_ERROR(nccl.group_start.Checked());
    absl::Status queued;
    for (size_t i = 0; i < group().size() && queued.ok(); ++i) queued = EnqueueRank(i);
    // The group is ended in any case; otherwise NCCL would wait for ever.
    const absl::Status ended = nccl.group_end.Checked();
    SEXTANT_RETURN_IF_ERROR(queued);
    return ended;
  }

  absl::Status EnqueueRank(size_t index) {
    const Nccl& nccl = communicators_->nccl();
    PeerGroup::Rank& rank = group().rank(index);
    const void* const from = Pointer(rank.from.address());
    void* const to = Pointer(rank.to.address());
    void* const communicator = communicators_->communicator(index);
    void* const stream = rank.session->stream();
    switch (collective_.operation) {
      case v1::COLLECTIVE_OPERATION_ALL_REDUCE:
        return nccl.all_reduce.Checked(from, to, Bf16Count(collective_.size_bytes), kNcclBf16,
                                       kNcclSum, communicator, stream);
      case v1::COLLECTIVE_OPERATION_REDUCE_SCATTER:
        return nccl.reduce_scatter.Checked(from, to, Bf16Count(part_bytes()), kNcclBf16, kNcclSum,
                                           communicator, stream);
      case v1::COLLECTIVE_OPERATION_ALL_GATHER:
        return nccl.all_gather.Checked(from, to, Bf16Count(part_bytes()), kNcclBf16, communicator,
                                       stream);
      default:
        return EnqueueAllToAll(index);
    }
  }

  absl::Status EnqueueAllToAll(size_t index) {
    const Nccl& nccl = communicators_->nccl();
    PeerGroup::Rank& rank = group().rank(index);
    void* const communicator = communicators_->communicator(index);
    void* const stream = rank.session->stream();
    const std::size_t count = Bf16Count(part_bytes());
    for (int peer = 0; peer < static_cast<int>(rank_count()); ++peer) {
      const auto offset = static_cast<cuda::Address>(peer * part_bytes());
      SEXTANT_RETURN_IF_ERROR(nccl.send.Checked(Pointer(rank.from.address() + offset), count,
                                                kNcclBf16, peer, communicator, stream));
      SEXTANT_RETURN_IF_ERROR(nccl.receive.Checked(Pointer(rank.to.address() + offset), count,
                                                   kNcclBf16, peer, communicator, stream));
    }
    return absl::OkStatus();
  }

  // Runs `count` exchanges, and returns their seconds.
  absl::StatusOr<double> RunChunk(int64_t count) {
    const bool holds = run_seconds_ > 0;  // the first exchange allocates, and may wait
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
      SEXTANT_RETURN_IF_ERROR(cuda.wait_event.Checked(end));
      float milliseconds = 0;
      SEXTANT_RETURN_IF_ERROR(cuda.elapsed.Checked(&milliseconds, start, end));
      slowest_seconds = std::max(slowest_seconds, static_cast<double>(milliseconds) * 1e-3);
      return absl::OkStatus();
    };
    SEXTANT_RETURN_IF_ERROR(group().OnEach(wait));
    return slowest_seconds;
  }

  absl::Status CheckRank(size_t index, PeerGroup::Rank& rank) const {
    const auto count = static_cast<uint64_t>(received_bytes() / kPeerVectorBytes);
    const auto part = static_cast<uint64_t>(part_bytes() / kPeerVectorBytes);
    const LaunchShape grid = PeerGrid(static_cast<int64_t>(count));
    const bool own_part = collective_.operation == v1::COLLECTIVE_OPERATION_REDUCE_SCATTER ||
                          collective_.operation == v1::COLLECTIVE_OPERATION_ALL_TO_ALL;
    const uint64_t first = own_part ? index * part : 0;
    const bool summed = collective_.operation == v1::COLLECTIVE_OPERATION_ALL_REDUCE ||
                        collective_.operation == v1::COLLECTIVE_OPERATION_REDUCE_SCATTER;
    const auto report =
        summed ? rank.check.Run("check_peer_sum", grid, rank.to.address(), count, first,
                                static_cast<unsigned>(rank_count()))
               : rank.check.Run("check_peer_parts", grid, rank.to.address(), count, part, first,
                                /*first_rank*/ 0U);
    SEXTANT_RETURN_IF_ERROR(report.status());
    return PeerCheckStatus(*report, group().uuid(index));
  }

  const Collective collective_;
  const SharedCommunicators communicators_;
  std::vector<std::array<cuda::Event, 2>> events_;  // of each rank: start and end
  absl::Status poisoned_;
  double device_seconds_ = 0;
  double run_seconds_ = 0;  // of one exchange, in the latest call; 0: not known
};

// The communicators, which live while a workload uses them.
class CommunicatorSource {
 public:
  CommunicatorSource(const Nccl& nccl, std::shared_ptr<PeerHost> host, int64_t buffer_bytes)
      : version(nccl.version),
        rank_count(host->rank_count()),
        shared_([this, nccl, host, buffer_bytes]() -> absl::StatusOr<SharedCommunicators> {
          SEXTANT_RETURN_IF_ERROR(refused_);
          SEXTANT_ASSIGN_OR_RETURN(SharedPeerGroup group, host->Group(buffer_bytes));
          absl::StatusOr<SharedCommunicators> made = StartNccl(nccl, std::move(group));
          refused_ = made.status();
          return made;
        }) {}

  absl::StatusOr<SharedCommunicators> Get() { return shared_.Get(); }

  const std::string version;
  const size_t rank_count;

 private:
  absl::Status refused_;  // tried once: it takes seconds
  SharedData<Communicators> shared_;
};

Point CollectivePoint(const Collective& collective,
                      const std::shared_ptr<CommunicatorSource>& source) {
  const double bus_bytes = BusShare(collective.operation, source->rank_count) *
                           static_cast<double>(collective.size_bytes);
  Point point;
  point.phase = "collective";
  point.label = absl::StrCat(text::EnumLabel(collective.operation), " ",
                             collective.size_bytes / 1024, " KiB on ", source->rank_count, " GPUs");
  point.work = bus_bytes;
  point.unit = "B/s";
  point.minimum_sample_seconds = kGpuSampleSeconds;
  point.make = [=]() -> absl::StatusOr<std::unique_ptr<Workload>> {
    SEXTANT_ASSIGN_OR_RETURN(SharedCommunicators communicators, source->Get());
    return CollectiveWorkload(collective, std::move(communicators));
  };
  point.record = [=](const v1::TimeStatistics& time, v1::Calibration* out) {
    v1::CollectiveMeasurement* const measured = out->add_collectives();
    measured->set_operation(collective.operation);
    measured->set_rank_count(static_cast<int64_t>(source->rank_count));
    measured->set_size_bytes(collective.size_bytes);
    *measured->mutable_time() = time;
    measured->set_bus_bytes_per_second(bus_bytes / time.median_seconds());
    measured->set_engine(absl::StrCat("nccl ", source->version));
  };
  return point;
}

}  // namespace

absl::StatusOr<SharedCommunicators> StartNccl(const Nccl& nccl, SharedPeerGroup group) {
  auto communicators = std::make_shared<Communicators>(nccl, std::move(group));
  SEXTANT_RETURN_IF_ERROR(communicators->Start());
  return communicators;
}

std::unique_ptr<Workload> CollectiveWorkload(const Collective& collective,
                                             SharedCommunicators communicators) {
  return std::make_unique<Exchange>(collective, std::move(communicators));
}

std::vector<Point> CollectivePoints(const Nccl& nccl, const std::shared_ptr<PeerHost>& host) {
  std::vector<Point> points;
  if (host->rank_count() > kMaxExactRanks) return points;
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

}  // namespace sextant::probe
