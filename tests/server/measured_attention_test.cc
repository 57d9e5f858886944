// From a GPU's calibration with attention to AnalyzeOperation's answer. The test's times follow a
// plain formula that the server does not have.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "server/handler/operation_answer.h"
#include "tests/server/sample_calibration.h"
#include "tests/server/wire_notes.h"
#include "tests/support/status_matchers.h"

namespace sextant::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

v1::TimeStatistics SecondsOf(double median) {
  v1::TimeStatistics out;
  out.set_median_seconds(median);
  out.set_p10_seconds(median);
  out.set_p90_seconds(median);
  out.set_sample_count(9);
  out.set_repetition_count(1);
  out.set_stable(true);
  return out;
}

double CausalFlops(int64_t sequence, int64_t heads) {
  const auto tokens = static_cast<double>(sequence);
  return 2 * 256 * static_cast<double>(heads) * tokens * (tokens + 1) / 2;
}

// Head size 128: 9 us and 450e12 FLOP/s forward; 25 us and 380e12, of 2.5 times as many, backward.
double PlainPassSeconds(int64_t sequence, int64_t heads, bool backward) {
  const double flops = CausalFlops(sequence, heads);
  return backward ? 25e-6 + 2.5 * flops / 380e12 : 9e-6 + flops / 450e12;
}

void AddAttention(int64_t sequence, int64_t heads, bool backward, v1::Calibration* out) {
  const double seconds = PlainPassSeconds(sequence, heads, backward);
  v1::AttentionMeasurement* m = out->add_attentions();
  m->set_data_type(v1::DATA_TYPE_BF16);
  m->set_pass(backward ? v1::AttentionMeasurement::PASS_BACKWARD
                       : v1::AttentionMeasurement::PASS_FORWARD);
  m->set_batch(1);
  m->set_sequence_length(sequence);
  m->set_heads(heads);
  m->set_kv_heads(heads);
  m->set_head_size(128);
  m->set_value_head_size(128);
  m->set_causal(true);
  *m->mutable_time() = SecondsOf(seconds);
  m->set_flops_per_second((backward ? 2.5 : 1) * CausalFlops(sequence, heads) / seconds);
  m->set_engine("cudnn 9.13.0");
}

// A GPU. One in the catalogue also has published attention, which must not be used.
v1::Calibration GpuWithAttention(const std::string& product) {
  v1::Calibration out = SampleCalibration("GPU-1");
  out.mutable_device()->set_kind(v1::DEVICE_KIND_GPU);
  out.mutable_device()->set_product_name(product);
  out.mutable_device()->set_compute_unit_count(132);
  out.clear_attentions();
  v1::StreamMeasurement* copy = out.add_streams();
  copy->set_operation(v1::StreamMeasurement::OPERATION_COPY);
  copy->set_array_bytes(1'000'000'000);
  copy->set_main_memory(true);
  *copy->mutable_time() = SecondsOf(1e-3);
  copy->set_bytes_per_second(2e12);
  for (const int64_t sequence : {1024, 2048, 4096, 8192, 16384}) {
    for (const int64_t heads : {8, 16, 32, 64}) {
      for (const bool backward : {false, true}) AddAttention(sequence, heads, backward, &out);
    }
  }
  return out;
}

absl::StatusOr<v1::AnalyzeOperationResponse> AnswerOn(const v1::Calibration& calibration,
                                                      int64_t sequence, int64_t heads) {
  v1::AnalyzeOperationRequest request;
  v1::Operation::Attention* attention = request.mutable_operation()->mutable_attention();
  attention->set_batch(1);
  attention->set_query_length(sequence);
  attention->set_heads(heads);
  attention->set_head_size(128);
  attention->set_causal(true);
  request.mutable_data_types()->set_input(v1::DATA_TYPE_BF16);
  *request.mutable_device()->mutable_device()->mutable_calibrations()->add_calibrations() =
      calibration;
  SuppliedCalibrations supplied;
  AccountingOptions options;
  options.supplied = &supplied;
  options.calibrations = [] { return std::make_shared<const CalibrationSnapshot>(); };
  options.now = [] { return absl::FromUnixSeconds(1'769'860'900); };
  v1::AnalyzeOperationResponse response;
  CallWork work;
  const absl::Status status = AnswerOperation(request, options, work, &response);
  if (!status.ok()) return status;
  return response;
}

void ExpectForetells(const v1::OperationTime& time, const v1::KernelPrediction& prediction,
                     double seconds) {
  EXPECT_LE(prediction.duration_seconds().low(), seconds);
  EXPECT_GE(prediction.duration_seconds().high(), seconds);
  EXPECT_NEAR(prediction.duration_seconds().expected() / seconds, 1, 0.05);
  EXPECT_EQ(prediction.source(), v1::RATE_SOURCE_MEASURED_SUPPLIED);
  EXPECT_EQ(prediction.basis(), v1::KERNEL_BASIS_WITHIN_GRID);
  EXPECT_EQ(prediction.device_uuid(), "GPU-1");
  EXPECT_EQ(prediction.error().shape_count(), 20);
  EXPECT_THAT(SourceAt(time.sources(), prediction.source_number()),
              HasSubstr("measured 2026-01-31T12:00:00Z"));
}

TEST(MeasuredAttentionAnswer, IsTheDevicesOwnForBothPasses) {
  for (const char* product : {"Some New GPU", "NVIDIA H100 80GB HBM3"}) {
    const v1::Calibration calibration = GpuWithAttention(product);
    for (const int64_t sequence : {1536, 3072, 12288}) {
      for (const int64_t heads : {12, 24, 48}) {
        const auto answer = AnswerOn(calibration, sequence, heads);
        ASSERT_THAT(answer, IsOk());
        ExpectForetells(answer->time(), answer->time().predicted_forward(),
                        PlainPassSeconds(sequence, heads, false));
        ExpectForetells(answer->time(), answer->time().predicted_backward(),
                        PlainPassSeconds(sequence, heads, true));
      }
    }
  }
}

// Without forward passes of its own the published ones are used, and each pass names its source.
TEST(MeasuredAttentionAnswer, SaysOfEachPassWhereItComesFrom) {
  v1::Calibration calibration = GpuWithAttention("NVIDIA H100 80GB HBM3");
  v1::Calibration backward_alone = calibration;
  backward_alone.clear_attentions();
  for (const v1::AttentionMeasurement& m : calibration.attentions()) {
    if (m.pass() == v1::AttentionMeasurement::PASS_BACKWARD) {
      *backward_alone.add_attentions() = m;
    }
  }
  const auto answer = AnswerOn(backward_alone, 3072, 24);
  ASSERT_THAT(answer, IsOk());
  EXPECT_EQ(answer->time().predicted_forward().source(), v1::RATE_SOURCE_REFERENCE);
  EXPECT_FALSE(answer->time().predicted_forward().has_device_uuid());
  ExpectForetells(answer->time(), answer->time().predicted_backward(),
                  PlainPassSeconds(3072, 24, true));
}

TEST(MeasuredAttentionAnswer, OfADamagedCalibrationIsARefusalThatNamesTheField) {
  v1::Calibration calibration = GpuWithAttention("NVIDIA H100 80GB HBM3");
  calibration.mutable_attentions(3)->mutable_time()->set_median_seconds(0);
  EXPECT_THAT(AnswerOn(calibration, 3072, 24),
              NamesFields(::testing::Contains(
                  "device.device.calibrations.calibrations[0].attentions[3].time.median_seconds")));
  calibration = GpuWithAttention("NVIDIA H100 80GB HBM3");
  v1::AttentionMeasurement* m = calibration.mutable_attentions(3);
  *m->mutable_time() = SecondsOf(m->time().median_seconds() / 10);  // above 989.4e12 FLOP/s
  m->set_flops_per_second(10 * m->flops_per_second());
  EXPECT_THAT(AnswerOn(calibration, 3072, 24),
              NamesFields(ElementsAre(
                  "device.device.calibrations.calibrations[0].attentions[3].time.median_seconds")));
}

}  // namespace
}  // namespace sextant::server
