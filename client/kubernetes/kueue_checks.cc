#include "client/kubernetes/kueue_checks.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "sextant/v1/admit.pb.h"
#include "sextant/v1/planning_service.grpc.pb.h"

namespace sextant::client {
namespace {

constexpr char kPlan[] = "sextant.dev/plan";
constexpr char kMode[] = "sextant.dev/mode";

const std::vector<std::string>& Versions() {
  static const auto* const versions = new std::vector<std::string>{"v1beta2", "v1beta1"};
  return *versions;
}

// The condition of that type; null where there is none.
const Json& ConditionOf(const Json& object, const char* type) {
  static const Json kNone;
  const Json& conditions = At(object, "status.conditions");
  if (!conditions.is_array()) return kNone;
  for (const Json& each : conditions) {
    if (TextAt(each, "type") == type) return each;
  }
  return kNone;
}

bool IsTrue(const Json& condition) { return TextAt(condition, "status") == "True"; }

// The path of the controller that owns `object`; "" for none. Errors: of the API.
absl::StatusOr<std::string> OwnerPath(const KubernetesApi& api, const Json& object) {
  const Json& owners = At(object, "metadata.ownerReferences");
  for (const Json& owner : owners.is_array() ? owners : Json::array()) {
    if (At(owner, "controller") != true) continue;
    const std::string version = TextAt(owner, "apiVersion");
    const std::string group =
        absl::StrCat(version.find('/') == std::string::npos ? "/api/" : "/apis/", version);
    const absl::StatusOr<Json> resources = api.Get(group);
    if (!resources.ok()) return resources.status();
    const Json& list = At(*resources, "resources");
    for (const Json& each : list.is_array() ? list : Json::array()) {
      const std::string plural = TextAt(each, "name");
      if (TextAt(each, "kind") != TextAt(owner, "kind") || plural.find('/') != std::string::npos) {
        continue;
      }
      return absl::StrCat(group, "/namespaces/", TextAt(object, "metadata.namespace"), "/", plural,
                          "/", TextAt(owner, "name"));
    }
  }
  return "";
}

// The workload with its own annotations, or else those of its owner, which Kueue does not copy;
// and with the pods that it was given, of which there may be fewer than it asked for.
absl::StatusOr<Json> Asking(const KubernetesApi& api, const Json& workload) {
  Json annotations = Json::object();
  std::string plan = Annotation(workload, kPlan);
  std::string mode = Annotation(workload, kMode);
  if (plan.empty()) {
    const absl::StatusOr<std::string> path = OwnerPath(api, workload);
    if (!path.ok()) return path.status();
    if (!path->empty()) {
      const absl::StatusOr<Json> owner = api.Get(*path);
      if (!owner.ok()) return owner.status();
      plan = Annotation(*owner, kPlan);
      mode = Annotation(*owner, kMode);
    }
  }
  if (!plan.empty()) annotations[kPlan] = plan;
  if (!mode.empty()) annotations[kMode] = mode;
  Json sets = At(workload, "spec.podSets");
  const Json& given = At(workload, "status.admission.podSetAssignments");
  for (Json& set : sets) {
    for (const Json& each : given.is_array() ? given : Json::array()) {
      if (set.is_object() && At(each, "name") == At(set, "name") && At(each, "count").is_number()) {
        set["count"] = At(each, "count");
      }
    }
  }
  return Json{{"kind", "Workload"},
              {"metadata", {{"annotations", std::move(annotations)}}},
              {"spec", {{"podSets", std::move(sets)}}},
              {"status", {{"admission", {{"podSetAssignments", given}}}}}};
}

}  // namespace

Watched KueueCheckKind::Kind() {
  return {.group = "kueue.x-k8s.io",
          .versions = Versions(),
          .plural = "admissionchecks",
          .look = [this](const std::string& path, const Json& check) { return Look(path, check); }};
}

Looked KueueCheckKind::Look(const std::string& path, const Json& check) const {
  if (TextAt(check, "spec.controllerName") != kKueueController) return Looked::kDone;
  if (IsTrue(ConditionOf(check, "Active"))) return Looked::kDone;
  Json active = check;
  active["status"]["conditions"] = Json::array({{{"type", "Active"},
                                                 {"status", "True"},
                                                 {"reason", "Active"},
                                                 {"message", "sextant answers this check"},
                                                 {"lastTransitionTime", ApiTime()}}});
  const absl::Status written = api_.Replace(absl::StrCat(path, "/status"), active).status();
  return written.ok() || absl::IsAborted(written) ? Looked::kDone : Looked::kLater;
}

Watched KueueWorkloadKind::Kind() {
  return {.group = "kueue.x-k8s.io",
          .versions = Versions(),
          .plural = "workloads",
          .look = [this](const std::string& path, const Json& workload) {
            return Look(path, workload);
          }};
}

bool KueueWorkloadKind::IsOurs(const std::string& group_path, const std::string& check) {
  if (ours_.count(check) > 0) return true;  // its controller does not change
  const absl::StatusOr<Json> found = api_.Get(absl::StrCat(group_path, "/admissionchecks/", check));
  if (!found.ok() || TextAt(*found, "spec.controllerName") != kKueueController) return false;
  ours_.insert(check);
  return true;
}

Looked KueueWorkloadKind::Look(const std::string& path, const Json& workload) {
  const std::string uid = TextAt(workload, "metadata.uid");
  const Json& reserved = ConditionOf(workload, "QuotaReserved");
  const Json& checks = At(workload, "status.admissionChecks");
  const std::string group_path = path.substr(0, path.find("/namespaces/"));
  std::vector<size_t> pending;
  for (size_t i = 0; i < (checks.is_array() ? checks.size() : 0); ++i) {
    if (IsTrue(reserved) && TextAt(checks[i], "state") == "Pending" &&
        IsOurs(group_path, TextAt(checks[i], "name"))) {
      pending.push_back(i);
    }
  }
  if (pending.empty()) {
    waits_.Forget(uid);
    return Looked::kDone;
  }
  Answer answer = Judge(workload);
  if (*answer.state == '\0') {
    if (!waits_.IsOver(uid, TextAt(reserved, "lastTransitionTime"))) return Looked::kLater;
    answer.state = "Ready";
  }
  Json answered = workload;
  for (const size_t i : pending) {
    Json& check = answered["status"]["admissionChecks"][i];
    check["state"] = answer.state;
    check["message"] = answer.message;
    check["lastTransitionTime"] = ApiTime();
  }
  const absl::Status written = api_.Replace(absl::StrCat(path, "/status"), answered).status();
  // It has changed, and comes again; or it is gone.
  if (absl::IsAborted(written) || absl::IsNotFound(written)) return Looked::kDone;
  if (!written.ok()) return Looked::kLater;
  waits_.Forget(uid);
  if (*answer.reason != '\0') {
    const bool warns = answer.reason != std::string("SextantDoesNotFit");
    api_.Report(workload, warns ? "Warning" : "Normal", answer.reason, answer.message);
  }
  return Looked::kDone;
}

KueueWorkloadKind::Answer KueueWorkloadKind::Judge(const Json& workload) {
  const absl::StatusOr<Json> asking = Asking(api_, workload);
  if (!asking.ok()) {
    return {.state = absl::IsNotFound(asking.status()) ? "Ready" : "",
            .message = absl::StrCat("sextant: not judged: ", asking.status().message()),
            .reason = "SextantNotJudged"};
  }
  if (Annotation(*asking, kPlan).empty()) {
    return {.state = "Ready", .message = absl::StrCat("sextant: not asked: no annotation ", kPlan)};
  }
  return Ask(*asking, Annotation(*asking, kMode));
}

KueueWorkloadKind::Answer KueueWorkloadKind::Ask(const Json& object, const std::string& mode) {
  v1::AdmitRequest request;
  request.set_manifest(object.dump(-1, ' ', false, Json::error_handler_t::replace));
  request.mutable_caller()->set_scheduler(v1::AdmitCaller::SCHEDULER_KUBERNETES);
  request.mutable_budget()->set_seconds(1);
  v1::AdmitResponse response;
  const grpc::Status status = planner_.Ask(&v1::PlanningService::Stub::Admit, request, &response);
  if (!status.ok()) {
    return {.state = IsAway(status) ? "" : "Ready",
            .message = absl::StrCat("sextant: not judged: ", FaultLine(status)),
            .reason = "SextantNotJudged"};
  }
  Answer out = {.state = "Ready",
                .message = absl::StrCat("sextant: ", response.message(),
                                        response.change().empty() ? "" : "; ", response.change())};
  if (response.verdict() == v1::AdmitResponse::VERDICT_UNKNOWN) out.reason = "SextantNotJudged";
  if (response.verdict() == v1::AdmitResponse::VERDICT_DOES_NOT_FIT) {
    out.reason = "SextantDoesNotFit";
    if (mode != "warn") out.state = "Rejected";
  }
  return out;
}

}  // namespace sextant::client
