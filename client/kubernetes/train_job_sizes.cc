#include "client/kubernetes/train_job_sizes.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/text/layout_words.h"
#include "sextant/v1/planning_service.grpc.pb.h"

namespace sextant::client {
namespace {

constexpr char kSizeAnnotation[] = "sextant.dev/size";
// Marks a job as done with, and says what was done.
constexpr char kDoneAnnotation[] = "sextant.dev/recommended";

// The parts of a job that say its run: the rest may be large, and is not read.
std::string ManifestOf(const Json& job) {
  Json annotations = Json::object();
  const std::string plan = Annotation(job, "sextant.dev/plan");
  if (!plan.empty()) annotations["sextant.dev/plan"] = plan;
  const Json manifest = {{"apiVersion", At(job, "apiVersion")},
                         {"kind", "TrainJob"},
                         {"metadata", {{"annotations", std::move(annotations)}}},
                         {"spec", {{"trainer", At(job, "spec.trainer")}}}};
  return manifest.dump(-1, ' ', false, Json::error_handler_t::replace);
}

int64_t NodesOf(const Json& job) {
  const Json& nodes = At(job, "spec.trainer.numNodes");
  return nodes.is_number_integer() ? nodes.get<int64_t>() : 0;
}

}  // namespace

absl::StatusOr<v1::SizeClusterRequest> ReadSizes(const std::string& json) {
  v1::SizeClusterRequest out;
  const auto read = google::protobuf::util::JsonStringToMessage(json, &out);
  if (read.ok()) return out;
  return absl::InvalidArgumentError(
      absl::StrCat("is no SizeClusterRequest in JSON: ", std::string(read.message())));
}

Watched TrainJobKind::Kind() {
  return {.group = "trainer.kubeflow.org",
          .versions = {"v1alpha1"},
          .plural = "trainjobs",
          .look = [this](const std::string& path, const Json& job) { return Look(path, job); }};
}

Looked TrainJobKind::Look(const std::string& path, const Json& job) {
  if (Annotation(job, kPluginAnnotation) != kPluginName) return Looked::kDone;
  const std::string done = Annotation(job, kDoneAnnotation);
  if (!done.empty()) {  // the event may not have been written before we ended
    api_.Report(job, "Normal", "SextantRecommended", done);
    return Looked::kDone;
  }
  if (At(job, "spec.suspend") != true) return Looked::kDone;
  const std::string uid = TextAt(job, "metadata.uid");
  const int64_t now = NodesOf(job);
  const Size size = SizeOf(job, now);
  if (size.is_away && !waits_.IsOver(uid, "")) return Looked::kLater;
  waits_.Forget(uid);
  if (size.nodes <= now) {
    const bool is_enough = size.nodes > 0;
    api_.Report(job, is_enough ? "Normal" : "Warning",
                is_enough ? "SextantEnough" : "SextantUnchanged",
                absl::StrCat("numNodes stays ", now, ": ", size.message));
    return Looked::kDone;
  }
  const std::string message =
      absl::StrCat("numNodes ", now, " -> ", size.nodes, ": ", size.message);
  const absl::Status written =
      api_.Patch(path, {{"metadata",
                         {{"resourceVersion", At(job, "metadata.resourceVersion")},
                          {"annotations", {{kDoneAnnotation, message}}}}},
                        {"spec", {{"trainer", {{"numNodes", size.nodes}}}}}})
          .status();
  if (absl::IsAborted(written) || absl::IsNotFound(written)) return Looked::kDone;
  if (absl::IsInvalidArgument(written) || absl::IsPermissionDenied(written)) {
    api_.Report(job, "Warning", "SextantNotWritten",
                absl::StrCat(message, ", which is refused: ", written.message()));
    return Looked::kDone;
  }
  return written.ok() ? Looked::kDone : Looked::kLater;  // the change comes again, for its event
}

grpc::Status TrainJobKind::Import(const Json& job, v1::PlanRunRequest* run) {
  v1::ImportRunRequest request;
  request.add_files()->set_content(ManifestOf(job));
  v1::ImportRunResponse response;
  grpc::Status status = planner_.Ask(&v1::PlanningService::Stub::ImportRun, request, &response);
  *run = std::move(*response.mutable_request());
  return status;
}

bool TrainJobKind::Fits(const v1::PlanRunRequest& run, const std::string& accelerator,
                        int64_t device_count) {
  v1::PlanRunRequest request = run;
  request.mutable_cluster()->mutable_device()->set_accelerator(accelerator);
  request.mutable_cluster()->set_device_count(device_count);
  request.mutable_options()->set_search(v1::LAYOUT_SEARCH_BOUNDED);
  v1::PlanRunResponse response;
  return planner_.Ask(&v1::PlanningService::Stub::PlanRun, request, &response).ok() &&
         response.plan().verdict() == v1::VERDICT_FITS;
}

// The request for a job; errors say why there is none.
absl::StatusOr<v1::SizeClusterRequest> TrainJobKind::RequestOf(const Json& job,
                                                               v1::PlanRunRequest run) const {
  v1::SizeClusterRequest out = site_;
  if (const std::string own = Annotation(job, kSizeAnnotation); !own.empty()) {
    const absl::StatusOr<v1::SizeClusterRequest> read = ReadSizes(own);
    if (!read.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(kSizeAnnotation, " ", read.status().message()));
    }
    if (read->products_size() > 0) out.clear_products();
    out.MergeFrom(*read);
  }
  run.mutable_cluster()->clear_device_count();
  run.clear_options();
  if (out.products_size() > 0) {
    run.mutable_cluster()->clear_device();
    run.mutable_cluster()->clear_node_type();
  }
  // Memory does not depend on it; a time that was asked for does.
  if (run.training().token_count() == 0 && !out.has_max_duration()) {
    run.mutable_training()->set_token_count(1);
  }
  out.mutable_run()->MergeFrom(run);
  return out;
}

TrainJobKind::Size TrainJobKind::SizeOf(const Json& job, int64_t nodes_now) {
  v1::PlanRunRequest run;
  grpc::Status status = Import(job, &run);
  if (!status.ok()) return {.message = FaultLine(status), .is_away = IsAway(status)};
  const int64_t per_node = run.cluster().device_count() / std::max(nodes_now, int64_t{1});
  if (At(job, "spec.trainer.resourcesPerNode").is_null() || per_node == 0) {
    return {.message =
                "spec.trainer.resourcesPerNode has no GPUs, and the runtime is not read: "
                "the run is not judged"};
  }
  const absl::StatusOr<v1::SizeClusterRequest> request = RequestOf(job, std::move(run));
  if (!request.ok()) return {.message = std::string(request.status().message())};
  v1::SizeClusterResponse response;
  status = planner_.Ask(&v1::PlanningService::Stub::SizeCluster, *request, &response);
  if (!status.ok()) return {.message = FaultLine(status), .is_away = IsAway(status)};
  return SizeBy(*request, response, per_node);
}

// The job may run on any of the products.
TrainJobKind::Size TrainJobKind::SizeBy(const v1::SizeClusterRequest& request,
                                        const v1::SizeClusterResponse& response, int64_t per_node) {
  Size out = {.message = "the planner names no number of nodes"};
  std::string enough;
  for (const v1::SizedCluster& cluster : response.clusters()) {
    const int64_t nodes = (cluster.device_count() + per_node - 1) / per_node;
    const std::string& product = cluster.accelerator();
    if (cluster.has_status()) {
      return {.message = absl::StrCat(product, ": ", cluster.status().message())};
    }
    if (!cluster.met()) {
      return {.message = absl::StrCat("on no number of ", product, " that was tried is all met")};
    }
    if (nodes * per_node != cluster.device_count() &&
        !Fits(request.run(), product, nodes * per_node)) {
      return {.message = absl::StrCat(cluster.device_count(), " x ", product, " are enough, and ",
                                      nodes, " nodes of ", per_node, " are not known to be")};
    }
    out.nodes = std::max(out.nodes, nodes);
    absl::StrAppend(&enough, enough.empty() ? "" : "; ", cluster.device_count(), " x ", product);
    if (cluster.plan().has_search()) {
      absl::StrAppend(&enough, " by ", LayoutFlags(cluster.plan().search().chosen()));
    }
    out.message = absl::StrCat("enough are ", enough);
  }
  return out;
}

}  // namespace sextant::client
