#include "client/report/operation_text.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "client/report/text.h"
#include "tests/client/sample_operation.h"

namespace sextant::client {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string FlagOf(const std::string& field) {
  return field == "device.launch_seconds" ? "--launch-seconds" : field;
}

std::string TextOf(const v1::AnalyzeOperationResponse& response) {
  return OperationText(response, {.now = absl::UnixEpoch(), .words = FlagOf});
}

TEST(OperationText, IsAsWorkedByHand) {
  EXPECT_EQ(TextOf(SampleWithoutDevice()),
            R"(matmul: a [1000, 2000] bf16, b [2000, 500] bf16 -> c [1000, 500] bf16; sums in fp32
  forward   2,000,000,000 FLOP (2.00 GFLOP), 9.54 MiB moved, 200.00 FLOP/byte
  backward  4,000,000,000 FLOP (4.00 GFLOP), 19.07 MiB moved, keeps 3.81 MiB

Forward: c = a b
  product  2.00 GFLOP  2 x 1e9
  read a     3.81 MiB  a is read once
  read b     3.81 MiB  b is read once
  write c    1.91 MiB  c is written once
  moved      9.54 MiB  8,000,000 bytes read, 2,000,000 written

Unfused, in kernels that each pay their round trip: 10.00 x the bytes
  arithmetic       read    written  FLOP/byte  kernel
  1.00 GFLOP  57.22 MiB    0 bytes      16.67  first
  1.00 GFLOP    0 bytes  38.15 MiB      25.00  second
  2.00 GFLOP  57.22 MiB  38.15 MiB      20.00  all

Backward: 2.00 x forward
  arithmetic       read   written  FLOP/byte  kernel
  2.00 GFLOP   5.72 MiB  3.81 MiB     200.00  da = dc b^T
      gradient of a: 2 x 1e9
  2.00 GFLOP   5.72 MiB  3.81 MiB     200.00  db = a^T dc
      gradient of b, 1.90 GFLOP: 2 x 0.95e9
      rest, 100.00 MFLOP: 1 x 1e8
  4.00 GFLOP  11.44 MiB  7.63 MiB     200.00  all
  keep b  3.81 MiB  da reads it; a parameter, in memory anyway
  keep a  3.81 MiB  db reads it
  Without the gradient of a, as in a model's first layer: 2,000,000,000 FLOP (2.00 GFLOP), 9.54 MiB
    moved, 200.00 FLOP/byte, 1.00 x forward, keeps 3.81 MiB

engine 0.1.0
)");
}

TEST(OperationText, SaysHowLongItTakesAndWhy) {
  const std::string text = TextOf(SampleOperation());
  EXPECT_THAT(text, HasSubstr("  roofline  2.50 ms on toy, compute-bound, 80.00 % of peak; not "
                              "predicted: a kernel takes longer\n            than its roofline\n"
                              "  advice    compute-bound: do less\n"));
  EXPECT_THAT(text, HasSubstr(R"(
On toy
                                 forward           unfused          backward
  bound by                       compute            memory           compute
  intensity             200.00 FLOP/byte   20.00 FLOP/byte  200.00 FLOP/byte
  ridge                 100.00 FLOP/byte  100.00 FLOP/byte   90.00 FLOP/byte
  arithmetic                     2.00 ms           2.00 ms           4.00 ms
  memory                         1.00 ms          10.00 ms           2.00 ms
  launches                       4.00 us           8.00 us            0.00 s
  time                           2.50 ms          10.00 ms           5.00 ms
  at least (classical)           2.00 ms          10.00 ms           4.00 ms
  of peak                        80.00 %           20.00 %           80.00 %
  Arithmetic takes longer from 310 rows on, the other sizes as they are.
)"));
  EXPECT_THAT(text, HasSubstr("\nAchieved\n  2.00 GFLOP in 4.00 ms is 500.00 GFLOP/s, 50.00 % of "
                              "1.00 TFLOP/s (MFU)\n  Good: most of it is arithmetic.\n"));
  EXPECT_THAT(text, HasSubstr("\nRates used\n  peak_flops_per_second (bf16)"));
  EXPECT_THAT(text, HasSubstr("toy: sheet <A & B>"));
  EXPECT_THAT(text,
              HasSubstr("\nWarnings\n  - No measured toy is left.\n"
                        "\nAssumptions\n  - Kernels launch at once: --launch-seconds is 0.\n"));
  EXPECT_THAT(text, HasSubstr("\nengine 0.1.0, rates feed\n"));
}

TEST(OperationText, PutsThePlotBelowTheTimes) {
  const std::string text = OperationText(
      SampleOperation(), {.plot = "\nPLOT\n", .now = absl::UnixEpoch(), .words = FlagOf});
  EXPECT_THAT(text, HasSubstr("as they are.\n\nPLOT\n\nAchieved\n"));
}

TEST(OperationText, StaysWithin99Columns) {
  v1::AnalyzeOperationResponse response = SampleOperation();
  const std::string name(150, 'n');
  response.mutable_operands(0)->set_name(name);
  response.mutable_forward()->mutable_steps(0)->set_name(name);
  response.mutable_unfused()->mutable_steps(0)->set_name(name);
  response.mutable_backward()->mutable_cost()->mutable_steps(0)->set_name(name);
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(TextOf(response), '\n'))) {
    EXPECT_LE(DisplayWidth(line), static_cast<int64_t>(kTextWidth)) << line;
  }
}

void Add(const char* text, v1::AnalyzeOperationResponse* response) {
  ASSERT_TRUE(google::protobuf::TextFormat::MergeFromString(text, response));
}

TEST(OperationText, SaysHowLargeALinearLayerStarts) {
  v1::AnalyzeOperationResponse response = SampleWithoutDevice();
  Add("initialization { fan_in: 4096 output_deviation_of_unit_weights: 64 "
      "scaled_weight_deviation: 0.015625 output_deviation_of_scaled_weights: 1 "
      "output_deviation_of_truncated_weights: 0.98658 }",
      &response);
  EXPECT_THAT(TextOf(response), HasSubstr(R"(
At the start (inputs of mean 0, variance 1; fan-in 4,096): standard deviations
  weights' deviation   outputs'
  1                          64  sqrt(fan-in)
  0.015625                    1  1 / sqrt(fan-in)
  the same, truncated   0.98658  drawn again beyond 3 deviations
)"));
}

TEST(OperationText, SaysHowAnEinsumIsContracted) {
  v1::AnalyzeOperationResponse response = SampleWithoutDevice();
  response.add_operands()->set_name("third");
  Add("einsum { shape: [2, 50] axes { name: 'a' size: 2 } axes { name: 'b' size: 3 } "
      "summed_axes: 'b' best_is_exact: true "
      "best { steps { left: 0 right: 1 axes: 'a c' result_elements: 8 flops: 48 } "
      "steps { left: 3 right: 2 axes: 'a d' result_elements: 100 flops: 800 } "
      "flops: 848 largest_intermediate_elements: 8 } "
      "left_to_right { steps { left: 2 axes: 'd' result_elements: 5 flops: 9000 } "
      "flops: 9000 } }",
      &response);
  EXPECT_THAT(TextOf(response), HasSubstr(R"(
Contraction
  result  [2, 50]
  axes    a = 2, b = 3
  summed  b
  Order of fewest FLOPs: 848 FLOP; at most 8 elements between steps
    1.  operand 0 x operand 1   48 FLOP    8 elements  "a c"
    2.  part 1 x operand 2     800 FLOP  100 elements  "a d"
  From left to right: 9,000 FLOP (9.00 kFLOP)
    1.  sum operand 2  9.00 kFLOP  5 elements  "d"
)"));
  response.mutable_einsum()->mutable_left_to_right()->mutable_steps(0)->set_flops(0);
  EXPECT_THAT(TextOf(response), HasSubstr("1.  copy operand 2  0 FLOP  5 elements  \"d\""));
  *response.mutable_einsum()->mutable_left_to_right() = response.einsum().best();
  response.mutable_einsum()->set_best_is_exact(false);
  const std::string text = TextOf(response);
  EXPECT_THAT(text, HasSubstr("  A good order (too many operands to try every one), which is from "
                              "left to right: 848 FLOP"));
  EXPECT_THAT(text, Not(HasSubstr("From left to right")));
  response.mutable_einsum()->clear_left_to_right();
  EXPECT_THAT(TextOf(response), HasSubstr("From left to right: not possible, an intermediate"));
}

TEST(OperationText, SaysHowManyPairsAttend) {
  v1::AnalyzeOperationResponse response = SampleWithoutDevice();
  response.set_attended_pairs(33558528);
  EXPECT_THAT(TextOf(response), HasSubstr("head of a sequence\n  33,558,528\n"));
}

TEST(OperationText, SaysHowLongACopyTakes) {
  v1::AnalyzeOperationResponse response;
  Add("name: 'host_copy' data_types { accumulation: DATA_TYPE_FP32 } operands { name: 'source' "
      "shape: 8 } outputs { name: 'target' shape: 8 } forward { sum { read_bytes: 8 } } "
      "host_copy { no_overlap_seconds: 0.15 full_overlap_seconds: 0.1 } engine_version: '0.1.0'",
      &response);
  EXPECT_EQ(TextOf(response),
            "host-copy: source [8] -> target [8]\n"
            "  forward   0 FLOP, 8 bytes moved\n"
            "  time      150.00 ms, staging and then the link; 100.00 ms at best, in chunks that "
            "overlap\n"
            "\n"
            "engine 0.1.0\n");
  response.mutable_host_copy()->set_no_overlap_seconds(0.1);
  EXPECT_THAT(TextOf(response), HasSubstr("  time      100.00 ms\n"));
  v1::RateUsed* const rate = response.mutable_host_copy()->add_rates();
  rate->set_quantity("host_copy_bytes_per_second");
  rate->set_value(51.66e9);
  rate->set_unit("byte/s");
  rate->set_source(v1::RATE_SOURCE_DATASHEET);
  rate->set_source_number(1);
  response.mutable_host_copy()->add_sources("host link of a dgx-h100");
  EXPECT_THAT(TextOf(response), HasSubstr("host link of a dgx-h100"));
}

TEST(OperationText, SaysThatThereIsNoGradient) {
  v1::AnalyzeOperationResponse response = SampleWithoutDevice();
  response.clear_backward();
  response.clear_backward_without_input();
  const std::string text = TextOf(response);
  EXPECT_THAT(text, HasSubstr("  backward  none: it has no gradient\n"));
  EXPECT_THAT(text, Not(HasSubstr("Backward")));
}

// Figures that an older server leaves out are not invented.
TEST(OperationText, OfAnEmptyAnswerHoldsNoFigures) {
  v1::AnalyzeOperationResponse response;
  response.set_name("future_kind");
  EXPECT_THAT(TextOf(response), StartsWith("future-kind\n  forward   0 FLOP, 0 bytes moved\n"));
}

v1::OperationTime Softmax() {
  v1::OperationTime out;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(R"(
    predicted_forward {
      duration_seconds { expected: 0.001 low: 0.0008 high: 0.0015 } flops_per_second: 2e12
      basis: KERNEL_BASIS_WITHIN_GRID source: RATE_SOURCE_MEASURED_SUPPLIED
      source_number: 1 form: PREDICTION_FORM_STREAMS regime: KERNEL_REGIME_BURST
      error { shape_count: 17 median_absolute_error_ratio: 0.05 p90_absolute_error_ratio: 0.2 }
      nearest { memory_pass { size_bytes: 2147483648 } seconds: 0.0005 }
      nearest { memory_pass { size_bytes: 1048576 flops: 4e9 } seconds: 0.002 }
    }
    predicted_unfused { duration_seconds { expected: 0.004 low: 0.003 high: 0.006 } }
    predicted_backward { duration_seconds { expected: 0.002 low: 0.001 high: 0.003 } }
    sources: "measured yesterday"
    sources: "measured today")",
                                                            &out));
  return out;
}

TEST(PredictionSection, ShowsEachFormWithItsIntervalAndSource) {
  const std::string text = PredictionSection(Softmax(), absl::UnixEpoch());
  EXPECT_THAT(text,
              AllOf(HasSubstr("Predicted from measured kernels\n"), HasSubstr("forward"),
                    HasSubstr("unfused"), HasSubstr("4.00 ms"), HasSubstr("backward"),
                    HasSubstr("measured shapes around it"), HasSubstr("measured yesterday"),
                    HasSubstr("form: streams; 17 measured shapes"),
                    HasSubstr("nearest measured: pass over 2.00 GiB 500.00 us, pass over 1.00 "
                              "MiB with 4.00 GFLOP 2.00 ms\n")));
  EXPECT_THAT(text, Not(HasSubstr("sustained")));
}

TEST(PredictionSection, NamesMatmulsByTheirSizes) {
  v1::OperationTime time = Softmax();
  ASSERT_TRUE(google::protobuf::TextFormat::MergeFromString(
      "predicted_forward { nearest { matmul { m: 4096 n: 6144 k: 512 batch_count: 1 } seconds: 1 } "
      "nearest { matmul { m: 64 n: 65 k: 66 batch_count: 8 } seconds: 2 } }",
      &time));
  time.mutable_predicted_forward()->mutable_nearest()->DeleteSubrange(0, 2);
  EXPECT_THAT(PredictionSection(time, absl::UnixEpoch()),
              HasSubstr("nearest measured: 4096x6144x512 1.00 s, 8 of 64x65x66 2.00 s\n"));
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
  time.mutable_predicted_backward()->set_source_number(2);
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
}  // namespace sextant::client
