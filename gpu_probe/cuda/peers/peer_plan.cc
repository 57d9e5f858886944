#include "gpu_probe/cuda/peers/peer_plan.h"

#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "gpu_probe/cuda/gpu_levels.h"
#include "gpu_probe/cuda/peers/collective_points.h"
#include "gpu_probe/cuda/peers/peer_copy_points.h"
#include "gpu_probe/cuda/peers/peer_host.h"

namespace sextant {

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
    std::vector<Point> collectives = CollectivePoints(*nccl, host);
    std::move(collectives.begin(), collectives.end(), std::back_inserter(points));
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
  std::move(points.begin(), points.end(), std::back_inserter(plan->points));
  plan->may_go_on = [host, before = std::move(plan->may_go_on)]() -> absl::Status {
    if (before) SEXTANT_RETURN_IF_ERROR(before());
    return host->MayGoOn();
  };
}

}  // namespace sextant
