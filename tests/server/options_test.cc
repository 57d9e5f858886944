#include "server/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "server/store/default_paths.h"
#include "tests/server/fake_probe.h"
#include "tests/support/status_matchers.h"

namespace sextant::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

absl::StatusOr<absl::optional<ServerOptions>> Parse(std::vector<const char*> flags) {
  flags.insert(flags.begin(), "sextantd");
  return ParseServerOptions(static_cast<int>(flags.size()), flags.data());
}

ServerOptions Parsed(const std::vector<const char*>& flags) {
  const auto options = Parse(flags);
  EXPECT_THAT(options, IsOk());
  return options.ok() && options->has_value() ? **options : ServerOptions();
}

TEST(ServerOptions, ListenOnLoopbackByDefault) {
  const ServerOptions options = Parsed({});
  EXPECT_THAT(options.listen, ElementsAre("127.0.0.1:50051"));
  EXPECT_EQ(options.http_listen, "127.0.0.1:9464");
  EXPECT_EQ(options.log_calls, CallLogLevel::kAll);
}

TEST(ServerOptions, EveryFlagSetsItsField) {
  const ServerOptions options =
      Parsed({"--listen=127.0.0.1:1", "--listen=unix:/run/x", "--http_listen=none",
              "--http_host=planner,planner.example", "--http_host=p", "--log_calls=errors",
              "--log_level=warning", "--search_niceness=3", "--search_threads=5",
              "--drain_announce_seconds=0.5", "--drain_grace_seconds=3", "--stop_with_stdin"});
  EXPECT_THAT(options.listen, ElementsAre("127.0.0.1:1", "unix:/run/x"));
  EXPECT_EQ(options.http_listen, "none");
  EXPECT_THAT(options.http_host, ElementsAre("planner", "planner.example", "p"));
  EXPECT_EQ(options.log_calls, CallLogLevel::kErrors);
  EXPECT_EQ(options.log_level, LogLevel::kWarning);
  EXPECT_EQ(options.search_niceness, 3);
  EXPECT_EQ(options.search_threads, 5);
  EXPECT_EQ(options.drain_announce_seconds, 0.5);
  EXPECT_EQ(options.drain_grace_seconds, 3);
  EXPECT_TRUE(options.stops_with_stdin);
  EXPECT_FALSE(Parsed({}).stops_with_stdin);
  EXPECT_TRUE(Parsed({"--insecure_allow_remote"}).insecure_allow_remote);
}

TEST(ServerOptions, ShowConnectionsToThisHostAlone) {
  EXPECT_EQ(Parsed({}).channelz_listen, "none");
  EXPECT_EQ(Parsed({"--channelz_listen=unix:/run/z"}).channelz_listen, "unix:/run/z");
  EXPECT_EQ(Parsed({"--channelz_listen=127.0.0.1:9"}).channelz_listen, "127.0.0.1:9");
  for (const char* flag : {"--channelz_listen=0.0.0.0:9", "--channelz_listen=127.0.0.1"}) {
    EXPECT_EQ(Parse({flag, "--insecure_allow_remote"}).status().code(),
              absl::StatusCode::kInvalidArgument)
        << flag;
  }
}

TEST(ServerOptions, SayHowToProbe) {
  const ServerOptions options = Parsed({});
  EXPECT_EQ(options.probe_program, "");
  EXPECT_EQ(options.probe_library_folder, "");
  EXPECT_EQ(options.calibration_directory, "");
  EXPECT_EQ(options.probe_metrics, ProbeMetricsSet::kFleet);
  EXPECT_EQ(*SamplingPeriod(options.gpu_sampling), absl::Seconds(5));
  const ServerOptions others =
      Parsed({"--probe_program=/opt/probe", "--probe_metrics=full",
              "--calibration_directory=/var/lib/sextant", "--gpu_sampling=none"});
  EXPECT_EQ(others.probe_program, "/opt/probe");
  EXPECT_EQ(others.calibration_directory, "/var/lib/sextant");
  EXPECT_EQ(others.probe_metrics, ProbeMetricsSet::kFull);
  EXPECT_EQ(*SamplingPeriod(others.gpu_sampling), absl::ZeroDuration());
  EXPECT_EQ(*SamplingPeriod("100ms"), absl::Milliseconds(100));
}

TEST(ServerOptions, TakeAFolderOfLibrariesThatIsThere) {
  EXPECT_EQ(Parsed({"--probe_library_folder=/usr/lib"}).probe_library_folder, "/usr/lib");
  for (const char* flag :
       {"--probe_library_folder=lib", "--probe_library_folder=.", "--probe_library_folder=/nowhere",
        "--probe_library_folder=/etc/passwd", "--probe_library_folder=/etc/passwd/x"}) {
    const auto refused = Parse({flag});
    ASSERT_FALSE(refused.ok()) << flag;
    EXPECT_THAT(std::string(refused.status().message()),
                HasSubstr(std::string(flag) + " is not the absolute path of a folder"));
  }
}

TEST(ServerOptions, HaveARole) {
  EXPECT_EQ(Parsed({}).role, ServerRole::kAll);
  EXPECT_EQ(Parsed({"--role=agent"}).role, ServerRole::kAgent);
  EXPECT_EQ(Parsed({"--role=planner"}).role, ServerRole::kPlanner);
  EXPECT_EQ(Parse({"--role=scheduler"}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Parsed({"--hostname=node7"}).hostname, "node7");
  EXPECT_THAT(Parse({"--hostname=node 7"}).status().message(), HasSubstr("--hostname must have"));
}

TEST(ServerOptions, SayWhereTheFleetsMetricsAre) {
  EXPECT_EQ(Parsed({}).fleet_prometheus_url, "");
  const ServerOptions options = Parsed({"--fleet_prometheus_url=https://prometheus:9090/x",
                                        "--fleet_interval=1m", "--fleet_ca_file=/etc/ca.pem",
                                        "--fleet_token_file=/etc/token", "--fleet_tenant=team"});
  EXPECT_EQ(options.fleet_prometheus_url, "https://prometheus:9090/x");
  EXPECT_EQ(*FleetInterval(options.fleet_interval), absl::Minutes(1));
  EXPECT_EQ(PrometheusOptionsOf(options).ca_file, "/etc/ca.pem");
  EXPECT_EQ(PrometheusOptionsOf(options).token_file, "/etc/token");
  EXPECT_EQ(PrometheusOptionsOf(options).tenant, "team");
}

TEST(ServerOptions, RefuseAFleetThatMakesNoSense) {
  const auto refusal = [](const std::vector<const char*>& flags) {
    return std::string(Parse(flags).status().message());
  };
  const char* const url = "--fleet_prometheus_url=http://prometheus:9090";
  EXPECT_THAT(refusal({"--fleet_prometheus_url=prometheus:9090"}), HasSubstr("has no scheme"));
  EXPECT_THAT(refusal({"--fleet_tenant=team"}), HasSubstr("need --fleet_prometheus_url"));
  EXPECT_THAT(refusal({url, "--role=agent"}), HasSubstr("leave it out with --role=agent"));
  EXPECT_THAT(refusal({url, "--fleet_token_file=/etc/token"}), HasSubstr("in plain text"));
  EXPECT_THAT(Parse({url, "--fleet_token_file=/etc/token", "--insecure_allow_remote"}), IsOk());
  EXPECT_THAT(refusal({url, "--fleet_tenant=a\nb"}), HasSubstr("--fleet_tenant must have"));
  for (const char* interval :
       {"--fleet_interval=15", "--fleet_interval=0s", "--fleet_interval=999ms",
        "--fleet_interval=2h", "--fleet_interval=-1s", "--fleet_interval=inf"}) {
    EXPECT_THAT(refusal({url, interval}), HasSubstr("is not 1s to 1h")) << interval;
  }
}

TEST(ServerOptions, RefuseRemoteUnlessTold) {
  for (const char* flag : {"--listen=0.0.0.0:1", "--http_listen=0.0.0.0:1", "--listen=[::]:1",
                           "--listen=127.evil.example:1"}) {
    const auto refused = Parse({flag});
    ASSERT_FALSE(refused.ok()) << flag;
    EXPECT_THAT(std::string(refused.status().message()), HasSubstr("--insecure_allow_remote"));
    EXPECT_THAT(Parse({flag, "--insecure_allow_remote"}), IsOk()) << flag;
  }
}

TEST(ServerOptions, RefuseWhatTheyCannotRead) {
  const std::vector<std::string> wrong = absl::StrSplit(
      "--listen=nonsense --listen=127.0.0.1:70000 --listen=127.0.0.1:-1 --listen=:1 "
      "--http_listen=127.0.0.1 --http_listen=unix:/run/x --log_calls=some "
      "--drain_grace_seconds=-1 --drain_grace_seconds=nan --drain_announce_seconds=1e9 "
      "--search_niceness=-1 --search_niceness=20 --search_threads=0 --search_threads=x "
      "--probe_metrics=some --gpu_sampling=5 "
      "--gpu_sampling=99ms --gpu_sampling=2h --gpu_sampling=inf --gpu_sampling=-5s "
      "--gpu_sampling= --unknown=1 stray --log_level=some --http_host=http://a --http_host=a:1 "
      "--http_host=",
      ' ');
  for (const std::string& flag : wrong) EXPECT_FALSE(Parse({flag.c_str()}).ok()) << flag;
}

TEST(ServerOptions, HelpNamesEveryFlag) {
  ::testing::internal::CaptureStdout();
  const auto help = Parse({"--help"});
  const std::string text = ::testing::internal::GetCapturedStdout();
  ASSERT_THAT(help, IsOk());
  EXPECT_FALSE(help->has_value());
  for (const char* flag :
       {"--listen", "--http_listen", "--http_host", "--insecure_allow_remote", "--log_calls",
        "--log_level", "--search_niceness", "--search_threads", "--drain_announce_seconds",
        "--drain_grace_seconds", "--version", "--probe_program", "--probe_library_folder",
        "--calibration_directory", "--probe_metrics", "--gpu_sampling"}) {
    EXPECT_THAT(text, HasSubstr(flag));
  }
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
