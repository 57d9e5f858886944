#include "gpu_probe/cuda/peers/peer_plan.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "gpu_probe/cuda/cuda_fault.h"
#include "gpu_probe/cuda/peers/collectives.h"

namespace sextant::probe {
namespace {

constexpr int64_t kPeerCopyBytes = int64_t{256} << 20;

// How the note on the slowest copy begins.
constexpr char kSlowestCopy[] = "Of copies between this GPU and each other, either way, the ";

// The measurement of one pair.
struct MeasuredCopy {
  int64_t size_bytes;
  std::string text;              // "slowest is recorded: from ... to ..."
  std::shared_ptr<bool> direct;  // true: direct access; known once the copy was made
};

v1::CollectiveMeasurement* RecordedCopy(v1::Calibration* out) {
  for (v1::CollectiveMeasurement& it : *out->mutable_collectives()) {
    if (it.engine() == kCopyEngine) return &it;
  }
  return nullptr;
}

void SetNote(const std::string& note, v1::Calibration* out) {
  for (std::string& it : *out->mutable_notes()) {
    if (!absl::StartsWith(it, kSlowestCopy)) continue;
    it = note;
    return;
  }
  out->add_notes(note);
}

// Records `copy` where it is slower than the recorded one.
void RecordIfSlowest(const MeasuredCopy& copy, const v1::TimeStatistics& time,
                     v1::Calibration* out) {
  v1::CollectiveMeasurement* recorded = RecordedCopy(out);
  if (recorded != nullptr && recorded->time().median_seconds() >= time.median_seconds()) return;
  if (recorded == nullptr) recorded = out->add_collectives();
  recorded->set_operation(v1::COLLECTIVE_OPERATION_SEND_RECEIVE);
  recorded->set_rank_count(2);
  recorded->set_size_bytes(copy.size_bytes);
  *recorded->mutable_time() = time;
  recorded->set_bus_bytes_per_second(static_cast<double>(copy.size_bytes) / time.median_seconds());
  recorded->set_engine(kCopyEngine);
  SetNote(absl::StrCat(kSlowestCopy, copy.text,
                       *copy.direct ? "."
                                    : ", by way of the host's memory, since neither "
                                      "reaches the other's."),
          out);
}

Point PeerCopyPoint(const PeerCopy& copy, const std::shared_ptr<PeerHost>& host) {
  const MeasuredCopy measured = {
      .size_bytes = copy.size_bytes,
      .text = absl::StrCat("slowest is recorded: from ", host->uuid(copy.from), " to ",
                           host->uuid(copy.to)),
      .direct = std::make_shared<bool>(false)};
  Point point;
  point.phase = "peer copies";
  point.label = absl::StrCat("copy from ", host->uuid(copy.from), " to ", host->uuid(copy.to));
  point.work = static_cast<double>(copy.size_bytes);
  point.unit = "B/s";
  point.minimum_sample_seconds = kGpuSampleSeconds;
  point.make = [=]() -> absl::StatusOr<std::unique_ptr<Workload>> {
    SEXTANT_ASSIGN_OR_RETURN(SharedPeerGroup group, host->Group(copy.size_bytes));
    *measured.direct = group->Reaches(copy.from, copy.to);
    return PeerCopyWorkload(copy, std::move(group));
  };
  point.record = [measured](const v1::TimeStatistics& time, v1::Calibration* out) {
    RecordIfSlowest(measured, time, out);
  };
  return point;
}

}  // namespace

std::unique_ptr<Workload> PeerCopyWorkload(const PeerCopy& copy, SharedPeerGroup group) {
  const auto poisoned = std::make_shared<absl::Status>();
  const auto enqueue = [=]() -> absl::Status {
    SEXTANT_RETURN_IF_ERROR(*poisoned);
    const PeerGroup::Rank& from = group->rank(copy.from);
    const PeerGroup::Rank& to = group->rank(copy.to);
    const GpuSession& session = *group->rank(0).session;
    return session.driver().to_peer.Checked(to.to.address(), to.session->context(),
                                            from.from.address(), from.session->context(),
                                            static_cast<size_t>(copy.size_bytes), session.stream());
  };
  const auto check = [=]() -> absl::Status {
    SEXTANT_RETURN_IF_ERROR(group->MayGoOn());
    return group->On(copy.to, [&](PeerGroup::Rank& rank) -> absl::Status {
      const auto count = static_cast<uint64_t>(copy.size_bytes / kPeerVectorBytes);
      const auto report = rank.check.Run("check_peer_parts", PeerGrid(static_cast<int64_t>(count)),
                                         rank.to.address(), count, count,
                                         /*first*/ uint64_t{0}, static_cast<unsigned>(copy.from));
      SEXTANT_RETURN_IF_ERROR(report.status());
      return PeerCheckStatus(*report, group->uuid(copy.to));
    });
  };
  // Runs tell an error of the poison: it is of another GPU than theirs.
  const auto poison = [=] {
    *poisoned = group->Poison(copy.to, copy.size_bytes);
    return absl::OkStatus();
  };
  return MakeGpuWorkload(
      group->rank(0).session,
      {.host_part = HostPart::kQueues, .poison = poison, .enqueue = enqueue, .check = check});
}

std::vector<Point> PeerCopyPoints(const std::shared_ptr<PeerHost>& host) {
  const int64_t size_bytes = std::min(kPeerCopyBytes, host->most_buffer_bytes());
  std::vector<Point> points;
  if (size_bytes < kPeerVectorBytes) return points;
  for (size_t peer = 1; peer < host->rank_count(); ++peer) {
    points.push_back(PeerCopyPoint({.from = 0, .to = peer, .size_bytes = size_bytes}, host));
    points.push_back(PeerCopyPoint({.from = peer, .to = 0, .size_bytes = size_bytes}, host));
  }
  return points;
}

void AddPeers(const PeerSurroundings& surroundings, ProbePlan* plan) {
  auto admitted = PeerHost::Admit(surroundings.system, surroundings.home, surroundings.sleep);
  if (!admitted.ok()) {
    plan->notes.push_back(
        absl::StrCat("Exchanges among this host's GPUs were not measured: one of them may not be "
                     "worked on (",
                     admitted.status().message(), ")."));
    return;
  }
  if (*admitted == nullptr) return;
  const std::shared_ptr<PeerHost> host = *std::move(admitted);
  std::vector<Point> points = PeerCopyPoints(host);
  const absl::StatusOr<Nccl> nccl = LoadNccl(surroundings.search);
  if (nccl.ok()) {
    Append(CollectivePoints(*nccl, host), &points);
  } else {
    plan->notes.push_back(
        absl::StrCat("Collectives were not measured, since NCCL 2 could not be "
                     "loaded (",
                     nccl.status().message(), ")."));
  }
  for (Point& point : points) {
    point.level = kExchanges;
    point.assumed_preparation_seconds = kAssumedGpuPreparationSeconds;
  }
  Append(std::move(points), &plan->points);
  plan->may_go_on = [host, before = std::move(plan->may_go_on)]() -> absl::Status {
    if (before) SEXTANT_RETURN_IF_ERROR(before());
    return host->MayGoOn();
  };
}

}  // namespace sextant::probe
