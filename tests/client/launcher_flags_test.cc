// The flags about launchers, through the whole program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "tests/client/fake_server.h"
#include "tests/launcher/sample_launch.h"
#include "tests/support/temporary_folder.h"

namespace sextant::client {
namespace {

using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

using Plans = Answering<v1::PlanRunRequest, v1::PlanRunResponse>;

// Keeps the requests.
struct Exports {
  std::vector<v1::ExportRunRequest> requests = {};

  Handler<v1::ExportRunRequest, v1::ExportRunResponse> handler() {
    return [this,
            write = ExportOf(
                {.shape = server::DenseLaunch().model, .name = "sample", .devices_per_node = 8})](
               grpc::ServerContext* context, const v1::ExportRunRequest& got,
               v1::ExportRunResponse* out) {
      requests.push_back(got);
      return write(context, got, out);
    };
  }
};

// A server that plans every run to fit.
struct Server {
  Server() {
    v1::Plan& plan = *plans.response.mutable_plan();
    plan.set_verdict(v1::VERDICT_FITS);
    plan.set_model_name("sample");
    plan.set_device("h100-sxm");
    v1::TimeEstimate* time = plan.add_estimates();
    time->set_kind(v1::ESTIMATE_KIND_PREDICTED);
    time->mutable_elapsed_seconds()->set_high(7200);
  }

  Ran Run(std::vector<std::string> args, const std::string& input = "") {
    args.insert(args.end(), {"--address", server.address()});
    return RunWith(args, input);
  }

  Plans plans;
  Exports exports;
  FakeServer server{PlanningHandlers{.plan_run = plans.handler(), .export_run = exports.handler()}};
};

std::vector<std::string> Plan(std::vector<std::string> more) {
  std::vector<std::string> args = {"plan",
                                   "toy",
                                   "--tokens=524288000",
                                   "--accelerator=h100-sxm",
                                   "--devices=64",
                                   "--gbs=128",
                                   "--tp=8",
                                   "--pp=4",
                                   "--vpp=2",
                                   "--zero=1",
                                   "--sequence-length=4096",
                                   "--recompute=full"};
  args.insert(args.end(), more.begin(), more.end());
  return args;
}

TEST(Emit, WritesTheFileAlone) {
  Server server;
  const Ran ran = server.Run(Plan({"--emit=megatron"}));
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(ran.out, server::LauncherGolden("dense.megatron"));
  EXPECT_EQ(ran.err, "");
  // The plan was of the launcher's framework.
  EXPECT_EQ(server.plans.request.layout().framework().kind(),
            v1::FrameworkMemory::KIND_MEGATRON_LM);
  ASSERT_EQ(server.exports.requests.size(), 2u);
  EXPECT_TRUE(server.exports.requests.front().check_only());
  EXPECT_EQ(server.exports.requests.back().elapsed_seconds(), 7200);
}

TEST(Emit, WritesAFileBesidesThePlan) {
  Server server;
  const std::string file = FileWith("arguments", "");
  const Ran ran = server.Run(Plan({"--emit=megatron", absl::StrCat("--emit-to=", file)}));
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.out, StartsWith("FITS"));
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  EXPECT_EQ(text.str(), server::LauncherGolden("dense.megatron"));
  std::filesystem::remove(file);
}

TEST(Emit, WritesTheLayoutThatASearchChose) {
  Server server;
  v1::LayoutOption* chosen =
      server.plans.response.mutable_plan()->mutable_search()->mutable_chosen();
  *chosen->mutable_layout() = server::DenseLaunch().request.layout();
  chosen->mutable_layout()->mutable_parallel()->set_tensor_parallel_size(4);
  chosen->set_recompute(v1::RECOMPUTE_POLICY_SELECTIVE);
  const Ran ran = server.Run({"plan", "toy", "--tokens=1M", "--accelerator=h100-sxm",
                              "--devices=64", "--node-type=dgx-h100", "--gbs=128",
                              "--sequence-length=4096", "--emit=megatron"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("--tensor-model-parallel-size 4\n"));
  EXPECT_THAT(ran.out, HasSubstr("--recompute-granularity selective\n"));
  EXPECT_EQ(server.plans.request.options().search(), v1::LAYOUT_SEARCH_EXHAUSTIVE);
}

TEST(Emit, SaysWhatIsLeftToTheScript) {
  Server server;
  const Ran ran = server.Run({"plan", "toy", "--tokens=1M", "--accelerator=h100-sxm",
                              "--devices=64", "--gbs=128", "--zero=3", "--emit=deepspeed"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.out, StartsWith("{\n  \"train_batch_size\": 128,\n"));
  EXPECT_EQ(ran.err, "left to your script: the model, --sequence-length, --tokens\n");
}

TEST(Emit, WritesAJobScriptOfTheNodes) {
  Server server;
  const Ran ran = server.Run(Plan({"--emit=slurm", "--script=pretrain_gpt.py"}));
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("#SBATCH --nodes=8\n"));
  EXPECT_THAT(ran.out, HasSubstr("#SBATCH --time=0-02:00:00\n"));
  EXPECT_THAT(ran.out, HasSubstr("  pretrain_gpt.py \"$@\" \\\n  --num-layers 32 \\\n"));
}

TEST(Emit, SaysThatTheLayoutDoesNotFit) {
  Server server;
  server.plans.response.mutable_plan()->set_verdict(v1::VERDICT_DOES_NOT_FIT);
  const Ran ran = server.Run(Plan({"--emit=megatron"}));
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_EQ(ran.out, server::LauncherGolden("dense.megatron"));
  EXPECT_THAT(ran.err, StartsWith("DOES NOT FIT: "));
}

TEST(Emit, RefusesAPlanWithoutALayout) {
  Server server;
  v1::Plan& plan = *server.plans.response.mutable_plan();
  plan.mutable_memory()->set_scope(v1::MEMORY_SCOPE_MODEL_STATE);
  v1::Note* note = plan.add_warnings();
  note->set_kind(v1::NOTE_KIND_STEP_NOT_PREDICTED);
  note->set_text("No layout was searched for: give cluster.network.");
  note->add_fields("cluster.network");
  const Ran ran = server.Run({"plan", "toy", "--tokens=1M", "--devices=64", "--gbs=128",
                              "--sequence-length=4096", "--emit=megatron"});
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_THAT(ran.err, HasSubstr("none was planned: No layout was searched for: give --network."));
  EXPECT_THAT(ran.out, IsEmpty());
}

TEST(Emit, RefusesBeforeAnythingIsAskedOrWritten) {
  const std::string file = TemporaryFile("never_written");
  const std::pair<std::vector<std::string>, const char*> cases[] = {
      {Plan({"--emit=deepspeed"}), "--vpp=2: it takes 1 alone"},
      {Plan({"--emit=megatron", "--schedule=gpipe", absl::StrCat("--emit-to=", file)}),
       "--schedule=gpipe"},
      {Plan({"--emit=megatron", "--framework=torchtitan"}), "--framework=torchtitan"},
      {Plan({"--emit=megatron", "--output=json"}), "give --emit-to=FILE with --output=json"},
      {Plan({"--emit=megatron", "--script=x.py"}), "--script takes --emit=slurm"},
      {Plan({"--emit-to=x"}), "--emit-to takes --emit"},
      {Plan({"--emit=megatron", "--print-request"}), "leave out --emit to print the plan's"},
      {{"plan", "toy", "--tokens=1M", "--devices=8", "--emit=megatron"},
       "--emit writes a layout, and there is none"},
      {{"plan", "--parameters=7B", "--tokens=1M", "--devices=8", "--tp=2", "--emit=megatron"},
       "--emit takes a model with a shape"},
  };
  for (const auto& [args, refusal] : cases) {
    Server server;
    const Ran ran = server.Run(args);
    EXPECT_EQ(ran.exit_code, 3) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr(refusal));
    EXPECT_THAT(ran.out, IsEmpty());
    EXPECT_EQ(server.plans.request.ByteSizeLong(), 0u);
  }
  EXPECT_FALSE(std::filesystem::exists(file));
}

TEST(Emit, RefusesALayoutThatItsSearchChose) {
  Server server;
  v1::LayoutOption* chosen =
      server.plans.response.mutable_plan()->mutable_search()->mutable_chosen();
  *chosen->mutable_layout() = server::DenseLaunch().request.layout();
  chosen->mutable_layout()->mutable_kernels()->set_recompute_activation_function(true);
  const Ran ran = server.Run({"plan", "toy", "--tokens=1M", "--devices=64", "--gbs=128",
                              "--sequence-length=4096", "--emit=megatron"});
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_THAT(ran.err, HasSubstr("--recompute-activation-function"));
  EXPECT_THAT(ran.out, IsEmpty());
}

TEST(Emit, TakesTheNextLayoutWhereTheFastestCannotBeExpressed) {
  Server server;
  v1::LayoutSearchResult* search = server.plans.response.mutable_plan()->mutable_search();
  *search->mutable_chosen()->mutable_layout() = server::DenseLaunch().request.layout();
  search->mutable_chosen()->mutable_layout()->mutable_kernels()->set_recompute_activation_function(
      true);
  search->mutable_chosen()->mutable_step_seconds()->set_expected(2);
  v1::LayoutOption* next = search->add_alternatives();
  *next->mutable_layout() = server::DenseLaunch().request.layout();
  next->set_recompute(v1::RECOMPUTE_POLICY_FULL);
  server.plans.response.mutable_plan()->mutable_step_time()->mutable_seconds()->set_expected(3);
  const Ran ran = server.Run({"plan", "toy", "--tokens=1M", "--devices=64", "--gbs=128",
                              "--sequence-length=4096", "--emit=megatron"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("--recompute-granularity full\n"));
  EXPECT_THAT(ran.err, HasSubstr("not the fastest layout (a step of 2.00 s): Megatron-LM cannot"));
  EXPECT_THAT(ran.err, HasSubstr("a step of 3.00 s\n"));
  // The plan is of that layout.
  EXPECT_EQ(server.plans.request.options().search(), v1::LAYOUT_SEARCH_NONE);
  EXPECT_EQ(server.plans.request.training().recompute(), v1::RECOMPUTE_POLICY_FULL);
}

TEST(FromLauncher, FlagsOverrideWhatItSays) {
  Server server;
  const Ran ran =
      server.Run({"plan", "--accelerator=h100-sxm", "--devices=64", "--tp=4", "--from-megatron",
                  server::LauncherGolden("dense.megatron") + " --spec 1e-4"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(ran.err, "not modelled: --spec\n");
  const v1::PlanRunRequest& request = server.plans.request;
  EXPECT_EQ(request.layout().parallel().tensor_parallel_size(), 4);
  EXPECT_EQ(request.layout().parallel().virtual_stage_count(), 2);
  EXPECT_EQ(server::DifferencesOf(server::DenseLaunch().model, request.model().architecture()), "");
  EXPECT_EQ(request.training().token_count(), 524'288'000);
}

TEST(FromLauncher, WhatItDoesNotUnderstandOpensTheVerdict) {
  Server server;
  const std::string toml = "[model]\nname = \"llama3\"\nflavor = \"8B\"\n";
  v1::Memory* memory = server.plans.response.mutable_plan()->mutable_memory();
  memory->set_scope(v1::MEMORY_SCOPE_LAYOUT);
  memory->add_stages();
  memory->add_unmodelled_settings("activation_checkpoint.mode = selective");
  Ran ran = server.Run({"plan", "--devices=8", "--from-torchtitan=-"}, toml);
  EXPECT_THAT(server.plans.request.layout().unmodelled_settings(),
              ElementsAre("activation_checkpoint.mode = selective"));
  EXPECT_THAT(ran.out, ContainsRegex("\\(1\\s+setting\\s+not\\s+modelled:"));
  ran = server.Run({"plan", "--devices=8", "--recompute=full", "--from-torchtitan=-"}, toml);
  EXPECT_THAT(server.plans.request.layout().unmodelled_settings(), IsEmpty());
}

TEST(FromLauncher, AModelFlagReplacesItsModel) {
  Server server;
  const Ran ran =
      server.Run({"plan", "toy", "--devices=64", "--from-megatron",
                  "--num-layers 2 --micro-batch-size 2 --make-vocab-size-divisible-by 64"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(server.plans.request.model().preset(), "toy");
  EXPECT_FALSE(server.plans.request.model().has_architecture());
  EXPECT_EQ(server.plans.request.layout().micro_batch_size(), 2);
  EXPECT_EQ(server.plans.request.model().changes().vocabulary_multiple(), 64);
}

TEST(FromLauncher, ReadsFilesAndStandardInput) {
  Server server;
  const std::string file = FileWith("run.toml", server::LauncherGolden("dense.toml"));
  Ran ran = server.Run({"plan", "--devices=64", absl::StrCat("--from-torchtitan=", file)});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(server.plans.request.model().preset(), "llama-3.1-8b");
  ran = server.Run({"plan", "toy", "--devices=64", "--tokens=1M", "--from-deepspeed=-"},
                   R"({"train_batch_size": "auto", "zero_optimization": {"stage": 2}})");
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(ran.err, "open: train_batch_size\n");
  EXPECT_EQ(server.plans.request.layout().sharding().zero_stage(), v1::ZERO_STAGE_GRADIENTS);
  std::filesystem::remove(file);
}

TEST(FromLauncher, IsForSearchesAndMemoryToo) {
  Server server;
  Ran ran = server.Run({"search", "toy", "--devices=64", "--from-megatron",
                        "--tensor-model-parallel-size 8 --global-batch-size 128"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(server.plans.request.options().search(), v1::LAYOUT_SEARCH_EXHAUSTIVE);
  EXPECT_EQ(server.plans.request.layout().parallel().tensor_parallel_size(), 8);
  server.plans.response.mutable_plan()->mutable_memory()->add_stages();
  ran = server.Run({"memory", "toy", "--from-megatron", "--context-parallel-size 4 --spec 1"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(ran.err, "not modelled: --spec\n");
  EXPECT_EQ(server.plans.request.cluster().device_count(), 4);
}

// The batch of all devices is counted with those that memory fills in.
TEST(FromLauncher, MemoryCountsTheBatchOfTheDevicesThatItFillsIn) {
  Server server;
  server.plans.response.mutable_plan()->mutable_memory()->add_stages();
  const Ran ran = server.Run({"memory", "toy", "--from-deepspeed=-"},
                             R"({"train_micro_batch_size_per_gpu": 2,
                                 "gradient_accumulation_steps": 8})");
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(server.plans.request.cluster().device_count(), 1);
  EXPECT_EQ(server.plans.request.layout().global_batch_size(), 16);
  EXPECT_THAT(ran.out, HasSubstr("--devices=1"));
}

TEST(FromLauncher, NamesTheFileThatIsWrong) {
  Server server;
  const std::string file = FileWith("wrong.json", R"({"train_batch_size": 0})");
  const Ran ran = server.Run({"plan", "toy", absl::StrCat("--from-deepspeed=", file)});
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_THAT(ran.err,
              HasSubstr(absl::StrCat(
                  file, " is a DeepSpeed configuration: train_batch_size = 0: write a whole")));
  std::filesystem::remove(file);
}

TEST(FromLauncher, AddsUp) {
  Server server;
  const Ran ran =
      server.Run({"plan", "toy", "--devices=8", "--from-megatron=--bf16", "--from-deepspeed=-"},
                 R"({"train_micro_batch_size_per_gpu": 4})");
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(server.plans.request.layout().micro_batch_size(), 4);
  EXPECT_EQ(server.plans.request.training().precision().compute_data_type(), v1::DATA_TYPE_BF16);
}

}  // namespace
}  // namespace sextant::client
