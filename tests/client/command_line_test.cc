// Command lines that are handled without a server: usage errors and help.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "absl/strings/str_split.h"
#include "client/flags/operation_kinds.h"
#include "client/io/call.h"
#include "client/text/text.h"
#include "tests/client/fake_server.h"

namespace sextant::client {
namespace {

using ::testing::HasSubstr;

struct UsageCase {
  std::vector<std::string> args;
  const char* expect;  // in the message
};

TEST(Usage, IsRefusedWithWhatToWrite) {
  const UsageCase cases[] = {
      {{}, "A subcommand is required"},
      {{"plann"},
       "\"plann\" is not a command; near: plan; write one of plan, search, compare, size-cluster, "
       "size-model, allocate, memory, count, models, accelerators, devices, probe, "
       "calibration, rates, nodes, links, op, graph, tensor, tokens, dtype, version, completion"},
      {{"plan", "--token=1"}, "has no flag --token; near: --token-count, --tokens"},
      {{"plan", "gpt2", "llama"}, "llama"},
      {{"plan", "--tokens"}, "--token-count"},
      {{"plan", "--tokens="}, "--token-count"},
      {{"plan", "--tokens", ""}, "write a whole number such as"},
      {{"plan", "--devices=1.5"}, "\"1.5\" is not a whole number; write"},
      {{"plan", "--devices=NaN"}, "\"NaN\" is not a whole number"},
      {{"plan", "--tokens=1e19"}, "does not fit in 64 bits"},
      {{"plan", "--device-memory-bytes=80G"}, "80GiB (2^30 each) or 80GB"},
      {{"plan", "--mfu=40%"}, "\"40%\" is not a number"},
      {{"plan", "--view=all"}, "write one of basic, full"},
      {{"plan", "--search=best"}, "write one of none"},
      {{"plan", "--fits-chance=90%"}, "\"90%\" is not a number"},
      {{"plan", "--optimizer=adamx"}, "write one of sgd, sgd-momentum"},
      {{"plan", "--compute-data-type=unspecified"}, "write one of fp64, fp32"},
      {{"plan", "--master-weights=maybe"}, "write true or false"},
      {{"plan", "--derivation=maybe"}, "\"maybe\" is neither; write true or false"},
      {{"plan", "--transformer=/nonexistent/t.json"}, "cannot read \"/nonexistent/t.json\""},
      {{"plan", "--request=/nonexistent/r.json"}, "cannot read \"/nonexistent/r.json\""},
      {{"plan", "--request=/"}, "cannot read \"/\""},
      {{"plan", "--timeout=0"}, "\"0\" is not a timeout"},
      {{"plan", "--timeout=nan"}, "\"nan\" is not a timeout"},
      {{"plan", "--timeout=1e300"}, "up to 1e6"},
      {{"plan", "--output=yaml"}, "write one of text|json"},
      {{"plan", "--maximum-age=90"}, "\"90\" has no unit; write a time with its unit such as 90s"},
      {{"plan", "--maximum-age=1y"}, "ends in \"y\", which is not a unit here"},
      {{"plan", "--maximum-age=1e300d"}, "write at most 106751d"},
      {{"plan", "--minimum-source=best"}, "write one of measured-supplied, measured-device"},
      {{"plan", "--minimum-source=request"},
       "write one of measured-supplied, measured-device, measured-model, reference, datasheet\n"},
      {{"plan", "--calibration=/nonexistent/c.json"}, "cannot read \"/nonexistent/c.json\""},
      {{"plan", "--config=/"}, "cannot read \"/\""},
      {{"plan", "gpt2", "--device=host", "llama"}, "llama"},
      {{"plan", "--tp=two"}, "\"two\" is not a whole number"},
      {{"plan", "--zero=4"}, "write one of none, optimizer, gradients, parameters"},
      {{"plan", "--layers-per-chunk=8by7"}, "join sizes by x"},
      {{"memory", "--schedule=2f2b"}, "write one of one-forward-one-backward, gpipe"},
      {{"memory", "--frozen-data-type=bf16"}, "write one of int8, int4, fp4\n"},
      {{"memory", "--matmul-input-data-type=int8"},
       "write one of fp64, fp32, fp16, bf16, fp8, fp8-e4m3, fp8-e5m2\n"},
      {{"memory", "--sp"}, "--sequence-parallel"},
      {{"memory", "--context-bytes=1G"}, "write"},
      {{"memory", "--mfu=0.4"}, "--mfu"},  // nothing about time or money
      {{"memory", "--view=basic"}, "--view"},
      {{"memory", "--device-hour-price-usd=2"}, "--device-hour-price-usd"},
      {{"memory", "--minimum-source=datasheet"}, "--minimum-source"},
      {{"memory", "gpt2", "llama"}, "llama"},
      {{"memory", "--request=/nonexistent/r.json"}, "cannot read \"/nonexistent/r.json\""},
      {{"devices", "host"}, "host"},
      {{"calibration", "a", "b"}, "b"},
      {{"calibration", "--save"}, "--save"},
      {{"probe", "--mode=fast"}, "write one of quick|standard|full"},
      {{"probe", "--dtype=int8"}, "--dtype requires --matmul"},
      {{"probe", "--matmul=1x2x3", "--dtype=fp6"}, "write one of bf16|fp64|fp32"},
      {{"probe", "--matmul=1x2"}, "\"1x2\" is not three whole numbers; write MxNxK"},
      {{"probe", "--matmul=1x2x3", "4x5x6"}, "4x5x6"},
      {{"op"}, "A subcommand is required"},
      {{"op", "matmull", "1x2x3"},
       "\"matmull\" is not a command; near: matmul; write one of matmul, batched-matmul"},
      {{"op", "matmul"}, "MxNxK is required"},
      {{"op", "matmul", "1x2x3"}, "--dtype is required"},
      {{"op", "matmul", "1x2", "--dtype=bf16"}, "\"1x2\" is not MxNxK"},
      {{"op", "matmul", "1x2x3", "4x5x6", "--dtype=bf16"}, "4x5x6"},
      {{"op", "matmul", "1x2x3", "--dtype=bf17"}, "write one of fp64, fp32"},
      {{"op", "matmul", "1x2x3", "--dtype=bf16", "--kv-heads=2"}, "--kv-heads"},
      {{"op", "matmul", "1x2x3", "--dtype=bf16", "--achieved=5"}, "its unit such as 850ns"},
      {{"op", "matmul", "1x2x3", "--dtype=bf16", "--matrix-flops=fast"}, "is not a number"},
      {{"op", "matmul", "1x2x3", "--dtype=bf16", "--method=exact"}, "smooth, classical"},
      {{"op", "matmul", "1x2x3", "--dtype=bf16", "--calibration=/nonexistent/c.json"},
       "cannot read \"/nonexistent/c.json\""},
      {{"op", "matmul", "1x2x3", "--dtype=bf16", "--plot"}, "a roofline is drawn for a device"},
      {{"op", "matmul", "1x2x3", "--dtype=bf16", "--svg=x.svg"},
       "--matrix-flops and --memory-bandwidth"},
      {{"op", "matmul", "1x2x3", "--dtype=bf16", "--device=a10", "--calibration=/proc/self/status"},
       "give one of them"},
      {{"op", "einsum", "ab,bc->ac", "--dtype=bf16"}, "SHAPE is required"},
      {{"op", "einsum", "ab,bc->ac", "2x3", "3by4", "--dtype=bf16"}, "join sizes by x"},
      {{"op", "fused-chain", "64", "--dtype=bf16"}, "STEP is required"},
      {{"op", "fused-chain", "64", "exp", "expp", "--dtype=bf16"}, "\"expp\" is not a step"},
      {{"op", "host-copy", "1GiB", "--device=a10", "--launch-seconds=1"},
       "sextant op host-copy has no flag --launch-seconds"},
      {{"graph"}, "FILE is required"},
      {{"graph", "/nonexistent/g.json"}, "cannot read \"/nonexistent/g.json\""},
      {{"count"}, "give the model in one way: a preset's name, a config.json or --architecture"},
      {{"count", "gpt2", "--architecture=/proc/self/status"}, "give the model in one way"},
      {{"count", "gpt2", "llama"}, "llama"},
      {{"count", "/nonexistent/c.json"}, "cannot read \"/nonexistent/c.json\""},
      {{"count", "config.jsn.json"}, "cannot read \"config.jsn.json\""},
      {{"count", "--architecture=/"}, "cannot read \"/\""},
      {{"count", "gpt2", "--sequence=8y"},
       "\"8y\" is not [COUNTx]LENGTH[:ENCODER_LENGTH], such as"},
      {{"count", "gpt2", "--sequence=2x3x4"}, "such as 4096, 8x4096"},
      {{"count", "gpt2", "--sequence=4:5:6"}, "or 512:1024"},
      {{"count", "gpt2", "--sequence=x4"}, "write a whole number"},
      {{"count", "gpt2", "--sequence=4:"}, "write a whole number"},
      {{"count", "gpt2", "--sequence=4", "8"}, "8"},
      {{"count", "gpt2", "--recompute=all"}, "write one of none, selective, full"},
      {{"count", "gpt2", "--layers-per-chunk=8by7"}, "join sizes by x"},
      {{"count", "gpt2", "--tp=two"}, "\"two\" is not a whole number"},
      {{"count", "gpt2", "--conventions"}, "give --sequence=LENGTH, e.g. --sequence=4096"},
      {{"count", "gpt2", "--kaplan", "--recompute=full"}, "FLOPs depend on how long sequences are"},
      {{"count", "gpt2", "--recompute=full"}, "give --sequence=LENGTH"},
      {{"count", "gpt2", "--expert-capacity-factor=2"}, "give --sequence=LENGTH"},
      {{"tensor"}, "SHAPE is required"},
      {{"tensor", "4x8"}, "--data-type is required"},
      {{"tensor", "4by8", "--dtype=bf16"}, "join sizes by x: 4x8x64"},
      {{"tensor", "4x8", "--dtype=bf16", "--strides=scalar"}, "join sizes by x"},
      {{"tensor", "4x8", "transpose 0", "--dtype=bf16"},
       "STEP: \"transpose 0\": write transpose [AXIS AXIS]"},
      {{"tensor", "4x8", "transpose", "0", "1", "--dtype=bf16"}, "in the same quotes"},
      {{"tokens"}, "COUNT is required"},
      {{"tokens", "5"}, "give one of --vocabulary and --bytes-per-id"},
      {{"tokens", "5", "--vocabulary=7", "--bytes-per-id=2"}, "give one of --vocabulary"},
      {{"completion", "tcsh"}, "write one of bash|zsh|fish"},
      {{"completion"}, "SHELL"},
  };
  for (const UsageCase& c : cases) {
    const Ran ran = RunWith(c.args);
    const std::string args = ::testing::PrintToString(c.args);
    EXPECT_EQ(ran.exit_code, 2) << args;
    EXPECT_EQ(ran.out, "") << args;
    EXPECT_THAT(ran.err, HasSubstr(c.expect)) << args;
    EXPECT_THAT(ran.err, HasSubstr("--help")) << args;
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
    EXPECT_TRUE(json.at("field_violations").empty());
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
       {"",        "plan",   "search",      "allocate", "memory",  "count",     "accelerators",
        "devices", "probe",  "calibration", "rates",    "nodes",   "links",     "op",
        "graph",   "tensor", "tokens",      "dtype",    "version", "completion"}) {
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
