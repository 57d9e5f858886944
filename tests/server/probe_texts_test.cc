// Small functions around a probe: texts, times, paths.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/base/log.h"
#include "server/probe/probe_schedule.h"
#include "server/store/calibration_snapshot.h"
#include "server/store/default_paths.h"
#include "tests/server/fake_probe.h"

namespace sextant::server {
namespace {

using ::testing::AllOf;
using ::testing::Ge;
using ::testing::Le;

TEST(PrintableText, IsUtf8OnOneLine) {
  const struct {
    std::string bytes;
    std::string text;
  } cases[] = {
      {"", ""},
      {"plain \"quoted\" \\ text", "plain \"quoted\" \\ text"},
      {"\n two\r\nlines\t\n", "two  lines"},
      {"caf\xc3\xa9", "caf\xc3\xa9"},
      {"caf\xc3", "caf\xef\xbf\xbd"},
      {std::string("nul\0inside", 10), "nul inside"},
      {"\x1b[31mred", "[31mred"},
  };
  for (const auto& c : cases) EXPECT_EQ(PrintableText(c.bytes), c.text);
}

TEST(EventLogLine, IsOneLineOfJson) {
  const std::string line = EventLogLine(LogLevel::kWarning, "calibration_set_aside",
                                        {{"file", "a\nb\xff"}, {"reason", "\"why\""}});
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  const auto parsed = nlohmann::json::parse(line);
  EXPECT_EQ(parsed["level"], "warning");
  EXPECT_EQ(parsed["event"], "calibration_set_aside");
  EXPECT_EQ(parsed["file"], "a\nb\xef\xbf\xbd");
  EXPECT_EQ(parsed["reason"], "\"why\"");
  EXPECT_EQ(parsed["time"].get<std::string>().size(), 24u);
}

TEST(EventLogLine, FitsThePipeWhateverTheFacts) {
  const struct {
    const char* name;
    std::string content;
  } cases[] = {{"plain", "x"},        {"escaped", "\x01"}, {"two bytes", "\xc3\xa9"},
               {"not UTF-8", "\xff"}, {"quotes", "\"\\"},  {"cut character", "a\xc3\xa9"}};
  for (const auto& c : cases) {
    std::string fact;
    while (fact.size() < 100'000) fact += c.content;
    const std::string line =
        EventLogLine(LogLevel::kWarning, "calibration_set_aside",
                     {{"a", fact}, {"b", fact}, {"c", fact}, {"d", fact}, {"e", fact}});
    EXPECT_LE(line.size(), size_t{PIPE_BUF}) << c.name;
    const auto parsed = nlohmann::json::parse(line);
    for (const char* key : {"a", "b", "c", "d", "e"}) {
      const auto shown = parsed[key].get<std::string>();
      EXPECT_GE(shown.size(), 80u) << c.name;
      EXPECT_TRUE(absl::EndsWith(shown, "...")) << c.name;
    }
  }
}

TEST(CalibrationAge, IsNegativeOfTheFuture) {
  const std::chrono::system_clock::time_point now(std::chrono::seconds(1'000));
  v1::Calibration calibration;
  calibration.mutable_measured_time()->set_seconds(990);
  calibration.mutable_measured_time()->set_nanos(500'000'000);
  EXPECT_DOUBLE_EQ(MeasuredUnixSeconds(calibration), 990.5);
  EXPECT_DOUBLE_EQ(CalibrationAgeSeconds(calibration, now), 9.5);
  // The host's clock was set back, or another's was ahead.
  calibration.mutable_measured_time()->set_seconds(2'000);
  EXPECT_DOUBLE_EQ(CalibrationAgeSeconds(calibration, now), -1000.5);
}

TEST(ProbeBudget, IsTheModesAndKilledAtTwiceThatAndTenSeconds) {
  const struct {
    v1::ProbeMode mode;
    bool with_shapes;
    double budget_seconds;
    double deadline_seconds;
  } cases[] = {{v1::PROBE_MODE_QUICK, false, 2, 14},      {v1::PROBE_MODE_STANDARD, false, 5, 20},
               {v1::PROBE_MODE_FULL, false, 30, 70},      {v1::PROBE_MODE_QUICK, true, 122, 254},
               {v1::PROBE_MODE_STANDARD, true, 125, 260}, {v1::PROBE_MODE_FULL, true, 150, 310},
               {v1::PROBE_MODE_UNSPECIFIED, false, 5, 20}};
  for (const auto& c : cases) {
    const ProbeBudget budget = ProbeBudgetOf(c.mode, c.with_shapes);
    EXPECT_EQ(budget.budget_seconds, c.budget_seconds);
    EXPECT_EQ(budget.deadline_seconds, c.deadline_seconds);
    EXPECT_THAT(budget.silence_seconds, AllOf(Ge(c.budget_seconds), Le(c.deadline_seconds)));
  }
}

TEST(ProbeRetrySeconds, IsWhatIsLeftAndUpToAQuarterMore) {
  EXPECT_EQ(ProbeRetrySeconds(30, 10, 0), 20);
  EXPECT_EQ(ProbeRetrySeconds(30, 10, 1), 25);
  // A probe that is overdue ends soon.
  EXPECT_EQ(ProbeRetrySeconds(30, 29.5, 0), 1);
  EXPECT_EQ(ProbeRetrySeconds(30, 300, 0), 1);
}

// A variable of the environment for one test.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    setenv(name, value.c_str(), 1);
  }
  ~Variable() { before_.empty() ? unsetenv(name_) : setenv(name_, before_.c_str(), 1); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* const name_;
  std::string before_;
};

TEST(DefaultCalibrationDirectory, IsTheFirstThatIsSet) {
  const struct {
    const char* state_directory;
    const char* xdg_state_home;
    const char* home;
    const char* expected;
  } cases[] = {
      {"/var/lib/sextant", "/x", "/home/me", "/var/lib/sextant/calibrations"},
      {"/var/lib/a:/var/lib/b", "", "", "/var/lib/a/calibrations"},
      {"", "/x", "/home/me", "/x/sextant/calibrations"},
      {"", "", "/home/me", "/home/me/.local/state/sextant/calibrations"},
      {"relative", "also/relative", "/home/me", "/home/me/.local/state/sextant/calibrations"},
      {"", "", "", ""},
  };
  for (const auto& c : cases) {
    const Variable state("STATE_DIRECTORY", c.state_directory);
    const Variable xdg("XDG_STATE_HOME", c.xdg_state_home);
    const Variable home("HOME", c.home);
    EXPECT_EQ(DefaultCalibrationDirectory(), c.expected);
  }
}

TEST(FindProbeProgram, LooksBesideThisProgramAndThenInThePath) {
  const TemporaryFolder own;
  const TemporaryFolder in_path;
  const TemporaryFolder neither;
  const std::string beside = WriteScript(own, "sextant-probe", "exit 0\n");
  const std::string found = WriteScript(in_path, "sextant-probe", "exit 0\n");
  WriteFile(neither.File("sextant-probe"), "not a program");
  const Variable path("PATH", absl::StrCat("/nowhere::", neither.path(), ":", in_path.path()));
  EXPECT_EQ(FindProbeProgram(own.path()), beside);
  for (const std::string& folder : {neither.path(), std::string("/nowhere"), std::string()}) {
    EXPECT_EQ(FindProbeProgram(folder), found) << folder;
  }
  const Variable empty_path("PATH", "/nowhere");
  EXPECT_EQ(FindProbeProgram(neither.path()), "sextant-probe");
}

TEST(ProgramFolder, HoldsTheProgramThatRuns) {
  EXPECT_TRUE(std::filesystem::equivalent(
      absl::StrCat(ProgramFolder(), "/", program_invocation_short_name), "/proc/self/exe"));
}

}  // namespace
}  // namespace sextant::server
