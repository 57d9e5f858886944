// The pods of Kubernetes' objects that train, by one table of kinds.
#ifndef SEXTANT_SERVER_LAUNCHER_KUBERNETES_JOB_H_
#define SEXTANT_SERVER_LAUNCHER_KUBERNETES_JOB_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "server/launcher/slurm_job.h"

namespace sextant::server {

// Where a manifest has its run: words as Admit takes them, or the planned request as proto JSON,
// which is what is written.
inline constexpr char kPlanAnnotation[] = "sextant.dev/plan";

// The pods of a job that train alike.
struct PodGroup {
  int64_t pods = 0;
  int64_t devices_per_pod = 0;
  nlohmann::json container = {};  // the one with devices, or the first
  std::string product = {};
};

// An object's pods.
struct KubernetesJob {
  std::vector<PodGroup> groups = {};
  nlohmann::json starter = {};  // the container whose command starts the run
  int64_t processes_per_pod = 0;
  // Why the number of its pods is not known; then a group has one pod where it says none.
  std::string open = {};
};

// The value at "spec.trainer", names without dots; null where there is none.
const nlohmann::json& ValueAt(const nlohmann::json& from, absl::string_view path);

// The annotation, also of another value than a text; "" where there is none.
std::string AnnotationOf(const nlohmann::json& object, const char* name);

// The pods of `object`; no groups where its kind is not in the table.
KubernetesJob JobOf(const nlohmann::json& object);

// The pods with devices as a job of Slurm's, which starts one task on each.
JobDevices DevicesOfJob(const KubernetesJob& job);

// "a PyTorchJob, TrainJob, ..."
std::string KindsOfJobs();

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_LAUNCHER_KUBERNETES_JOB_H_
