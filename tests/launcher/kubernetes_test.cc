// Manifests of Kubernetes, read and written.
#include "server/launcher/kubernetes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "server/launcher/file_format.h"
#include "server/launcher/launcher.h"
#include "tests/launcher/sample_launch.h"

namespace sextant::server {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kManifestLaunchers[] = {"pytorchjob", "trainjob", "jobset"};

absl::StatusOr<LauncherRead> ReadManifestText(const std::string& text) {
  const absl::StatusOr<LaunchText> parsed = ParseLaunchText("", text);
  if (!parsed.ok()) return parsed.status();
  const FileFormat* const found = FormatOf(*parsed);
  if (found == nullptr || std::string(found->name) != "Kubernetes manifest") {
    return absl::NotFoundError("not recognised");
  }
  return found->read(*parsed, true);
}

LauncherRead ReadManifest(const std::string& text) {
  const absl::StatusOr<LauncherRead> read = ReadManifestText(text);
  EXPECT_TRUE(read.ok()) << read.status();
  return read.ok() ? *read : LauncherRead{};
}

TEST(ReadKubernetes, ReadsPyTorchJobs) {
  const LauncherRead read = ReadManifest(LauncherGolden("pytorchjob.yaml"));
  EXPECT_EQ(read.request.cluster().device_count(), 32);  // (1 + 3) x 8
  EXPECT_EQ(read.request.cluster().device().accelerator(), "NVIDIA-H100-80GB-HBM3");
  EXPECT_EQ(read.request.layout().parallel().tensor_parallel_size(), 4);
  EXPECT_EQ(read.request.layout().micro_batch_size(), 2);
  EXPECT_EQ(read.request.layout().global_batch_size(), 64);
  EXPECT_THAT(read.open, ElementsAre("--train-samples $(SAMPLES)"));
}

TEST(ReadKubernetes, KnowsGooglesNamesOfDevices) {
  std::string text = LauncherGolden("jobset.yaml");
  const size_t at = text.find("NVIDIA-B200");
  ASSERT_NE(at, std::string::npos);
  text.replace(at, 11, "nvidia-h100-80gb");
  EXPECT_EQ(ReadManifest(text).request.cluster().device().accelerator(), "h100-sxm");
}

TEST(ReadKubernetes, ReadsTrainJobsThatRunAShell) {
  const LauncherRead read = ReadManifest(LauncherGolden("trainjob.yaml"));
  EXPECT_EQ(read.request.cluster().device_count(), 16);  // 2 x 8
  EXPECT_EQ(read.request.training().sequence_length(), 8192);
  EXPECT_EQ(read.step_count, 100);
  EXPECT_THAT(read.wants, ElementsAre("run.toml"));
}

TEST(ReadKubernetes, ReadsJobSets) {
  const LauncherRead read = ReadManifest(LauncherGolden("jobset.yaml"));
  EXPECT_EQ(read.request.cluster().device_count(), 32);  // 2 x 4 x 4
  EXPECT_EQ(read.request.cluster().device().accelerator(), "NVIDIA-B200");
  EXPECT_EQ(read.request.layout().micro_batch_size(), 1);
}

TEST(ReadKubernetes, ReadsMpiJobs) {
  const LauncherRead read = ReadManifest(LauncherGolden("mpijob.yaml"));
  EXPECT_EQ(read.request.cluster().device_count(), 32);
  EXPECT_EQ(read.request.training().sequence_length(), 128);
}

TEST(ReadKubernetes, ReadsJobs) {
  const LauncherRead read = ReadManifest(LauncherGolden("job.yaml"));
  EXPECT_EQ(read.request.cluster().device_count(), 4);
  EXPECT_EQ(read.request.layout().sharding().zero_stage(), v1::ZERO_STAGE_GRADIENTS);
  EXPECT_TRUE(read.request.layout().sharding().offload_optimizer());
  EXPECT_EQ(read.request.cluster().device().accelerator(), "a100-sxm-40");  // nvidia-tesla-a100
}

TEST(ReadKubernetes, SaysWhatStartsNoTraining) {
  ExpectSays(ReadManifestText("apiVersion: v1\nkind: Namespace\n").status(),
             "it starts no training: give the manifest of a PyTorchJob");
  const LauncherRead bare = ReadManifest("apiVersion: batch/v1\nkind: Job\nspec: 5\n");
  EXPECT_THAT(bare.open, Contains("the container's command"));
}

TEST(ReadKubernetes, SurvivesAnyCut) {
  for (const char* const file :
       {"pytorchjob.yaml", "trainjob.yaml", "jobset.yaml", "mpijob.yaml"}) {
    TryEveryCut(
        file, "[{:-\"9$(", [](const std::string& text) { (void)ReadManifestText(text); }, 3);
  }
}

// The container's arguments have all of a run of Megatron-LM.
TEST(WriteKubernetes, IsReadBack) {
  for (const std::string launcher : kManifestLaunchers) {
    for (const std::string& changes : ChangesOf("megatron dense")) {
      SCOPED_TRACE(launcher + changes);
      LaunchedRun run = DenseLaunch(changes);
      run.devices_per_node = 8;
      const absl::StatusOr<LauncherFile> arguments = WriteMegatron(run);
      const absl::StatusOr<LauncherFile> written = WriteLauncher(launcher, run);
      ASSERT_TRUE(arguments.ok() && written.ok()) << written.status();
      const absl::StatusOr<LauncherRead> expected = ReadMegatron(arguments->text, true);
      ASSERT_TRUE(expected.ok()) << expected.status();
      v1::PlanRunRequest whole = run.request;
      Merge(*expected, &whole);
      Complete(*expected, &whole);
      const LauncherRead read = ReadManifest(written->text);
      EXPECT_EQ(DifferencesOf(whole, RequestAsRead(read, run.request)), "") << written->text;
    }
  }
}

// The annotation alone has the plan of other programs.
TEST(WriteKubernetes, KeepsThePlanAsAnAnnotation) {
  for (const std::string launcher : kManifestLaunchers) {
    SCOPED_TRACE(launcher);
    LaunchedRun run = DenseLaunch(
        R"({"layout": {"framework": {"kind": "KIND_PYTORCH_FSDP"},
                       "sharding": {"zero_stage": "ZERO_STAGE_PARAMETERS"}}})");
    run.devices_per_node = 8;
    run.script = "train.py";
    const absl::StatusOr<LauncherFile> written = WriteLauncher(launcher, run);
    ASSERT_TRUE(written.ok()) << written.status();
    EXPECT_EQ(DifferencesOf(run.request, ReadManifest(written->text).request), "");
  }
}

// A number that somebody changed in the manifest counts.
TEST(WriteKubernetes, TakesWhatTheContainerSaysBeforeTheAnnotation) {
  LaunchedRun run = DenseLaunch();
  run.devices_per_node = 8;
  std::string text = WriteLauncher("pytorchjob", run)->text;
  const size_t at = text.find("replicas: 7");  // of workers: 64 devices on 8 nodes
  ASSERT_NE(at, std::string::npos) << text;
  text.replace(at, 11, "replicas: 3");
  EXPECT_EQ(ReadManifest(text).request.cluster().device_count(), 32);
}

TEST(WriteKubernetes, WritesTheGoldenFiles) {
  for (const std::string launcher : kManifestLaunchers) {
    LaunchedRun run = DenseLaunch(R"({"cluster": {"device": {"accelerator": "mi300x"}}})");
    run.devices_per_node = 8;
    run.model_name = "Llama_3.1 8B";
    const absl::StatusOr<LauncherFile> written = WriteLauncher(launcher, run);
    ASSERT_TRUE(written.ok()) << written.status();
    EXPECT_THAT(written->text, HasSubstr("name: \"llama-3-1-8b\""));
    EXPECT_THAT(written->text, HasSubstr("amd.com/gpu: 8"));
    EXPECT_THAT(written->left_out, Contains(HasSubstr("pretrain_gpt.py stands for it")));
  }
}

TEST(WriteKubernetes, RefusesDevicesThatNodesDontDivide) {
  LaunchedRun run = DenseLaunch();
  ExpectSays(WriteLauncher("trainjob", run).status(), "--node-type: give one of sextant nodes");
  run.devices_per_node = 24;
  ExpectSays(WriteLauncher("trainjob", run).status(), "--devices=64: it takes a multiple of 24");
}

}  // namespace
}  // namespace sextant::server
