// Tensors, token ids and number formats over gRPC; refusals.jsonl has what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "server/handler/accounting_service.h"
#include "tests/server/json_call.h"
#include "tests/server/test_server.h"

namespace sextant::server {
namespace {

using ::nlohmann::json;
using ::testing::Contains;

constexpr char kAnalyzeTensor[] = "AccountingService/AnalyzeTensor";

class TensorServiceTest : public ::testing::Test {
 protected:
  json Analyze(const json& tensor, const json& steps = json::array()) const {
    return Ask(server_, kAnalyzeTensor, {{"tensor", tensor}, {"steps", steps}});
  }

  const TestServer server_;
};

TEST_F(TensorServiceTest, AnswersWhatATensorTakes) {
  const json tensor = Analyze({{"shape", {2, 40}}, {"data_type", "DATA_TYPE_MXFP8"}})["tensor"];
  EXPECT_EQ(NumberAt(tensor, "/size_bytes"), 2 * 2 * 33);  // two blocks a row
  EXPECT_EQ(NumberAt(tensor, "/element_count"), 80);
  EXPECT_EQ(tensor["strides"], json({"40", "1"}));
  EXPECT_EQ(tensor["is_contiguous"], true);
}

// Each kind of step in JSON, and the resulting shape.
struct WrittenStep {
  const char* step;
  const char* shape;
  bool is_view;
};

TEST_F(TensorServiceTest, EveryKindOfStep) {
  const std::vector<WrittenStep> written = {
      {R"({"select":{"axis":-1,"index":1}})", "[2,3]", true},
      {R"({"slice":{"axis":2,"start":1,"stop":4,"step":2}})", "[2,3,2]", true},
      {R"({"slice":{"axis":1,"start":1}})", "[2,2,4]", true},
      {R"({"transpose":{}})", "[3,2,4]", true},
      {R"({"permute":{"axes":[2,0,1]}})", "[4,2,3]", true},
      {R"({"view":{"shape":[6,-1]}})", "[6,4]", true},
      {R"({"reshape":{"shape":[24]}})", "[24]", true},
      {R"({"expand":{"shape":[5,-1,-1,-1]}})", "[5,2,3,4]", true},
      {R"({"squeeze":{}})", "[2,3,4]", true},
      {R"({"unsqueeze":{"axis":-1}})", "[2,3,4,1]", true},
      {R"({"flatten":{"first":1}})", "[2,12]", true},
      {R"({"flatten":{"first":0,"last":1}})", "[6,4]", true},
      {R"({"contiguous":{}})", "[2,3,4]", true},
      {R"({"cast":{"data_type":"DATA_TYPE_BF16"}})", "[2,3,4]", false},
      {R"({"elementwise":{"name":"add","other":{"shape":[5,1,1,1]}}})", "[5,2,3,4]", false},
      {R"({"rearrange":{"expression":"a b (c d) -> (a b) d c","sizes":[{"name":"c","size":2}]}})",
       "[6,2,2]", true},
      {R"({"repeat":{"expression":"a b c -> a r b c","sizes":[{"name":"r","size":7}]}})",
       "[2,7,3,4]", true},
      {R"({"reduce":{"expression":"a b c -> a","function":"REDUCTION_FUNCTION_MEAN"}})", "[2]",
       false},
      {R"({"check_shape":{"expression":"a *rest"}})", "[2,3,4]", true},
      {R"({"flat_index":{"index":[1,2,3]}})", "[2,3,4]", true},
  };
  for (const WrittenStep& w : written) {
    const json answer =
        Analyze({{"shape", {2, 3, 4}}, {"data_type", "DATA_TYPE_FP32"}}, {json::parse(w.step)});
    ASSERT_EQ(answer["steps"].size(), 1) << w.step;
    const json& step = answer["steps"][0];
    json shape = json::array();
    for (const json& size : step["tensor"]["shape"]) {
      shape.push_back(std::stoll(size.get<std::string>()));
    }
    EXPECT_EQ(shape.dump(), w.shape) << w.step;
    EXPECT_EQ(step.value("is_view", false), w.is_view) << w.step;
    EXPECT_EQ(NumberAt(step, "/allocated_bytes") > 0, !w.is_view) << w.step;
    EXPECT_EQ(step["name"], json::parse(w.step).begin().key());
    EXPECT_FALSE(step["reason"].get<std::string>().empty());
  }
}

TEST_F(TensorServiceTest, AddsUpWhatAChainAllocates) {
  const json answer = Analyze(
      {{"shape", {4, 64}}, {"data_type", "DATA_TYPE_FP32"}},
      {json::parse(
           R"({"rearrange":{"expression":"b (h d) -> b h d","sizes":[{"name":"h","size":8}]}})"),
       json::parse(R"({"transpose":{"axis_a":1,"axis_b":2}})"), json::parse(R"({"contiguous":{}})"),
       json::parse(
           R"({"reduce":{"expression":"b d h -> b d","function":"REDUCTION_FUNCTION_MEAN"}})"),
       json::parse(R"({"check_shape":{"expression":"b d"}})"),
       json::parse(R"({"flat_index":{"index":[1,-1]}})")});
  EXPECT_EQ(NumberAt(answer, "/allocated_bytes"), 4 * 64 * 4 + 4 * 8 * 4);
  EXPECT_EQ(NumberAt(answer, "/steps/3/flops"), 4 * 64 + 4 * 8);
  EXPECT_EQ(NumberAt(answer, "/steps/3/read_bytes"), 4 * 64 * 4);
  EXPECT_EQ(
      answer["steps"][4]["check"],
      json::parse(R"({"matches":true,"sizes":[{"name":"b","size":"4"},{"name":"d","size":"8"}]})"));
  EXPECT_EQ(NumberAt(answer, "/steps/5/storage_position"), 15);
}

TEST_F(TensorServiceTest, TokenIdsInFilesAndInMemory) {
  constexpr char kTokens[] = "AccountingService/DescribeTokens";
  json answer = Ask(server_, kTokens, {{"token_count", 1000}, {"vocabulary_size", 65537}});
  EXPECT_EQ(NumberAt(answer, "/bytes_per_id"), 4);
  EXPECT_EQ(NumberAt(answer, "/size_bytes"), 4000);
  EXPECT_FALSE(answer.contains("bytes_per_second"));
  answer = Ask(server_, kTokens,
               {{"token_count", 1000}, {"bytes_per_id", 8}, {"tokens_per_second", 2.5}});
  EXPECT_EQ(NumberAt(answer, "/bytes_per_second"), 20);
}

class NumberFormatServiceTest : public ::testing::Test {
 protected:
  grpc::Status Describe(const v1::DescribeDataTypeRequest& request,
                        v1::DescribeDataTypeResponse* response) {
    grpc::ClientContext context;
    return server_.accounting().DescribeDataType(&context, request, response);
  }

  const TestServer server_;
};

v1::DescribeDataTypeRequest Of(v1::DataType type, const std::vector<double>& values = {}) {
  v1::DescribeDataTypeRequest request;
  request.set_data_type(type);
  for (const double value : values) request.add_values(value);
  return request;
}

TEST_F(NumberFormatServiceTest, ListsEveryFormatOnce) {
  grpc::ClientContext context;
  v1::ListDataTypesResponse response;
  const grpc::Status status = server_.accounting().ListDataTypes(&context, {}, &response);
  ASSERT_TRUE(status.ok()) << status.error_code() << ": " << status.error_message();
  ASSERT_EQ(response.formats_size(), v1::DataType_ARRAYSIZE - 1);
  for (int i = 0; i < response.formats_size(); ++i) {
    const v1::NumberFormat& format = response.formats(i);
    EXPECT_EQ(format.data_type(), i + 1);
    EXPECT_NE(format.kind(), v1::NUMBER_KIND_UNSPECIFIED);
    EXPECT_NE(format.overflow_rule(), v1::OVERFLOW_RULE_UNSPECIFIED);
    for (const std::string& text : {format.name(), format.role(), format.source()}) {
      EXPECT_FALSE(text.empty()) << i;
    }
  }
  EXPECT_FALSE(response.engine_version().empty());
}

TEST_F(NumberFormatServiceTest, DescribesAFormatAndWhatNumbersBecomeInIt) {
  v1::DescribeDataTypeResponse response;
  ASSERT_TRUE(Describe(Of(v1::DATA_TYPE_FP8_E4M3, {0.3, 1000, NAN}), &response).ok());
  EXPECT_EQ(response.format().name(), "fp8_e4m3");
  EXPECT_THAT(response.format().accelerators(), Contains("h100-sxm"));
  ASSERT_EQ(response.rounded_size(), 3);
  // 0.3 = 1.2 x 2^-2 lies between 1.125 and 1.25 x 2^-2.
  EXPECT_EQ(response.rounded(0).value(), 0.3125);
  EXPECT_EQ(response.rounded(0).outcome(), v1::ROUNDING_OUTCOME_ROUNDED);
  EXPECT_EQ(response.rounded(0).code(), 0b0'0101'010);
  EXPECT_EQ(response.rounded(1).value(), 448);
  EXPECT_EQ(response.rounded(1).outcome(), v1::ROUNDING_OUTCOME_OVERFLOWED);
  EXPECT_EQ(response.rounded(1).overflow_rule(), v1::OVERFLOW_RULE_SATURATING);
  EXPECT_TRUE(std::isnan(response.rounded(2).value()));
  EXPECT_FALSE(response.rounded(2).has_relative_error());
}

}  // namespace
}  // namespace sextant::server
