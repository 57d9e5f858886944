// Predicted times of operations without products of matrices, over gRPC.
#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/server/json_call.h"
#include "tests/server/sample_calibration.h"

namespace sextant::server {
namespace {

using ::nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kAnalyze[] = "AccountingService/AnalyzeOperation";
constexpr int64_t kArrayBytes = int64_t{1} << 30;

void AddPass(v1::StreamMeasurement::Operation operation, double arrays, double rate,
             v1::Calibration* out) {
  v1::StreamMeasurement* pass = out->add_streams();
  pass->set_operation(operation);
  pass->set_array_bytes(kArrayBytes);
  pass->set_main_memory(true);
  pass->set_bytes_per_second(rate);
  const double seconds = arrays * static_cast<double>(kArrayBytes) / rate;
  *pass->mutable_time() = out->matmuls(0).time();
  pass->mutable_time()->set_median_seconds(seconds);
  pass->mutable_time()->set_p10_seconds(seconds);
  pass->mutable_time()->set_p90_seconds(seconds);
}

// A processor that reads and copies at 4e10 bytes a second, and writes at 2e10.
json Measured() {
  v1::Calibration calibration = SampleCalibration();
  calibration.clear_streams();
  AddPass(v1::StreamMeasurement::OPERATION_READ, 1, 4e10, &calibration);
  AddPass(v1::StreamMeasurement::OPERATION_WRITE, 1, 2e10, &calibration);
  AddPass(v1::StreamMeasurement::OPERATION_COPY, 2, 4e10, &calibration);
  std::string text;
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  EXPECT_TRUE(google::protobuf::util::MessageToJsonString(calibration, &text, options).ok());
  const json list = {{"calibrations", json::array({json::parse(text)})}};
  return {{"device", {{"calibrations", list}}}};
}

class MemoryPassPredictionServiceTest : public ::testing::Test {
 protected:
  json TimeOf(const char* operation, const json& device) const {
    return Ask(server_, kAnalyze,
               {{"operation", json::parse(operation)},
                {"data_types", {{"input", "DATA_TYPE_BF16"}}},
                {"device", device}})["time"];
  }

  const TestServer server_;
};

constexpr char kRelu[] = R"({"activation":{"count":"2000000000"}})";

TEST_F(MemoryPassPredictionServiceTest, AMeasuredDeviceAnswersByItsPasses) {
  const json time = TimeOf(kRelu, Measured());
  const json& forward = time["predicted_forward"];
  EXPECT_NEAR(NumberAt(forward, "/duration_seconds/expected"), 8e9 / 4e10, 1e-3);
  EXPECT_EQ(forward["source"], "RATE_SOURCE_MEASURED_SUPPLIED");
  EXPECT_EQ(forward["basis"], "KERNEL_BASIS_WITHIN_GRID");
  EXPECT_EQ(forward["form"], "PREDICTION_FORM_STREAMS");
  EXPECT_EQ(forward["regime"], "KERNEL_REGIME_BURST");
  EXPECT_EQ(forward["nearest"].size(), 3);
  EXPECT_EQ(forward["nearest"][0]["memory_pass"]["size_bytes"],
            std::to_string(2 * kArrayBytes));  // the copy
  EXPECT_FALSE(forward.contains("datasheet_mfu"));
  // dy and x read, dx written: two thirds of the bytes are read.
  EXPECT_NEAR(NumberAt(time, "/predicted_backward/duration_seconds/expected"), 12e9 / 4e10, 2e-3);
}

TEST_F(MemoryPassPredictionServiceTest, SoftmaxHasAnUnfusedForm) {
  const json time = TimeOf(R"({"softmax":{"rows":"100000","columns":"10000"}})", Measured());
  EXPECT_GT(NumberAt(time, "/predicted_unfused/duration_seconds/expected"),
            2 * NumberAt(time, "/predicted_forward/duration_seconds/expected"));
}

TEST_F(MemoryPassPredictionServiceTest, GradientsThatAreTheOutputsOwnTakeNoTime) {
  const json time = TimeOf(R"({"elementwise":{"count":"1000000","input_count":2,
                               "function":"ELEMENTWISE_FUNCTION_ADD"}})",
                           Measured());
  EXPECT_TRUE(time.contains("predicted_forward"));
  EXPECT_FALSE(time.contains("predicted_backward"));
}

TEST_F(MemoryPassPredictionServiceTest, AProductAnswersByItsDatasheet) {
  const json time = TimeOf(kRelu, {{"device", {{"accelerator", "h200-sxm"}}}});
  const json& forward = time["predicted_forward"];
  EXPECT_EQ(forward["source"], "RATE_SOURCE_DATASHEET");
  EXPECT_EQ(forward["basis"], "KERNEL_BASIS_DATASHEET");
  EXPECT_THAT(SourceOf(time, forward), HasSubstr("published copies"));
  EXPECT_NEAR(NumberAt(forward, "/duration_seconds/expected"), 8e9 / 4.3e12, 1e-5);
}

TEST_F(MemoryPassPredictionServiceTest, RegimesAreToldApart) {
  constexpr char kMatmul[] = R"({"matmul":{"m":4096,"n":4096,"k":4096}})";
  const json burst = TimeOf(kMatmul, {{"device", {{"accelerator", "h100-sxm"}}}});
  const json sustained = TimeOf(
      kMatmul, {{"device", {{"accelerator", "h100-sxm"}}}, {"regime", "KERNEL_REGIME_SUSTAINED"}});
  EXPECT_EQ(sustained["predicted_forward"]["regime"], "KERNEL_REGIME_SUSTAINED");
  EXPECT_NEAR(NumberAt(sustained, "/predicted_forward/duration_seconds/expected") /
                  NumberAt(burst, "/predicted_forward/duration_seconds/expected"),
              0.87 / 0.80, 0.02);  // nearly all is arithmetic
  EXPECT_EQ(burst["assumptions"].back()["kind"], "NOTE_KIND_BURST_TIMES");
  EXPECT_EQ(burst["assumptions"].back()["fields"], json({"device.regime"}));
  EXPECT_EQ(sustained["assumptions"].back()["kind"], "NOTE_KIND_SUSTAINED_TIMES");
  EXPECT_THAT(sustained["assumptions"].back()["text"], HasSubstr("ml-engineering"));
  const std::vector<std::string> faults =
      Faults(server_, kAnalyze,
             {{"operation", json::parse(kMatmul)},
              {"data_types", {{"input", "DATA_TYPE_BF16"}}},
              {"device", {{"device", {{"accelerator", "h100-sxm"}}}, {"regime", 7}}}});
  EXPECT_THAT(faults, ElementsAre(HasSubstr("device.regime")));
}

}  // namespace
}  // namespace sextant::server
