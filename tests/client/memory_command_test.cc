// `sextant memory`, against a fake server: what it fills in and what it refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/client/fake_server.h"
#include "tests/client/sample_answers.h"

namespace sextant::client {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// A server whose plan has four stages.
struct Memory {
  PlanServer server{SampleStages(4)};
  Ran Run(std::vector<std::string> args, const std::string& input = "") {
    args.insert(args.begin(), "memory");
    return server.Run(args, input);
  }
};

// The counts are 8 x 4, and what the experts add.
TEST(MemoryCommand, FillsInWhatMemoryDoesNotDependOn) {
  Memory memory;
  EXPECT_EQ(memory.Run({"gpt2", "--tp=8", "--pp=4"}).exit_code, 0);
  v1::PlanRunRequest expected = FromJson<v1::PlanRunRequest>(
      R"({"model": {"preset": "gpt2"}, "training": {"token_count": 1},
          "cluster": {"device_count": 32}, "options": {"view": "PLAN_VIEW_FULL"},
          "layout": {"parallel": {"tensor_parallel_size": 8, "pipeline_parallel_size": 4}}})");
  ExpectSame(memory.server.request(), expected);
  memory.Run({"gpt2"});
  expected.mutable_cluster()->set_device_count(1);
  expected.mutable_layout()->clear_parallel();
  ExpectSame(memory.server.request(), expected);
}

// 4 stages of ranks that are a multiple of tensor x context and of expert x expert tensor ones.
TEST(MemoryCommand, TakesTheFewestDevicesThatExpertsNeed) {
  const std::pair<std::vector<std::string>, int64_t> cases[] = {
      {{"--pp=4", "--ep=8"}, 32},
      {{"--pp=4", "--ep=8", "--tp=2"}, 64},             // experts cut alike: 8 x 2
      {{"--pp=4", "--ep=8", "--tp=2", "--etp=1"}, 32},  // 8 ranks hold one share each
      {{"--cp=3", "--ep=2"}, 6},
      {{"--tp=4", "--cp=2", "--ep=2", "--etp=2"}, 8},
      {{"--tp=0"}, 1},  // the server says what is wrong with it
      {{"--tp=999999999999"}, 1}};
  Memory memory;
  for (const auto& [flags, devices] : cases) {
    std::vector<std::string> args = {"mixtral-8x7b"};
    args.insert(args.end(), flags.begin(), flags.end());
    memory.Run(args);
    EXPECT_EQ(memory.server.request().cluster().device_count(), devices) << flags.back();
  }
}

TEST(MemoryCommand, SaysWhatItFilledIn) {
  Memory memory;
  EXPECT_THAT(memory.Run({"gpt2", "--tp=2", "--pp=4"}).out,
              HasSubstr("\n  filled in --tokens=1, --devices=8\n"));
  EXPECT_THAT(memory.Run({"gpt2", "--tp=2", "--pp=4", "-v"}).out, HasSubstr(R"(
Filled in, not given
  --tokens=1: memory does not depend on it
  --devices=8: tensor 2 x pipeline 4 x context 1 x data 1 ranks
)"));
  EXPECT_THAT(memory.Run({"gpt2", "--tp=2", "--tokens=1B", "--devices=8"}).out,
              Not(HasSubstr("illed in")));
  EXPECT_THAT(memory.Run({"gpt2", "--ep=4", "-v"}).out,
              HasSubstr("  --devices=4: tensor 1 x pipeline 1 x context 1 x data 4 ranks, the "
                        "fewest that the experts need\n"));
}

TEST(MemoryCommand, EndsInAScreenUnlessAskedForAll) {
  Memory memory;
  const auto lines = [&memory](std::vector<std::string> args) {
    args.insert(args.begin(), "gpt2");
    const std::string out = memory.Run(args).out;
    return std::count(out.begin(), out.end(), '\n');
  };
  EXPECT_LE(lines({}), 24);
  EXPECT_GT(lines({"-v"}), 24);
  EXPECT_GT(lines({"--ledger"}), 24);
}

// Its stages are left out.
TEST(MemoryCommand, HasABasicViewForProgramsAlone) {
  v1::PlanRunResponse basic = SampleStages(4);
  basic.mutable_plan()->mutable_memory()->clear_stages();
  PlanServer server(basic);
  EXPECT_EQ(server.Run({"memory", "gpt2", "--view=basic", "--output=json"}).exit_code, 0);
  EXPECT_EQ(server.request().options().view(), v1::PLAN_VIEW_BASIC);
  const Ran refused = server.Run({"memory", "gpt2", "--view=basic"});
  EXPECT_EQ(refused.exit_code, 3);
  EXPECT_THAT(refused.err, HasSubstr("--view=basic leaves out the stages"));
}

TEST(MemoryCommand, ExitsWithTheVerdict) {
  const std::pair<v1::Verdict, int> cases[] = {{v1::VERDICT_FITS, 0},
                                               {v1::VERDICT_TIGHT, 7},
                                               {v1::VERDICT_DOES_NOT_FIT, 1},
                                               {static_cast<v1::Verdict>(9), 6}};
  for (const auto& [verdict, exit_code] : cases) {
    EXPECT_EQ(PlanServer(SampleStages(1, 80, verdict)).Run({"memory", "gpt2"}).exit_code,
              exit_code);
  }
  EXPECT_EQ(
      PlanServer(SamplePlan(v1::VERDICT_STATE_FITS)).Run({"memory", "--parameters=1B"}).exit_code,
      8);
}

// Stages are what it shows: a file that asks for less is overruled.
TEST(MemoryCommand, AsksForAFullView) {
  Memory memory;
  for (const char* view : {"PLAN_VIEW_UNSPECIFIED", "PLAN_VIEW_BASIC", "PLAN_VIEW_FULL"}) {
    memory.Run({"gpt2", "--request=-"}, absl::StrCat("{\"options\": {\"view\": \"", view, "\"}}"));
    EXPECT_EQ(memory.server.request().options().view(), v1::PLAN_VIEW_FULL) << view;
  }
}

// Sharded evenly, without a layout.
TEST(MemoryCommand, AddsNoLayoutToGivenActivations) {
  Memory memory;
  memory.Run({"--parameters=1B", "--activation-bytes=8GiB", "--devices=8"});
  EXPECT_FALSE(memory.server.request().has_layout());
  memory.Run({"gpt2", "--activation-bytes=8GiB"});
  EXPECT_FALSE(memory.server.request().has_layout());
  // With a layout it is the server's to refuse.
  memory.Run({"gpt2", "--activation-bytes=8GiB", "--tp=2"});
  EXPECT_TRUE(memory.server.request().has_layout());
}

TEST(MemoryCommand, RefusesAnAnswerWithoutStages) {
  const Ran ran = PlanServer(SamplePlan()).Run({"memory", "gpt2"});
  EXPECT_EQ(ran.exit_code, 6);
  EXPECT_THAT(ran.err, HasSubstr("no memory by stage"));
  v1::PlanRunResponse wrong = SampleStages(4);
  wrong.mutable_plan()->mutable_memory()->set_peak_stage(4);
  EXPECT_EQ(PlanServer(wrong).Run({"memory", "gpt2"}).exit_code, 6);
  v1::PlanRunResponse brief = SampleStages(4);
  brief.mutable_plan()->mutable_memory()->clear_stages();
  EXPECT_EQ(PlanServer(brief).Run({"memory", "gpt2"}).exit_code, 6);
  EXPECT_EQ(PlanServer(brief).Run({"memory", "--parameters=1B"}).exit_code, 6);
}

TEST(MemoryCommand, HasNothingToDrawWithoutALayout) {
  Memory memory;
  const Ran ran = memory.Run({"--parameters=1B", "--svg=unused.svg"});
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_EQ(memory.server.request().ByteSizeLong(), 0u);  // nothing was asked
  EXPECT_THAT(ran.err, HasSubstr("--svg draws the stages of a layout"));
}

}  // namespace
}  // namespace sextant::client
