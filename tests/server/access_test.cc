#include "server/security/access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "engine/base/reason.h"
#include "tests/support/temporary_folder.h"

namespace sextant::server {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kPlan[] = "sextant.v1.PlanningService/PlanRun";
constexpr char kProbe[] = "sextant.v1.HardwareService/RunProbe";
constexpr char kReport[] = "sextant.v1.TelemetryService/ReportProgress";
const absl::Time kNow = absl::FromUnixSeconds(1'800'000'000);  // in January 2027

std::string FileOf(const std::string& name, const std::string& text) {
  std::string path = TemporaryFile(name);
  std::ofstream(path + ".new") << text;
  EXPECT_EQ(std::rename((path + ".new").c_str(), path.c_str()), 0);
  return path;
}

std::unique_ptr<Access> AccessOf(const AccessOptions& options) {
  auto access = Access::Load(options);
  EXPECT_TRUE(access.ok()) << access.status();
  return *std::move(access);
}

Caller Remote(const std::string& name) { return {.certificate_name = name}; }

TEST(Access, LetsAllPlanAndThisHostProbe) {
  const auto access = AccessOf({});
  EXPECT_FALSE(access->Concerns(kPlan));
  EXPECT_TRUE(access->Admit(kPlan, {}, kNow).ok());
  EXPECT_TRUE(access->Admit(kProbe, {.is_on_this_host = true}, kNow).ok());
  const auto refused = access->Admit(kProbe, {}, kNow);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(ReasonOf(refused.status()), "IDENTITY_REFUSED");
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("--allow_remote_probe"));
  EXPECT_TRUE(AccessOf({.allows_remote_probe = true})->Admit(kProbe, {}, kNow).ok());
  const auto not_reported = AccessOf({.allows_remote_probe = true})->Admit(kReport, {}, kNow);
  EXPECT_THAT(std::string(not_reported.status().message()), HasSubstr("--allow_remote_reports"));
  EXPECT_TRUE(AccessOf({.allows_remote_reports = true})->Admit(kReport, {}, kNow).ok());
  EXPECT_TRUE(AccessOf({})->Admit(kReport, {.is_on_this_host = true}, kNow).ok());
}

TEST(Access, DemandsACertificateButNotOfUnixSockets) {
  const auto access = AccessOf({.demands_certificate = true});
  EXPECT_TRUE(access->Concerns(kPlan));
  EXPECT_EQ(*access->Admit(kPlan, Remote("spiffe://fleet/scheduler"), kNow),
            "spiffe://fleet/scheduler");
  const auto refused = access->Admit(kPlan, {.is_on_this_host = true}, kNow);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kUnauthenticated);
  EXPECT_EQ(ReasonOf(refused.status()), "IDENTITY_MISSING");
  EXPECT_TRUE(access->Admit(kProbe, {.is_by_unix_socket = true}, kNow).ok());
}

TEST(Access, TakesTokensUntilTheyExpire) {
  const auto access =
      AccessOf({.token_file = FileOf("tokens",
                                     "# name token expires\n"
                                     "slurm  0123456789abcdef  # no end\n"
                                     "k8s fedcba9876543210 2027-01-01T00:00:00Z\n"
                                     "ops 00112233445566778 2028-01-01T00:00:00Z\n")});
  const auto admit = [&](absl::string_view sent) {
    return access->Admit(kPlan, {.authorization = sent}, kNow);
  };
  EXPECT_EQ(*admit("Bearer 0123456789abcdef"), "slurm");
  EXPECT_EQ(*admit("Bearer 00112233445566778"), "ops");
  for (const auto& [sent, says] : std::vector<std::pair<absl::string_view, std::string>>{
           {"", "authorization: Bearer"},
           {"Basic 0123456789abcdef", "authorization: Bearer"},
           {"Bearer ", "not one"},
           {"Bearer 0123456789abcdeg", "not one"},
           {"Bearer fedcba9876543210", "has expired"}}) {
    const auto refused = admit(sent);
    EXPECT_EQ(refused.status().code(), absl::StatusCode::kUnauthenticated) << sent;
    EXPECT_THAT(std::string(refused.status().message()), HasSubstr(says)) << sent;
  }
}

TEST(Access, DemandsBothWhereBothAreAsked) {
  const auto access = AccessOf(
      {.demands_certificate = true, .token_file = FileOf("both", "slurm 0123456789abcdef\n")});
  Caller caller = {.certificate_name = "node1"};
  EXPECT_FALSE(access->Admit(kPlan, caller, kNow).ok());
  caller.authorization = "Bearer 0123456789abcdef";
  EXPECT_EQ(*access->Admit(kPlan, caller, kNow), "slurm");
  caller.certificate_name = "";
  EXPECT_FALSE(access->Admit(kPlan, caller, kNow).ok());
}

TEST(Access, FollowsTheFileOfRules) {
  const auto access = AccessOf({.demands_certificate = true,
                                .access_file = FileOf("rules",
                                                      "* scheduler dashboard\n"
                                                      "SizeCluster planner\n"
                                                      "RunProbe operator\n")});
  const auto admits = [&](const char* method, const char* name) {
    return access->Admit(method, Remote(name), kNow).ok();
  };
  EXPECT_TRUE(admits(kPlan, "scheduler"));
  EXPECT_FALSE(admits(kPlan, "operator"));
  EXPECT_FALSE(admits(kProbe, "scheduler"));
  EXPECT_TRUE(admits(kProbe, "operator"));
  EXPECT_TRUE(admits("sextant.v1.PlanningService/SizeCluster", "planner"));
  EXPECT_FALSE(admits("sextant.v1.PlanningService/SizeCluster", "scheduler"));
  EXPECT_TRUE(admits("/metrics", "dashboard"));
}

// "*" of methods does not open what is privileged, and "*" of names not what has no name.
TEST(Access, KeepsTheProbeFromAWildcard) {
  const auto access =
      AccessOf({.demands_certificate = true, .access_file = FileOf("all", "* *\n")});
  EXPECT_TRUE(access->Admit(kPlan, Remote("anyone"), kNow).ok());
  EXPECT_FALSE(access->Admit(kProbe, Remote("anyone"), kNow).ok());
}

TEST(Access, ReadsReplacedFilesAndKeepsTheLastGoodOne) {
  using File = WatchedFile<std::vector<Token>>;
  const std::string path = FileOf("replaced", "one 0123456789abcdef\n");
  const auto file = File::Load("--token_file", path, ParseTokens);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ((*file)->Latest()->front().name, "one");
  FileOf("replaced", "two 0123456789abcdef\n");
  while ((*file)->Latest()->front().name != "two") {
  }
  FileOf("replaced", "three short\n");
  FileOf("replaced", "four 0123456789abcdef\nfive fedcba9876543210\n");
  while ((*file)->Latest()->front().name == "two") {
  }
  EXPECT_EQ((*file)->Latest()->size(), 2u);
}

TEST(Access, NamesTheLineThatIsWrongAndNoToken) {
  for (const auto& [text, says] : std::vector<std::pair<std::string, std::string>>{
           {"name\n", "line 1: write NAME TOKEN"},
           {"\na 0123456789abcdef\nb short-secret\n", "line 3: a token has at least 16"},
           {"a 0123456789abcdef tomorrow\n", "line 1: EXPIRES"}}) {
    const auto wrong = Access::Load({.token_file = FileOf("wrong", text)});
    EXPECT_EQ(wrong.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(wrong.status().message()), HasSubstr("--token_file="));
    EXPECT_THAT(std::string(wrong.status().message()), HasSubstr(says));
    EXPECT_THAT(std::string(wrong.status().message()), Not(HasSubstr("secret")));
  }
  EXPECT_THAT(std::string(Access::Load({.token_file = "/no/such"}).status().message()),
              HasSubstr("No such file"));
  EXPECT_THAT(std::string(Access::Load({.token_file = "/"}).status().message()),
              HasSubstr("Is a directory"));
  EXPECT_THAT(
      std::string(Access::Load({.access_file = FileOf("rule", "PlanRun\n")}).status().message()),
      HasSubstr("line 1: write METHOD NAME..."));
}

}  // namespace
}  // namespace sextant::server
