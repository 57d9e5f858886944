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
using ::testing::UnorderedElementsAre;

constexpr char kMethod[] = "AccountingService/AnalyzeOperation";
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
    return Ask(server_, kMethod, Request(operation, more));
  }
  std::vector<std::string> FaultsOf(const char* operation,
                                    const json& more = json::object()) const {
    return Faults(server_, kMethod, Request(operation, more));
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
  EXPECT_EQ(NumberAt(answer, "/einsum/left_to_right/flops"), 2 * (10 * 2 * 50 + 10 * 50 * 1));
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
  many["operands"].push_back({{"shape", {2, 2}}});
  many["expression"] = absl::StrCat(expression, ", x64 x65 -> x0 x65");
  EXPECT_THAT(FaultsOf(json({{"einsum", many}}).dump().c_str()), ElementsAre(HasSubstr("64")));
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
}

// Next to the roofline: the times of published products of the same kind.
TEST_F(OperationServiceTest, MeasuredKernelsPredictProductsAndAttention) {
  const json device = {{"device", {{"device", {{"accelerator", "h200-sxm"}}}}}};
  const json time =
      Analyze(R"({"linear":{"rows":4096,"input_size":8192,"output_size":4096}})", device)["time"];
  const json& forward = time["predicted_forward"];
  EXPECT_EQ(forward["source"], "RATE_SOURCE_REFERENCE");
  EXPECT_EQ(forward["device"], "h200-sxm");
  EXPECT_EQ(forward["nearest"].size(), 3);
  for (const json& near : forward["nearest"]) EXPECT_EQ(near["matmul"]["batch_count"], "1");
  EXPECT_NE(forward["form"], "PREDICTION_FORM_ROOFLINE");
  EXPECT_GT(NumberAt(forward, "/error/p90_absolute_error_ratio"), 0);
  const double expected = NumberAt(forward, "/duration_seconds/expected");
  EXPECT_NEAR(NumberAt(forward, "/datasheet_mfu"), 2 * 4096.0 * 8192 * 4096 / expected / 989.4e12,
              1e-9);
  EXPECT_GT(expected, NumberAt(time, "/forward/least_seconds"));
  EXPECT_LT(NumberAt(forward, "/duration_seconds/low"), expected);
  EXPECT_GT(NumberAt(forward, "/duration_seconds/high"), expected);
  EXPECT_EQ(time["predicted_backward"]["basis"], "KERNEL_BASIS_OTHER_PASS");
  const json attention = Analyze(R"({"attention":{"batch":1,"heads":32,"query_length":8192,
                                     "head_size":128,"causal":true}})",
                                 device)["time"];
  EXPECT_GT(NumberAt(attention, "/predicted_backward/duration_seconds/expected"),
            NumberAt(attention, "/predicted_forward/duration_seconds/expected"));
}

TEST_F(OperationServiceTest, RegimesAreToldApart) {
  constexpr char kMatmul[] = R"({"matmul":{"m":4096,"n":4096,"k":4096}})";
  json device = {{"device", {{"accelerator", "h100-sxm"}}}};
  const json burst = Analyze(kMatmul, {{"device", device}})["time"];
  device["regime"] = "KERNEL_REGIME_SUSTAINED";
  const json sustained = Analyze(kMatmul, {{"device", device}})["time"];
  EXPECT_EQ(sustained["predicted_forward"]["regime"], "KERNEL_REGIME_SUSTAINED");
  EXPECT_GT(NumberAt(sustained, "/predicted_forward/duration_seconds/expected"),
            NumberAt(burst, "/predicted_forward/duration_seconds/expected"));
  EXPECT_EQ(burst["assumptions"].back()["kind"], "NOTE_KIND_BURST_TIMES");
  EXPECT_EQ(burst["assumptions"].back()["fields"], json({"device.regime"}));
  EXPECT_EQ(sustained["assumptions"].back()["kind"], "NOTE_KIND_SUSTAINED_TIMES");
}

// Operations without products: one kernel or several; no backward pass where gradients are views.
TEST_F(OperationServiceTest, PassesOverMemoryArePredicted) {
  const json device = {{"device", {{"device", {{"accelerator", "h200-sxm"}}}}}};
  const json softmax = Analyze(R"({"softmax":{"rows":100000,"columns":10000}})", device)["time"];
  EXPECT_EQ(softmax["predicted_forward"]["form"], "PREDICTION_FORM_STREAMS");
  EXPECT_GT(NumberAt(softmax, "/predicted_unfused/duration_seconds/expected"),
            2 * NumberAt(softmax, "/predicted_forward/duration_seconds/expected"));
  const json sum = Analyze(
      R"({"elementwise":{"count":1000000,"function":"ELEMENTWISE_FUNCTION_ADD"}})", device)["time"];
  EXPECT_TRUE(sum.contains("predicted_forward"));
  EXPECT_FALSE(sum.contains("predicted_backward"));
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
  v1::StreamMeasurement* copy = calibration.add_streams();
  *copy = calibration.streams(0);
  copy->set_operation(v1::StreamMeasurement::OPERATION_COPY);
  copy->set_bytes_per_second(2e10);
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
  const grpc::Status status = CallJson(server_, kMethod, in_fp16, &answer);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(status.error_message(),
              HasSubstr("(it has: bf16, fp32): set data_types.input to one that it has"));
}

TEST_F(OperationServiceTest, NamesWhatIsWrong) {
  EXPECT_THAT(FaultsOf("{}"), ElementsAre(HasSubstr("operation: is empty: give one of matmul")));
  EXPECT_THAT(FaultsOf(R"({"matmul":{},"linear":{}})"),
              ElementsAre(HasSubstr("operation: has matmul and linear")));
  EXPECT_THAT(FaultsOf(R"({"matmul":{"m":0,"n":-5,"k":1099511627777}})"),
              ElementsAre(HasSubstr("operation.matmul.m: must be at least 1, not 0"),
                          HasSubstr("operation.matmul.n: must be at least 1, not -5"),
                          HasSubstr("operation.matmul.k: must be at most")));
  EXPECT_THAT(FaultsOf(R"({"attention":{"batch":1,"heads":4,"kv_heads":3,"query_length":8,
                           "head_size":2,"convention":"CAUSAL_CONVENTION_PUBLISHED"}})"),
              UnorderedElementsAre(HasSubstr("operation.attention.kv_heads: must divide heads"),
                                   HasSubstr("operation.attention.convention: ")));
  EXPECT_THAT(FaultsOf(R"({"einsum":{"expression":"a b -> a c","operands":[{"shape":[2,3]}]}})"),
              ElementsAre(HasSubstr("operation.einsum.expression: column 10: axis 'c'")));
  EXPECT_THAT(FaultsOf(R"({"elementwise":{"count":1,"function":2,"flops_per_element":3}})"),
              ElementsAre(HasSubstr("operation.elementwise.flops_per_element: is known")));
  EXPECT_THAT(FaultsOf(R"({"fused_chain":{"count":1}})"),
              ElementsAre(HasSubstr("operation.fused_chain.steps: ")));
  EXPECT_THAT(FaultsOf(R"({"host_copy":{"bytes":1,"pageable":true}})"),
              ElementsAre(HasSubstr("operation.host_copy.link_bytes_per_second: "),
                          HasSubstr("operation.host_copy.staging_bytes_per_second: ")));
  EXPECT_THAT(FaultsOf(R"({"softmax":{"rows":1,"columns":1}})", {{"data_types", json::object()}}),
              ElementsAre(HasSubstr("data_types.input: is required")));
  EXPECT_THAT(FaultsOf(R"({"softmax":{"rows":1,"columns":1}})", {{"transcendental_flops", -1}}),
              ElementsAre(HasSubstr("transcendental_flops: ")));
}

TEST_F(OperationServiceTest, NamesWhatIsWrongWithADevice) {
  constexpr char kSoftmax[] = R"({"softmax":{"rows":1,"columns":1}})";
  const auto faults = [&](const char* device) {
    return FaultsOf(kSoftmax, {{"device", json::parse(device)}});
  };
  EXPECT_THAT(faults("{}"), ElementsAre(HasSubstr("device.memory_bytes_per_second: is required")));
  EXPECT_THAT(FaultsOf(R"({"matmul":{"m":8,"n":8,"k":8}})", {{"device", json::object()}}),
              ElementsAre(HasSubstr("device.matrix_flops_per_second: is required"),
                          HasSubstr("device.memory_bytes_per_second: is required")));
  EXPECT_THAT(faults(R"({"device":{}})"), ElementsAre(HasSubstr("device.device: names no device")));
  EXPECT_THAT(faults(R"({"device":{"accelerator":"h100-sxm"},"matrix_flops_per_second":1e-320,
                         "memory_bytes_per_second":"Infinity","launch_seconds":-1})"),
              ElementsAre(HasSubstr("device.matrix_flops_per_second: must be a number from 1 "),
                          HasSubstr("device.memory_bytes_per_second: "),
                          HasSubstr("device.launch_seconds: ")));
  EXPECT_THAT(faults(R"({"device":{"accelerator":"h100-sxm"},"method":5,"regime":7})"),
              ElementsAre(HasSubstr("device.method: is number 5"),
                          HasSubstr("device.regime: is number 7")));
  EXPECT_THAT(faults(R"({"device":{"calibrations":{"calibrations":[{}]}}})"),
              ::testing::Contains(
                  HasSubstr("device.device.calibrations.calibrations[0].schema_version: ")));
  EXPECT_THAT(FaultsOf(kSoftmax, {{"achieved_seconds", 1}}),
              ElementsAre(HasSubstr("device: is required with achieved_seconds")));
  EXPECT_THAT(FaultsOf(kSoftmax, {{"device", {{"device", {{"accelerator", "h100-sxm"}}}}},
                                  {"achieved_seconds", "NaN"}}),
              ElementsAre(HasSubstr("achieved_seconds: ")));
}

TEST_F(OperationServiceTest, UnknownDevicesAreNotFound) {
  const auto code = [&](const json& device) {
    json answer;
    const json request = Request(R"({"dropout":{"count":1}})", {{"device", device}});
    return CallJson(server_, kMethod, request, &answer).error_code();
  };
  EXPECT_EQ(code({{"device", {{"accelerator", "h1000"}}}}), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(code({{"device", {{"host_devices", {{"devices", {"GPU-none"}}}}}}}),
            grpc::StatusCode::NOT_FOUND);
}

}  // namespace
}  // namespace sextant::server
