// PlanningService.ImportRun and ExportRun. What files mean is tests/launcher's.
#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/server/planning_server.h"
#include "tests/server/wire_values.h"

namespace sextant::server {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;
using Stub = v1::PlanningService::Stub;

// "request.model.preset: is ..." of each invalid field.
std::string FaultTextOf(const grpc::Status& status) {
  return absl::StrJoin(FaultsOf(status), "\n");
}

v1::ExportRunRequest DenseRun(const std::string& launcher) {
  v1::ExportRunRequest out;
  out.set_launcher(launcher);
  v1::PlanRunRequest& run = *out.mutable_request();
  run.mutable_model()->set_preset("llama-3.1-8b");
  run.mutable_training()->set_token_count(1'000'000'000);
  run.mutable_training()->set_sequence_length(4096);
  run.mutable_cluster()->mutable_device()->set_accelerator("h100-sxm");
  run.mutable_cluster()->set_device_count(16);
  run.mutable_layout()->set_global_batch_size(64);
  run.mutable_layout()->mutable_parallel()->set_tensor_parallel_size(4);
  return out;
}

class LaunchFilesTest : public testing::Test {
 protected:
  v1::ExportRunResponse Export(const v1::ExportRunRequest& request) {
    v1::ExportRunResponse out;
    const grpc::Status status = server_.Call(&Stub::ExportRun, request, &out);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return out;
  }
  std::string Refusal(const v1::ExportRunRequest& request) {
    v1::ExportRunResponse out;
    return FaultTextOf(server_.Call(&Stub::ExportRun, request, &out));
  }

  PlanningServer server_{SnapshotOf({})};
};

// The way of a scheduler: a user's file, and the devices that it would get.
TEST_F(LaunchFilesTest, ImportsARunThatPlanRunTakes) {
  v1::ImportRunRequest request;
  request.add_files()->set_content(R"({"train_micro_batch_size_per_gpu": 1, "bf16": {
      "enabled": true}, "gradient_accumulation_steps": 2, "zero_optimization": {"stage": 3}})");
  v1::PlanRunRequest& run = *request.mutable_request();
  run.mutable_model()->set_preset("gpt2");
  run.mutable_training()->set_token_count(1'000'000);
  run.mutable_training()->set_sequence_length(1024);
  run.mutable_cluster()->mutable_device()->set_accelerator("h100-sxm");
  run.mutable_cluster()->set_device_count(8);
  v1::ImportRunResponse read;
  const grpc::Status status = server_.Call(&Stub::ImportRun, request, &read);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(read.files(0).name(), "file 1");
  EXPECT_EQ(read.request().layout().global_batch_size(), 1 * 2 * 8);
  v1::PlanRunResponse planned;
  EXPECT_TRUE(server_.PlanRun(read.request(), &planned).ok());
  EXPECT_EQ(planned.plan().verdict(), v1::VERDICT_FITS);
}

TEST_F(LaunchFilesTest, NamesTheFilesThatAreWrong) {
  v1::ImportRunRequest request;
  request.add_files()->set_content("{\"zero_optimization\": [}");
  request.add_files()->set_content(std::string(256 * 1024 + 1, ' '));
  v1::ImportRunResponse read;
  const grpc::Status status = server_.Call(&Stub::ImportRun, request, &read);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(FaultsOf(status),
              ElementsAre(StartsWith("files[0].content: is no JSON: line 1: unexpected '}'"),
                          "files[1].content: has 262145 bytes: at most 262144 are read"));
}

TEST_F(LaunchFilesTest, ExportsTheRunThatIsGiven) {
  const v1::ExportRunResponse written = Export(DenseRun("megatron"));
  ASSERT_THAT(written.files(), SizeIs(1));
  EXPECT_THAT(written.files(0).content(), HasSubstr("--num-layers 32\n"));
  EXPECT_THAT(written.files(0).content(), HasSubstr("--tensor-model-parallel-size 4\n"));
  EXPECT_EQ(written.request().layout().framework().kind(), v1::FrameworkMemory::KIND_MEGATRON_LM);
  EXPECT_THAT(written.refused(), IsEmpty());
  // A node of h100-sxm has 8.
  v1::ExportRunRequest slurm = DenseRun("slurm");
  slurm.set_elapsed_seconds(3600);
  slurm.set_script("train.py");
  const std::string script = Export(slurm).files(0).content();
  EXPECT_THAT(script, HasSubstr("#SBATCH --nodes=2\n"));
  EXPECT_THAT(script, HasSubstr("#SBATCH --time=0-01:00:00\n"));
  EXPECT_THAT(script, HasSubstr("  train.py \"$@\""));
}

TEST_F(LaunchFilesTest, ExportsTheFirstLayoutThatTheLauncherCanExpress) {
  v1::ExportRunRequest request = DenseRun("megatron");
  *request.add_layouts()->mutable_layout() = request.request().layout();
  request.mutable_layouts(0)->mutable_layout()->set_schedule(v1::PIPELINE_SCHEDULE_GPIPE);
  *request.add_layouts()->mutable_layout() = request.request().layout();
  request.mutable_layouts(1)->mutable_layout()->mutable_parallel()->set_tensor_parallel_size(2);
  request.mutable_layouts(1)->set_recompute(v1::RECOMPUTE_POLICY_FULL);
  const v1::ExportRunResponse written = Export(request);
  EXPECT_EQ(written.layout_index(), 1);
  EXPECT_THAT(written.refused(), ElementsAre(HasSubstr("--schedule=gpipe")));
  EXPECT_THAT(written.files(0).content(), HasSubstr("--tensor-model-parallel-size 2\n"));
  EXPECT_EQ(written.request().training().recompute(), v1::RECOMPUTE_POLICY_FULL);
  request.mutable_layouts()->DeleteSubrange(1, 1);
  EXPECT_EQ(Refusal(request),
            "layouts[0].layout.schedule: is gpipe, which Megatron-LM cannot express: it takes "
            "one-forward-one-backward alone");
  *request.mutable_layouts(0)->mutable_layout() = request.request().layout();
  request.mutable_layouts(0)->set_recompute(v1::RECOMPUTE_POLICY_SELECTIVE);
  request.set_launcher("axolotl");
  EXPECT_THAT(Refusal(request), HasSubstr("layouts[0].recompute: is selective, which axolotl"));
}

TEST_F(LaunchFilesTest, ChecksWithoutWriting) {
  v1::ExportRunRequest request = DenseRun("deepspeed");
  request.set_check_only(true);
  request.mutable_request()->clear_training();  // of a run that is not complete yet, too
  request.mutable_request()->mutable_layout()->mutable_parallel()->clear_tensor_parallel_size();
  const v1::ExportRunResponse checked = Export(request);
  EXPECT_THAT(checked.files(), IsEmpty());
  EXPECT_EQ(checked.request().layout().framework().kind(), v1::FrameworkMemory::KIND_DEEPSPEED);
  request.mutable_request()->mutable_layout()->mutable_parallel()->set_virtual_stage_count(2);
  EXPECT_EQ(Refusal(request),
            "request.layout.parallel.virtual_stage_count: is 2, which DeepSpeed cannot express: it "
            "takes 1 alone");
}

// Every writer's refusals name fields of the request.
TEST_F(LaunchFilesTest, NamesTheFieldsThatALauncherCannotExpress) {
  const struct {
    const char* launcher;
    const char* changes;
    const char* field;
  } cases[] = {
      {"megatron", R"({"layout": {"schedule": "PIPELINE_SCHEDULE_GPIPE"}})", "layout.schedule"},
      {"megatron-bridge", R"({"training": {"precision": {"computeDataType": "DATA_TYPE_FP32"}}})",
       "training.precision.compute_data_type"},
      {"torchtitan", R"({"layout": {"sequenceParallel": false}})", "layout.sequence_parallel"},
      {"torchtitan-python", R"({"layout": {"sequenceParallel": false}})",
       "layout.sequence_parallel"},
      {"deepspeed", "{}", "layout.sequence_parallel"},
      {"accelerate", "{}", "layout.parallel.tensor_parallel_size"},
      {"axolotl", "{}", "layout.sequence_parallel"},
      {"slurm", R"({"cluster": {"deviceCount": 12}})", "cluster.device_count"},
      {"pytorchjob", R"({"cluster": {"deviceCount": 12}})", "cluster.device_count"},
      {"trainjob", R"({"cluster": {"deviceCount": 12}})", "cluster.device_count"},
      {"jobset", R"({"cluster": {"deviceCount": 12}})", "cluster.device_count"},
      {"megatron", R"({"model": {"preset": "t5-11b"}})", "model"}};
  for (const auto& [launcher, changes, field] : cases) {
    v1::ExportRunRequest request = DenseRun(launcher);
    v1::PlanRunRequest changed;
    ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(changes, &changed).ok()) << changes;
    request.mutable_request()->MergeFrom(changed);
    v1::ExportRunResponse out;
    const grpc::Status status = server_.Call(&Stub::ExportRun, request, &out);
    EXPECT_THAT(FaultsOf(status), Contains(StartsWith(absl::StrCat("request.", field, ": "))))
        << launcher;
    EXPECT_THAT(FaultsOf(status), Each(StartsWith("request."))) << launcher;
  }
}

TEST_F(LaunchFilesTest, NamesWhatIsWrongWithAnExport) {
  EXPECT_EQ(Refusal(DenseRun("make")),
            "launcher: is not known: write one of megatron, megatron-bridge, torchtitan, "
            "torchtitan-python, deepspeed, accelerate, axolotl, slurm, pytorchjob, trainjob, "
            "jobset");
  v1::ExportRunRequest request = DenseRun("megatron");
  request.set_script("a\nb");
  request.set_elapsed_seconds(-1);
  EXPECT_THAT(Refusal(request), HasSubstr("script: must be on one line"));
  EXPECT_THAT(Refusal(request), HasSubstr("elapsed_seconds: must be"));
  request = DenseRun("megatron");
  request.mutable_request()->mutable_model()->set_parameter_count(8);
  EXPECT_THAT(Refusal(request), StartsWith("request.model"));
  request = DenseRun("megatron");
  request.mutable_request()->mutable_layout()->mutable_parallel()->set_pipeline_parallel_size(
      int64_t{1} << 40);
  EXPECT_THAT(Refusal(request), StartsWith("request.layout.parallel.pipeline_parallel_size: "));
  request = DenseRun("megatron");
  request.add_layouts()->mutable_layout()->mutable_parallel()->set_virtual_stage_count(int64_t{1}
                                                                                       << 40);
  EXPECT_THAT(Refusal(request), StartsWith("layouts[0].layout.parallel.virtual_stage_count: "));
  request = DenseRun("slurm");
  request.mutable_request()->mutable_cluster()->set_node_type("no-such-node");
  v1::ExportRunResponse out;
  EXPECT_EQ(server_.Call(&Stub::ExportRun, request, &out).error_code(),
            grpc::StatusCode::NOT_FOUND);
}

}  // namespace
}  // namespace sextant::server
