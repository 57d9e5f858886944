#include "client/command/plan_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "client/flags/plan_flags.h"
#include "client/io/call_error.h"
#include "client/io/text_file.h"
#include "tests/client/fixture.h"

namespace sextant::client {
namespace {

using ::testing::HasSubstr;

struct Built {
  grpc::Status status;
  v1::PlanRunRequest request;
};

Built Build(const std::vector<std::string>& args, const std::string& input = "") {
  CLI::App app;
  PlanRequestFlags flags;
  CommandLine line;
  AddRunSources(&flags, &line, &app);
  AddRunFlags(&flags, &app);
  try {
    app.parse(std::vector<std::string>(args.rbegin(), args.rend()));  // as CLI11 wants them
  } catch (const CLI::Error& error) {
    ADD_FAILURE() << error.what();
    return {};
  }
  std::istringstream in(input);
  Built built;
  std::ostringstream out;
  std::ostringstream err;
  built.status =
      BuildPlanRequest(flags, line.server, {.in = in, .out = out, .err = err}, &built.request);
  return built;
}

void ExpectRequest(const std::vector<std::string>& args, const std::string& json,
                   const std::string& input = "") {
  const Built built = Build(args, input);
  ASSERT_TRUE(built.status.ok()) << built.status.error_message();
  ExpectSame(built.request, FromJson<v1::PlanRunRequest>(json));
}

TEST(BuildPlanRequest, SetsNothingThatWasNotGiven) { ExpectRequest({}, "{}"); }

constexpr char kFileJson[] = R"({"model": {"preset": "gpt2"},
    "cluster": {"device": {"accelerator": "a10"}, "device_count": 8},
    "options": {"include_derivation": true}})";

TEST(BuildPlanRequest, FlagsOverrideTheFileFieldByField) {
  const std::string file = FileWith("request.json", kFileJson);
  ExpectRequest({absl::StrCat("--request=", file), "--devices=16", "--derivation=false"},
                R"({"model": {"preset": "gpt2"},
                    "cluster": {"device": {"accelerator": "a10"}, "device_count": 16},
                    "options": {}})");
}

// Beside the file's preset, the flag would make two models of one.
TEST(BuildPlanRequest, AModelFlagReplacesTheFilesModel) {
  ExpectRequest({"--request=-", "--parameters=70B"},
                R"({"model": {"parameter_count": 70000000000},
                    "cluster": {"device": {"accelerator": "a10"}, "device_count": 8},
                    "options": {"include_derivation": true}})",
                kFileJson);
}

TEST(BuildPlanRequest, AChangeKeepsTheFilesModel) {
  const char* json = R"({"model": {"preset": "gpt2", "changes": {"vocabulary_multiple": 128,
      "adapters": {"rank": 4, "targets": ["output_head"]}, "frozen_components": ["norm"]}}})";
  ExpectRequest({"--request=-", "--lora-rank=8", "--freeze=bias"},
                R"({"model": {"preset": "gpt2", "changes": {"vocabulary_multiple": 128,
                    "adapters": {"rank": 8, "targets": ["output_head"]},
                    "frozen_components": ["bias"]}}})",
                json);
  ExpectRequest({"--request=-", "--lora-targets=attention.key"},
                R"({"model": {"preset": "gpt2", "changes": {"vocabulary_multiple": 128,
                    "adapters": {"rank": 4, "targets": ["attention.key"]},
                    "frozen_components": ["norm"]}}})",
                json);
  ExpectRequest({"--request=-", "--freeze-layers=2", "llama-3.1-8b"},
                R"({"model": {"preset": "llama-3.1-8b", "changes": {"frozen_layer_count": 2}}})",
                json);
}

TEST(BuildPlanRequest, AdaptsQueriesAndValuesWhereARankAloneIsGiven) {
  ExpectRequest({"--lora-rank=8"}, R"({"model": {"changes": {"adapters": {"rank": 8,
                    "targets": ["attention.query", "attention.value"]}}}})");
  // Missing fields of a file are reported by the server.
  const char* json = R"({"model": {"changes": {"adapters": {"rank": 4}}}})";
  ExpectRequest({"--request=-"}, json, json);
}

TEST(BuildPlanRequest, ReadsAnArchitectureFromItsFile) {
  const std::string file = FileWith("architecture.json", R"({"hidden_size": 4, "encoder": {}})");
  ExpectRequest({absl::StrCat("--architecture=", file)},
                R"({"model": {"architecture": {"hidden_size": 4, "encoder": {}}}})");
  const std::string wrong = FileWith("not_architecture.json", R"({"hidden_width": 4})");
  const CallError error = CallErrorOf(Build({absl::StrCat("--architecture=", wrong)}).status);
  EXPECT_EQ(error.reason, "REQUEST_MALFORMED");
  EXPECT_THAT(error.message, HasSubstr(wrong));
  EXPECT_THAT(error.message, HasSubstr("hidden_width"));
}

// Likewise with devices, however the file names them.
TEST(BuildPlanRequest, ADeviceFlagReplacesTheFilesDevices) {
  const char* json[] = {R"({"cluster": {"device": {"accelerator": "a10"}, "device_count": 8}})",
                        R"({"cluster": {"device": {"host_devices": {"devices": ["GPU-1", "GPU-2"]}},
                             "device_count": 8}})",
                        R"({"cluster": {"device": {"calibrations": {"calibrations": [{}]}},
                             "device_count": 8}})"};
  for (const char* file : json) {
    ExpectRequest({"--request=-", "--device=host"},
                  R"({"cluster": {"device": {"host_devices": {"devices": ["host"]}},
                                "device_count": 8}})",
                  file);
    ExpectRequest({"--request=-", "--accelerator=l4"},
                  R"({"cluster": {"device": {"accelerator": "l4"}, "device_count": 8}})", file);
    ExpectRequest({"--request=-", "--fleet=l4", "--hosts=a,b", "--hosts=c"},
                  R"({"cluster": {"device": {"fleet": {"accelerator": "l4",
                      "hostnames": ["a", "b", "c"]}}, "device_count": 8}})",
                  file);
  }
}

// The request holds one way alone, and would keep the last in silence.
TEST(BuildPlanRequest, RefusesDevicesNamedInTwoWays) {
  const std::string file = FileWith("one.json", R"({"device": {"uuid": "CPU-1"}})");
  const std::vector<std::string> cases[] = {
      {"--accelerator=a10", "--device=host"},
      {"--device=host", "--accelerator=a10"},
      {"--accelerator=a10", absl::StrCat("--calibration=", file)},
      {"--device=host", absl::StrCat("--calibration=", file)},
      {"--fleet=h100-sxm", "--hosts=a", "--accelerator=h100-sxm"}};
  for (const std::vector<std::string>& args : cases) {
    const CallError error = CallErrorOf(Build(args).status);
    EXPECT_EQ(error.reason, "USAGE");
    EXPECT_THAT(error.message, HasSubstr("--accelerator, --device, --calibration and --fleet"));
  }
}

TEST(BuildPlanRequest, NamesTheFileThatIsNoCalibration) {
  for (const char* text : {"", "[]", "{\"devise\": {}}", "{\"calibration\": 5}",
                           "{\"calibration\": {\"mode\": \"PROBE_MODE_FAST\"}}"}) {
    const std::string file = FileWith("not_calibration.json", text);
    const CallError error = CallErrorOf(Build({absl::StrCat("--calibration=", file)}).status);
    EXPECT_EQ(error.reason, "REQUEST_MALFORMED") << text;
    EXPECT_THAT(error.message, HasSubstr(absl::StrCat(file, ": not a sextant.v1.Calibration")));
  }
}

TEST(BuildPlanRequest, NamesTheConfigThatHoldsNoText) {
  for (const auto& [text, says] : {std::pair("", "holds no text"),
                                   {" \t\r\n\n", "holds no text"},
                                   {"{\"model_type\": \"\xff\xfe\"}", "not UTF-8"},
                                   {"\xff\xfe{", "not UTF-8"}}) {
    const std::string file = FileWith("no_config.json", text);
    const CallError error = CallErrorOf(Build({absl::StrCat("--config=", file)}).status);
    EXPECT_EQ(error.code, grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(error.reason, "REQUEST_MALFORMED");
    EXPECT_THAT(error.message, HasSubstr(absl::StrCat("--config=", file, ": the file")));
    EXPECT_THAT(error.message, HasSubstr(says));
  }
  const std::string accents = FileWith("accents.json", "{\"\xC3\xA9\": 1}");
  EXPECT_TRUE(Build({absl::StrCat("--config=", accents)}).status.ok());
}

TEST(BuildPlanRequest, SendsAConfigOf64KibAndNoMore) {
  const std::string fits = FileWith("fits.json", std::string(64 * 1024, 'x'));
  EXPECT_TRUE(Build({absl::StrCat("--config=", fits)}).status.ok());
  const std::string large = FileWith("large.json", std::string(64 * 1024 + 1, ' '));
  const CallError error = CallErrorOf(Build({absl::StrCat("--config=", large)}).status);
  EXPECT_EQ(error.reason, "REQUEST_TOO_LARGE");
  EXPECT_THAT(error.message, HasSubstr("64 KiB (65536 bytes)"));
}

TEST(BuildPlanRequest, ReadsStandardInput) {
  ExpectRequest({"--request", "-"}, kFileJson, kFileJson);
}

TEST(BuildPlanRequest, RefusesWhatIsNoRequest) {
  for (const char* json : {"", "{", "[]", R"({"modell": {}})", R"({"cluster": 5})"}) {
    const CallError error = CallErrorOf(Build({"--request=-"}, json).status);
    EXPECT_EQ(error.code, grpc::StatusCode::INVALID_ARGUMENT) << json;
    EXPECT_EQ(error.reason, "REQUEST_MALFORMED") << json;
    EXPECT_THAT(error.message, HasSubstr("standard input: not a PlanRunRequest")) << json;
  }
}

TEST(BuildPlanRequest, NamesTheFileThatIsNoTransformer) {
  const std::string file = FileWith("not_transformer.json", R"({"layers": 2})");
  const CallError error = CallErrorOf(Build({absl::StrCat("--transformer=", file)}).status);
  EXPECT_EQ(error.reason, "REQUEST_MALFORMED");
  EXPECT_THAT(error.message, HasSubstr(file));
  EXPECT_THAT(error.message, HasSubstr("layers"));
}

TEST(BuildPlanRequest, ReadsAMebibyteAndNoMore) {
  const std::string blanks(kMaxRequestBytes - 2, ' ');
  EXPECT_TRUE(Build({"--request=-"}, absl::StrCat("{", blanks, "}")).status.ok());
  const CallError error =
      CallErrorOf(Build({"--request=-"}, absl::StrCat("{", blanks, " }")).status);
  EXPECT_EQ(error.reason, "REQUEST_TOO_LARGE");
  EXPECT_THAT(error.message, HasSubstr("1 MiB (1048576 bytes)"));
  EXPECT_EQ(ExitCodeOf(error), kExitBadRequest);
}

}  // namespace
}  // namespace sextant::client
