#include "client/roofline_chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/client/sample_operation.h"

namespace sextant {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(RooflineChart, HasEveryPointAndRoof) {
  const absl::StatusOr<RooflineChart> chart = RooflineChartOf(SampleOperation());
  ASSERT_TRUE(chart.ok()) << chart.status();
  EXPECT_EQ(chart->title, "matmul of a [1000, 2000], b [2000, 500] in bf16 on toy");
  EXPECT_EQ(chart->memory_bytes_per_second, 1e10);
  EXPECT_EQ(chart->ridge, 100);
  ASSERT_THAT(chart->roofs, SizeIs(2));
  EXPECT_EQ(chart->roofs[0].name, "matrix products");
  EXPECT_EQ(chart->roofs[0].flops_per_second, 1e12);
  EXPECT_EQ(chart->roofs[1].name, "other arithmetic");
  EXPECT_EQ(chart->roofs[1].flops_per_second, 1e11);
  ASSERT_THAT(chart->points, SizeIs(4));
  const char letters[] = {'F', 'U', 'B', 'A'};
  const double intensities[] = {200, 20, 200, 200};
  const double rates[] = {8e11, 2e11, 8e11, 5e11};
  const double seconds[] = {0.0025, 0.01, 0.005, 0.004};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(chart->points[i].letter, letters[i]);
    EXPECT_DOUBLE_EQ(chart->points[i].intensity, intensities[i]);
    EXPECT_DOUBLE_EQ(chart->points[i].flops_per_second, rates[i]);
    EXPECT_DOUBLE_EQ(chart->points[i].seconds, seconds[i]);
  }
  EXPECT_THAT(chart->absent, IsEmpty());
  EXPECT_THAT(chart->sources,
              ElementsAre("matrix products 1.00 TFLOP/s, other arithmetic 100.00 GFLOP/s: "
                          "datasheet, sheet <A & B>",
                          "memory 10.00 GB/s: request"));
}

TEST(RooflineChart, LeavesOutWhatHasNoPlaceAndSaysWhy) {
  v1::AnalyzeOperationResponse response = SampleOperation();
  response.mutable_forward()->mutable_sum()->set_matrix_flops(0);
  response.mutable_forward()->mutable_sum()->set_arithmetic_intensity(0);
  response.mutable_unfused()->mutable_sum()->clear_arithmetic_intensity();
  response.mutable_time()->clear_utilisation();
  const absl::StatusOr<RooflineChart> chart = RooflineChartOf(response);
  ASSERT_TRUE(chart.ok()) << chart.status();
  ASSERT_THAT(chart->points, SizeIs(1));
  EXPECT_EQ(chart->points[0].name, "backward");
  EXPECT_THAT(chart->absent, ElementsAre("forward has no point: it does no arithmetic",
                                         "unfused has no point: it moves no bytes"));
}

TEST(RooflineChart, HasOneRoofWhereAllArithmeticIsAlike) {
  v1::AnalyzeOperationResponse same = SampleOperation();
  same.mutable_time()->mutable_rates(1)->set_value(1e12);
  v1::AnalyzeOperationResponse one = SampleOperation();
  one.mutable_time()->mutable_rates()->DeleteSubrange(1, 1);
  for (const auto& response : {same, one}) {
    const absl::StatusOr<RooflineChart> chart = RooflineChartOf(response);
    ASSERT_TRUE(chart.ok()) << chart.status();
    ASSERT_THAT(chart->roofs, SizeIs(1));
    EXPECT_EQ(chart->roofs[0].name, "all arithmetic");
  }
}

TEST(RooflineChart, IsRefusedWithoutRates) {
  EXPECT_EQ(RooflineChartOf(SampleWithoutDevice()).status().code(),
            absl::StatusCode::kFailedPrecondition);
  for (const int rate : {0, 2}) {
    for (const double value : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(),
                               std::numeric_limits<double>::infinity()}) {
      v1::AnalyzeOperationResponse response = SampleOperation();
      response.mutable_time()->mutable_rates(rate)->set_value(value);
      EXPECT_THAT(std::string(RooflineChartOf(response).status().message()),
                  HasSubstr("lacks the rates"))
          << rate << " " << value;
    }
  }
  v1::AnalyzeOperationResponse response = SampleOperation();
  response.mutable_time()->clear_rates();
  EXPECT_FALSE(RooflineChartOf(response).ok());
  response = SampleOperation();
  response.mutable_time()->mutable_forward()->clear_ridge_flops_per_byte();
  EXPECT_FALSE(RooflineChartOf(response).ok());
}

TEST(RooflineChart, ShortensALongTitle) {
  v1::AnalyzeOperationResponse response = SampleOperation();
  response.mutable_operands(1)->set_name(std::string(40, 'b'));
  EXPECT_EQ(RooflineChartOf(response)->title, "matmul of a [1000, 2000] in bf16 on toy");
  response.mutable_operands(0)->set_name(std::string(40, 'a'));
  EXPECT_EQ(RooflineChartOf(response)->title, "matmul in bf16 on toy");
}

TEST(RoofAt, IsTheLowerOfBoth) {
  const RooflineChart chart = *RooflineChartOf(SampleOperation());
  EXPECT_EQ(RoofAt(chart, 1e12, 10), 1e11);
  EXPECT_EQ(RoofAt(chart, 1e12, 100), 1e12);
  EXPECT_EQ(RoofAt(chart, 1e12, 1000), 1e12);
}

}  // namespace
}  // namespace sextant
