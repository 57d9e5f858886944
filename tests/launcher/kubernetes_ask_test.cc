// Kubernetes' objects as questions to Admit.
#include "server/launcher/kubernetes_ask.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "server/launcher/json_text.h"
#include "server/launcher/launcher.h"
#include "tests/launcher/sample_launch.h"

namespace sextant::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

nlohmann::json Object(const std::string& yaml) {
  const auto documents = ReadYaml(yaml);
  EXPECT_TRUE(documents.ok()) << documents.status();
  return documents.ok() && !documents->empty() ? documents->front() : nlohmann::json();
}

std::string WithPlan(const std::string& plan, const std::string& spec) {
  return absl::StrCat("metadata: {annotations: {sextant.dev/plan: '", plan, "'}}\n", spec);
}

constexpr char kPods[] =
    "{spec: {nodeSelector: {nvidia.com/gpu.product: NVIDIA-B200}, "
    "containers: [{resources: {limits: {nvidia.com/gpu: 4}}}, {}]}}";

TEST(ReadKubernetesAsk, CountsWorkloadsOfKueueAndTheirNodes) {
  const std::string spec =
      absl::StrCat("kind: Workload\nspec: {podSets: [{count: 3, template: ", kPods, "}]}\n");
  const KubernetesAsk ask = ReadKubernetesAsk(Object(WithPlan(
      "llama", spec + "status: {admission: {podSetAssignments: [{topologyAssignment: "
                      "{levels: [kubernetes.io/hostname], domains: [{values: [b], count: 2}, "
                      "{values: [a], count: 1}]}}]}}\n")));
  EXPECT_EQ(ask.doubt, "");
  EXPECT_EQ(ask.device_count, 12);
  EXPECT_EQ(ask.accelerator, "NVIDIA-B200");
  EXPECT_THAT(ask.hostnames, ElementsAre("a", "b"));
  const KubernetesAsk sliced = ReadKubernetesAsk(Object(WithPlan(
      "llama", spec +
                   "status: {admission: {podSetAssignments: [{topologyAssignment: "
                   "{levels: [rack, kubernetes.io/hostname], slices: [{valuesPerLevel: "
                   "[{universal: r}, {individual: {prefix: n-, suffix: .x, roots: ['1', '2']}}]}, "
                   "{valuesPerLevel: [{universalValue: r}, {roots: [m]}]}]}}]}}\n")));
  EXPECT_THAT(sliced.hostnames, ElementsAre("m", "n-1.x", "n-2.x"));
}

TEST(ReadKubernetesAsk, CountsHeadAndWorkersOfRay) {
  const KubernetesAsk ask = ReadKubernetesAsk(Object(WithPlan(
      "llama",
      absl::StrCat("kind: RayJob\nspec: {rayClusterSpec: {headGroupSpec: {template: ", kPods,
                   "}, workerGroupSpecs: [{replicas: 2, numOfHosts: 3, template: ", kPods,
                   "}]}}\n"))));
  EXPECT_EQ(ask.device_count, 28);  // (1 + 2 x 3) x 4
}

// Nothing is guessed: each has a doubt, and names its reason.
TEST(ReadKubernetesAsk, DoubtsWhatIsNotSaid) {
  const struct {
    std::string object;
    const char* doubt;
  } rows[] = {
      {"kind: Pod\n", "it is not a PyTorchJob, TrainJob, MPIJob, JobSet, Job, RayJob, Workload"},
      {"kind: Job\nspec: {}\n", "no annotation sextant.dev/plan"},
      {WithPlan("llama", absl::StrCat("kind: PyTorchJob\nspec: {elasticPolicy: {minReplicas: 1}, "
                                      "pytorchReplicaSpecs: {Worker: {replicas: 2, template: ",
                                      kPods, "}}}\n")),
       "it has spec.elasticPolicy"},
      {WithPlan("llama",
                absl::StrCat("kind: Job\nspec: {parallelism: 2000000, template: ", kPods, "}\n")),
       "does not say parallelism"},
      {WithPlan("llama",
                "kind: Job\nspec: {template: {spec: {containers: [{resources: {limits: "
                "{nvidia.com/gpu: many}}}]}}}\n"),
       "the devices of a container are not a number"},
      {WithPlan("llama", "kind: TrainJob\nspec: {trainer: {numNodes: 2}}\n"),
       "its runtime is not read"},
      {WithPlan("llama",
                absl::StrCat(
                    "kind: JobSet\nspec: {replicatedJobs: [{template: {spec: {template: ", kPods,
                    "}}}, {template: {spec: {template: {spec: {nodeSelector: "
                    "{nvidia.com/gpu.product: NVIDIA-L4}, containers: [{resources: "
                    "{limits: {nvidia.com/gpu: 1}}}]}}}}}]}\n")),
       "its pods ask for NVIDIA-B200 and for NVIDIA-L4"},
      {WithPlan("{\"nothing\": 1}", "kind: Job\n"), "is no PlanRunRequest in JSON"},
      {WithPlan("{\"cluster\": {\"deviceMemoryBytes\": \"85899345920\"}}", "kind: Job\n"),
       "has cluster.device_memory_bytes, which is not judged here"},
  };
  for (const auto& row : rows) {
    EXPECT_THAT(ReadKubernetesAsk(Object(row.object)).doubt, HasSubstr(row.doubt)) << row.object;
  }
}

// Plans that the programs write into manifests are asked as words.
TEST(ReadKubernetesAsk, AsksWhatWasWrittenIntoAManifest) {
  for (const std::string launcher : {"pytorchjob", "trainjob", "jobset"}) {
    LaunchedRun run = DenseLaunch();
    run.devices_per_node = 8;
    const absl::StatusOr<LauncherFile> written = WriteLauncher(launcher, run);
    ASSERT_TRUE(written.ok()) << written.status();
    const KubernetesAsk ask = ReadKubernetesAsk(Object(written->text));
    EXPECT_EQ(ask.doubt, "");
    EXPECT_EQ(ask.device_count, 64);
    EXPECT_THAT(ask.words, HasSubstr("--devices='64'"));
    EXPECT_THAT(ask.words, HasSubstr("--tp='"));
  }
}

}  // namespace
}  // namespace sextant::server
