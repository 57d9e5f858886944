// Writes Kubernetes' manifests.
#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "engine/hardware/catalogue.h"
#include "server/launcher/kubernetes.h"
#include "server/launcher/kubernetes_job.h"
#include "server/launcher/launcher.h"

namespace sextant::server {
namespace {

using YamlValue = nlohmann::ordered_json;

constexpr size_t kMaxJobName = 50;  // of a pod's name, 63, its suffix takes some

// Blocks of YAML for objects and lists; JSON's texts are YAML's.
void AppendYaml(const YamlValue& value, const std::string& indent, std::string* out) {
  if (value.is_array()) {
    for (const YamlValue& each : value) {
      if (each.is_object()) {
        std::string block;
        AppendYaml(each, indent + "  ", &block);
        absl::StrAppend(out, indent, "- ", block.substr(indent.size() + 2));
      } else {
        absl::StrAppend(out, indent, "- ", each.dump(), "\n");
      }
    }
    return;
  }
  for (const auto& [name, each] : value.items()) {
    const bool block = each.is_object() || each.is_array();
    absl::StrAppend(out, indent, name, ":", block ? "\n" : absl::StrCat(" ", each.dump(), "\n"));
    if (block) AppendYaml(each, indent + "  ", out);
  }
}

// A name of DNS's, as Kubernetes takes it.
std::string ManifestName(const std::string& model) {
  std::string out;
  for (const char c : model.substr(0, kMaxJobName)) {
    const char lower = absl::ascii_tolower(static_cast<unsigned char>(c));
    const bool plain = absl::ascii_isalnum(static_cast<unsigned char>(lower)) != 0;
    if (plain || !out.empty()) out.push_back(plain ? lower : '-');
  }
  while (!out.empty() && out.back() == '-') out.pop_back();
  const bool digit = !out.empty() && absl::ascii_isdigit(static_cast<unsigned char>(out[0])) != 0;
  return out.empty() || digit ? absl::StrCat("train-", out) : out;
}

// The resource that the devices' vendor counts in.
const char* DeviceResource(const LaunchedRun& run) {
  const auto device = FindAccelerator(run.request.cluster().device().accelerator());
  return device.ok() && (*device)->vendor == "AMD" ? "amd.com/gpu" : "nvidia.com/gpu";
}

std::string PlanText(const LaunchedRun& run) {
  std::string out;
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  (void)google::protobuf::util::MessageToJsonString(run.request, &out, options);
  return out;
}

// The parts of a manifest.
struct ManifestParts {
  std::string name;
  int64_t nodes = 1;
  int64_t per_node = 1;
  const char* resource = "";
  std::vector<std::string> program = {};  // the script and its arguments
  YamlValue metadata = {};
};

YamlValue ResourcesOf(const ManifestParts& parts) {
  return {{"limits", {{parts.resource, parts.per_node}}}};
}

YamlValue PodTemplate(const ManifestParts& parts, std::vector<std::string> launcher,
                      const char* container) {
  launcher.insert(launcher.end(), parts.program.begin(), parts.program.end());
  YamlValue pod = YamlValue::object();
  pod["containers"].push_back(YamlValue{{"name", container},
                                        {"image", "IMAGE"},
                                        {"command", std::move(launcher)},
                                        {"resources", ResourcesOf(parts)}});
  return {{"spec", std::move(pod)}};
}

// Its controller sets torchrun's options as variables (PET_NNODES, PET_NPROC_PER_NODE).
// Source: kubeflow/training-operator v1.8, pkg/controller.v1/pytorch/envvar.go.
YamlValue PyTorchJobManifest(const ManifestParts& parts) {
  YamlValue specs = YamlValue::object();
  const YamlValue pod = PodTemplate(parts, {"torchrun"}, "pytorch");
  specs["Master"] = {{"replicas", 1}, {"template", pod}};
  if (parts.nodes > 1) specs["Worker"] = {{"replicas", parts.nodes - 1}, {"template", pod}};
  return {
      {"apiVersion", "kubeflow.org/v1"},
      {"kind", "PyTorchJob"},
      {"metadata", parts.metadata},
      {"spec", {{"nprocPerNode", absl::StrCat(parts.per_node)}, {"pytorchReplicaSpecs", specs}}}};
}

// Its runtime brings the image and the same variables.
// Source: kubeflow/trainer v2, pkg/apis/trainer/v1alpha1/trainjob_types.go.
YamlValue TrainJobManifest(const ManifestParts& parts) {
  std::vector<std::string> command = {"torchrun"};
  command.insert(command.end(), parts.program.begin(), parts.program.end());
  return {{"apiVersion", "trainer.kubeflow.org/v1alpha1"},
          {"kind", "TrainJob"},
          {"metadata", parts.metadata},
          {"spec",
           {{"runtimeRef", {{"name", "torch-distributed"}}},
            {"trainer",
             {{"numNodes", parts.nodes},
              {"numProcPerNode", parts.per_node},
              {"command", std::move(command)},
              {"resourcesPerNode", ResourcesOf(parts)}}}}}};
}

// The first pod is reached by its name in the set's own service.
// Source: kubernetes-sigs/jobset api/jobset/v1alpha2/jobset_types.go: NAME-JOB-0-0.NAME.
YamlValue JobSetManifest(const ManifestParts& parts) {
  constexpr char kJob[] = "node";
  const std::vector<std::string> launcher = {
      "torchrun", absl::StrCat("--nnodes=", parts.nodes),
      absl::StrCat("--nproc-per-node=", parts.per_node), "--rdzv-backend=c10d",
      absl::StrCat("--rdzv-endpoint=", parts.name, "-", kJob, "-0-0.", parts.name, ":29500")};
  YamlValue pod = PodTemplate(parts, launcher, "trainer");
  pod["spec"]["restartPolicy"] = "Never";
  const YamlValue job = {{"parallelism", parts.nodes},
                         {"completions", parts.nodes},
                         {"backoffLimit", 0},
                         {"template", pod}};
  YamlValue jobs = YamlValue::array();
  jobs.push_back({{"name", kJob}, {"replicas", 1}, {"template", {{"spec", job}}}});
  return {{"apiVersion", "jobset.x-k8s.io/v1alpha2"},
          {"kind", "JobSet"},
          {"metadata", parts.metadata},
          {"spec", {{"replicatedJobs", std::move(jobs)}}}};
}

// The script, with Megatron-LM's arguments where the run is one of its.
absl::Status FillProgram(const LaunchedRun& run, ManifestParts& parts, LauncherFile& out) {
  const bool megatron = StartsMegatron(run.request);
  parts.program = {!run.script.empty() ? run.script : megatron ? "pretrain_gpt.py" : "train.py"};
  if (run.script.empty()) {
    out.left_out.push_back(absl::StrCat("--script: ", parts.program.front(), " stands for it"));
  }
  if (!megatron) return absl::OkStatus();
  const absl::StatusOr<std::vector<std::string>> lines = MegatronLines(run);
  if (!lines.ok()) return lines.status();
  for (const std::string& line : *lines) {
    for (const absl::string_view word : absl::StrSplit(line, ' ')) {
      parts.program.emplace_back(word);
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<LauncherFile> WriteKubernetes(const std::string& kind, const LaunchedRun& run) {
  const int64_t devices = run.request.cluster().device_count();
  Refusals refusals("Kubernetes");
  ManifestParts parts = {.name = ManifestName(run.model_name),
                         .per_node = DevicesOfNode(run, "a pod's", refusals),
                         .resource = DeviceResource(run)};
  if (!refusals.status().ok()) return refusals.status();
  parts.nodes = devices / parts.per_node;
  parts.metadata = {{"name", parts.name}, {"annotations", {{kPlanAnnotation, PlanText(run)}}}};
  LauncherFile out;
  const absl::Status filled = FillProgram(run, parts, out);
  if (!filled.ok()) return filled;
  if (kind != "TrainJob") out.left_out.emplace_back("the container's image: IMAGE");
  const YamlValue manifest = kind == "PyTorchJob" ? PyTorchJobManifest(parts)
                             : kind == "TrainJob" ? TrainJobManifest(parts)
                                                  : JobSetManifest(parts);
  AppendYaml(manifest, "", &out.text);
  return out;
}

}  // namespace sextant::server
