#include "proto/text/kernel_sections.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "proto/text/calibration_text.h"
#include "proto/text/format.h"
#include "proto/text/table.h"

namespace sextant::text {
namespace {

using ::testing::HasSubstr;

void SetTime(double median_seconds, v1::TimeStatistics* out) {
  out->set_median_seconds(median_seconds);
  out->set_relative_spread(0.01);
  out->set_sample_count(12);
  out->set_stable(true);
}

v1::Calibration WithKernels() {
  v1::Calibration out;
  v1::AttentionMeasurement* attention = out.add_attentions();
  attention->set_data_type(v1::DATA_TYPE_BF16);
  attention->set_training_pass(v1::AttentionMeasurement::PASS_BACKWARD);
  attention->set_batch(2);
  attention->set_sequence_length(4096);
  attention->set_heads(32);
  attention->set_kv_heads(8);
  attention->set_head_size(192);
  attention->set_value_head_size(128);
  attention->set_causal(true);
  attention->set_window(1024);
  attention->set_flops_per_second(450e12);
  SetTime(0.002, attention->mutable_time());
  v1::ExpertsMeasurement* experts = out.add_experts();
  experts->set_data_type(v1::DATA_TYPE_FP8_E4M3);
  experts->set_tokens(16384);
  experts->set_hidden_size(7168);
  experts->set_feed_forward_size(2048);
  experts->set_expert_count(256);
  experts->set_experts_per_token(8);
  experts->set_expert_parallel_size(32);
  experts->set_gated(true);
  experts->set_flops_per_second(900e12);
  SetTime(0.003, experts->mutable_time());
  v1::CollectiveMeasurement* collective = out.add_collectives();
  collective->set_operation(v1::COLLECTIVE_OPERATION_ALL_GATHER);
  collective->set_rank_count(8);
  collective->set_size_bytes(int64_t{1} << 28);
  collective->set_bus_bytes_per_second(350e9);
  SetTime(0.004, collective->mutable_time());
  v1::HostCopyMeasurement* copy = out.add_host_copies();
  copy->set_direction(v1::HostCopyMeasurement::DIRECTION_HOST_TO_DEVICE);
  copy->set_size_bytes(int64_t{1} << 28);
  copy->set_bytes_per_second(55e9);
  SetTime(0.005, copy->mutable_time());
  return out;
}

TEST(KernelSections, AreAsWrittenByHand) {
  const v1::Calibration calibration = WithKernels();
  EXPECT_EQ(AttentionSection(calibration), R"(
Attention (one kernel)
  type  pass      batch x tokens  heads  size     mask                   rate   median  spread   n
  bf16  backward  2 x 4096        32/8   192/128  causal 1024  450.00 TFLOP/s  2.00 ms  1.00 %  12
  heads: of queries/of keys and values; size: of a query's head/of a value's; mask: with its
  window, in tokens
)");
  EXPECT_EQ(ExpertsSection(calibration), R"(
Layers of experts (the products on one device)
  type      tokens  h x f              experts   devices            rate   median  spread   n
  fp8-e4m3  16,384  7168 x 2048 gated  8 of 256       32  900.00 TFLOP/s  3.00 ms  1.00 %  12
  tokens: of all devices that share the experts; h x f: widths of a token and of an expert
)");
  EXPECT_EQ(CollectiveSection(calibration), R"(
Collectives (devices of one host)
  collective  devices        size     bus rate   median  spread   n
  all-gather        8  256.00 MiB  350.00 GB/s  4.00 ms  1.00 %  12
  bus rate: nccl-tests' busbw, to compare with the link's
)");
  EXPECT_EQ(HostCopySection(calibration), R"(
Copies to and from the host
  copy            host memory        size        rate   median  spread   n
  host-to-device  pinned       256.00 MiB  55.00 GB/s  5.00 ms  1.00 %  12
)");
}

TEST(LaunchSection, NamesHowKernelsWereStarted) {
  v1::Calibration calibration;
  EXPECT_EQ(LaunchSection(calibration), "");
  v1::LaunchMeasurement* const launch = calibration.add_launches();
  launch->set_kind(v1::LaunchMeasurement::KIND_GRAPH);
  SetTime(2.5e-6, launch->mutable_time());
  EXPECT_EQ(LaunchSection(calibration), R"(
Kernels that do nothing (stream: a call each; graph: recorded once)
  started by   median  spread   n
  graph       2.50 us  1.00 %  12
)");
}

TEST(KernelSections, StandInACalibrationsText) {
  const std::string text = CalibrationText(WithKernels(), std::nullopt);
  for (const char* title : {"\nAttention (", "\nLayers of experts (", "\nCollectives (",
                            "\nCopies to and from the host\n"}) {
    EXPECT_THAT(text, HasSubstr(title));
  }
}

TEST(KernelSections, AreAbsentWhereNothingWasMeasured) {
  const v1::Calibration nothing;
  EXPECT_EQ(AttentionSection(nothing) + ExpertsSection(nothing) + CollectiveSection(nothing) +
                HostCopySection(nothing),
            "");
}

// Values that a newer or a broken server may send.
TEST(KernelSections, SurviveEveryNumberIn99Columns) {
  v1::Calibration calibration = WithKernels();
  calibration.mutable_attentions(0)->set_batch(std::numeric_limits<int64_t>::min());
  calibration.mutable_attentions(0)->set_sequence_length(std::numeric_limits<int64_t>::min());
  calibration.mutable_attentions(0)->set_training_pass(v1::AttentionMeasurement::Pass(88));
  calibration.mutable_experts(0)->set_hidden_size(std::numeric_limits<int64_t>::min());
  calibration.mutable_collectives(0)->set_operation(v1::CollectiveOperation(77));
  calibration.mutable_collectives(0)->set_size_bytes(std::numeric_limits<int64_t>::max());
  calibration.mutable_host_copies(0)->set_bytes_per_second(
      std::numeric_limits<double>::quiet_NaN());
  calibration.add_attentions();
  calibration.add_host_copies();
  const std::string text = CalibrationText(calibration, std::nullopt);
  EXPECT_THAT(text, HasSubstr("\n  77 "));
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(text, '\n'))) {
    EXPECT_LE(DisplayWidth(line), static_cast<int64_t>(kTextWidth)) << line;
  }
}

}  // namespace
}  // namespace sextant::text
