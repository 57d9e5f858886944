// `sextant graph` from its arguments and its file to the exit code, against a fake server.
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "client/io/call_error.h"
#include "client/report/graph_text.h"
#include "tests/client/fake_server.h"
#include "tests/support/temporary_folder.h"

namespace sextant::client {
namespace {

using ::google::protobuf::util::MessageDifferencer;
using ::testing::HasSubstr;
using ::testing::Not;

template <typename Message>
Message ReadGraph(const char* text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message)) << text;
  return message;
}

constexpr char kGraph[] = R"({"data_type": "DATA_TYPE_BF16", "master_weights": true,
  "checkpointed_segments": ["first"],
  "tensors": [{"name": "x", "shape": [2, 3]}],
  "operations": [{"name": "y", "operation": {"softmax": {}}, "inputs": ["x"]}]})";

constexpr char kAnswer[] = R"(
tensors { name: "x" kind: GRAPH_TENSOR_KIND_INPUT shape: [2, 3] data_type: DATA_TYPE_BF16
          size_bytes: 12 }
tensors { name: "w" kind: GRAPH_TENSOR_KIND_PARAMETER shape: [3, 4] data_type: DATA_TYPE_BF16
          size_bytes: 24 has_gradient: true gradient_count: 1 }
tensors { name: "v" kind: GRAPH_TENSOR_KIND_MADE shape: 8 data_type: DATA_TYPE_BF16 size_bytes: 16
          view_of: "y" has_gradient: true gradient_count: 2 }
operations { name: "y" kind: "batched_matmul" forward { matrix_flops: 48 read_bytes: 36
             written_bytes: 16 } backward { matrix_flops: 96 } gradients: ["w", "x"] }
operations { name: "v" kind: "rearrange" forward {} note: "a view: of course" }
losses: "v"
totals {
  trainable_parameters: 12 frozen_parameters: 5 parameters_without_gradient: 2
  parameter_bytes: 34 gradient_bytes: 24 optimizer_bytes: 96
  optimizer { name: "state 1" size_bytes: 48 } optimizer { name: "state 2" size_bytes: 48 }
  forward { matrix_flops: 48 read_bytes: 36 written_bytes: 16 }
  backward { matrix_flops: 96 read_bytes: 72 } backward_input_flops: 40
  backward_parameter_flops: 56
  accumulation { other_flops: 8 } accumulation_count: 1
  update { other_flops: 144 }
}
memory {
  saved { storage { name: "x" kind: STORAGE_KIND_INPUT size_bytes: 12 }
          readers { operation: "y" reason: "dw reads it" } }
  saved_bytes: 12 peak_bytes: 180 peak_moment: "backward of y"
  at_peak { name: "x" kind: STORAGE_KIND_INPUT size_bytes: 12 }
  at_peak { name: "w" kind: STORAGE_KIND_PARAMETER size_bytes: 24 }
  at_peak { name: "state 1 of w" kind: STORAGE_KIND_OPTIMIZER_STATE size_bytes: 48 }
  at_peak { name: "state 2 of w" kind: STORAGE_KIND_OPTIMIZER_STATE size_bytes: 48 }
  at_peak { name: "mask" kind: STORAGE_KIND_STATISTIC size_bytes: 48 }
}
checkpointed_memory { saved_bytes: 4 peak_bytes: 170 peak_moment: "forward of y"
                      recompute { matrix_flops: 48 } recomputed_operations: 1 }
engine_version: "1.2.3"
)";

TEST(GraphText, SaysWhatAStepCosts) {
  const std::string text = GraphText(ReadGraph<v1::AnalyzeGraphResponse>(kAnswer));
  for (const char* line : {
           "graph of 2 operations, 3 tensors; gradients from v\n",
           "parameters  12 trained, 5 frozen (2 of them reached by no gradient), 34 bytes\n",
           "gradients   24 bytes\n",
           "optimizer   96 bytes: state 1 48 bytes, state 2 48 bytes\n",
           "forward     48 FLOP, 52 bytes moved\n",
           "backward    96 FLOP: 56 FLOP for parameters, 40 FLOP for what lies between; 72 bytes "
           "moved;\n              matrix products 2.00 x the forward pass's\n",
           "added up    1 gradients of tensors read more than once, 8 FLOP\n",
           "peak        180 bytes in the backward of y; 12 bytes saved for the backward pass\n",
           "recomputed  170 bytes in the forward of y; 4 bytes saved for the backward pass; 1 "
           "operations\n              again, 48 FLOP\n",
           "y          batched-matmul  48 FLOP   96 FLOP  w, x\n",
           "v          rearrange        0 FLOP         -  a view: of course\n",
           "v       view of y  [8]     bf16  16 bytes  2\n",
           "x      input  12 bytes  y: dw reads it\n",
           "At the peak without checkpointing: backward of y\n",
           "1 array   parameter         24 bytes\n",
           "2 arrays  optimizer state   96 bytes\n",
           "mask      statistic         48 bytes\n",
           "all                        180 bytes\n",
       }) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LT(line.size(), 100u) << line;
}

TEST(GraphText, LeavesOutWhatIsNotThere) {
  v1::AnalyzeGraphResponse response = ReadGraph<v1::AnalyzeGraphResponse>(kAnswer);
  response.clear_checkpointed_memory();
  response.mutable_totals()->clear_backward();
  response.mutable_totals()->clear_accumulation_count();
  const std::string text = GraphText(response);
  EXPECT_THAT(text, HasSubstr("backward    none: nothing asks for a gradient\n"));
  EXPECT_THAT(text, HasSubstr("\nAt the peak: backward of y\n"));
  EXPECT_THAT(text, Not(HasSubstr("added up")));
  EXPECT_THAT(text, Not(HasSubstr("recomputed")));
}

// A file of the test's own, and what the program says of it.
class GraphCommand : public ::testing::Test {
 protected:
  void SetUp() override { WriteFile(kGraph); }

  void WriteFile(const std::string& text) { std::ofstream(file_) << text; }

  int Run(std::vector<std::string> args) {
    const FakeServer server(AccountingHandlers{
        .analyze_graph = [this](grpc::ServerContext*, const v1::AnalyzeGraphRequest& request,
                                v1::AnalyzeGraphResponse* response) {
          request_ = request;
          *response = ReadGraph<v1::AnalyzeGraphResponse>(kAnswer);
          return grpc::Status::OK;
        }});
    args.insert(args.begin(), {absl::StrCat("--address=", server.address()), "graph"});
    out_.str("");
    err_.str("");
    return RunClient(args, {.in = in_, .out = out_, .err = err_, .now = absl::InfinitePast});
  }

  const std::string file_ = TemporaryFile("graph.json");
  v1::AnalyzeGraphRequest request_;
  std::istringstream in_;
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(GraphCommand, SendsTheFileAndWhatFlagsAdd) {
  ASSERT_EQ(Run({file_, "--checkpoint=second", "--optimizer=lion", "--dtype=fp32",
                 "--recompute=until-last-needed", "--master-weights=false", "--steps",
                 "--transcendental-flops=0"}),
            kExitFits)
      << err_.str();
  EXPECT_TRUE(MessageDifferencer::Equals(request_, ReadGraph<v1::AnalyzeGraphRequest>(R"(
    include_steps: true
    graph {
      data_type: DATA_TYPE_FP32 master_weights: false optimizer: UPDATE_RULE_LION
      recompute_extent: RECOMPUTE_EXTENT_UNTIL_LAST_NEEDED transcendental_flops: 0
      checkpointed_segments: ["first", "second"]
      tensors { name: "x" shape: [2, 3] }
      operations { name: "y" operation { softmax {} } inputs: "x" }
    })")))
      << request_.DebugString();
  EXPECT_THAT(out_.str(), HasSubstr("graph of 2 operations"));
}

TEST_F(GraphCommand, ReadsStandardInputAndAnswersInJson) {
  in_.str(kGraph);
  ASSERT_EQ(Run({"-", "--output=json"}), kExitFits) << err_.str();
  EXPECT_EQ(request_.graph().tensors_size(), 1);
  EXPECT_THAT(out_.str(), HasSubstr("\"trainable_parameters\": \"12\""));
}

TEST_F(GraphCommand, RefusesWhatIsNoGraph) {
  WriteFile(R"({"tensors": [{"nam": "x"}]})");
  EXPECT_EQ(Run({file_}), kExitBadRequest);
  EXPECT_THAT(err_.str(), HasSubstr("not a Graph in proto JSON"));
  EXPECT_THAT(err_.str(), HasSubstr("nam"));
  EXPECT_EQ(Run({"/nonexistent/graph.json"}), kExitUsage);
  EXPECT_EQ(Run({}), kExitUsage);
  WriteFile(std::string(2 << 20, ' '));
  EXPECT_EQ(Run({file_}), kExitBadRequest);
  EXPECT_THAT(err_.str(), HasSubstr("REQUEST_TOO_LARGE"));
}

}  // namespace
}  // namespace sextant::client
