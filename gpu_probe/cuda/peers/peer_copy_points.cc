#include "gpu_probe/cuda/peers/peer_copy_points.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "gpu_probe/cuda/gpu_workload.h"
#include "gpu_probe/cuda/peers/peer_copy_workload.h"

namespace sextant {
namespace {

constexpr int64_t kPeerCopyBytes = int64_t{256} << 20;

// How the note on the slowest copy begins.
constexpr char kSlowestCopy[] = "Of copies between this GPU and each other, either way, the ";

// What is told of a pair.
struct MeasuredCopy {
  int64_t size_bytes;
  std::string text;              // "slowest is recorded: from ... to ..."
  std::shared_ptr<bool> direct;  // whether one reaches the other's memory; known once it was made
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

// Records `copy` where it is slower than what is recorded.
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
    return std::make_unique<PeerCopyWorkload>(copy, std::move(group));
  };
  point.record = [measured](const v1::TimeStatistics& time, v1::Calibration* out) {
    RecordIfSlowest(measured, time, out);
  };
  return point;
}

}  // namespace

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

}  // namespace sextant
