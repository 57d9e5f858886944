// An object of Kubernetes as a question to Admit.
#ifndef SEXTANT_SERVER_LAUNCHER_KUBERNETES_ASK_H_
#define SEXTANT_SERVER_LAUNCHER_KUBERNETES_ASK_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sextant/v1/admit.pb.h"

namespace sextant::server {

// Where an object says what is done where its run does not fit: "warn" or "deny".
inline constexpr char kModeAnnotation[] = "sextant.dev/mode";

// The question of an object.
struct KubernetesAsk {
  std::string doubt = {};  // why it can't be judged; empty: it can
  std::string words = {};
  int64_t device_count = 0;  // 0: the object's pods ask for no devices
  std::string accelerator = {};
  std::vector<std::string> hostnames = {};  // of the nodes that a Workload of Kueue's is placed on
  std::string mode = {};                    // the annotation
};

// Reads `object`, of a kind in the table of kubernetes_job.h: its annotation, and the devices that
// its pods ask for. What it is in doubt of it does not guess.
KubernetesAsk ReadKubernetesAsk(const nlohmann::json& object);

// Puts the question into `request`, whose own fields count before it.
void AskTo(const KubernetesAsk& ask, v1::AdmitRequest* request);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_LAUNCHER_KUBERNETES_ASK_H_
