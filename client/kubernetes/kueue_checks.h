// Admission checks of Kueue, answered by Admit.
// Source: kubernetes-sigs/kueue apis/kueue/v1beta2/admissioncheck_types.go and workload_types.go.
#ifndef SEXTANT_CLIENT_KUBERNETES_KUEUE_CHECKS_H_
#define SEXTANT_CLIENT_KUBERNETES_KUEUE_CHECKS_H_

#include <set>
#include <string>

#include "absl/time/time.h"
#include "client/kubernetes/api.h"
#include "client/kubernetes/controller.h"
#include "client/kubernetes/planner.h"

namespace sextant::client {

// AdmissionCheck.spec.controllerName of the checks that are answered.
inline constexpr char kKueueController[] = "sextant.dev/admit";

// One for each kind, since each is looked at on a thread of its own.
//
// Says of the checks that name us that they are active: Kueue admits nothing before.
class KueueCheckKind {
 public:
  explicit KueueCheckKind(const KubernetesApi& api) : api_(api) {}
  Watched Kind();

 private:
  Looked Look(const std::string& path, const Json& check) const;

  const KubernetesApi& api_;
};

// Answers those checks of workloads that have their quota: Ready, or Rejected where the run does
// not fit, which takes the workload out of its queue. Whatever else happens the workload is Ready,
// after `patience` at the latest, with an event: it would hold its quota for ever. Retry is never
// set: Kueue may leave such a workload evicted (kubernetes-sigs/kueue issues 3322 and 3543).
class KueueWorkloadKind {
 public:
  KueueWorkloadKind(const KubernetesApi& api, ServerAddress planner, absl::Duration patience)
      : api_(api), planner_(std::move(planner)), waits_(patience) {}
  Watched Kind();

 private:
  // The answer to a check.
  struct Answer {
    const char* state = "";  // "Ready", "Rejected"; "": none yet
    std::string message = {};
    const char* reason = "";  // of an event; "": none
  };

  Looked Look(const std::string& path, const Json& workload);
  bool IsOurs(const std::string& group_path, const std::string& check);
  Answer Judge(const Json& workload);
  Answer Ask(const Json& object, const std::string& mode);

  const KubernetesApi& api_;
  Planner planner_;
  Waits waits_;
  std::set<std::string> ours_;
};

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_KUBERNETES_KUEUE_CHECKS_H_
