#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu_probe/health/run_check.h"
#include "tests/gpu_probe/failure_matchers.h"
#include "tests/support/status_matchers.h"

namespace sextant::probe {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

CheckOptions Parsed(const std::vector<std::string>& args) {
  const auto parsed = ParseCheckOptions(args);
  EXPECT_THAT(parsed, IsOk());
  return parsed.ok() ? std::get<CheckOptions>(*parsed) : CheckOptions();
}

TEST(CheckOptionsTest, Defaults) {
  const CheckOptions options = Parsed({"folder"});
  EXPECT_THAT(options.paths, ElementsAre("folder"));
  EXPECT_EQ(options.device, "");
  EXPECT_FALSE(options.measure);
  EXPECT_FALSE(options.json);
  EXPECT_EQ(options.limits.history_tolerance, 0.05);
  EXPECT_EQ(options.limits.peer_z, 4);
  EXPECT_EQ(options.limits.peer_tolerance, 0.03);
  EXPECT_EQ(options.limits.limit_tolerance, 0.02);
  EXPECT_EQ(options.limits.max_age_seconds, 7 * 86400);
  EXPECT_EQ(options.limits.in_a_row, 2);
}

TEST(CheckOptionsTest, EachOptionIsRead) {
  const CheckOptions options =
      Parsed({"a.json", "--history_tolerance=0.1", "--peer_z=5", "--peer_tolerance=0.04",
              "--limit_tolerance=0.01", "--max_age=36h", "--in_a_row=3", "--format=json",
              "--device=GPU-1", "b"});
  EXPECT_THAT(options.paths, ElementsAre("a.json", "b"));
  EXPECT_EQ(options.device, "GPU-1");
  EXPECT_TRUE(options.json);
  EXPECT_EQ(options.limits.history_tolerance, 0.1);
  EXPECT_EQ(options.limits.peer_z, 5);
  EXPECT_EQ(options.limits.peer_tolerance, 0.04);
  EXPECT_EQ(options.limits.limit_tolerance, 0.01);
  EXPECT_EQ(options.limits.max_age_seconds, 36 * 3600);
  EXPECT_EQ(options.limits.in_a_row, 3);
  const CheckOptions fresh = Parsed({"--measure", "--keep=folder", "--budget=5s"});
  EXPECT_TRUE(fresh.measure);
  EXPECT_EQ(fresh.keep, "folder");
  EXPECT_EQ(fresh.budget_seconds, 5);
}

TEST(CheckOptionsTest, WrongCommandLinesAreSaidToBe) {
  struct Case {
    std::vector<std::string> args;
    const char* message;
  };
  for (const Case& c : std::vector<Case>{{{}, "nothing to judge"},
                                         {{""}, "empty PATH"},
                                         {{"x", "--keep=y"}, "--keep"},
                                         {{"x", "--budget=5s"}, "--budget"},
                                         {{"--measure", "--device=x"}, "--device"},
                                         {{"x", "--max_age=7"}, "7d or 36h"},
                                         {{"x", "--max_age=0d"}, "7d or 36h"},
                                         {{"x", "--max_age=99999d"}, "7d or 36h"},
                                         {{"x", "--history_tolerance=0"}, "history_tolerance"},
                                         {{"x", "--peer_tolerance=1"}, "peer_tolerance"},
                                         {{"x", "--peer_z=nan"}, "no number"},
                                         {{"x", "--peer_z=0"}, "peer_z"},
                                         {{"x", "--in_a_row=0"}, "in_a_row"},
                                         {{"x", "--format=yaml"}, "format"},
                                         {{"x", "--mode=full"}, "--mode"}}) {
    const auto parsed = ParseCheckOptions(c.args);
    EXPECT_THAT(parsed, FailsSaying(absl::StatusCode::kInvalidArgument, c.message)) << c.message;
  }
}

TEST(CheckOptionsTest, HelpSaysWhatTheExitCodesMean) {
  const auto help = ParseCheckOptions({"--help"}).value();
  const std::string text = std::get<AskedText>(help).text;
  for (const char* word : {"--history_tolerance", "--peer_z", "--peer_tolerance",
                           "--limit_tolerance", "--max_age", "--in_a_row", "--device", "--measure",
                           "--keep", "0  OK", "1  WARNING", "2  CRITICAL", "3  UNKNOWN"}) {
    EXPECT_THAT(text, HasSubstr(word));
  }
}

}  // namespace
}  // namespace sextant::probe
