// Files that start a run, on the command line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/flags/given_fields.h"
#include "tests/client/fake_server.h"
#include "tests/support/temporary_folder.h"

namespace sextant::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

v1::PlanRunResponse FittingPlan() {
  v1::PlanRunResponse out;
  out.mutable_plan()->set_verdict(v1::VERDICT_FITS);
  return out;
}

// Files without a flag, in a folder of the test's own.
std::string Written(const std::string& name, const std::string& text) {
  std::string path = TemporaryFile(name);
  std::ofstream(path) << text;
  return path;
}

TEST(LaunchFiles, AreTakenForWhatTheyHold) {
  PlanServer server(FittingPlan());
  const std::string run = Written("run.conf", "--num-layers 2 --micro-batch-size 2 --spec 1");
  const Ran ran = server.Run({"plan", "toy", run, "--devices=8", "--mbs=4"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(ran.err, absl::StrCat("took ", run, " for a list of Megatron-LM arguments\n",
                                  "not modelled: --spec\n"));
  EXPECT_EQ(server.request().layout().micro_batch_size(), 4);  // the flag's
  EXPECT_EQ(server.request().model().preset(), "toy");
  EXPECT_THAT(server.request().layout().unmodelled_settings(), ElementsAre("--spec"));
}

// A fault names what the file has, although MODEL is the word of the command line for it.
TEST(LaunchFiles, KeepTheirOwnWords) {
  PlanServer server(FittingPlan());
  const std::string run = Written("run.conf", "--num-layers 2 --micro-batch-size 2 --model toy");
  const Ran ran = server.Run({"plan", "toy", run, "--devices=8"});
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_THAT(ran.err, HasSubstr("--model: not known"));
}

TEST(LaunchFiles, AddUp) {
  PlanServer server(FittingPlan());
  const std::string model =
      Written("model.json", R"({"model_type": "llama", "hidden_size": 64, "vocab_size": 8})");
  const Ran ran = server.Run({"plan", model, "-", "--devices=8"},
                             R"({"train_batch_size": 16, "zero_optimization": {"stage": 2}})");
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(ran.err, absl::StrCat("took ", model, " for a model's config.json\n",
                                  "took standard input for a DeepSpeed configuration\n",
                                  "open in standard input: train_micro_batch_size_per_gpu\n"));
  EXPECT_THAT(server.request().model().hugging_face_config(), StartsWith("{\"model_type\""));
  EXPECT_EQ(server.request().layout().global_batch_size(), 16);
}

TEST(LaunchFiles, SayWithVerboseWhatChangesNothing) {
  Answering<v1::PlanRunRequest, v1::PlanRunResponse> plans = {.response = FittingPlan()};
  v1::ImportRunResponse read;
  read.add_files()->set_name("run.yaml");
  read.mutable_files(0)->set_format("axolotl configuration");
  read.mutable_files(0)->add_without_meaning("wandb_project");
  read.mutable_files(0)->add_wants("ds.json");
  read.add_notes("layout.micro_batch_size is 1 in a, and 2 in b: the latter counts");
  const auto import = [&](grpc::ServerContext*, const v1::ImportRunRequest&,
                          v1::ImportRunResponse* out) {
    *out = read;
    return grpc::Status::OK;
  };
  FakeServer fake(PlanningHandlers{.plan_run = plans.handler(), .import_run = import});
  const std::string file = Written("run.yaml", "a: 1\n");
  const std::string brief =
      "took run.yaml for an axolotl configuration\nto be given too: ds.json\n";
  const std::string note = "--mbs is 1 in a, and 2 in b: the latter counts\n";
  Ran ran = RunWith({"plan", file, "--address", fake.address()});
  EXPECT_EQ(ran.err, brief + note);
  ran = RunWith({"plan", file, "-v", "--address", fake.address()});
  EXPECT_EQ(ran.err, brief + "without meaning: wandb_project\n" + note);
}

TEST(LaunchFiles, AreNamedWhereTheyAreWrong) {
  PlanServer server(FittingPlan());
  const std::string list = Written("list.json", "{\"a\": [1,}");
  const std::string cells = Written("cells.ipynb", R"({"cells": [], "nbformat": 4})");
  const Ran ran = server.Run({"plan", list, cells, "--devices=8"});
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_THAT(ran.err, HasSubstr(absl::StrCat(list, " is no JSON: line 1: ")));
  EXPECT_THAT(ran.err, Not(HasSubstr("json.exception")));
  EXPECT_THAT(ran.err, HasSubstr(absl::StrCat(cells, " is a notebook: not read; give ")));
}

// A model's name counts before or after a file, and a function is named after a colon.
TEST(LaunchFiles, AddToAModelByName) {
  const std::string zero = Written("zero.json", R"({"zero_optimization": {"stage": 3},
      "train_micro_batch_size_per_gpu": 2, "bf16": {"enabled": true}})");
  const std::string recipes =
      Written("runs.py",
              "from torchtitan.config import TrainingConfig\n\n"
              "def small():\n    return C(training=TrainingConfig(local_batch_size=1))\n\n"
              "def large():\n    return C(training=TrainingConfig(local_batch_size=2))\n");
  const std::vector<std::vector<std::string>> cases = {
      {"toy", zero}, {zero, "toy"}, {"toy", recipes + ":large"}};
  for (const std::vector<std::string>& words : cases) {
    PlanServer server(FittingPlan());
    const Ran ran = server.Run({"plan", words[0], words[1], "--devices=8"});
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    EXPECT_EQ(server.request().model().preset(), "toy") << words[0];
    EXPECT_EQ(server.request().layout().micro_batch_size(), 2) << words[0];
  }
}

TEST(LaunchFiles, AreToldFromModels) {
  for (const char* model : {"llama-3.1-8b", "gpt2", "meta-llama/Llama-3.1-8B", "qwen2.5-0.5b"}) {
    EXPECT_FALSE(IsLaunchFile(model)) << model;
  }
  for (const char* file :
       {"-", "run.yaml", "./run", "../run", "/etc/run", "job.sbatch", "x.json"}) {
    EXPECT_TRUE(IsLaunchFile(file)) << file;
  }
  // A model, as it was before files were read.
  EXPECT_FALSE(IsLaunchFile("config.json"));
  EXPECT_FALSE(IsLaunchFile("llama/params.json"));
}

}  // namespace
}  // namespace sextant::client
