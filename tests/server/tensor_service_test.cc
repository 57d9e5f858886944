// Tensors and token ids over gRPC.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/server/json_call.h"

namespace sextant::server {
namespace {

using ::nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kAnalyzeTensor[] = "AccountingService/AnalyzeTensor";

class TensorServiceTest : public ::testing::Test {
 protected:
  json Analyze(const json& tensor, const json& steps = json::array()) const {
    return Ask(server_, kAnalyzeTensor, {{"tensor", tensor}, {"steps", steps}});
  }

  // The violations of `step` after a transposition of a [2, 3, 4] tensor.
  std::vector<std::string> StepFaults(const char* step) const {
    return Faults(
        server_, kAnalyzeTensor,
        {{"tensor", {{"shape", {2, 3, 4}}, {"data_type", "DATA_TYPE_FP32"}}},
         {"steps", {{{"transpose", {{"axis_a", 0}, {"axis_b", 2}}}}, json::parse(step)}}});
  }

  std::vector<std::string> TensorFaults(const char* tensor) const {
    return Faults(server_, kAnalyzeTensor, {{"tensor", json::parse(tensor)}});
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
struct Written {
  const char* step;
  const char* shape;
  bool is_view;
};

TEST_F(TensorServiceTest, EveryKindOfStep) {
  const std::vector<Written> written = {
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
  for (const Written& w : written) {
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

TEST_F(TensorServiceTest, NamesWhatIsWrongWithATensor) {
  EXPECT_THAT(TensorFaults("{}"), ElementsAre(HasSubstr("tensor.data_type: is required")));
  EXPECT_THAT(TensorFaults(R"({"shape":[2,0,-3],"data_type":99})"),
              ElementsAre(HasSubstr("tensor.data_type: is number 99"),
                          HasSubstr("tensor.shape[1]: must be at least 1, not 0"),
                          HasSubstr("tensor.shape[2]: must be at least 1, not -3")));
  EXPECT_THAT(TensorFaults(R"({"shape":[2],"data_type":2,"strides":[-1],"offset_elements":-1})"),
              ElementsAre(HasSubstr("tensor.strides[0]"), HasSubstr("tensor.offset_elements")));
  EXPECT_THAT(TensorFaults(R"({"shape":[2],"data_type":2,"storage_elements":1})"),
              ElementsAre(HasSubstr("tensor.storage_elements: must be more than 1")));
}

TEST_F(TensorServiceTest, NamesTheStepAndWhatIsWrongWithIt) {
  EXPECT_THAT(StepFaults("{}"), ElementsAre(HasSubstr("steps[1]: is empty: give one of select")));
  EXPECT_THAT(StepFaults(R"({"select":{},"view":{}})"),
              ElementsAre(HasSubstr("steps[1]: has select and view: give one of them")));
  EXPECT_THAT(StepFaults(R"({"select":{"axis":3}})"),
              ElementsAre(HasSubstr("steps[1].select.axis: ")));
  EXPECT_THAT(StepFaults(R"({"view":{"shape":[24]}})"),
              ElementsAre(HasSubstr("steps[1].view.shape: ")));
  EXPECT_THAT(StepFaults(R"({"view":{"shape":[2,0]}})"), ElementsAre(HasSubstr("shape[1]: ")));
  EXPECT_THAT(StepFaults(R"({"cast":{"data_type":77}})"),
              ElementsAre(HasSubstr("steps[1].cast.data_type: is number 77")));
  EXPECT_THAT(StepFaults(R"({"elementwise":{"name":"rellu"}})"),
              ElementsAre(HasSubstr("near names: relu")));
  EXPECT_THAT(StepFaults(R"({"elementwise":{"name":"add","other":{"shape":[9]}}})"),
              ElementsAre(HasSubstr("steps[1].elementwise.other.shape: ")));
  EXPECT_THAT(StepFaults(R"({"reduce":{"expression":"a b c -> a","function":9}})"),
              ElementsAre(HasSubstr("steps[1].reduce.function: is number 9")));
}

TEST_F(TensorServiceTest, RefusesMoreThan64Steps) {
  const json steps(65, {{"contiguous", json::object()}});
  EXPECT_THAT(Faults(server_, kAnalyzeTensor,
                     {{"tensor", {{"shape", {2}}, {"data_type", 2}}}, {"steps", steps}}),
              ElementsAre(HasSubstr("steps: must be at most 64, not 65")));
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
  const auto faults = [&](const char* request) {
    return Faults(server_, kTokens, json::parse(request));
  };
  EXPECT_THAT(faults("{}"), ElementsAre(HasSubstr("token_count: "),
                                        HasSubstr("vocabulary_size: is required, unless")));
  EXPECT_THAT(faults(R"({"token_count":-1,"vocabulary_size":9,"bytes_per_id":2})"),
              ElementsAre(HasSubstr("token_count: "), HasSubstr("give one of them")));
  EXPECT_THAT(faults(R"({"token_count":1,"vocabulary_size":0})"),
              ElementsAre(HasSubstr("vocabulary_size: must be 1 to")));
  EXPECT_THAT(faults(R"({"token_count":1,"bytes_per_id":3})"),
              ElementsAre(HasSubstr("bytes_per_id: must be 1, 2, 4 or 8")));
  EXPECT_THAT(faults(R"({"token_count":9223372036854775807,"bytes_per_id":2})"),
              ElementsAre(HasSubstr("token_count: takes more than 9.2e18 bytes")));
  EXPECT_THAT(faults(R"({"token_count":1,"bytes_per_id":2,"tokens_per_second":"NaN"})"),
              ElementsAre(HasSubstr("tokens_per_second: ")));
}

}  // namespace
}  // namespace sextant::server
