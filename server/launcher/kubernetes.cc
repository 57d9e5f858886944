// Reads Kubernetes' manifests.
#include "server/launcher/kubernetes.h"

#include <google/protobuf/util/json_util.h>

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/convert/admit_words.h"
#include "server/launcher/kubernetes_job.h"
#include "server/launcher/launch_line.h"
#include "server/launcher/run_union.h"

namespace sextant::server {
namespace {

using Manifest = nlohmann::json;

constexpr size_t kMaxCommandBytes = size_t{1} << 20;  // with variables put in

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
    Other("spec.rayClusterSpec"),
    Other("spec.entrypoint"),
    Other("spec.podSets"),
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

// The planned request, or what the words say; empty where the annotation is neither.
v1::PlanRunRequest AnnotatedPlan(const Manifest& document) {
  v1::PlanRunRequest out;
  const std::string text = AnnotationOf(document, kPlanAnnotation);
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  const bool is_json = absl::StartsWith(absl::StripLeadingAsciiWhitespace(text), "{");
  const bool read = is_json ? google::protobuf::util::JsonStringToMessage(text, &out, options).ok()
                            : ReadWords(text, &out).ok();
  if (!read) out.Clear();
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
      absl::StrCat("it starts no training: give the manifest of ", KindsOfJobs()));
}

}  // namespace sextant::server
