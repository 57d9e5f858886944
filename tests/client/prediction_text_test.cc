#include "client/prediction_text.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

namespace sextant {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

v1::OperationTime Softmax() {
  v1::OperationTime out;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(R"(
    predicted_forward {
      expected_seconds: 0.001 low_seconds: 0.0008 high_seconds: 0.0015 flops_per_second: 2e12
      basis: KERNEL_BASIS_WITHIN_GRID source: RATE_SOURCE_MEASURED_SUPPLIED
      citation: "measured yesterday" form: "streams" regime: KERNEL_REGIME_BURST
      error { shape_count: 17 median_absolute_error_ratio: 0.05 p90_absolute_error_ratio: 0.2 }
      nearest { shape: "copy of 1073741824 bytes" seconds: 0.0005 }
    }
    predicted_unfused { expected_seconds: 0.004 low_seconds: 0.003 high_seconds: 0.006 }
    predicted_backward { expected_seconds: 0.002 low_seconds: 0.001 high_seconds: 0.003 })",
                                                            &out));
  return out;
}

TEST(PredictionSection, ShowsEachFormWithItsIntervalAndSource) {
  const std::string text = PredictionSection(Softmax(), absl::UnixEpoch());
  EXPECT_THAT(text, AllOf(HasSubstr("Predicted from measured kernels\n"), HasSubstr("forward"),
                          HasSubstr("unfused"), HasSubstr("4.00 ms"), HasSubstr("backward"),
                          HasSubstr("measured shapes around it"), HasSubstr("measured yesterday"),
                          HasSubstr("form: streams; 17 measured shapes"),
                          HasSubstr("nearest measured: copy of 1073741824 bytes")));
  EXPECT_THAT(text, Not(HasSubstr("sustained")));
}

TEST(PredictionSection, SaysWhatItIsOf) {
  v1::OperationTime time = Softmax();
  time.clear_predicted_unfused();
  time.mutable_predicted_forward()->set_source(v1::RATE_SOURCE_DATASHEET);
  time.mutable_predicted_forward()->set_regime(v1::KERNEL_REGIME_SUSTAINED);
  const std::string text = PredictionSection(time, absl::UnixEpoch());
  EXPECT_THAT(text, HasSubstr("Predicted from published rates, sustained\n"));
  EXPECT_THAT(text, Not(HasSubstr("unfused")));
  EXPECT_EQ(PredictionSection(v1::OperationTime(), absl::UnixEpoch()), "");
}

TEST(PredictionSection, NamesTheBackwardsOwnSource) {
  v1::OperationTime time = Softmax();
  *time.mutable_predicted_backward() = time.predicted_forward();
  EXPECT_THAT(PredictionSection(time, absl::UnixEpoch()), Not(HasSubstr("source of backward")));
  time.mutable_predicted_backward()->set_citation("measured today");
  EXPECT_THAT(PredictionSection(time, absl::UnixEpoch()),
              HasSubstr("  source of backward: measured-supplied, measured today\n"));
}

TEST(PredictionSummary, IsTheForwardTimeWithItsInterval) {
  EXPECT_EQ(PredictionSummary(Softmax()), "1.00 ms predicted, 800.00 us to 1.50 ms (80 %)");
  EXPECT_EQ(PredictionSummary(v1::OperationTime()), "");
}

// An embedding does no arithmetic.
TEST(PredictionSection, HasNoRateWhereNothingIsComputed) {
  v1::OperationTime time = Softmax();
  time.mutable_predicted_forward()->set_flops_per_second(0);
  EXPECT_THAT(PredictionSection(time, absl::UnixEpoch()), Not(HasSubstr("FLOP/s")));
}

}  // namespace
}  // namespace sextant
