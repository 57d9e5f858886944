// Reads Kubernetes' manifests.
#include "server/launcher/kubernetes.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "server/launcher/launch_line.h"
#include "server/launcher/run_union.h"
#include "server/launcher/slurm_job.h"

namespace sextant::server {
namespace {

using Manifest = nlohmann::json;

constexpr int64_t kMaxPods = 1'000'000;
constexpr size_t kMaxCommandBytes = size_t{1} << 20;  // with variables put in

// Resources that are devices. Sources: NVIDIA/k8s-device-plugin and ROCm/k8s-device-plugin,
// READMEs.
constexpr const char* kDeviceResources[] = {"nvidia.com/gpu", "amd.com/gpu"};

// Labels of nodes that name a product. Sources: NVIDIA/k8s-device-plugin
// docs/gpu-feature-discovery; ROCm/k8s-device-plugin cmd/k8s-node-labeller; Google Kubernetes
// Engine's documentation, "GPUs in Standard node pools".
constexpr const char* kProductLabels[] = {"nvidia.com/gpu.product", "amd.com/gpu.product-name",
                                          "cloud.google.com/gke-accelerator"};

constexpr Setting kKubernetesSettings[] = {
    Other("spec.pytorchReplicaSpecs"),
    Other("spec.nprocPerNode"),
    Other("spec.mpiReplicaSpecs"),
    Other("spec.slotsPerWorker"),
    Other("spec.trainer.numNodes"),
    Other("spec.trainer.numProcPerNode"),
    Other("spec.trainer.resourcesPerNode"),
    Other("spec.trainer.command"),
    Other("spec.trainer.args"),
    Other("spec.trainer.env"),
    Other("spec.replicatedJobs"),
    Other("spec.parallelism"),
    Other("spec.template.spec.containers"),
    Other("spec.template.spec.nodeSelector"),
    Other("spec.template.spec.affinity"),
    Other("metadata.annotations"),
    Passes("apiVersion"),
    Passes("kind"),
    Passes("metadata."),
    Passes("spec.runtimeRef"),
    Passes("spec.runPolicy"),
    Passes("spec.suspend"),
    Passes("spec.backoffLimit"),
    Passes("spec.successPolicy"),
    Passes("spec.failurePolicy"),
};

// The value at "spec.trainer", names without dots; null where there is none.
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

// A number, also as a text: "8". `absent` where it is none.
int64_t CountAt(const Manifest& from, absl::string_view path, int64_t absent) {
  const Manifest& value = ValueAt(from, path);
  int64_t count = 0;
  if (value.is_number_integer()) {
    count = value.get<int64_t>();
  } else if (!value.is_string() || !absl::SimpleAtoi(value.get<std::string>(), &count)) {
    return absent;
  }
  return count >= 0 && count <= kMaxPods ? count : absent;
}

// Devices of {"limits": {"nvidia.com/gpu": 8}}, or of its requests.
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

// The pods of a job that train alike.
struct PodGroup {
  int64_t pods = 0;
  int64_t devices_per_pod = 0;
  Manifest container = {};  // the one with devices, or the first
  std::string product = {};
};

// A manifest's job.
struct KubernetesJob {
  std::vector<PodGroup> groups = {};
  Manifest starter = {};  // the container whose command starts the run
  int64_t processes_per_pod = 0;
};

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

PodGroup GroupOf(int64_t pods, const Manifest& pod_template) {
  const Manifest& spec = ValueAt(pod_template, "spec");
  PodGroup out = {.pods = pods, .product = ProductIn(ValueAt(spec, "nodeSelector"))};
  if (out.product.empty()) out.product = ProductOfAffinity(ValueAt(spec, "affinity"));
  const Manifest& containers = ValueAt(spec, "containers");
  if (!containers.is_array()) return out;
  for (const Manifest& container : containers) {
    const int64_t devices = DevicesIn(ValueAt(container, "resources"));
    if (out.container.is_null() || (devices > 0 && out.devices_per_pod == 0)) {
      out.container = container;
    }
    out.devices_per_pod = std::min(out.devices_per_pod + devices, kMaxPods);
  }
  return out;
}

// The pods of replicas, by their role.
KubernetesJob ReplicasOf(const Manifest& specs, const char* starter) {
  KubernetesJob out;
  if (!specs.is_object()) return out;
  for (const auto& [role, spec] : specs.items()) {
    PodGroup group = GroupOf(CountAt(spec, "replicas", 1), ValueAt(spec, "template"));
    if (role == starter || out.starter.is_null()) out.starter = group.container;
    out.groups.push_back(std::move(group));
  }
  return out;
}

KubernetesJob TrainJobOf(const Manifest& trainer) {
  PodGroup group = {.pods = CountAt(trainer, "numNodes", 1),
                    .devices_per_pod = DevicesIn(ValueAt(trainer, "resourcesPerNode"))};
  KubernetesJob out = {.starter = trainer,
                       .processes_per_pod = CountAt(trainer, "numProcPerNode", 0)};
  out.groups.push_back(std::move(group));
  return out;
}

// The pods of a batch Job's specification.
PodGroup BatchGroup(const Manifest& spec, int64_t replicas) {
  const int64_t pods = CountAt(spec, "parallelism", CountAt(spec, "completions", 1));
  return GroupOf(std::min(Product(pods, replicas).value_or(0), kMaxPods),
                 ValueAt(spec, "template"));
}

KubernetesJob JobSetOf(const Manifest& jobs) {
  KubernetesJob out;
  if (!jobs.is_array()) return out;
  for (const Manifest& job : jobs) {
    PodGroup group = BatchGroup(ValueAt(job, "template.spec"), CountAt(job, "replicas", 1));
    if (out.starter.is_null() || group.devices_per_pod > 0) out.starter = group.container;
    out.groups.push_back(std::move(group));
  }
  return out;
}

KubernetesJob JobOf(const Manifest& document) {
  const Manifest& kind = ValueAt(document, "kind");
  const Manifest& spec = ValueAt(document, "spec");
  KubernetesJob out;
  if (kind == "PyTorchJob") {
    out = ReplicasOf(ValueAt(spec, "pytorchReplicaSpecs"), "Master");
    out.processes_per_pod = CountAt(spec, "nprocPerNode", 0);
  } else if (kind == "MPIJob") {
    out = ReplicasOf(ValueAt(spec, "mpiReplicaSpecs"), "Launcher");
    out.processes_per_pod = CountAt(spec, "slotsPerWorker", 0);
  } else if (kind == "TrainJob") {
    out = TrainJobOf(ValueAt(spec, "trainer"));
  } else if (kind == "JobSet") {
    out = JobSetOf(ValueAt(spec, "replicatedJobs"));
  } else if (kind == "Job") {
    out.groups.push_back(BatchGroup(spec, 1));
    out.starter = out.groups.front().container;
  }
  return out;
}

// The pods with devices as a job of Slurm's, which starts one task on each.
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

// "$(NAME)" of a container's command, by its env.
std::string WithEnvironment(const std::string& text, const ShellVariables& variables, bool* open) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const size_t end = absl::StartsWith(absl::string_view(text).substr(i), "$(")
                           ? text.find(')', i)
                           : std::string::npos;
    if (end == std::string::npos) {
      out.push_back(text[i++]);
      continue;
    }
    const auto found = variables.find(text.substr(i + 2, end - i - 2));
    *open = *open || found == variables.end();
    absl::StrAppend(&out, found == variables.end() ? text.substr(i, end + 1 - i) : found->second);
    i = end + 1;
    if (out.size() > kMaxCommandBytes) return out;
  }
  return out;
}

ShellVariables EnvironmentOf(const Manifest& container) {
  ShellVariables out;
  const Manifest& list = ValueAt(container, "env");
  if (!list.is_array()) return out;
  for (const Manifest& each : list) {
    const Manifest& name = ValueAt(each, "name");
    const Manifest& value = ValueAt(each, "value");
    if (name.is_string() && value.is_string()) out[name] = value.get<std::string>();
    if (name.is_string() && value.is_number()) out[name] = value.dump();
  }
  return out;
}

// The command and its arguments, numbers as they are written.
ShellCommand CommandIn(const Manifest& container, const ShellVariables& variables) {
  ShellCommand out;
  size_t bytes = 0;
  for (const char* const part : {"command", "args"}) {
    const Manifest& words = ValueAt(container, part);
    if (!words.is_array()) continue;
    for (const Manifest& word : words) {
      const std::string text = word.is_string() ? word.get<std::string>() : word.dump();
      // A shell's text has variables of its own in "$(...)".
      bool open = false;
      const bool script = text.find('\n') != std::string::npos || absl::StrContains(text, ' ');
      std::string put = script ? text : WithEnvironment(text, variables, &open);
      bytes += put.size();
      if (bytes > kMaxCommandBytes) return out;
      out.words.push_back({std::move(put), open});
    }
  }
  return out;
}

// The planned request; empty where the annotation is not one.
v1::PlanRunRequest AnnotatedPlan(const Manifest& document) {
  v1::PlanRunRequest out;
  const Manifest& annotations = ValueAt(document, "metadata.annotations");
  if (!annotations.is_object() || !annotations.contains(kPlanAnnotation)) return out;
  const Manifest& plan = annotations[kPlanAnnotation];
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  if (!plan.is_string() ||
      !google::protobuf::util::JsonStringToMessage(plan.get<std::string>(), &out, options).ok()) {
    out.Clear();
  }
  return out;
}

}  // namespace

absl::Span<const Setting> KubernetesSettings() { return kKubernetesSettings; }

absl::StatusOr<LauncherRead> ReadKubernetes(const std::vector<Manifest>& documents,
                                            bool with_model) {
  for (const Manifest& document : documents) {
    const KubernetesJob job = JobOf(document);
    if (job.groups.empty()) continue;
    const JobDevices devices = DevicesOfJob(job);
    const ShellVariables variables = EnvironmentOf(job.starter);
    LaunchLine line = FindLaunchLine({CommandIn(job.starter, variables)}, variables);
    // Processes of a pod as its controller starts them.
    if (line.per_node == 0 && line.processes == 0) line.per_node = job.processes_per_pod;
    absl::StatusOr<LauncherRead> out = ReadLaunchLine(line, devices, with_model);
    if (!out.ok()) return out.status();
    v1::PlanRunRequest annotated = AnnotatedPlan(document);
    if (!with_model || GivesModel(out->request.model())) annotated.clear_model();
    if (out->request.layout().parallel().layers_per_chunk_size() > 0) {
      annotated.mutable_layout()->mutable_parallel()->clear_layers_per_chunk();
    }
    annotated.MergeFrom(out->request);
    out->request = std::move(annotated);
    if (line.program.empty()) out->open.emplace_back("the container's command");
    return out;
  }
  return absl::InvalidArgumentError(
      "it starts no training: give the manifest of a PyTorchJob, TrainJob, MPIJob, JobSet or Job");
}

}  // namespace sextant::server
