// `sextant op` and `sextant graph`, against a fake server: files that they read and write, and
// their errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/io/call_error.h"
#include "tests/client/fake_server.h"

namespace sextant::client {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// What `sextant op` prints of an answer or error to a product of 2x3x4.
Ran OpAnswer(std::vector<std::string> args, const v1::AnalyzeOperationResponse& response,
             const grpc::Status& status = grpc::Status::OK) {
  Answering<v1::AnalyzeOperationRequest, v1::AnalyzeOperationResponse> operations;
  operations.response = response;
  operations.status = status;
  const FakeServer server(AccountingHandlers{.analyze_operation = operations.handler()});
  args.insert(args.begin(), "op");
  args.insert(args.end(), {"--dtype=bf16", "--address", server.address()});
  return RunWith(args);
}

// Of a device with a roofline: 1e12 FLOP/s and 1e10 byte/s.
v1::AnalyzeOperationResponse SampleOperation() {
  return FromText<v1::AnalyzeOperationResponse>(R"pb(
    name: "matmul"
    forward { sum { matrix_flops: 2e9 read_bytes: 8000000 arithmetic_intensity: 200 } }
    time {
      forward { arithmetic_intensity: 200 ridge_flops_per_byte: 100 total_seconds: 0.0025 }
      rates { quantity: "peak_flops_per_second" value: 1e12 unit: "FLOP/s" }
      rates { quantity: "memory_bandwidth_bytes_per_second" value: 1e10 unit: "byte/s" }
    }
  )pb");
}

TEST(Op, NamesTheCalibrationThatCantBeRead) {
  const std::string file = FileWith("op.json", "{}, no calibration");
  const Ran wrong = OpAnswer({"softmax", "2x3", "--calibration", file}, SampleOperation());
  EXPECT_EQ(wrong.exit_code, 3);
  EXPECT_THAT(wrong.err, HasSubstr(absl::StrCat("(REQUEST_MALFORMED): ", file)));
  const std::string large = FileWith("op_large.json", std::string(2 << 20, ' '));
  const Ran too_large = OpAnswer({"softmax", "2x3", "--calibration", large}, SampleOperation());
  EXPECT_EQ(too_large.exit_code, 3);
  EXPECT_THAT(too_large.err, HasSubstr("(REQUEST_TOO_LARGE): "));
}

Ran Drawn(const std::string& file, const v1::AnalyzeOperationResponse& answer) {
  return OpAnswer({"matmul", "2x3x4", "--device=toy", absl::StrCat("--svg=", file)}, answer);
}

TEST(Op, WritesTheRooflineAsSvgInPlaceOfWhatWasThere) {
  const std::string file = FileWith("op.svg", "something longer than nothing");
  const Ran ran = Drawn(file, SampleOperation());
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ContentOf(file), StartsWith("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg "));
}

TEST(Op, SaysWhyNoSvgWasWritten) {
  for (const char* file : {"/nonexistent/x.svg", "/dev/full", "/"}) {
    const Ran ran = Drawn(file, SampleOperation());
    EXPECT_EQ(ran.exit_code, 2) << file;
    EXPECT_EQ(ran.out, "") << file;
    EXPECT_THAT(ran.err, HasSubstr(absl::StrCat("sextant: cannot write ", file))) << file;
  }
}

TEST(Op, DrawsNothingOfAnAnswerWithoutRates) {
  v1::AnalyzeOperationResponse response = SampleOperation();
  response.clear_time();
  const std::string file = TemporaryFile("op_none.svg");
  const Ran ran = Drawn(file, response);
  EXPECT_EQ(ran.exit_code, 6);
  EXPECT_THAT(ran.err, HasSubstr("there is no roofline"));
  EXPECT_FALSE(std::filesystem::exists(file));
}

TEST(Op, NamesTheArgumentAtFault) {
  const grpc::Status status = FieldInvalid("operation.attention.kv_heads");
  const Ran ran = OpAnswer({"attention", "1x2x3x4"}, {}, status);
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_EQ(ran.out, "");
  EXPECT_EQ(ran.err, "sextant: INVALID_ARGUMENT: correct 1 field\n  --kv-heads: is wrong\n");
  // Programs get the API's own path.
  const Ran json = OpAnswer({"attention", "1x2x3x4", "--output=json"}, {}, status);
  EXPECT_EQ(nlohmann::json::parse(json.err).at("fieldViolations").at(0).at("field"),
            "operation.attention.kv_heads");
}

TEST(Op, TakesNoAnswerWithoutACost) {
  const Ran ran = OpAnswer({"matmul", "2x3x4"}, {});
  EXPECT_EQ(ran.exit_code, 6);
  EXPECT_EQ(ran.out, "");
}

TEST(Op, OfAnOlderServerSaysSo) {
  const Ran ran = OpAnswer({"matmul", "2x3x4"}, {}, {grpc::StatusCode::UNIMPLEMENTED, ""});
  EXPECT_EQ(ran.exit_code, 6);
  EXPECT_THAT(ran.err, HasSubstr("an older sextantd"));
}

TEST(GraphCommand, ReadsStandardInputAndAnswersInJson) {
  Answering<v1::AnalyzeGraphRequest, v1::AnalyzeGraphResponse> graphs;
  graphs.response.mutable_totals()->set_trainable_parameters(12);
  const FakeServer server(AccountingHandlers{.analyze_graph = graphs.handler()});
  for (const char* const text : {R"({"graph": {"tensors": [{"name": "x", "shape": [2, 3]}]}})",
                                 R"({"tensors": [{"name": "x", "shape": [2, 3]}]})"}) {
    const Ran ran = RunWith({"graph", "-", "--output=json", "--address", server.address()}, text);
    EXPECT_EQ(ran.exit_code, kExitFits) << ran.err;
    EXPECT_EQ(graphs.request.graph().tensors_size(), 1) << text;
    EXPECT_THAT(ran.out, HasSubstr("\"trainableParameters\": \"12\""));
  }
}

TEST(GraphCommand, RefusesWhatIsNoGraph) {
  const Ran wrong =
      RunWith({"graph", FileWith("graph.json", R"({"graph": {"tensors": [{"nam": "x"}]}})")});
  EXPECT_EQ(wrong.exit_code, kExitBadRequest);
  EXPECT_THAT(wrong.err, HasSubstr("not an AnalyzeGraphRequest in proto JSON"));
  EXPECT_THAT(wrong.err, HasSubstr("nam"));
  EXPECT_EQ(RunWith({"graph", "/nonexistent/graph.json"}).exit_code, kExitUsage);
  EXPECT_EQ(RunWith({"graph"}).exit_code, kExitUsage);
  const Ran large = RunWith({"graph", FileWith("graph_large.json", std::string(2 << 20, ' '))});
  EXPECT_EQ(large.exit_code, kExitBadRequest);
  EXPECT_THAT(large.err, HasSubstr("REQUEST_TOO_LARGE"));
}

}  // namespace
}  // namespace sextant::client
