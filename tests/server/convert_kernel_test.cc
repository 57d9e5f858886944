#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/convert/kernel.h"
#include "tests/server/enum_names.h"
#include "tests/server/message_matchers.h"

namespace sextant::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A different value in every field.
KernelTime SampleTime() {
  return {.expected = Seconds(2),
          .low = Seconds(1),
          .high = Seconds(4),
          .basis = KernelBasis::kOtherPass};
}

KernelSource SampleSource() {
  KernelSource out;
  out.source = RateSource::kMeasuredSupplied;
  out.citation = "a probe";
  out.device = "h100-sxm";
  out.form = PredictionForm::kTerms;
  out.error = {.p10 = 0.5,
               .median = 0.6,
               .p90 = 0.7,
               .median_absolute = 0.08,
               .p90_absolute = 0.09,
               .shape_count = 10};
  out.device_uuid = "GPU-1";
  out.measured_unix_seconds = 11;
  return out;
}

TEST(KernelPredictionTo, CarriesEveryField) {
  OperationPrediction prediction;
  prediction.source = SampleSource();
  prediction.regime = KernelRegime::kSustained;
  prediction.nearest = {{.work = MatmulShape{.m = 12, .n = 13, .k = 14}, .time = Seconds(15)},
                        {.work = StreamWork{16, 17, 18}, .time = Seconds(19)}};
  SourceNumbers::List list;
  SourceNumbers sources(&list);
  v1::KernelPrediction wire;
  KernelPredictionTo(prediction, SampleTime(), {.flops = Flops(40), .peak = FlopsPerSecond(80)},
                     sources, &wire);
  EXPECT_THAT(wire, EqualsText(R"(
      duration_seconds { low: 1 expected: 2 high: 4 } flops_per_second: 20 datasheet_mfu: 0.25
      basis: KERNEL_BASIS_OTHER_PASS source: RATE_SOURCE_MEASURED_SUPPLIED source_number: 1
      device: "h100-sxm" form: PREDICTION_FORM_TERMS
      error { shape_count: 10 p10_ratio: 0.5 median_ratio: 0.6 p90_ratio: 0.7
              median_absolute_error_ratio: 0.08 p90_absolute_error_ratio: 0.09 }
      nearest { matmul { m: 12 n: 13 k: 14 batch_count: 1 } seconds: 15 }
      nearest { memory_pass { size_bytes: 33 flops: 18 } seconds: 19 }
      measured_time { seconds: 11 } device_uuid: "GPU-1" regime: KERNEL_REGIME_SUSTAINED)"));
  EXPECT_THAT(list, ElementsAre("a probe"));
  EXPECT_THAT(UnsetFields(wire), IsEmpty());
}

TEST(KernelPredictionTo, OfPublishedTimesHasNoDeviceOfItsOwn) {
  OperationPrediction prediction;
  prediction.source = SampleSource();
  prediction.source.measured_unix_seconds = 0;
  SourceNumbers sources(nullptr);
  v1::KernelPrediction wire;
  KernelPredictionTo(prediction, SampleTime(), {.flops = Flops(40)}, sources, &wire);
  EXPECT_FALSE(wire.has_measured_time() || wire.has_device_uuid() || wire.has_datasheet_mfu());
  EXPECT_EQ(wire.regime(), v1::KERNEL_REGIME_BURST);
}

TEST(KernelCurveTo, CarriesEveryField) {
  KernelCurve curve = {.kind = CurveKind::kTokenMatmul,
                       .data_type = DataType::kBf16,
                       .source = SampleSource(),
                       .peak = FlopsPerSecond(80),
                       .points = {{.size = 5, .time = SampleTime(), .flops = Flops(40)}}};
  SourceNumbers::List list;
  SourceNumbers sources(&list);
  v1::KernelCurve wire;
  KernelCurveTo(curve, sources, &wire);
  EXPECT_THAT(wire, EqualsText(R"(
      kind: KERNEL_KIND_TOKEN_MATMUL data_type: DATA_TYPE_BF16
      source: RATE_SOURCE_MEASURED_SUPPLIED source_number: 1 form: PREDICTION_FORM_TERMS
      error { shape_count: 10 p10_ratio: 0.5 median_ratio: 0.6 p90_ratio: 0.7
              median_absolute_error_ratio: 0.08 p90_absolute_error_ratio: 0.09 }
      peak_flops_per_second: 80
      points { size: 5 duration_seconds { low: 1 expected: 2 high: 4 } flops_per_second: 20
               datasheet_mfu: 0.25 basis: KERNEL_BASIS_OTHER_PASS })"));
  EXPECT_THAT(UnsetFields(wire), IsEmpty());
}

TEST(KernelRegimeFrom, IsABurstUnlessSaid) {
  FieldViolations violations;
  EXPECT_EQ(KernelRegimeFrom(v1::KERNEL_REGIME_UNSPECIFIED, "f", violations), KernelRegime::kBurst);
  EXPECT_EQ(KernelRegimeFrom(v1::KERNEL_REGIME_SUSTAINED, "f", violations),
            KernelRegime::kSustained);
  EXPECT_TRUE(violations.empty());
  KernelRegimeFrom(static_cast<v1::KernelRegime>(7), "f", violations);
  EXPECT_FALSE(violations.empty());
}

TEST(PredictionFormTo, KeepsNames) {
  ExpectSameNames({v1::PredictionForm_descriptor(), "engine/hardware/predict/kernel_source.h",
                   "PredictionForm"},
                  [](int form) { return PredictionFormTo(static_cast<PredictionForm>(form)); });
}

}  // namespace
}  // namespace sextant::server
