// Operations, and graphs of them, over gRPC; refusals.jsonl has what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/server/json_call.h"
#include "tests/server/sample_calibration.h"
#include "tests/server/wire_values.h"

namespace sextant::server {
namespace {

using ::nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kAnalyzeOperation[] = "AccountingService/AnalyzeOperation";
// `operation` in bf16, with the members of `more`.
json Request(const char* operation, const json& more = json::object()) {
  json request = {{"operation", json::parse(operation)},
                  {"data_types", {{"input", "DATA_TYPE_BF16"}}}};
  request.update(more);
  return request;
}

class OperationServiceTest : public ::testing::Test {
 protected:
  json Analyze(const char* operation, const json& more = json::object()) const {
    return Ask(server_, kAnalyzeOperation, Request(operation, more));
  }
  std::vector<std::string> FaultsOf(const char* operation,
                                    const json& more = json::object()) const {
    return Faults(server_, kAnalyzeOperation, Request(operation, more));
  }

  const TestServer server_;
};

TEST_F(OperationServiceTest, ALinearLayerTellsItsGradientsAndItsStart) {
  const json answer = Analyze(R"({"linear":{"rows":32,"input_size":16384,"output_size":8}})");
  const double forward = NumberAt(answer, "/forward/sum/matrix_flops");
  EXPECT_EQ(NumberAt(answer, "/backward/cost/sum/matrix_flops"), 2 * forward);
  EXPECT_EQ(NumberAt(answer, "/backward_without_input/cost/sum/matrix_flops"), forward);
  EXPECT_EQ(NumberAt(answer, "/backward/saved_bytes"), 32 * 16384 * 2);  // x; w is held anyway
  EXPECT_EQ(NumberAt(answer, "/initialization/output_deviation_of_unit_weights"), 128);
}

TEST_F(OperationServiceTest, AnEinsumOfManyOperandsTellsBothOrders) {
  const json answer = Analyze(R"({"einsum":{"expression":"a b, b c, c d -> a d","operands":
      [{"shape":[10,2]},{"shape":[2,50]},{"shape":[50,1]}]}})");
  EXPECT_EQ(NumberAt(answer, "/einsum/best/flops"), 2 * (2 * 50 * 1 + 10 * 2 * 1));
  EXPECT_EQ(answer["einsum"]["best_is_exact"], true);
  EXPECT_EQ(answer["einsum"]["summed_axes"], json({"b", "c"}));
  EXPECT_EQ(NumberAt(answer, "/forward/sum/matrix_flops"), 2 * (100 + 20));
  // More than three are answered on the server's own threads.
  json many = {{"expression", ""}, {"operands", json::array()}};
  std::string expression;
  for (int i = 0; i < 64; ++i) {
    absl::StrAppend(&expression, i > 0 ? ", " : "", "x", i, " x", i + 1);
    many["operands"].push_back({{"shape", {2, 2}}});
  }
  many["expression"] = absl::StrCat(expression, " -> x0 x64");
  const json chain = Analyze(json({{"einsum", many}}).dump().c_str());
  EXPECT_EQ(NumberAt(chain, "/forward/sum/matrix_flops"), 63 * 16);
}

TEST_F(OperationServiceTest, TimesOnADatasheetSayWhereTheyComeFrom) {
  const json time = Analyze(R"({"matmul":{"m":8192,"n":8192,"k":8192}})",
                            {{"device", {{"device", {{"accelerator", "h100-sxm"}}}}}})["time"];
  EXPECT_EQ(time["forward"]["bound"], "ROOFLINE_BOUND_COMPUTE");
  const double compute = NumberAt(time, "/forward/compute_seconds");
  const double memory = NumberAt(time, "/forward/memory_seconds");
  EXPECT_NEAR(compute, 2 * std::pow(8192.0, 3) / 989.4e12, 1e-9 * compute);
  EXPECT_NEAR(memory, 3 * 8192.0 * 8192 * 2 / 3.35e12, 1e-9 * memory);
  EXPECT_NEAR(NumberAt(time, "/forward/total_seconds"), std::hypot(compute, memory), 1e-12);
  EXPECT_EQ(NumberAt(time, "/forward/least_seconds"), compute);
  EXPECT_EQ(time["rates"].size(), 3);
  for (const json& rate : time["rates"]) {
    EXPECT_EQ(rate["source"], "RATE_SOURCE_DATASHEET");
    EXPECT_EQ(rate["device"], "h100-sxm");
    EXPECT_FALSE(SourceOf(time, rate).empty());
    EXPECT_FALSE(rate["unit"].get<std::string>().empty());
  }
  EXPECT_THAT(time["assumptions"][0]["text"], HasSubstr("datasheet's peaks are taken in full"));
  EXPECT_EQ(time["assumptions"][0]["kind"], "NOTE_KIND_DATASHEET_PEAKS");
  EXPECT_EQ(time["advice"]["kind"], "ADVICE_KIND_LESS_ARITHMETIC");
  EXPECT_EQ(time["advice"]["values"][0]["name"], "flops_per_byte");
  EXPECT_NEAR(NumberAt(time, "/advice/values/0/value"), 8192.0 / 3, 1e-6);
  EXPECT_THAT(time["advice"]["text"], HasSubstr("compute-bound"));
  EXPECT_FALSE(time["rates_fingerprint"].get<std::string>().empty());
  // Next to the roofline: the times of published products of the same kind.
  const json& predicted = time["predicted_forward"];
  EXPECT_EQ(predicted["source"], "RATE_SOURCE_REFERENCE");
  EXPECT_EQ(predicted["device"], "h100-sxm");
  EXPECT_EQ(predicted["nearest"].size(), 3);
  EXPECT_GT(NumberAt(predicted, "/duration_seconds/expected"), compute);
}

TEST_F(OperationServiceTest, FiguresOfTheRequestGoBeforeTheDevices) {
  const json device = {{"device", {{"accelerator", "h100-sxm"}}},
                       {"matrix_flops_per_second", 1e12},
                       {"launch_seconds", 1e-5},
                       {"method", "ROOFLINE_METHOD_CLASSICAL"}};
  const json time = Analyze(R"({"matmul":{"m":1000,"n":1000,"k":1000}})",
                            {{"device", device}, {"achieved_seconds", 0.004}})["time"];
  EXPECT_EQ(time["rates"][0]["source"], "RATE_SOURCE_REQUEST");
  EXPECT_EQ(time["rates"][1]["source"], "RATE_SOURCE_DATASHEET");
  EXPECT_NEAR(NumberAt(time, "/forward/total_seconds"), 0.00201, 1e-12);
  EXPECT_NEAR(NumberAt(time, "/utilisation/ratio"), 0.5, 1e-12);
  EXPECT_EQ(time["utilisation"]["reading"], "UTILISATION_READING_GOOD");
  EXPECT_NEAR(NumberAt(time, "/datasheet_utilisation/ratio"), 0.5 * 1e12 / 989.4e12, 1e-12);
}

json Supplied(const v1::Calibration& calibration) {
  const json all = {{"calibrations", json::array({json::parse(JsonOf(calibration))})}};
  return {{"device", {{"device", {{"calibrations", all}}}}}};
}

// 10 MB copied in a millisecond: 20 GB/s read plus written.
v1::Calibration CalibrationWithACopy() {
  v1::Calibration calibration = SampleCalibration();
  AddMainMemoryCopy(10'000'000, &calibration);
  return calibration;
}

TEST_F(OperationServiceTest, AMeasuredDeviceTakesNothingFromADatasheet) {
  const json time = Analyze(R"({"matmul":{"m":1000,"n":1000,"k":1000}})",
                            Supplied(CalibrationWithACopy()))["time"];
  EXPECT_EQ(NumberAt(time, "/forward/compute_seconds"), 2e9 / 1.6e12);  // sustained
  EXPECT_EQ(NumberAt(time, "/forward/memory_seconds"), 6e6 / 2e10);
  ASSERT_EQ(time["rates"].size(), 3);
  for (const json& rate : time["rates"]) {
    EXPECT_EQ(rate["source"], "RATE_SOURCE_MEASURED_SUPPLIED");
    EXPECT_EQ(rate["device_uuid"], "CPU-0123456789abcdef");
    EXPECT_EQ(rate["relative_spread"], 0.01);
    EXPECT_EQ(rate["measured_time"], "2026-01-31T12:00:00Z");
  }
  EXPECT_EQ(time["rates"][1]["quantity"], "general_flops_per_second");
  EXPECT_EQ(NumberAt(time, "/rates/1/value"), 2e10);
  EXPECT_THAT(SourceOf(time, time["rates"][1]), HasSubstr("4 fp32 multiply-adds an element"));
  EXPECT_THAT(SourceOf(time, time["rates"][2]), HasSubstr("copy of 10000000 bytes in main memory"));
}

TEST_F(OperationServiceTest, ACalibrationMayLackWhatIsAskedFor) {
  constexpr char kMatmul[] = R"({"matmul":{"m":1000,"n":1000,"k":1000}})";
  EXPECT_THAT(FaultsOf(kMatmul, Supplied(SampleCalibration())),
              ElementsAre(HasSubstr("device.memory_bytes_per_second: is required: no copy")));
  json in_fp16 = Request(kMatmul, Supplied(CalibrationWithACopy()));
  in_fp16["data_types"]["input"] = "DATA_TYPE_FP16";
  json answer;
  const grpc::Status status = CallJson(server_, kAnalyzeOperation, in_fp16, &answer);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(status.error_message(),
              HasSubstr("(it has: bf16, fp32): set data_types.input to one that it has"));
}

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
