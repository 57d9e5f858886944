// The common part of controllers of Kubernetes' objects: a lease, lists and watches, and another
// look at what could not be decided.
#ifndef SEXTANT_CLIENT_KUBERNETES_CONTROLLER_H_
#define SEXTANT_CLIENT_KUBERNETES_CONTROLLER_H_

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/kubernetes/api.h"

namespace sextant::client {

// The next step for an object that was looked at.
enum class Looked {
  kDone,   // nothing, until it changes
  kLater,  // it is looked at again in a second
};

// Objects of one kind.
struct Watched {
  std::string group;                  // "kueue.x-k8s.io"
  std::vector<std::string> versions;  // the best first
  std::string plural;                 // "workloads"
  // Called on one thread. `path` is the object's.
  std::function<Looked(const std::string& path, const Json& object)> look;
};

struct LeaseOptions {
  std::string name_space;
  std::string name;
  std::string identity;  // who holds it: a pod's name
};

// A Lease (coordination.k8s.io/v1), of which one holder is at work.
class LeaseHolder {
 public:
  static constexpr absl::Duration kDuration = absl::Seconds(15);

  LeaseHolder(const KubernetesApi& api, LeaseOptions options)
      : api_(api), options_(std::move(options)) {}

  // Takes the lease or renews it. OK: it is ours for kDuration from the call on. Errors:
  // kFailedPrecondition naming who has it; those of the API.
  absl::Status Take();

 private:
  const KubernetesApi& api_;
  const LeaseOptions options_;
};

// Waits for the lease, then looks at the objects of each kind on a thread of its own. Kinds that
// the API server does not have are asked for again now and then. Returns why it ended: OK once
// `is_stopped` returns true, else since the lease was lost. `log` is called on any thread.
absl::Status RunController(const KubernetesApi& api, const LeaseOptions& lease,
                           const std::vector<Watched>& kinds,
                           const std::function<bool()>& is_stopped,
                           const std::function<void(const std::string& line)>& log);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_KUBERNETES_CONTROLLER_H_
