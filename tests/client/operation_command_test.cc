// `sextant op` from its arguments to its exit code, against a fake server.
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "client/io/message_file.h"
#include "tests/client/fake_server.h"
#include "tests/client/sample_calibration.h"
#include "tests/client/sample_operation.h"
#include "tests/support/temporary_folder.h"

namespace sextant::client {
namespace {

using ::google::protobuf::util::MessageDifferencer;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

using Operations = Answering<v1::AnalyzeOperationRequest, v1::AnalyzeOperationResponse>;

template <typename Message>
Message ReadAnswer(const char* text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message)) << text;
  return message;
}

std::string FileText(const std::string& name) {
  std::ostringstream text;
  text << std::ifstream(name).rdbuf();
  return text.str();
}

struct RequestCase {
  std::vector<std::string> args;
  const char* request;
};

TEST(Op, AsksForWhatIsWritten) {
  const RequestCase cases[] = {
      {{"matmul", "2x3x4", "--dtype=bf16", "--output-dtype=fp16", "--accumulation-dtype=fp64"},
       "operation { matmul { m: 2 n: 3 k: 4 } } data_types { input: DATA_TYPE_BF16 "
       "output: DATA_TYPE_FP16 accumulation: DATA_TYPE_FP64 }"},
      {{"matmul", "2x3x4", "--dtype=fp8", "--scaling=block"},
       "operation { matmul { m: 2 n: 3 k: 4 } } data_types { input: DATA_TYPE_FP8 "
       "scaling: MATMUL_SCALING_BLOCK }"},
      {{"experts", "2x3x4", "--experts=8", "--experts-per-token=2", "--dtype=fp8",
        "--scaling=block"},
       "operation { experts { tokens: 2 hidden_size: 3 feed_forward_size: 4 expert_count: 8 "
       "experts_per_token: 2 } } data_types { input: DATA_TYPE_FP8 "
       "scaling: MATMUL_SCALING_BLOCK }"},
      {{"linear", "2x3x4", "--bias", "--dtype=fp32"},
       "operation { linear { rows: 2 input_size: 3 output_size: 4 bias: true } } "
       "data_types { input: DATA_TYPE_FP32 }"},
      {{"attention", "1x2x3x4", "--kv-heads=1", "--key-length=7", "--causal", "--window=5",
        "--convention=published", "--unfused", "--dtype=bf16", "--device=h100-sxm",
        "--launch-seconds=4e-6", "--method=classical", "--achieved=5ms"},
       "operation { attention { batch: 1 heads: 2 query_length: 3 head_size: 4 kv_heads: 1 "
       "key_length: 7 causal: true window: 5 convention: CAUSAL_CONVENTION_PUBLISHED "
       "unfused: true } } data_types { input: DATA_TYPE_BF16 } achieved_seconds: 0.005 "
       "device { device { accelerator: 'h100-sxm' } launch_seconds: 4e-6 "
       "method: ROOFLINE_METHOD_CLASSICAL }"},
      {{"elementwise", "4x8", "--function=general", "--inputs=3", "--flops-per-element=2.5",
        "--dtype=bf16", "--device=host", "--transcendental-flops=8", "--matrix-flops=1e12",
        "--general-flops=1e11", "--memory-bandwidth=1e10"},
       "operation { elementwise { count: 32 input_count: 3 flops_per_element: 2.5 "
       "function: ELEMENTWISE_FUNCTION_GENERAL } } data_types { input: DATA_TYPE_BF16 } "
       "transcendental_flops: 8 device { device { host_devices { devices: 'host' } } "
       "matrix_flops_per_second: 1e12 "
       "general_flops_per_second: 1e11 memory_bytes_per_second: 1e10 }"},
      {{"optimizer-update", "8B", "--rule=lion", "--master-weights", "--dtype=bf16"},
       "operation { optimizer_update { parameters: 8000000000 rule: UPDATE_RULE_LION "
       "master_weights: true } } data_types { input: DATA_TYPE_BF16 }"},
      {{"host-copy", "1GiB", "--pageable", "--link=25e9", "--staging=10e9"},
       "operation { host_copy { bytes: 1073741824 pageable: true link_bytes_per_second: 25e9 "
       "staging_bytes_per_second: 10e9 } }"},
      {{"host-copy", "1GiB", "--device=h100-sxm", "--node-type=dgx-h100",
        "--minimum-source=datasheet"},
       "operation { host_copy { bytes: 1073741824 node_type: 'dgx-h100' } } device { device { "
       "accelerator: 'h100-sxm' } rate_requirement { minimum_source: RATE_SOURCE_DATASHEET } }"},
      {{"fused-chain", "4x8", "exp", "add:1", "--dtype=bf16"},
       "operation { fused_chain { count: 32 steps { function: ELEMENTWISE_FUNCTION_EXP } "
       "steps { function: ELEMENTWISE_FUNCTION_ADD extra_input_count: 1 } } } "
       "data_types { input: DATA_TYPE_BF16 }"},
      {{"einsum", "b s h, b t h -> b s t", "2x3x4", "2x5x4", "--left-to-right", "--dtype=bf16"},
       "operation { einsum { expression: 'b s h, b t h -> b s t' operands { shape: [2, 3, 4] } "
       "operands { shape: [2, 5, 4] } left_to_right: true } } "
       "data_types { input: DATA_TYPE_BF16 }"},
      {{"reduction", "2x3", "--function=max", "--dtype=bf16"},
       "operation { reduction { outer: 2 reduced: 3 function: REDUCTION_FUNCTION_MAX } } "
       "data_types { input: DATA_TYPE_BF16 }"},
  };
  for (const RequestCase& c : cases) {
    Operations operations = {.response = SampleOperation()};
    const FakeServer server(AccountingHandlers{.analyze_operation = operations.handler()});
    std::vector<std::string> args = {"op"};
    args.insert(args.end(), c.args.begin(), c.args.end());
    args.insert(args.end(), {"--address", server.address()});
    const Ran ran = RunWith(args);
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    EXPECT_THAT(ran.out, StartsWith("matmul"));
    EXPECT_EQ(ran.err, "");
    EXPECT_TRUE(MessageDifferencer::Equals(operations.request,
                                           ReadAnswer<v1::AnalyzeOperationRequest>(c.request)))
        << operations.request.DebugString();
  }
}

TEST(Op, SendsACalibrationFromAFile) {
  const std::string file = TemporaryFile("op_calibration.json");
  ASSERT_TRUE(SaveCalibration(file, SampleCalibration()).ok());
  Operations operations = {.response = SampleOperation()};
  const FakeServer server(AccountingHandlers{.analyze_operation = operations.handler()});
  const std::vector<std::string> args = {
      "op", "softmax", "2x3", "--dtype=bf16", "--address", server.address(), "--calibration", file};
  EXPECT_EQ(RunWith(args).exit_code, 0);
  EXPECT_TRUE(MessageDifferencer::Equals(
      operations.request.device().device().calibrations().calibrations(0), SampleCalibration()));
  std::ofstream(file) << "{}, no calibration";
  const Ran wrong = RunWith(args);
  EXPECT_EQ(wrong.exit_code, 3);
  EXPECT_THAT(wrong.err, HasSubstr(absl::StrCat("(REQUEST_MALFORMED): ", file)));
  std::ofstream(file) << std::string(2 << 20, ' ');
  const Ran too_large = RunWith(args);
  EXPECT_EQ(too_large.exit_code, 3);
  EXPECT_THAT(too_large.err, HasSubstr("(REQUEST_TOO_LARGE): "));
}

TEST(Op, PrintsJsonThatReadsBackAsTheResponse) {
  Operations operations = {.response = SampleOperation()};
  const FakeServer server(AccountingHandlers{.analyze_operation = operations.handler()});
  const Ran ran = RunWith(
      {"op", "matmul", "2x3x4", "--dtype=bf16", "--output=json", "--address", server.address()});
  EXPECT_EQ(ran.exit_code, 0);
  v1::AnalyzeOperationResponse read;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(ran.out, &read).ok()) << ran.out;
  EXPECT_TRUE(MessageDifferencer::Equals(read, SampleOperation()));
}

std::vector<std::string> Drawing(const FakeServer& server, const std::string& flag) {
  return {"op",           "matmul", "2x3x4",     "--dtype=bf16",
          "--device=toy", flag,     "--address", server.address()};
}

TEST(Op, DrawsTheRoofline) {
  Operations operations = {.response = SampleOperation()};
  const FakeServer server(AccountingHandlers{.analyze_operation = operations.handler()});
  const Ran plain = RunWith(Drawing(server, "--timeout=60"));
  EXPECT_THAT(plain.out, Not(HasSubstr("Roofline of")));
  const Ran ran = RunWith(Drawing(server, "--plot"));
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("\nRoofline of matmul of a [1000, 2000]"));
  EXPECT_THAT(ran.out, HasSubstr("⠉"));  // not replaced as unprintable
}

TEST(Op, WritesTheRooflineAsSvgInPlaceOfWhatWasThere) {
  Operations operations = {.response = SampleOperation()};
  const FakeServer server(AccountingHandlers{.analyze_operation = operations.handler()});
  const std::string file = TemporaryFile("op.svg");
  std::ofstream(file) << "something longer than nothing";
  const Ran ran = RunWith(Drawing(server, absl::StrCat("--svg=", file)));
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.out, StartsWith("matmul m=2, n=3, k=4\n  arrays    a [1000, 2000] bf16"));
  EXPECT_THAT(FileText(file), StartsWith("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg "));
}

TEST(Op, SaysWhyNoSvgWasWritten) {
  Operations operations = {.response = SampleOperation()};
  const FakeServer server(AccountingHandlers{.analyze_operation = operations.handler()});
  for (const char* file : {"/nonexistent/x.svg", "/dev/full", "/"}) {
    const Ran ran = RunWith(Drawing(server, absl::StrCat("--svg=", file)));
    EXPECT_EQ(ran.exit_code, 2) << file;
    EXPECT_EQ(ran.out, "") << file;
    EXPECT_THAT(ran.err, HasSubstr(absl::StrCat("sextant: cannot write ", file))) << file;
  }
}

TEST(Op, DrawsNothingOfAnAnswerWithoutRates) {
  Operations operations = {.response = SampleWithoutDevice()};
  const FakeServer server(AccountingHandlers{.analyze_operation = operations.handler()});
  const std::string file = TemporaryFile("op_none.svg");
  const Ran ran = RunWith(Drawing(server, absl::StrCat("--svg=", file)));
  EXPECT_EQ(ran.exit_code, 6);
  EXPECT_THAT(ran.err, HasSubstr("there is no roofline"));
  EXPECT_FALSE(std::filesystem::exists(file));
}

TEST(Op, NamesTheArgumentAtFault) {
  Operations operations = {.status = FieldInvalid("operation.attention.kv_heads")};
  const FakeServer server(AccountingHandlers{.analyze_operation = operations.handler()});
  std::vector<std::string> args = {"op",           "attention", "1x2x3x4",
                                   "--dtype=bf16", "--address", server.address()};
  const Ran ran = RunWith(args);
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_EQ(ran.out, "");
  EXPECT_EQ(ran.err, "sextant: INVALID_ARGUMENT: correct 1 field\n  --kv-heads: is wrong\n");
  // Programs get the API's own path.
  args.push_back("--output=json");
  EXPECT_EQ(nlohmann::json::parse(RunWith(args).err).at("field_violations").at(0).at("field"),
            "operation.attention.kv_heads");
}

TEST(Op, TakesNoAnswerWithoutACost) {
  Operations operations;
  const FakeServer server(AccountingHandlers{.analyze_operation = operations.handler()});
  const Ran ran = RunWith({"op", "matmul", "2x3x4", "--dtype=bf16", "--address", server.address()});
  EXPECT_EQ(ran.exit_code, 6);
  EXPECT_EQ(ran.out, "");
}

TEST(Op, OfAnOlderServerSaysSo) {
  const FakeServer server(AccountingHandlers{});
  const Ran ran = RunWith({"op", "matmul", "2x3x4", "--dtype=bf16", "--address", server.address()});
  EXPECT_EQ(ran.exit_code, 6);
  EXPECT_THAT(ran.err, HasSubstr("an older sextantd"));
}

TEST(Op, PrintsNoControlCharacters) {
  Operations operations = {.response = SampleOperation()};
  operations.response.mutable_time()->mutable_advice()->set_text("go\x1b[2J");
  const FakeServer server(AccountingHandlers{.analyze_operation = operations.handler()});
  EXPECT_THAT(RunWith(Drawing(server, "--plot")).out, HasSubstr("go?[2J"));
}

}  // namespace
}  // namespace sextant::client
