// Kubeflow's TrainJobs that ask for a number of nodes: SizeCluster's.
// Source: kubeflow/trainer, KEP-3328 "Automatic Resource Configuration", a draft without an API, at
// commit 09bff7e81d32d42794c3fb8c22581c96101462b8.
#ifndef SEXTANT_CLIENT_KUBERNETES_TRAIN_JOB_SIZES_H_
#define SEXTANT_CLIENT_KUBERNETES_TRAIN_JOB_SIZES_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/kubernetes/api.h"
#include "client/kubernetes/controller.h"
#include "client/kubernetes/planner.h"
#include "sextant/v1/planning_service.pb.h"

namespace sextant::client {

// The annotation by which a TrainJob names who configures it, and our name.
inline constexpr char kPluginAnnotation[] = "trainer.kubeflow.org/autoconf-plugin";
inline constexpr char kPluginName[] = "sextant";

// A TrainJob that is suspended and names us gets as many nodes as its run needs, once, with an
// event that says why. It is left as it is, with an event, where it has enough, where nothing fits,
// and in any doubt: `patience` after the planner went away at the latest.
class TrainJobKind {
 public:
  // `site` has what a TrainJob's annotation sextant.dev/size does not say: products and bounds, as
  // a SizeClusterRequest.
  TrainJobKind(const KubernetesApi& api, ServerAddress planner, absl::Duration patience,
               v1::SizeClusterRequest site)
      : api_(api), planner_(std::move(planner)), waits_(patience), site_(std::move(site)) {}
  Watched Kind();

 private:
  // The nodes that a run needs.
  struct Size {
    int64_t nodes = 0;  // 0: the message says why none is known
    std::string message = {};
    bool is_away = false;  // the planner
  };

  Looked Look(const std::string& path, const Json& job);
  // The nodes for a job that has `nodes_now` of them.
  Size SizeOf(const Json& job, int64_t nodes_now);
  Size SizeBy(const v1::SizeClusterRequest& request, const v1::SizeClusterResponse& response,
              int64_t per_node);
  grpc::Status Import(const Json& job, v1::PlanRunRequest* run);
  absl::StatusOr<v1::SizeClusterRequest> RequestOf(const Json& job, v1::PlanRunRequest run) const;
  bool Fits(const v1::PlanRunRequest& run, const std::string& accelerator, int64_t device_count);

  const KubernetesApi& api_;
  Planner planner_;
  Waits waits_;
  const v1::SizeClusterRequest site_;
};

// Reads a SizeClusterRequest in proto JSON. Errors: kInvalidArgument.
absl::StatusOr<v1::SizeClusterRequest> ReadSizes(const std::string& json);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_KUBERNETES_TRAIN_JOB_SIZES_H_
