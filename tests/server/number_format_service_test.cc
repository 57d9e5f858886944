// Number formats over gRPC.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "server/handler/accounting_service.h"
#include "tests/server/test_server.h"
#include "tests/server/wire_values.h"

namespace sextant::server {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

class AccountingTest : public ::testing::Test {
 protected:
  grpc::Status Describe(const v1::DescribeDataTypeRequest& request,
                        v1::DescribeDataTypeResponse* response) {
    grpc::ClientContext context;
    return server_.accounting().DescribeDataType(&context, request, response);
  }

  // The invalid fields, with their descriptions.
  std::vector<std::string> FaultsIn(const v1::DescribeDataTypeRequest& request) {
    v1::DescribeDataTypeResponse response;
    return FaultsOf(Describe(request, &response));
  }

  const TestServer server_;
};

v1::DescribeDataTypeRequest Of(v1::DataType type, const std::vector<double>& values = {}) {
  v1::DescribeDataTypeRequest request;
  request.set_data_type(type);
  for (const double value : values) request.add_values(value);
  return request;
}

TEST_F(AccountingTest, ListsEveryFormatOnce) {
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

TEST_F(AccountingTest, DescribesAFormatAndWhatNumbersBecomeInIt) {
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

TEST_F(AccountingTest, TakesTheCallersRuleAndBlock) {
  v1::DescribeDataTypeRequest request = Of(v1::DATA_TYPE_FP8_E5M2, {kInfinity, 1e6});
  request.set_overflow_rule(v1::OVERFLOW_RULE_NON_SATURATING);
  v1::DescribeDataTypeResponse response;
  ASSERT_TRUE(Describe(request, &response).ok());
  EXPECT_EQ(response.rounded(0).value(), kInfinity);
  EXPECT_EQ(response.rounded(1).value(), kInfinity);
  request = Of(v1::DATA_TYPE_MXFP4, {1});
  request.set_block_maximum(24);  // scale 2^(4 - 2) = 4; 1/4 is half of the smallest, 0.5
  response.Clear();
  ASSERT_TRUE(Describe(request, &response).ok());
  EXPECT_EQ(response.rounded(0).block_scale(), 4);
  EXPECT_EQ(response.rounded(0).value(), 0);
  EXPECT_EQ(response.rounded(0).outcome(), v1::ROUNDING_OUTCOME_UNDERFLOWED);
}

TEST_F(AccountingTest, NamesWhatIsWrong) {
  EXPECT_THAT(FaultsIn({}), ElementsAre(StartsWith("data_type: ")));
  EXPECT_THAT(FaultsIn(Of(static_cast<v1::DataType>(99))), ElementsAre(StartsWith("data_type: ")));
  EXPECT_THAT(FaultsIn(Of(v1::DATA_TYPE_FP8, {1})), ElementsAre(StartsWith("data_type: ")));
  EXPECT_THAT(FaultsIn(Of(v1::DATA_TYPE_INT8, {1, NAN, 2, NAN})),
              ElementsAre(StartsWith("values[1]: "), StartsWith("values[3]: ")));
  EXPECT_THAT(FaultsIn(Of(v1::DATA_TYPE_BF16, std::vector<double>(65, 1))),
              ElementsAre(StartsWith("values: ")));
  v1::DescribeDataTypeRequest request = Of(v1::DATA_TYPE_BF16, {1});
  request.set_block_maximum(2);
  EXPECT_THAT(FaultsIn(request), ElementsAre(StartsWith("block_maximum: ")));
  request = Of(static_cast<v1::DataType>(99), {1});
  request.set_overflow_rule(static_cast<v1::OverflowRule>(7));
  EXPECT_THAT(FaultsIn(request),
              UnorderedElementsAre(StartsWith("data_type: "), StartsWith("overflow_rule: ")));
}

}  // namespace
}  // namespace sextant::server
