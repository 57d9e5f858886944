// Graphs over gRPC.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/server/json_call.h"
#include "tests/support/source_folder.h"

namespace sextant::server {
namespace {

using ::nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

constexpr char kAnalyzeGraph[] = "AccountingService/AnalyzeGraph";

// x [4, 3] w [3, 5], squared, and again times w2 [5, 2].
constexpr char kGraph[] = R"json({
  "data_type": "DATA_TYPE_FP32",
  "tensors": [{"name": "x", "shape": [4, 3]},
              {"name": "w", "shape": [3, 5], "parameter": true},
              {"name": "w2", "shape": [5, 2], "parameter": true}],
  "operations": [
    {"name": "h", "operation": {"linear": {}}, "inputs": ["x", "w"], "segment": "first"},
    {"name": "s", "operation": {"elementwise": {"function": "ELEMENTWISE_FUNCTION_SQUARE"}},
     "inputs": ["h"], "segment": "first"},
    {"name": "t", "rearrange": {"expression": "r c -> (r c)"}, "inputs": ["h"],
     "segment": "first"},
    {"name": "product", "operation": {"linear": {}}, "inputs": ["s", "w2"], "output": "y"}]})json";

class GraphServiceTest : public ::testing::Test {
 protected:
  json Analyze(const json& graph, bool include_steps = false) const {
    return Ask(server_, kAnalyzeGraph, {{"graph", graph}, {"include_steps", include_steps}});
  }

  std::vector<std::string> FaultsOf(const json& graph) const {
    return Faults(server_, kAnalyzeGraph, {{"graph", graph}});
  }

  const TestServer server_;
  json graph_ = json::parse(kGraph);
};

TEST_F(GraphServiceTest, AnswersWhatAStepCosts) {
  const json answer = Analyze(graph_);
  const json& totals = answer["totals"];
  EXPECT_EQ(NumberAt(totals, "/trainable_parameters"), 15 + 10);
  EXPECT_EQ(NumberAt(totals, "/parameter_bytes"), 100);
  EXPECT_EQ(NumberAt(totals, "/optimizer_bytes"), 200);  // AdamW: two buffers
  EXPECT_EQ(NumberAt(totals, "/forward/matrix_flops"), 2 * (4 * 3 * 5 + 4 * 5 * 2));
  // The input needs no gradient: only dw of the first product, dx and dw of the second.
  EXPECT_EQ(NumberAt(totals, "/backward/matrix_flops"), 2 * (4 * 3 * 5) + 4 * (4 * 5 * 2));
  EXPECT_EQ(NumberAt(totals, "/accumulation_count"), 1);  // h is squared, and seen as t
  EXPECT_EQ(answer["losses"], json({"t", "y"}));
  EXPECT_EQ(answer["tensors"][3]["name"], "h");
  EXPECT_EQ(answer["tensors"][5]["view_of"], "h");
  EXPECT_EQ(answer["tensors"][6]["name"], "y");
  EXPECT_EQ(answer["operations"][2]["kind"], "rearrange");
  EXPECT_EQ(answer["operations"][0]["gradients"], json({"w"}));
  EXPECT_FALSE(answer["operations"][0].contains("forward_steps"));
  double at_peak = 0;
  for (const json& storage : answer["memory"]["at_peak"]) {
    at_peak += NumberAt(storage, "/size_bytes");
  }
  EXPECT_EQ(at_peak, NumberAt(answer, "/memory/peak_bytes"));
  EXPECT_FALSE(answer.contains("checkpointed_memory"));
  EXPECT_FALSE(answer["engine_version"].get<std::string>().empty());
}

TEST_F(GraphServiceTest, CheckpointsAndExplainsWhatItIsAskedTo) {
  graph_["checkpointed_segments"] = {"first"};
  graph_["optimizer"] = "UPDATE_RULE_SGD";
  const json answer = Analyze(graph_, true);
  EXPECT_EQ(NumberAt(answer, "/totals/optimizer_bytes"), 0);
  EXPECT_EQ(NumberAt(answer, "/checkpointed_memory/recomputed_operations"), 3);
  EXPECT_EQ(NumberAt(answer, "/checkpointed_memory/recompute/matrix_flops"), 2 * 4 * 3 * 5);
  EXPECT_EQ(answer["operations"][0]["forward_steps"]["steps"][0]["name"], "y = x w");
  EXPECT_EQ(answer["operations"][3]["backward_steps"]["saved"].size(), 2);
}

TEST_F(GraphServiceTest, NamesTheOperationAndItsInput) {
  graph_["tensors"][1]["shape"] = {4, 5};
  EXPECT_THAT(FaultsOf(graph_), ElementsAre(HasSubstr("graph.operations[0].inputs[1]: ")));
  graph_ = json::parse(kGraph);
  graph_["operations"][0]["operation"]["linear"]["input_size"] = 7;
  EXPECT_THAT(FaultsOf(graph_),
              ElementsAre(HasSubstr("graph.operations[0].operation.linear.input_size: is 7")));
  graph_ = json::parse(kGraph);
  graph_["operations"][2]["rearrange"]["expression"] = "r c -> (r d)";
  EXPECT_THAT(FaultsOf(graph_),
              ElementsAre(HasSubstr("graph.operations[2].rearrange.expression: column")));
  graph_ = json::parse(kGraph);
  graph_["operations"][3]["inputs"][0] = "ss";
  graph_["operations"][3]["output"] = "h";
  graph_["tensors"][0]["shape"] = {4, 0};
  graph_["losses"] = {"x"};
  EXPECT_THAT(FaultsOf(graph_),
              UnorderedElementsAre(HasSubstr("graph.operations[3].inputs[0]: tensor \"ss\""),
                                   HasSubstr("graph.operations[3].output: 'h' is made by"),
                                   HasSubstr("graph.tensors[0].shape[1]: must be at least 1"),
                                   HasSubstr("graph.losses[0]: ")));
}

TEST_F(GraphServiceTest, NamesWhatTheWireAloneCanGetWrong) {
  graph_["data_type"] = 99;
  graph_["optimizer"] = 77;
  graph_["recompute_extent"] = 5;
  graph_["operations"][0].erase("operation");
  graph_["operations"][1]["rearrange"] = {{"expression", "r c -> c r"}};
  graph_["operations"][3]["operation"]["matmul"] = json::object();
  EXPECT_THAT(
      FaultsOf(graph_),
      UnorderedElementsAre(
          HasSubstr("graph.data_type: is number 99"), HasSubstr("graph.optimizer: is number 77"),
          HasSubstr("graph.recompute_extent: is number 5"),
          HasSubstr("graph.operations[0]: is empty: give one of operation, rearrange"),
          HasSubstr("graph.operations[1]: has operation and rearrange"),
          HasSubstr("graph.operations[3].operation: has matmul and linear")));
  EXPECT_THAT(FaultsOf(json::object()), ElementsAre(HasSubstr("graph.operations: ")));
}

TEST_F(GraphServiceTest, ExplainsSmallGraphsOnly) {
  json chain = {{"data_type", 2}, {"tensors", {graph_["tensors"][0], graph_["tensors"][1]}}};
  chain["operations"] = json::array();
  for (int i = 0; i < 257; ++i) {
    chain["operations"].push_back({{"name", absl::StrCat("o", i)},
                                   {"operation", {{"softmax", json::object()}}},
                                   {"inputs", {i == 0 ? "x" : absl::StrCat("o", i - 1)}}});
  }
  EXPECT_EQ(Analyze(chain)["operations"].size(), 257);
  EXPECT_THAT(Faults(server_, kAnalyzeGraph, {{"graph", chain}, {"include_steps", true}}),
              ElementsAre(HasSubstr("include_steps: is for graphs of at most 256")));
}

}  // namespace
}  // namespace sextant::server
