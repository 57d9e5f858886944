#include "server/launcher/kubernetes_job.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace sextant::server {
namespace {

using Manifest = nlohmann::json;

constexpr int64_t kMaxPods = 1'000'000;
constexpr int64_t kUnclear = -1;

// Resources that are devices. Sources: NVIDIA/k8s-device-plugin and ROCm/k8s-device-plugin,
// READMEs.
constexpr const char* kDeviceResources[] = {"nvidia.com/gpu", "amd.com/gpu"};

// Labels of nodes that name a product. Sources: NVIDIA/k8s-device-plugin
// docs/gpu-feature-discovery; ROCm/k8s-device-plugin cmd/k8s-node-labeller; Google Kubernetes
// Engine's documentation, "GPUs in Standard node pools".
constexpr const char* kProductLabels[] = {"nvidia.com/gpu.product", "amd.com/gpu.product-name",
                                          "cloud.google.com/gke-accelerator"};

// Groups of pods in objects of a kind: one at `groups`, each of a list there, or each of roles.
// Sources: Kubernetes' API reference, Job v1; kubernetes-sigs/jobset
// api/jobset/v1alpha2/jobset_types.go; kubeflow/training-operator pkg/apis/kubeflow.org/v1 and
// kubeflow/mpi-operator pkg/apis/kubeflow/v2beta1, default.go of each; kubeflow/trainer
// pkg/apis/trainer/v1alpha1/trainjob_types.go; ray-project/kuberay
// ray-operator/apis/ray/v1/raycluster_types.go; kubernetes-sigs/kueue
// apis/kueue/v1beta2/workload_types.go.
struct KindRow {
  const char* kind;
  const char* groups;  // a path, as all below
  // In a group: the number of pods, of which `pods_absent` are there where it is not said, times a
  // number that is 1 where it is not said; and the template of a pod.
  const char* pods = "";
  int64_t pods_absent = 1;
  const char* times = "";
  const char* pod_template = "template";
  const char* starter_role = "";  // whose command starts the run
  const char* processes = "";     // of a pod, in the object
  const char* elastic = "";       // where it is set, the number of pods changes
};
constexpr KindRow kKinds[] = {
    {.kind = "PyTorchJob",
     .groups = "spec.pytorchReplicaSpecs",
     .pods = "replicas",
     .starter_role = "Master",
     .processes = "spec.nprocPerNode",
     .elastic = "spec.elasticPolicy"},
    // Its trainer says a pod's devices and no template; the runtime that it names has the rest.
    {.kind = "TrainJob",
     .groups = "spec.trainer",
     .pods = "numNodes",
     .pods_absent = kUnclear,
     .pod_template = nullptr,
     .processes = "spec.trainer.numProcPerNode"},
    // Workers: none in v2beta1, one in the training operator's v1.
    {.kind = "MPIJob",
     .groups = "spec.mpiReplicaSpecs",
     .pods = "replicas",
     .pods_absent = kUnclear,
     .starter_role = "Launcher",
     .processes = "spec.slotsPerWorker"},
    {.kind = "JobSet",
     .groups = "spec.replicatedJobs",
     .pods = "template.spec.parallelism",
     .times = "replicas",
     .pod_template = "template.spec.template"},
    {.kind = "Job", .groups = "spec", .pods = "parallelism"},
    {.kind = "RayJob",
     .groups = "spec.rayClusterSpec.workerGroupSpecs",
     .pods = "replicas",
     .pods_absent = kUnclear,
     .times = "numOfHosts",
     .elastic = "spec.rayClusterSpec.enableInTreeAutoscaling"},
    {.kind = "RayJob", .groups = "spec.rayClusterSpec.headGroupSpec"},
    {.kind = "Workload", .groups = "spec.podSets", .pods = "count"},  // of Kueue
};

// A number, also as a text: "8". `absent` where there is nothing, kUnclear for any other value.
int64_t CountAt(const Manifest& from, absl::string_view path, int64_t absent) {
  const Manifest& value = ValueAt(from, path);
  int64_t count = kUnclear;
  if (value.is_null()) return absent;
  if (value.is_number_integer()) {
    count = value.get<int64_t>();
  } else if (!value.is_string() || !absl::SimpleAtoi(value.get<std::string>(), &count)) {
    return kUnclear;
  }
  return count >= 0 && count <= kMaxPods ? count : kUnclear;
}

// Devices of {"limits": {"nvidia.com/gpu": 8}}, or of its requests; kUnclear as above.
int64_t DevicesIn(const Manifest& resources) {
  for (const char* const part : {"limits", "requests"}) {
    const Manifest& amounts = ValueAt(resources, part);
    for (const char* const resource : kDeviceResources) {
      // Its name has dots: ValueAt() would split it.
      if (!amounts.is_object() || !amounts.contains(resource)) continue;
      return CountAt({{"count", amounts[resource]}}, "count", 0);
    }
  }
  return 0;
}

// Google's names of devices. Source: Google Kubernetes Engine's documentation, "About GPUs in GKE",
// and the machine types there, which say the form: A2, A3 and A4 have SXM.
constexpr std::pair<const char*, const char*> kGoogleProducts[] = {
    {"nvidia-tesla-a100", "a100-sxm-40"},
    {"nvidia-a100-80gb", "a100-sxm-80"},
    {"nvidia-h100-80gb", "h100-sxm"},
    {"nvidia-h100-mega-80gb", "h100-sxm"},
    {"nvidia-h200-141gb", "h200-sxm"},
    {"nvidia-b200", "b200-sxm"},
    {"nvidia-gb200", "gb200"},
    {"nvidia-l4", "l4"},
};

std::string ProductIn(const Manifest& selector) {
  for (const char* const label : kProductLabels) {
    if (!selector.is_object() || !selector.contains(label) || !selector[label].is_string()) {
      continue;
    }
    const auto product = selector[label].get<std::string>();
    const auto* const google =
        absl::c_find_if(kGoogleProducts, [&](const auto& each) { return product == each.first; });
    return google == std::end(kGoogleProducts) ? product : google->second;
  }
  return "";
}

// The one product that an affinity asks for.
std::string ProductOfAffinity(const Manifest& affinity) {
  const Manifest& terms = ValueAt(
      affinity, "nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms");
  if (!terms.is_array() || terms.size() != 1) return "";
  const Manifest& expressions = ValueAt(terms[0], "matchExpressions");
  if (!expressions.is_array()) return "";
  for (const Manifest& each : expressions) {
    const Manifest& key = ValueAt(each, "key");
    const Manifest& values = ValueAt(each, "values");
    const bool one = ValueAt(each, "operator") == "In" && values.is_array() && values.size() == 1;
    if (key.is_string() && one) {
      const std::string product = ProductIn({{key.get<std::string>(), values[0]}});
      if (!product.empty()) return product;
    }
  }
  return "";
}

// Adds a container's devices, none where they are open.
void AddContainer(const Manifest& container, int64_t devices, PodGroup& group, KubernetesJob& job) {
  if (devices == kUnclear) job.open = "the devices of a container are not a number";
  devices = std::max(devices, int64_t{0});
  if (group.container.is_null() || (devices > 0 && group.devices_per_pod == 0)) {
    group.container = container;
  }
  group.devices_per_pod = std::min(group.devices_per_pod + devices, kMaxPods);
}

void AddTemplate(const Manifest& spec, PodGroup& group, KubernetesJob& job) {
  group.product = ProductIn(ValueAt(spec, "nodeSelector"));
  if (group.product.empty()) group.product = ProductOfAffinity(ValueAt(spec, "affinity"));
  const Manifest& containers = ValueAt(spec, "containers");
  if (!containers.is_array()) return;
  for (const Manifest& container : containers) {
    AddContainer(container, DevicesIn(ValueAt(container, "resources")), group, job);
  }
}

// Adds a group, of a role if it has one.
void AppendGroup(const KindRow& row, const Manifest& group, absl::string_view role,
                 KubernetesJob& job) {
  PodGroup out;
  if (row.pod_template == nullptr) {
    AddContainer(group, DevicesIn(ValueAt(group, "resourcesPerNode")), out, job);
  } else {
    AddTemplate(ValueAt(ValueAt(group, row.pod_template), "spec"), out, job);
  }
  const int64_t pods = CountAt(group, row.pods, row.pods_absent);
  const int64_t times = CountAt(group, row.times, 1);
  if ((pods == kUnclear || times == kUnclear) &&
      (out.devices_per_pod > 0 || row.pod_template == nullptr)) {
    job.open =
        absl::StrCat("the ", row.kind, " does not say ", pods == kUnclear ? row.pods : row.times,
                     role.empty() ? "" : absl::StrCat(" of ", role));
  }
  const auto known = [](int64_t count) { return count == kUnclear ? 1 : count; };
  out.pods = std::min(known(pods) * known(times), kMaxPods);
  const bool starts =
      *row.starter_role == '\0' ? out.devices_per_pod > 0 : role == row.starter_role;
  if (job.starter.is_null() || starts) job.starter = out.container;
  job.groups.push_back(std::move(out));
}

void AppendGroups(const KindRow& row, const Manifest& object, KubernetesJob& job) {
  const Manifest& groups = ValueAt(object, row.groups);
  if (groups.is_array()) {
    for (const Manifest& group : groups) AppendGroup(row, group, "", job);
  } else if (*row.starter_role == '\0') {
    AppendGroup(row, groups, "", job);
  } else if (groups.is_object()) {
    for (const auto& [role, group] : groups.items()) AppendGroup(row, group, role, job);
  }
  if (*row.processes != '\0') {
    job.processes_per_pod = std::max(CountAt(object, row.processes, 0), int64_t{0});
  }
  const Manifest& elastic = ValueAt(object, row.elastic);
  if (!elastic.is_null() && elastic != false) {
    job.open = absl::StrCat("the number of its pods changes: it has ", row.elastic);
  }
}

}  // namespace

const Manifest& ValueAt(const Manifest& from, absl::string_view path) {
  static const Manifest kNone;
  const Manifest* node = &from;
  for (const absl::string_view name : absl::StrSplit(path, '.')) {
    const auto found = node->is_object() ? node->find(std::string(name)) : node->end();
    if (!node->is_object() || found == node->end()) return kNone;
    node = &*found;
  }
  return *node;
}

std::string AnnotationOf(const Manifest& object, const char* name) {
  const Manifest& annotations = ValueAt(object, "metadata.annotations");
  if (!annotations.is_object() || !annotations.contains(name)) return "";
  const Manifest& value = annotations[name];
  return value.is_string() ? value.get<std::string>() : value.dump();
}

KubernetesJob JobOf(const Manifest& object) {
  KubernetesJob out;
  const Manifest& kind = ValueAt(object, "kind");
  for (const KindRow& row : kKinds) {
    if (kind == row.kind) AppendGroups(row, object, out);
  }
  const Manifest& entrypoint = ValueAt(object, "spec.entrypoint");
  if (kind == "RayJob" && entrypoint.is_string()) {
    out.starter["command"] = {"sh", "-c", entrypoint};
  }
  return out;
}

JobDevices DevicesOfJob(const KubernetesJob& job) {
  JobDevices out;
  bool alike = true;
  for (const PodGroup& group : job.groups) {
    if (group.devices_per_pod == 0 || group.pods == 0) continue;
    alike = alike && (out.per_node == 0 || out.per_node == group.devices_per_pod);
    out.nodes += group.pods;
    out.per_node = group.devices_per_pod;
    out.count += group.pods * group.devices_per_pod;
    if (out.product.empty()) out.product = group.product;
  }
  if (!alike) out.per_node = 0;
  return out;
}

std::string KindsOfJobs() {
  std::string out;
  std::set<absl::string_view> named;
  for (const KindRow& row : kKinds) {
    if (!named.insert(row.kind).second) continue;
    absl::StrAppend(&out, out.empty() ? "a " : ", ", row.kind);
  }
  return out;
}

}  // namespace sextant::server
