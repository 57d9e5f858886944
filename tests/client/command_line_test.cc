// Command lines that are handled without a server: usage errors and help.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/flags/operation_arguments.h"
#include "client/io/call.h"
#include "client/text/text.h"
#include "tests/client/fake_server.h"

namespace sextant::client {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST(Usage, IsRefusedWithWhatToWrite) {
  for (const nlohmann::json& c : CasesOf("usage")) {
    const Ran ran = RunWith(c.at("args").get<std::vector<std::string>>());
    const std::string args = c.at("args").dump();
    EXPECT_EQ(ran.exit_code, 2) << args;
    EXPECT_EQ(ran.out, "") << args;
    for (const nlohmann::json& words : c.at("says")) {
      EXPECT_THAT(ran.err, HasSubstr(words.get<std::string>())) << args;
    }
    EXPECT_THAT(ran.err, HasSubstr("--help")) << args;
  }
}

TEST(Usage, NamesTheFlagThatWasTyped) {
  for (const std::string flag : {"--device-count", "--devices", "--gpus", "--num-gpus"}) {
    EXPECT_THAT(RunWith({"plan", flag + "=x"}).err, StartsWith("sextant: " + flag + ": \"x\" is"));
  }
  for (const std::string flag : {"--input-count", "--inputs"}) {
    EXPECT_THAT(RunWith({"op", "elementwise", "4", "--dtype=fp32", flag + "=x"}).err,
                StartsWith("sextant: " + flag + ": \"x\" is"));
  }
}

// gRPC would end the program over such a token, and log it.
TEST(Usage, RefusesATokenThatIsNone) {
  for (const char* token : {"", "\n", "secret\nsecret", "secret\r\nsecret\r\n", "secret secret",
                            "secret\xc3\xa9", "secret\x7f", "secret\x01"}) {
    const std::string file = FileWith("token", token);
    const Ran ran = RunWith({"models", "--token-file", file});
    EXPECT_EQ(ran.exit_code, 2) << token;
    EXPECT_EQ(ran.out, "") << token;
    EXPECT_THAT(ran.err, StartsWith(absl::StrCat("sextant: --token-file: ", file, " holds ")))
        << token;
    EXPECT_THAT(ran.err, Not(HasSubstr("secret"))) << token;
    EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << token;
  }
}

TEST(Usage, AllowsSixteenShapes) {
  std::vector<std::string> args = {"probe", "--address=unix:/nonexistent/sextant.sock"};
  for (int i = 0; i < 16; ++i) args.push_back("--matmul=1x2x3");
  EXPECT_EQ(RunWith(args).exit_code, 4);  // it got as far as the server that is not there
  args.push_back("--matmul=1x2x3");
  const Ran ran = RunWith(args);
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.err, HasSubstr("17 shapes; write at most 16"));
}

// The request that a command line makes, in JSON.
nlohmann::json RequestOf(std::vector<std::string> args) {
  args.emplace_back("--print-request");
  const Ran ran = RunWith(args);
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  return nlohmann::json::parse(ran.out);
}

TEST(Flags, TheLastOfOneCounts) {
  const std::string config = FileWith("config.json", "{}");
  const auto plan = RequestOf({"plan", "toy", "--devices=8", "--gbs=1", "--device-count=16",
                               "--global-batch-size=2", "--derivation", "--derivation=false",
                               "--ledger=false", "--ledger", "--search=none", "--search=bounded",
                               "--restart-duration=1m", "--restart-duration=2m"});
  EXPECT_EQ(plan["cluster"]["deviceCount"], "16");
  EXPECT_EQ(plan["layout"]["globalBatchSize"], "2");
  EXPECT_FALSE(plan["options"].contains("includeDerivation"));
  EXPECT_EQ(plan["options"]["includeLedger"], true);
  EXPECT_EQ(plan["options"]["search"], "LAYOUT_SEARCH_BOUNDED");
  EXPECT_EQ(plan["interruptions"]["restartDuration"], "120s");
  EXPECT_EQ(RequestOf({"plan", config, "--model=toy"})["model"],
            nlohmann::json({{"preset", "toy"}}));
  EXPECT_EQ(RequestOf({"plan", "toy", "--model", config})["model"],
            nlohmann::json({{"huggingFaceConfig", "{}"}}));
  EXPECT_EQ(RequestOf({"tokens", "5", "--vocabulary=7", "--vocabulary=9"})["vocabularySize"], "9");
  EXPECT_EQ(RequestOf({"op", "matmul", "1x2x3", "--dtype=fp32", "--dtype=bf16", "--device=a10",
                       "--device=host"})["device"]["device"],
            nlohmann::json::parse(R"({"hostDevices": {"devices": ["host"]}})"));
}

TEST(Flags, GpusAreANumberOfDevices) {
  EXPECT_EQ(RequestOf({"plan", "toy", "--gpus=8"})["cluster"],
            nlohmann::json({{"deviceCount", "8"}}));
  EXPECT_EQ(RequestOf({"plan", "toy", "--gpu-uuids=GPU-1"})["cluster"]["device"]["fleet"],
            nlohmann::json::parse(R"({"gpuUuids": ["GPU-1"]})"));
  EXPECT_EQ(RunWith({"plan", "toy", "--gpus=GPU-1"}).exit_code, 2);
}

TEST(Flags, OfAListCountAll) {
  const auto plan =
      RequestOf({"plan", "toy", "--freeze=a", "--device=x", "--freeze=b,c", "--device=y"});
  EXPECT_EQ(plan["model"]["changes"]["frozenComponents"], nlohmann::json({"a", "b", "c"}));
  EXPECT_EQ(plan["cluster"]["device"]["hostDevices"]["devices"], nlohmann::json({"x", "y"}));
  EXPECT_EQ(RequestOf({"count", "toy", "--sequence=1", "--sequence=2"})["step"]["sequences"].size(),
            2u);
}

// As of a shell's <(...): what is looked at before it is read would be lost.
TEST(Files, MayBePipes) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const std::string text = R"({"training": {"tokenCount": "7"}})";
  ASSERT_EQ(write(ends[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  close(ends[1]);
  const auto plan = RequestOf({"plan", absl::StrCat("--request=/dev/fd/", ends[0])});
  close(ends[0]);
  EXPECT_EQ(plan["training"]["tokenCount"], "7");
}

TEST(Usage, TakesAGraphFromStandardInput) {
  const std::vector<std::string> args = {"graph", "-", "--address=unix:/nonexistent/sextant.sock"};
  EXPECT_EQ(RunWith(args, "{}").exit_code, 4);  // it got as far as the server that is not there
  EXPECT_EQ(RunWith(args, "no graph").exit_code, 3);
}

TEST(Usage, IsJsonForPrograms) {
  for (const std::vector<std::string>& args :
       {std::vector<std::string>{"--output=json", "plan", "--devices=x"},
        std::vector<std::string>{"plan", "--devices=x", "--output", "json"}}) {
    const Ran ran = RunWith(args);
    EXPECT_EQ(ran.exit_code, 2);
    const auto json = nlohmann::json::parse(ran.err);
    EXPECT_EQ(json.at("code"), "INVALID_ARGUMENT");
    EXPECT_EQ(json.at("reason"), "USAGE");
    EXPECT_TRUE(json.at("fieldViolations").empty());
  }
}

TEST(Usage, HasNoPlotForPrograms) {
  const Ran ran =
      RunWith({"op", "matmul", "1x2x3", "--dtype=bf16", "--device=a10", "--plot", "--output=json"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_EQ(nlohmann::json::parse(ran.err).at("message"),
            "--plot is for people: leave out --output=json, or use --svg=FILE");
}

// Too many for its line: the error for another value lists all of them.
TEST(Help, OffersTheSourcesThatCanBeRequired) {
  EXPECT_THAT(RunWith({"plan", "--help"}).out, HasSubstr("--minimum-source,"));
  EXPECT_THAT(RunWith({"plan", "--minimum-source=any"}).err,
              HasSubstr("measured-supplied, measured-device, measured-model, reference, "
                        "datasheet"));
}

TEST(Help, OffersTheDataTypesThatRunsComputeAndStoreIn) {
  const std::string help = RunWith({"plan", "--help"}).out;
  EXPECT_THAT(help, HasSubstr("--compute-data-type fp64|fp32|tf32|fp16|bf16|fp8|fp6|fp4|fp8-e4m3|"
                              "fp8-e5m2|mxfp8|mxfp4|nvfp4\n"));
  EXPECT_THAT(help, HasSubstr("--weight-data-type fp64|fp32|fp16|bf16|fp8|fp8-e4m3|fp8-e5m2\n"));
}

TEST(Help, SaysWhatAVerdictStandsOn) {
  for (const char* command : {"plan", "memory"}) {
    const std::string help = RunWith({command, "--help"}).out;
    EXPECT_THAT(help, HasSubstr("it fits from this chance on; default: 0.9"));
    EXPECT_THAT(help, HasSubstr("it does not fit below this chance; default: 0.1"));
    EXPECT_THAT(help, HasSubstr("--require-activations"));
  }
  EXPECT_THAT(RunWith({"plan", "--help"}).out, HasSubstr("--view basic|full"));
  EXPECT_THAT(RunWith({"plan", "--help"}).out, HasSubstr("--search none"));
}

// Too many for the line of its flag.
TEST(Help, NamesTheConventionsOfFlops) {
  const std::string help = RunWith({"plan", "--help"}).out;
  for (const std::string& name : EnumNames(*v1::FlopsConvention_descriptor())) {
    EXPECT_THAT(help, HasSubstr(name));
  }
}

TEST(Help, HasExamplesExitCodesAndAtMost99Columns) {
  for (const char* command :
       {"",      "plan",         "search",    "allocate", "memory",      "admit",
        "count", "accelerators", "devices",   "probe",    "calibration", "rates",
        "nodes", "links",        "op",        "graph",    "tensor",      "tokens",
        "dtype", "version",      "completion"}) {
    std::vector<std::string> args = {"--help"};
    if (*command != '\0') args.insert(args.begin(), command);
    const Ran ran = RunWith(args);
    EXPECT_EQ(ran.exit_code, 0) << command;
    EXPECT_THAT(ran.out, HasSubstr("Examples:")) << command;
    EXPECT_THAT(ran.out, HasSubstr(absl::StrCat("sextant ", command))) << command;
    for (const std::string& line : std::vector<std::string>(absl::StrSplit(ran.out, '\n'))) {
      EXPECT_LE(line.size(), kTextWidth) << line;
    }
  }
  EXPECT_THAT(RunWith({"--help"}).out, HasSubstr("1  it does not fit"));
  EXPECT_THAT(RunWith({"--help"}).out, HasSubstr("8  model state fits (plan, memory)"));
  EXPECT_THAT(RunWith({"--help"}).out, HasSubstr("130  interrupted (Ctrl-C)"));
  EXPECT_THAT(RunWith({"plan", "--help"}).out, HasSubstr("fp64|fp32|tf32|fp16|bf16"));
}

TEST(Help, OfEachKindOfOperationHasItsExample) {
  for (const OperationKind& kind : OperationKinds()) {
    const Ran ran = RunWith({"op", kind.name, "--help"});
    EXPECT_EQ(ran.exit_code, 0) << kind.name;
    EXPECT_THAT(ran.out, HasSubstr(absl::StrCat("sextant op ", kind.name, " ", kind.example)));
    EXPECT_THAT(ran.out, HasSubstr(kind.sizes_help));
    for (const std::string& line : std::vector<std::string>(absl::StrSplit(ran.out, '\n'))) {
      EXPECT_LE(line.size(), kTextWidth) << line;
    }
  }
}

TEST(VersionFlag, PrintsTheClientsVersion) {
  const Ran ran = RunWith({"--version"});
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_EQ(ran.out, absl::StrCat("sextant ", ClientVersion(), "\n"));
}

}  // namespace
}  // namespace sextant::client
