#include "gpu_probe/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/base/reason.h"
#include "engine/base/version.h"
#include "tests/gpu_probe/failure_matchers.h"

namespace sextant::probe {
namespace {

using ::testing::HasSubstr;

ProbeOptions Parsed(const std::vector<std::string>& args) {
  const auto parsed = ParseProbeOptions(args);
  EXPECT_THAT(parsed, IsOk());
  return parsed.ok() ? std::get<ProbeOptions>(*parsed) : ProbeOptions();
}

TEST(OptionsTest, Defaults) {
  const ProbeOptions options = Parsed({});
  EXPECT_EQ(options.backend, "auto");
  EXPECT_EQ(options.mode, v1::PROBE_MODE_STANDARD);
  EXPECT_EQ(options.budget_seconds, 0);
  EXPECT_EQ(options.format, "auto");
  EXPECT_FALSE(options.list);
  EXPECT_TRUE(options.matmuls.empty());
  EXPECT_EQ(options.memory_cap_bytes, 0);
  EXPECT_EQ(options.parent_pid, 0);
}

TEST(OptionsTest, EachOptionIsRead) {
  const ProbeOptions options =
      Parsed({"--backend=host", "--mode=full", "--budget=2m", "--format=json", "--matmul=16x32x8",
              "--matmul=1x2x3:int8", "--dtype=bf16", "--onednn_library=/opt/libdnnl.so",
              "--memory_cap", "2GiB", "--parent_pid=42", "--output=calibration.json"});
  EXPECT_EQ(options.backend, "host");
  EXPECT_EQ(options.mode, v1::PROBE_MODE_FULL);
  EXPECT_EQ(options.budget_seconds, 120);
  EXPECT_EQ(options.format, "json");
  EXPECT_EQ(options.onednn_library, "/opt/libdnnl.so");
  EXPECT_EQ(options.memory_cap_bytes, int64_t{2} << 30);
  EXPECT_EQ(options.parent_pid, 42);
  EXPECT_EQ(options.output, "calibration.json");
  ASSERT_EQ(options.matmuls.size(), 2u);
  EXPECT_EQ(options.matmuls[0].m(), 16);
  EXPECT_EQ(options.matmuls[0].n(), 32);
  EXPECT_EQ(options.matmuls[0].k(), 8);
  EXPECT_EQ(options.matmuls[0].data_type(), v1::DATA_TYPE_BF16);
  EXPECT_EQ(options.matmuls[1].data_type(), v1::DATA_TYPE_INT8) << "its own type goes first";
}

TEST(OptionsTest, AShapeWithoutATypeIsTheBackendsChoice) {
  EXPECT_EQ(Parsed({"--matmul=1x1x1"}).matmuls[0].data_type(), v1::DATA_TYPE_UNSPECIFIED);
}

TEST(OptionsTest, EachTypeThatSomeDeviceMultipliesInIsRead) {
  const std::pair<const char*, v1::DataType> types[] = {
      {"fp64", v1::DATA_TYPE_FP64},    {"fp32", v1::DATA_TYPE_FP32},
      {"tf32", v1::DATA_TYPE_TF32},    {"fp16", v1::DATA_TYPE_FP16},
      {"bf16", v1::DATA_TYPE_BF16},    {"int8", v1::DATA_TYPE_INT8},
      {"fp8", v1::DATA_TYPE_FP8_E4M3}, {"fp8_e4m3", v1::DATA_TYPE_FP8_E4M3},
      {"mxfp8", v1::DATA_TYPE_MXFP8},  {"nvfp4", v1::DATA_TYPE_NVFP4}};
  for (const auto& [name, type] : types) {
    EXPECT_EQ(Parsed({absl::StrCat("--matmul=1x1x1:", name)}).matmuls[0].data_type(), type) << name;
    EXPECT_EQ(Parsed({"--matmul=1x1x1", absl::StrCat("--dtype=", name)}).matmuls[0].data_type(),
              type)
        << name;
  }
}

TEST(OptionsTest, WrongCommandLinesAreSaidToBe) {
  struct Case {
    std::vector<std::string> args;
    const char* message;
  };
  const std::vector<std::string> many(17, "--matmul=1x1x1");
  for (const Case& c : std::vector<Case>{
           {{"--budget=0"}, "from 100ms to 1h"},
           {{"--backend=rocm"}, "rocm"},
           {{"--mode=thorough"}, "thorough"},
           {{"--mode=slow"}, "\"slow\" is not a mode; write one of quick, standard, full"},
           {{"--mode=1"}, "write one of quick, standard, full"},
           {{"--format=yaml"}, "yaml"},
           {{"--dtype=bf16"}, "--matmul"},
           {{"--matmul=1x1x1", "--dtype=fp6"}, "write fp64, fp32, tf32"},
           {{"--matmul=1x1x1:FP8"}, "not a type"},
           {{"--matmul=1x1"}, "MxNxK"},
           {{"--matmul="}, "\"--matmul=\" is followed by an empty value"},
           {{"--output=", "--mode=quick"}, "\"--output=\" is followed by an empty value"},
           {{"--output", "", "--mode=quick"}, "\"--output\" is followed by an empty value"},
           {{""}, "empty value"},
           {{"--memory_cap=some"}, "bytes"},
           {{"--parent_pid=0"}, "parent_pid"},
           {{"--parent_pid=-1"}, "parent_pid"},
           {{"--parent_pid=x"}, "parent_pid"},
           {{"--output=/dev/null"}, "not a regular file"},
           {{"--output=/nowhere/at/all"}, "/nowhere/at"},
           {{"--list", "--output=x"}, "measures nothing"},
           {{"--unknown"}, "--unknown"},
           {{"stray"}, "stray"},
           {{"--mode=quick", "check", "x"}, "check comes first"},
           {many, "more than 16"}}) {
    EXPECT_THAT(ParseProbeOptions(c.args),
                FailsSaying(absl::StatusCode::kInvalidArgument, c.message))
        << c.args.front();
  }
}

TEST(OptionsTest, HelpAndVersion) {
  const auto version = ParseProbeOptions({"--version"}).value();
  EXPECT_EQ(std::get<AskedText>(version).text,
            absl::StrCat("sextant-probe ", EngineVersion(), "\n"));
  const auto help = ParseProbeOptions({"--help"}).value();
  const std::string text = std::get<AskedText>(help).text;
  for (const char* option :
       {"--backend", "--mode", "--budget", "--matmul", "--dtype", "--list", "--format", "--output",
        "--onednn_library", "--memory_cap", "--parent_pid", "--version", "Exit codes:", "check"}) {
    EXPECT_THAT(text, HasSubstr(option));
  }
}

TEST(BudgetTest, IsRead) {
  EXPECT_EQ(*ParseBudgetSeconds("5"), 5);
  EXPECT_EQ(*ParseBudgetSeconds("5s"), 5);
  EXPECT_EQ(*ParseBudgetSeconds("0.5"), 0.5);
  EXPECT_EQ(*ParseBudgetSeconds("500ms"), 0.5);
  EXPECT_EQ(*ParseBudgetSeconds("2m"), 120);
  EXPECT_EQ(*ParseBudgetSeconds("1h"), 3600);
  EXPECT_EQ(*ParseBudgetSeconds("100ms"), 0.1);
  for (const char* bad : {"", "s", "-1s", "+1s", "0", "99ms", "3601", "61m", "1d", "nan", "inf",
                          "1e2", "0x10", "5 s", "5s ", "1.2.3", "1,5", "5S"}) {
    EXPECT_EQ(ParseBudgetSeconds(bad).status().code(), absl::StatusCode::kInvalidArgument) << bad;
  }
}

TEST(BudgetTest, DefaultsAndTheHardDeadline) {
  EXPECT_EQ(DefaultBudgetSeconds(v1::PROBE_MODE_QUICK, false), 2);
  EXPECT_EQ(DefaultBudgetSeconds(v1::PROBE_MODE_STANDARD, false), 5);
  EXPECT_EQ(DefaultBudgetSeconds(v1::PROBE_MODE_FULL, false), 30);
  EXPECT_EQ(DefaultBudgetSeconds(v1::PROBE_MODE_STANDARD, true), 125);
  EXPECT_EQ(HardDeadlineSeconds(5), 11);
}

TEST(AgeTest, IsRead) {
  EXPECT_EQ(*ParseAgeSeconds("7d"), 604800);
  EXPECT_EQ(*ParseAgeSeconds("1.5h"), 5400);
  EXPECT_EQ(*ParseAgeSeconds("30m"), 1800);
  EXPECT_EQ(*ParseAgeSeconds("90s"), 90);
  for (const char* bad : {"", "7", "d", "0d", "-1d", "3651d", "7 d", "7w", "nan", "1e2d"}) {
    EXPECT_EQ(ParseAgeSeconds(bad).status().code(), absl::StatusCode::kInvalidArgument) << bad;
  }
}

TEST(ByteCountTest, IsRead) {
  EXPECT_EQ(*ParseByteCount("1073741824"), 1073741824);
  EXPECT_EQ(*ParseByteCount("512MiB"), 512 << 20);
  EXPECT_EQ(*ParseByteCount("1.5GB"), 1500000000);
  EXPECT_EQ(*ParseByteCount("1.5KiB"), 1536);
  EXPECT_EQ(*ParseByteCount("2TB"), 2000000000000);
  EXPECT_EQ(*ParseByteCount("9007199254740992"), int64_t{1} << 53);
  for (const char* bad : {"", "0", "-1", "1.5", "0.1KiB", "GiB", "1gib", "1GiBs", "nan", "inf",
                          "9007199254740994", "100000000000000TB", "1e9"}) {
    EXPECT_EQ(ParseByteCount(bad).status().code(), absl::StatusCode::kInvalidArgument) << bad;
  }
}

TEST(MatmulShapeTest, SizesAreOneToAMillion) {
  const auto shape = ParseMatmulShape("1x1000000x7:fp32").value();
  EXPECT_EQ(shape.n(), 1000000);
  EXPECT_EQ(shape.data_type(), v1::DATA_TYPE_FP32);
  for (const char* bad :
       {"0x1x1", "1x1000001x1", "-1x1x1", "1x1x1x1", "axbxc", "1.5x1x1", "1x1x",
        "1x1x1:", "1x1x1:fp32:bf16", " 1x1x1", "1X1X1", "99999999999999999999x1x1"}) {
    EXPECT_EQ(ParseMatmulShape(bad).status().code(), absl::StatusCode::kInvalidArgument) << bad;
  }
}

TEST(ExitCodeTest, EachFailureHasItsOwn) {
  struct Case {
    absl::StatusCode code;
    v1::ProbeFailure::Kind kind;
    ExitCode exit_code;
    const char* reason;
  };
  for (const Case& c :
       {Case{absl::StatusCode::kInvalidArgument, v1::ProbeFailure::KIND_USAGE, kExitUsage, ""},
        {absl::StatusCode::kUnimplemented, v1::ProbeFailure::KIND_UNSUPPORTED, kExitUnsupported,
         ""},
        {absl::StatusCode::kNotFound, v1::ProbeFailure::KIND_UNSUPPORTED, kExitUnsupported, ""},
        {absl::StatusCode::kResourceExhausted, v1::ProbeFailure::KIND_REFUSED, kExitRefused,
         "memory"},
        {absl::StatusCode::kAborted, v1::ProbeFailure::KIND_REFUSED, kExitRefused, "locked"},
        {absl::StatusCode::kDataLoss, v1::ProbeFailure::KIND_MISMATCH, kExitMismatch, ""},
        {absl::StatusCode::kDeadlineExceeded, v1::ProbeFailure::KIND_DEADLINE, kExitDeadline, ""},
        {absl::StatusCode::kInternal, v1::ProbeFailure::KIND_INTERNAL, kExitInternal, ""},
        {absl::StatusCode::kCancelled, v1::ProbeFailure::KIND_INTERNAL, kExitInternal, ""}}) {
    const v1::ProbeFailure failure = FailureOf(absl::Status(c.code, "why"));
    EXPECT_EQ(failure.kind(), c.kind) << c.code;
    EXPECT_EQ(failure.message(), "why");
    EXPECT_EQ(failure.reason(), c.reason) << c.code;
    EXPECT_EQ(ExitCodeOf(failure.kind()), c.exit_code) << c.code;
  }
  EXPECT_EQ(
      FailureOf(WithMetadata(absl::ResourceExhaustedError("x"), "reason", "threads")).reason(),
      "threads");
  EXPECT_EQ(FailureOf(WithMetadata(absl::DataLossError("x"), "check", "matmul")).reason(),
            "matmul");
}

}  // namespace
}  // namespace sextant::probe
